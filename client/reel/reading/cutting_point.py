"""Where a conversation can be cut, so that what is before is summarized, and what is after stays as it is.

What stays begins with a question, and answers no call of what is summarized: a result without its call is nothing that
a provider accepts. What a framework has before the first word, such as its prompt, stays as well.
"""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reel.said.messages import Message


class Cut(NamedTuple):
    """A place to cut at.

    Args:
        first: the seq of the first message.
        last: that of the last one before the cut.
        summarized: how many messages are before it.
        kept: how many are after it.
    """

    first: int
    last: int
    summarized: int
    kept: int


class _Place(NamedTuple):
    """A place before a question, or the end: the seq before it, how many messages are before it, and how many turns."""

    last: int
    before: int
    turns: int


def find_cut(messages: Iterable[Message], *, keep: int = 0, mark: int | None = None) -> Cut | None:
    """Return the last place to cut at; ``None`` if the conversation has no such place.

    Args:
        messages: those of the conversation.
        keep: how many of the newest questions, with what answers them, must be after it.
        mark: a seq that must not be before it.
    """
    places: list[_Place] = []
    first = last = count = turns = 0
    is_asking = False
    waiting: set[str] = set()
    for message in messages:
        if not count and {block["type"] for block in message["content"]} == {"opaque"}:
            continue
        is_question = message["role"] == "user"
        if is_question and not is_asking:
            if count and not waiting:
                places.append(_Place(last, count, turns))
            turns += 1
        is_asking = is_question
        waiting = _waiting(waiting, message)
        first, last, count = first or message["seq"], message["seq"], count + 1
    if count and not waiting:
        places.append(_Place(last, count, turns))
    for place in reversed(places):
        if place.turns <= turns - keep and (mark is None or place.last <= mark):
            return Cut(first, place.last, place.before, count - place.before)
    return None


def _waiting(before: set[str], message: Message) -> set[str]:
    """Return the calls that wait for a result after a message."""
    calls = {block["id"] for block in message["content"] if block["type"] == "tool_call"}
    results = {block["tool_call_id"] for block in message["content"] if block["type"] == "tool_result"}
    return (before | calls) - results
