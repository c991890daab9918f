"""Cursors: where an answer goes on, as words that a model passes back.

``after-12`` is what follows #12, ``before-12`` what precedes it, and ``in-12.3+456`` the text of #12 from character 456
of its third part on: what stands above a part, such as the name of a tool, is not always known. ``-at90`` says in which
state of the conversation: that after #90, so that pages fit together while others write. ``-thinking`` reads on with
thinking, without which a message has fewer parts.
"""

from __future__ import annotations

import re

from reel.base.light_typing import NamedTuple
from reel.base.values import MAX_INTEGER

_FORM = re.compile(
    r"(after|before|in)-(\d{1,16})(?:\.(\d{1,9}))?(?:\+(\d{1,12}))?(?:-at(\d{1,16}))?(-thinking)?", re.ASCII
)


class Cursor(NamedTuple):
    """A place in a conversation, and the direction in which to read on from there: after, before or in."""

    direction: str
    seq: int
    part: int = 0
    offset: int = 0
    at: int | None = None
    thinking: bool = False

    def __str__(self) -> str:
        part = f".{self.part}" if self.part else ""
        offset = f"+{self.offset}" if self.offset else ""
        at = "" if self.at is None else f"-at{self.at}"
        return f"{self.direction}-{self.seq}{part}{offset}{at}{'-thinking' if self.thinking else ''}"

    def fault(self, head: int) -> str:
        """Return what is wrong with this place, as words about its conversation; empty if an answer can have named it.

        Args:
            head: the seq of the newest event of the conversation.
        """
        at = head if self.at is None else self.at
        # Everything is before the message that comes next.
        newest = at + 1 if self.direction == "before" else at
        least = 0 if self.direction == "after" else 1
        if at > head:
            return f"has no #{at}, its newest is #{head}"
        if self.seq > newest:
            return f"has no #{self.seq}, its newest is #{head}" if at == head else f"had no #{self.seq} as of #{at}"
        return f"begins with #1, so there is no #{self.seq}" if self.seq < least else ""


def read_cursor(text: str) -> Cursor | None:
    """Return the cursor that a text is; ``None`` if it is not a cursor."""
    found = _FORM.fullmatch(text.strip())
    if found is None:
        return None
    direction, seq, part, offset, at, thinking = found.groups()
    state = None if at is None else int(at)
    made = Cursor(direction, int(seq), int(part or 0), int(offset or 0), state, bool(thinking))
    is_possible = max(made.seq, made.at or 0) <= MAX_INTEGER and (
        made.direction == "in" or not (made.part or made.offset)
    )
    return made if is_possible else None
