"""The elements of a large JSON array, one after another.

An export is one array of conversations in one file, and may have gigabytes. A parser that takes the whole text needs a
multiple of that as memory. Here only one element is in memory, and a damaged one does not take the others with it.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple, Protocol

# The longest element that is read, in bytes. What is parsed has to fit into memory several times.
MAX_ELEMENT = 32 << 20
_CHUNK = 1 << 20
# How much is looked at, in elements of the greatest length, to find a readable one after a damaged one.
_MOST_WASTED = 8
# A string, with its closing quote as the group, or a bracket. The quantifiers are possessive: nothing is tried twice.
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+("?)|[{}\[\]]', re.DOTALL)
# Of an element, or the end of the array.
_BEGINNING = re.compile(rb"[\[{\]]")
_FIRST_KEY = re.compile(rb'\{\s*"([^"\\]{1,64})"\s*:')
# The longest text that matches the beginning of an element.
_LONGEST_BEGINNING = 256


class Readable(Protocol):
    """What can be read."""

    def read(self, size: int, /) -> bytes:
        """Return up to ``size`` bytes; none at the end."""
        ...


class Element(NamedTuple):
    """A value in an array.

    Args:
        offset: where it begins, in bytes.
        data: its JSON; only a part of it if it has no end within the limit.
        complete: whether it has.
    """

    offset: int
    data: bytes
    complete: bool


class Elements:
    """The objects and arrays in the outermost array; an object that is not in an array is the only element.

    Args:
        file: the file, at its beginning.
        first_keys: the keys that an element may begin with, to find one behind a damaged one.
        limit: the longest element that is read.
    """

    def __init__(self, file: Readable, first_keys: Iterable[str], limit: int = MAX_ELEMENT) -> None:
        self._file = file
        self._limit = limit
        # What was read and is not done with; where that begins in the file; and the length of the last element in it.
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
            damaged: whether the last one was not what it should be. Then its end is not known either, and the next one
                begins where an object begins like the others.

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
            while found == b"]":  # what comes after it is read too: it may be a damaged comma
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
        """Drop what is before a match, and return what matches; nothing at the end of the file."""
        while (found := wanted.search(self._buffer)) is None:
            self._drop(max(len(self._buffer) - longest, 0))
            if not self._more():
                return b""
        text = bytes(found[0])  # before the drop: a match refers to the buffer
        self._drop(found.start())
        return text


def _beginnings(keys: Iterable[bytes]) -> re.Pattern[bytes]:
    """Return what matches the beginning of an element that follows another one."""
    return re.compile(rb',\s{0,64}\{\s{0,64}"(?:' + b"|".join(map(re.escape, keys)) + rb')"\s{0,8}:')
