"""Overwriting what a SQLite file has in bytes that SQLite does not use, in place.

``secure_delete`` overwrites a deleted cell, and nothing else. When SQLite moves cells between pages, copies of them
stay in the gap before the cells, and pages that were freed before keep all they had. ``VACUUM`` writes a file without
such bytes, but needs its size again in the directory for temporary files and in the WAL. Here nothing is written but
zeros, in place, so no room is needed. The process may be killed at any moment: SQLite reads none of these bytes.

The file must not change meanwhile (:mod:`reeld.store.sweep`). Its page types are known from its pointer map, which a
file with ``auto_vacuum`` has; so any page can be cleared without a walk through the tables.
"""

import os
from struct import Struct, error

from reel.base.errors import Storage
from reel.base.light_typing import NamedTuple
from reeld.store.pages import (
    DamagedPageError,
    Range,
    Trunk,
    cells_of,
    next_overflow,
    read_trunk,
    unused_in_overflow,
    unused_in_tree,
    unused_in_trunk,
)

_MAGIC = b"SQLite format 3\0"
_FILE_HEADER = 100
# From byte 16 on: the size of a page, four bytes, the reserved bytes, three bytes, the change counter, the number of
# pages, the first page of the free list and how many are free, and what follows up to the largest root page.
_FIELDS = Struct(">HxxBxxxIIII12xI")
_FIELDS_AT = 16
_VALID_FOR = Struct(">I")
_VALID_FOR_AT = 92
# Page types in the pointer map.
_ROOT, _FREE, _FIRST_OVERFLOW, _OVERFLOW, _TREE = range(1, 6)
_ENTRY = Struct(">BI")
# SQLite locks bytes of the page at this place, and has nothing in it.
_LOCKED = 1 << 30
# The pages that are read at once, and the pages of the pointer map that are kept.
_READ = 256
_KEPT = 64


class _Header(NamedTuple):
    page_size: int
    usable: int
    pages: int
    first_trunk: int
    has_map: bool


class Image:
    """The pages of a file that does not change.

    Args:
        descriptor: of the file, to read and write.
        is_in_doubt: whether it may have other bytes on the disk than in memory.

    Raises:
        OSError: it cannot be read.
        Storage: it has no pointer map, or is no database.
    """

    def __init__(self, descriptor: int, *, is_in_doubt: bool = False) -> None:
        self._descriptor = descriptor
        self._is_in_doubt = is_in_doubt
        header = _read_header(descriptor)
        if not header.has_map:
            raise Storage(
                "it was made without auto_vacuum, so nothing can be removed from it in place;"
                " with the daemon stopped, run in sqlite3: PRAGMA auto_vacuum = 2; VACUUM;"
            )
        self.page_size = header.page_size
        self._usable = header.usable
        # The pages of the database; those that the file has beyond them are unused.
        self._count = header.pages
        self.count = -(-os.fstat(descriptor).st_size // header.page_size)
        self._zeros = bytes(header.page_size)
        self._entries = header.usable // _ENTRY.size
        self._locked = _LOCKED // header.page_size + 1
        self._map: dict[int, bytes] = {}
        self._trunks = set(self._list_trunks(header.first_trunk))
        self._chunk_at, self._chunk = 1, b""

    def _list_trunks(self, number: int) -> list[int]:
        found: dict[int, None] = {}
        while number:
            if number in found or number > self._count:
                raise Storage("its list of free pages is damaged; see reel verify")
            found[number] = None
            number = self._trunk(number).following
        return [*found]

    def _trunk(self, number: int) -> Trunk:
        return read_trunk(self._read(number))

    def _read(self, number: int) -> bytes:
        page = os.pread(self._descriptor, self.page_size, (number - 1) * self.page_size)
        return page.ljust(self.page_size, b"\0")

    def _read_in_order(self, number: int) -> bytes:
        """Return a page, reading many at once if they are asked for in order."""
        at = (number - self._chunk_at) * self.page_size
        if not 0 <= at < len(self._chunk):
            pages = _READ if at == len(self._chunk) else 1
            self._chunk_at, at = number, 0
            self._chunk = os.pread(self._descriptor, pages * self.page_size, (number - 1) * self.page_size)
        return self._chunk[at : at + self.page_size].ljust(self.page_size, b"\0")

    def clear(self, number: int) -> bool:
        """Overwrite what SQLite does not use of a page; return whether there was anything.

        Raises:
            DamagedPageError: it is not known what SQLite uses of the page.
            OSError: the page cannot be read or written.
        """
        page = self._read_in_order(number)
        try:
            unused = self._unused(number, page)
        except (IndexError, error) as problem:
            raise DamagedPageError from problem
        doubt = self._is_in_doubt
        found = [(start, end) for start, end in unused if doubt or page[start:end] != self._zeros[: end - start]]
        for start, end in found:
            os.pwrite(self._descriptor, self._zeros[: end - start], (number - 1) * self.page_size + start)
        return bool(found)

    def _unused(self, number: int, page: bytes) -> list[Range]:
        if number == 1:
            return unused_in_tree(page, self._usable, _FILE_HEADER)
        if number in {self._locked, self._map_of(number)}:
            return []
        if number > self._count:
            return [(0, self._usable)]
        kind, parent = self._entry(number)
        if kind in {_ROOT, _TREE}:
            return unused_in_tree(page, self._usable, 0)
        if kind == _FREE:
            return unused_in_trunk(page, self._usable) if number in self._trunks else [(0, self._usable)]
        if kind in {_FIRST_OVERFLOW, _OVERFLOW}:
            return [] if next_overflow(page) else self._unused_in_last(number, kind, parent)
        raise DamagedPageError

    def _unused_in_last(self, number: int, kind: int, parent: int) -> list[Range]:
        """Return what the last overflow page of a cell does not use: its length is known to the cell alone."""
        pages = 1
        while kind == _OVERFLOW:
            pages, number = pages + 1, parent
            kind, parent = self._entry(number)
            if pages > self._count:
                raise DamagedPageError
        if kind != _FIRST_OVERFLOW:
            raise DamagedPageError
        tree = self._read(parent)
        for cell in cells_of(tree, self._usable, _FILE_HEADER if parent == 1 else 0):
            if cell.overflow == number:
                return unused_in_overflow(cell, pages, self._usable)
        raise DamagedPageError

    def _map_of(self, number: int) -> int:
        """Return the page of the pointer map that has the entry of a page."""
        place = (number - 2) // (self._entries + 1) * (self._entries + 1) + 2
        return place + 1 if place == self._locked else place

    def _entry(self, number: int) -> tuple[int, int]:
        """Return the type of a page, and the page that refers to it."""
        place = self._map_of(number)
        if place not in self._map:
            if len(self._map) >= _KEPT:
                self._map.clear()
            self._map[place] = self._read(place)
        kind, parent = _ENTRY.unpack_from(self._map[place], _ENTRY.size * (number - place - 1))
        return kind, parent


def _read_header(descriptor: int) -> _Header:
    header = os.pread(descriptor, _FILE_HEADER, 0)
    if len(header) < _FILE_HEADER or not header.startswith(_MAGIC):
        raise Storage("it is no SQLite database")
    page_size, reserved, changes, count, first, _, root = _FIELDS.unpack_from(header, _FIELDS_AT)
    page_size = 65536 if page_size == 1 else page_size
    (valid_for,) = _VALID_FOR.unpack_from(header, _VALID_FOR_AT)
    if valid_for != changes or not count:
        count = os.fstat(descriptor).st_size // page_size
    return _Header(page_size, page_size - reserved, count, first, bool(root))
