"""Taking back a whole turn, which takes several requests: the daemon knows commands, and a turn may be several."""

from __future__ import annotations

from reel import replies
from reel.base.errors import NothingToUndo
from reel.base.light_typing import TYPE_CHECKING, NamedTuple
from reel.requests.calls import Call, in_steps, read_pages
from reel.requests.commands import add, restore
from reel.requests.queries import history, messages

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Any

    from reel.replies import Added, Hello, HistoryPage, MessagesPage, Moved
    from reel.said.messages import Message

# How many of the newest messages are read first, and the factor of each further attempt: most turns are short.
_FIRST = 32
_MORE = 8
# The daemon returns at most so many of the newest messages; if these are not enough, all messages are read.
_MOST = 10_000
# Which events after a question, and how many, are looked at for the state of a graph that was put with it.
_KINDS, _NEAR = ("user", "command"), 100


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
        turn = yield from _newest(agent)
        at = None if turn is None else (yield from _before_steps(turn))
        if turn is None or (turn.is_summary and at is None):
            raise NothingToUndo("the conversation has no question to take back; undo takes back the newest command")
        expected = turn.head if if_seq is None else if_seq
        done: Added | Moved
        if at is None:
            done = added = yield add(turn.agent, [], from_=turn.first, if_seq=expected)
            dropped = added.dropped
        else:
            done = yield restore(turn.agent, at, if_seq=expected)
            dropped = turn.size
        return replies.TurnUndone(
            done.agent, done.head, done.command, done.time, turn.first, dropped, turn.head, done.repeated
        )

    return in_steps("undo_turn", steps)


class _Turn(NamedTuple):
    """The newest turn of a conversation at some point.

    Args:
        agent: the id of the agent.
        head: its head.
        question: the message in which a person says something.
        first: the seq of the first message that was added together with it.
        before: the message before that one, if there is any.
        size: how many messages the turn has.
        is_summary: whether a summary stands where the question was.
    """

    agent: str
    head: int
    question: Message
    first: int
    before: Message | None
    size: int
    is_summary: bool

    def is_behind(self, command: int) -> bool:
        """Whether a command that begins anew has left nothing before it but what it has added itself."""
        return self.before is None or self.before["seq"] > command


def _newest(agent: str, at: int | None = None, again: Message | None = None) -> Generator[Call[Any], Any, _Turn | None]:
    """Return the newest turn of a conversation, now or at a seq; ``None`` if nobody has asked anything.

    If a summary has replaced the question, it is the summary.

    Args:
        agent: the agent.
        at: the seq.
        again: the question, if it is known; ``None`` is returned if it was not said there.
    """
    from reel.reading.turns import (  # noqa: PLC0415 - most clients take no turn back
        beginning,
        newest_question,
        newest_summary,
        until,
    )

    count = _FIRST
    while True:
        pages: list[MessagesPage] = []
        yield from read_pages(messages(agent, last=count if count <= _MOST else None, at=at), pages.append)
        found = [message for page in pages for message in page.messages]
        is_all = len(found) < count
        if again is not None:
            found = until(again, found)
        question = newest_question(found)
        if is_all or count > _MOST or (question and question[-1] is not found[0]):
            break
        count *= _MORE
    summary = None if question else newest_summary(found)
    if summary is not None:
        question = [summary]
    if not question:
        return None
    uid, first = pages[0].agent, question[0]["seq"]
    if len(question) > 1:
        logs: list[HistoryPage] = []
        around = history(uid, since=question[-1]["seq"] - 1, before=first + 1, inherited=True)
        yield from read_pages(around, logs.append)
        first = beginning(question, [event for page in logs for event in page.events])
    index = next(index for index, message in enumerate(found) if message["seq"] == first)
    before = found[index - 1] if index else None
    return _Turn(uid, pages[0].head, question[0], first, before, len(found) - index, summary is not None)


def _before_steps(turn: _Turn) -> Generator[Call[Any], Any, int | None]:
    """Return the seq at which a turn had not begun, if a step of a graph has put its question there once more.

    A graph that removes messages puts what stays of the conversation anew, in one command with its state after that
    step. What is before the question is no earlier state of the graph then. ``None`` if there is no such step.
    """
    from reel.reading.turns import added_by  # noqa: PLC0415 - as above

    at = None
    newest: _Turn | None = turn
    while newest is not None:
        near = history(turn.agent, since=newest.first - 1, limit=_NEAR, kinds=_KINDS, inherited=True)
        after: HistoryPage = yield near
        added = added_by(newest.question, after.events)
        if added is None:
            return at
        command, is_of_graph = added
        if not is_of_graph:
            return at and newest.first - 1  # others asked, before a step put it there once more
        begun: HistoryPage = yield history(turn.agent, since=command - 1, limit=1, inherited=True)
        is_anew = begun.events[0]["kind"] == "rewind"
        # A summary has replaced whichever question was the newest.
        again = None if newest.is_summary else newest.question
        earlier = (yield from _newest(turn.agent, command - 1, again)) if is_anew else None
        if at is None and earlier is None and not (is_anew and newest.is_behind(command)):
            return None  # as usual, or where a branch begins
        at = command - 1
        newest = earlier
    return at
