"""Positions in a conversation as they are typed, by number or counted from the end.

``12`` and ``#12`` are the event with this seq. ``@last`` is the newest message; so are ``@`` and ``-``. ``@~2`` is the
message two before the newest, and so is ``~2``, which zsh would expand without quotes. No name of an agent begins like
one of these.
"""

from __future__ import annotations

from reel.base.light_typing import NamedTuple
from reel.base.values import MAX_INTEGER

_FORM = r"#?(\d{1,16})|(?:@last|@|-)?~(\d{1,4})|@last|@|-"
FORMS = "12, #12, @last (the newest message) or @~2 (two before it)"


class FromEnd(NamedTuple):
    """A message, counted from the newest: how many come after it."""

    later: int


def parse_position(word: str) -> int | FromEnd | None:
    """Return a word as a seq or as a position from the end; ``None`` if it is neither."""
    import re  # noqa: PLC0415 - most commands have no position

    found = re.fullmatch(_FORM, word)
    if found is None:
        return None
    if found[1] is None:
        return FromEnd(int(found[2] or 0))
    seq = int(found[1])
    return seq if seq <= MAX_INTEGER else None


def split_name(word: str) -> tuple[str, int | FromEnd] | None:
    """Return a word as an agent and a position in its past; ``None`` if it names no position."""
    agent, at, place = word.rpartition("@")
    position = parse_position(place)
    if position is None:
        position = parse_position(f"@{place}")
    return (agent, position) if at and agent and place and position is not None else None
