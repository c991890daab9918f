"""What differs between two conversations, or two moments of one."""

from __future__ import annotations

import json
from difflib import SequenceMatcher
from itertools import islice

from reel.base.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from reel.replies import MessagesPage


class Compared(NamedTuple):
    """A message to compare; a system prompt has no seq."""

    seq: int | None
    role: str
    content: Any

    @property
    def key(self) -> str:
        """What makes it the same as another."""
        return f"{self.role} {json.dumps(self.content, sort_keys=True)}"


class Hunk(NamedTuple):
    """Messages that both have (``=``), or only the first (``-``) or the second (``+``).

    Of those at the beginning that both have, the content is ``None``: they are only counted.
    """

    sign: str
    messages: list[Compared]


def said_on(page: MessagesPage, *, first: bool) -> Iterator[Compared]:
    """Yield what is on a page of a conversation; the first one has the system prompt."""
    if first and page.system is not None:
        yield Compared(None, "system", [{"type": "text", "text": page.system}])
    for message in page.messages:
        yield Compared(message["seq"], message["role"], message["content"])


class Difference:
    """Compares two conversations that are read page by page; what both begin with is not kept."""

    def __init__(self) -> None:
        self._begun: list[Compared] = []
        self._rest: tuple[list[Compared], list[Compared]] = ([], [])
        self._differs = False

    def add(self, side: int, said: Iterable[Compared]) -> None:
        """Take the next messages of the first conversation, 0, or of the second, 1."""
        self._rest[side].extend(said)
        ours, theirs = self._rest
        same = 0
        for one, other in zip(ours, theirs, strict=False):
            if self._differs or one.key != other.key:
                self._differs = True
                break
            same += 1
        self._begun += (message._replace(content=None) for message in islice(ours, same))
        del ours[:same], theirs[:same]

    def hunks(self) -> list[Hunk]:
        """Return the differences, in order; together they have every message."""
        ours, theirs = self._rest
        hunks = [Hunk("=", self._begun)]
        matcher = SequenceMatcher(None, [said.key for said in ours], [said.key for said in theirs])
        for operation, begin, end, other_begin, other_end in matcher.get_opcodes():
            if operation == "equal":
                hunks.append(Hunk("=", ours[begin:end]))
            else:
                hunks += [Hunk("-", ours[begin:end]), Hunk("+", theirs[other_begin:other_end])]
        return [hunk for hunk in hunks if hunk.messages]


def compare(first: Iterable[Compared], second: Iterable[Compared]) -> list[Hunk]:
    """Return the differences between two whole conversations."""
    difference = Difference()
    difference.add(0, first)
    difference.add(1, second)
    return difference.hunks()
