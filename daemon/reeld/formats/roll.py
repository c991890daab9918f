"""Entries of a history list as bytes, ready to be joined, with what is known of each turn."""

from hashlib import blake2b
from typing import NamedTuple

from reeld.formats.jsonbytes import encode
from reeld.formats.model import Json

DIGEST = 16


class Span(NamedTuple):
    """One turn's place among the entries.

    Args:
        entries: how many entries it became; none where nothing was left of it.
        size: their bytes, a comma after each included.
        seq: the seq of its round's first message.
        is_user: whose turn it is.
        begins: whether a history may go on here without what was before: no result needs it.
    """

    entries: int
    size: int
    seq: int
    is_user: bool
    begins: bool


class Roll:
    """Entries in their order: the bytes of each with a comma after it, and a digest of each."""

    __slots__ = ("data", "digests", "spans")

    def __init__(self) -> None:
        self.data = bytearray()
        self.digests = bytearray()
        self.spans: list[Span] = []

    def add(self, entries: list[Json], seq: int, *, is_user: bool, begins: bool) -> None:
        """Append what a turn became."""
        size = 0
        for entry in entries:
            text = encode(entry)
            self.data += text
            self.data += b","
            self.digests += digest(text)
            size += len(text) + 1
        self.spans.append(Span(len(entries), size, seq, is_user, begins))

    def extend(self, other: "Roll") -> None:
        """Append another roll."""
        self.data += other.data
        self.digests += other.digests
        self.spans += other.spans

    def part(self, start: int, end: int) -> "Roll":
        """Give the turns from one up to another as a roll of their own."""
        found = Roll()
        found.spans = self.spans[start:end]
        begin, size = sum(span.size for span in self.spans[:start]), sum(span.size for span in found.spans)
        found.data = self.data[begin : begin + size]
        before, count = sum(span.entries for span in self.spans[:start]), sum(span.entries for span in found.spans)
        found.digests = self.digests[before * DIGEST : (before + count) * DIGEST]
        return found

    @property
    def count(self) -> int:
        """How many entries there are."""
        return len(self.digests) // DIGEST


def digest(data: bytes | bytearray) -> bytes:
    """Give a short digest of some bytes."""
    return blake2b(data, digest_size=DIGEST).digest()
