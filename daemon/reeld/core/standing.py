"""Additions that answer something: whether it still stands, and what was said meanwhile.

A model answers the conversation that was rendered for it. While it does, others go on: they change a title, set a mark,
or say something. None of that makes the answer wrong, and an answer costs money. So it is added as long as what it
answers is in the conversation (``if_stands``), however far the head has moved.

If somebody spoke meanwhile, the answer is *late*: it is stored behind their messages, because the log only grows, and
its metadata say how many these are. A rendering puts it before them, directly behind what it answers
(:mod:`reeld.formats.lateness`): a provider gets what it got before, and then what it answered.
"""

from reel.base.errors import Conflict
from reel.said.kinds import ROLES
from reel.said.messages import LATE
from reeld.core.conversation import Conversation
from reeld.core.rows import CheckedRow, with_metadata


def require_prompt(conversation: Conversation, seq: int, head: int, name: str) -> None:
    """Refuse an answer to what was rendered with another system prompt.

    Raises:
        Conflict: the prompt was changed after the entry with this seq.
    """
    prompt = conversation.prompt
    if prompt is not None and prompt.seq > seq:
        raise Conflict(
            f"the system prompt of agent {name} was changed by #{prompt.seq}, after #{seq}; nothing was added",
            head=head,
            if_stands=seq,
        )


def gone(seq: int, head: int, name: str) -> Conflict:
    """Return the error for an answer to what is not in the conversation any more."""
    return Conflict(
        f"#{seq} is not in the conversation of agent {name} any more, so what answers it was not added",
        head=head,
        if_stands=seq,
    )


def passed(conversation: Conversation, seq: int) -> int:
    """Return how many messages an answer to the entry with this seq is late by.

    If another answer is among them, or not all of them are in memory, it is at its place behind them: 0.
    """
    base = 0 if conversation.base is None else conversation.base.seq
    if seq < base:
        return 0
    count = 0
    for entry in reversed(conversation.entries):
        if entry.seq <= seq:
            break
        if entry.message is not None:
            if ROLES[entry.kind] == "assistant":
                return 0
            count += 1
    return count


def behind(rows: list[CheckedRow], count: int) -> list[CheckedRow]:
    """Return the rows of an answer, and of the results that come with it, with how late they are."""
    first = next((row.kind for row, _ in rows if row.kind in ROLES), None)
    if not count or first is None or ROLES[first] != "assistant":
        return rows
    return [with_metadata(each, {LATE: count}) for each in rows]
