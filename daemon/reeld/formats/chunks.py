"""Bytes that only grow, in chunks that never change: what is sent of them need not be copied, even if more comes."""

from collections.abc import Iterator
from typing import Self

# So many bytes fill a chunk. What does not fill one yet is copied whenever it is read.
_FULL = 1 << 17


class Chunks:
    """Bytes that only grow."""

    __slots__ = ("_full", "_size", "_tail")

    def __init__(self, data: bytes = b"") -> None:
        self._full: list[bytes] = []
        self._tail = bytearray()
        # Of the full chunks.
        self._size = 0
        self += data

    def __len__(self) -> int:
        return self._size + len(self._tail)

    def __iadd__(self, data: bytes | memoryview) -> Self:
        tail = self._tail
        tail += data
        if len(tail) >= _FULL:
            self._full.append(bytes(tail))
            self._size += len(tail)
            self._tail = bytearray()
        return self

    def parts(self, start: int, end: int) -> Iterator[bytes | memoryview]:
        """Return the bytes from one place up to another, in parts; none is empty."""
        begin = 0
        for chunk in (*self._full, bytes(self._tail)):
            first, last = max(start - begin, 0), min(end - begin, len(chunk))
            if first < last:
                yield chunk if last - first == len(chunk) else memoryview(chunk)[first:last]
            begin += len(chunk)

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes from one place up to another."""
        return b"".join(self.parts(start, end))
