"""Taking back a whole turn, which takes several requests: the daemon knows commands, and a turn may be several."""

from __future__ import annotations

from reel import replies
from reel.base.errors import NothingToUndo
from reel.base.light_typing import TYPE_CHECKING
from reel.requests.calls import Call, in_steps, read_pages
from reel.requests.commands import add
from reel.requests.queries import history, messages

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Any

    from reel.replies import Added, Hello, HistoryPage, MessagesPage

# How many of the newest messages are read first, and the factor of each further attempt: most turns are short.
_FIRST = 32
_MORE = 8
# The daemon returns at most so many of the newest messages; if these are not enough, all messages are read.
_MOST = 10_000


def undo_turn(agent: str, *, if_seq: int | None = None) -> Call[replies.TurnUndone]:
    """Take back the newest turn: the newest question of a person, and all that came after it.

    However many commands have written the turn, this is one, and ``undo`` brings the turn back.

    Args:
        agent: a name or an id.
        if_seq: only if the agent's head is still this seq. Default: its head when the turn was looked for.

    Raises:
        Conflict: somebody has written since.
        NothingToUndo: nobody has asked anything, or a summary has replaced the question.
    """

    def steps(_: Callable[[], Hello | None]) -> Generator[Call[Any], Any, replies.TurnUndone]:
        from reel.reading.turns import beginning, newest_question  # noqa: PLC0415 - most clients take no turn back

        count = _FIRST
        while True:
            pages: list[MessagesPage] = []
            yield from read_pages(messages(agent, last=count if count <= _MOST else None), pages.append)
            found = [message for page in pages for message in page.messages]
            question = newest_question(found)
            if len(found) < count or count > _MOST or (question and question[-1] is not found[0]):
                break
            count *= _MORE
        if not question:
            raise NothingToUndo("the conversation has no question to take back; undo takes back the newest command")
        uid, head, first = pages[0].agent, pages[0].head, question[0]["seq"]
        if len(question) > 1:
            logs: list[HistoryPage] = []
            around = history(uid, since=question[-1]["seq"] - 1, before=first + 1, inherited=True)
            yield from read_pages(around, logs.append)
            first = beginning(question, [event for page in logs for event in page.events])
        added: Added = yield add(uid, [], from_=first, if_seq=head if if_seq is None else if_seq)
        return replies.TurnUndone(
            added.agent, added.head, added.command, added.time, first, added.dropped, head, added.repeated
        )

    return in_steps("undo_turn", steps)
