"""Positions that are typed as arguments of a command, and ranges of them.

A range is two positions (:mod:`reel.reading.positions`) with dots between, such as ``12..20`` or ``@~2..``.
"""

from __future__ import annotations

from collections.abc import Callable

from reel.base.light_typing import TYPE_CHECKING, NamedTuple
from reel.base.values import MAX_INTEGER
from reel.cli.line.arguments import InvalidValue, UsageError
from reel.reading.positions import FORMS, FromEnd, parse_position
from reel.reading.wording import seq_range

if TYPE_CHECKING:
    from reel.sync.methods import Methods

_DOTS = ".."


def position(argument: str) -> int | FromEnd:
    """Return the value of an option as a position.

    Raises:
        InvalidValue: it is not a position.
    """
    if (parsed := parse_position(argument)) is None:
        raise InvalidValue(f"{argument!r} is not a position; write {FORMS}")
    return parsed


def absolute_position(argument: str) -> int:
    """Return the value of ``--if-seq``, which must not move with the conversation.

    Raises:
        InvalidValue: it is not a number.
    """
    parsed = position(argument)
    if isinstance(parsed, FromEnd):
        raise InvalidValue(f"{argument!r} would always be right; write the seq that you have read, such as 12")
    return parsed


def resolve_position(client: Methods, agent: str, position: int | FromEnd) -> int:
    """Return the seq of a position.

    Raises:
        UsageError: the conversation has no such message.
    """
    if not isinstance(position, FromEnd):
        return position
    wanted = position.later + 1
    messages = client.messages(agent, last=wanted).messages
    if len(messages) < wanted:
        has = f"only {len(messages)} messages" if messages else "no messages"
        raise UsageError(f"@~{position.later} is before the beginning: {agent} has {has}")
    return messages[0]["seq"]


class Range(NamedTuple):
    """The first and the last seq."""

    first: int
    last: int

    def __str__(self) -> str:
        if self.last == MAX_INTEGER:
            return f"after #{self.first - 1}"
        return seq_range(self.first, self.last)


def is_range(word: str) -> bool:
    """Return whether an argument has the form of a range."""
    return word != _DOTS and all(_is_end(end, open_end=_DOTS in word) for end in word.split(_DOTS, 1))


def _is_end(word: str, *, open_end: bool) -> bool:
    return (open_end and not word) or parse_position(word) is not None


def parse_range(word: str, resolve: Callable[[int | FromEnd], int]) -> Range:
    """Return an argument as a range.

    Args:
        word: the argument.
        resolve: returns the seq of a position.

    Raises:
        UsageError: it is not a range.
    """
    if not is_range(word):
        raise UsageError(f"{word!r} is not a message or a range of messages, such as 12 or 12..20, or @~2..@last")
    ends = [resolve(end) if (end := parse_position(part)) is not None else None for part in word.split(_DOTS, 1)]
    first, last = (ends[0], ends[0]) if len(ends) == 1 else ends
    return Range(first or 0, MAX_INTEGER if last is None else last)
