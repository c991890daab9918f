"""Reads the elements of a large JSON array one by one.

An export is one array of conversations in one file, possibly of gigabytes. Parsing the whole text would take a multiple
of that in memory. Here, only one element is in memory, and a damaged one does not affect the others.
"""

import re
from collections.abc import Iterable
from typing import Protocol

from reel.base.light_typing import NamedTuple

# The longest element that is read, in bytes. A parsed element has to fit into memory several times.
MAX_ELEMENT = 32 << 20
_CHUNK = 1 << 20
# How far to search for a readable element after a damaged one, in elements of the maximum length.
_MOST_WASTED = 8
# A string, with its closing quote as the group, or a bracket. The quantifiers are possessive: there is no backtracking.
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+("?)|[{}\[\]]', re.DOTALL)
# The first character of an element, or the end of the array.
_BEGINNING = re.compile(rb"[\[{\]]")
_FIRST_KEY = re.compile(rb'\{\s*"([^"\\]{1,64})"\s*:')
# The longest text that matches the beginning of an element.
_LONGEST_BEGINNING = 256


class Readable(Protocol):
    """A readable stream."""

    def read(self, size: int, /) -> bytes:
        """Return up to ``size`` bytes; none at the end."""
        ...


class Element(NamedTuple):
    """A value in an array.

    Args:
        offset: its start, in bytes.
        data: its JSON; only a part of it if it has no end within the limit.
        complete: whether its end was found.
    """

    offset: int
    data: bytes
    complete: bool


class Elements:
    """The objects and arrays in the outermost array; an object that is not in an array is the only element.

    Args:
        file: the file, at its beginning.
        first_keys: the keys that an element may begin with, to find one after a damaged one.
        limit: the longest element that is read.
    """

    def __init__(self, file: Readable, first_keys: Iterable[str], limit: int = MAX_ELEMENT) -> None:
        self._file = file
        self._limit = limit
        # The unprocessed data; its offset in the file; and the length of the last element in it.
        self._buffer = bytearray()
        self._offset = 0
        self._last = 0
        self._wasted = 0
        self._began = False
        # Whether the array has not ended yet.
        self.is_open = False
        self._after_damage = _beginnings(key.encode() for key in first_keys)

    def next(self, *, damaged: bool = False) -> Element | None:
        """Return the next element; ``None`` at the end.

        Args:
            damaged: whether the last one was invalid. Then its end is unknown, too, and the next one
                begins at the next object that begins like the others.

        Raises:
            OSError: the file cannot be read.
        """
        if damaged:
            self._wasted += self._last
            self._drop(1)
            if self._wasted > _MOST_WASTED * self._limit:
                return None
            found = self._skip_to(self._after_damage, _LONGEST_BEGINNING)
            self._drop(found.index(b"{") if found else 0)
        else:
            if self._last and (first := _FIRST_KEY.match(self._buffer)) is not None:
                self._after_damage = _beginnings([bytes(first[1])])
            self._wasted = 0
            self._drop(self._last)
            found = self._skip_to(_BEGINNING, 0)
            if found == b"[" and not self._began:
                self.is_open = True
                self._drop(1)
                found = self._skip_to(_BEGINNING, 0)
            while found == b"]":  # the data after it is read too: it may be a damaged comma
                self.is_open = False
                self._drop(1)
                found = self._skip_to(_BEGINNING, 0)
        self._began = True
        return self._element() if found else None

    def _element(self) -> Element:
        depth = position = 0
        while True:
            for token in _TOKEN.finditer(self._buffer, position):
                kind = token[0][0:1]
                if kind == b'"':
                    if not token[1]:
                        position = token.start()
                        break
                elif kind in b"{[":
                    depth += 1
                else:
                    depth -= 1
                position = token.end()
                if not depth:
                    return self._found(position, complete=position <= self._limit)
            if len(self._buffer) > self._limit or not self._more():
                return self._found(len(self._buffer), complete=False)

    def _found(self, length: int, *, complete: bool) -> Element:
        self._last = length
        return Element(self._offset, bytes(self._buffer[:length]), complete)

    def _more(self) -> bool:
        data = self._file.read(_CHUNK)
        self._buffer += data
        return bool(data)

    def _drop(self, length: int) -> None:
        del self._buffer[:length]
        self._offset += length
        self._last = 0

    def _skip_to(self, wanted: re.Pattern[bytes], longest: int) -> bytes:
        """Drop the data before a match, and return the match; empty at the end of the file."""
        while (found := wanted.search(self._buffer)) is None:
            self._drop(max(len(self._buffer) - longest, 0))
            if not self._more():
                return b""
        text = bytes(found[0])  # before dropping: a match refers to the buffer
        self._drop(found.start())
        return text


def _beginnings(keys: Iterable[bytes]) -> re.Pattern[bytes]:
    """Return a pattern for the beginning of an element that follows another one."""
    return re.compile(rb',\s{0,64}\{\s{0,64}"(?:' + b"|".join(map(re.escape, keys)) + rb')"\s{0,8}:')
