"""The bytes of a page that SQLite does not use: pure, from the file format (https://sqlite.org/fileformat2.html).

SQLite never reads these bytes, but they have copies of cells that were deleted, moved or replaced.
"""

from collections.abc import Iterator
from struct import Struct, error, unpack_from
from typing import TypeAlias

from reel.base.light_typing import NamedTuple

# Where a part of a page begins and ends.
Range: TypeAlias = tuple[int, int]

_LEAF_HEADER, _INTERIOR_HEADER = 8, 12
_INDEX_INTERIOR, _TABLE_INTERIOR, _INDEX_LEAF, _TABLE_LEAF = 2, 5, 10, 13
_HEADERS = {
    _INDEX_INTERIOR: _INTERIOR_HEADER,
    _TABLE_INTERIOR: _INTERIOR_HEADER,
    _INDEX_LEAF: _LEAF_HEADER,
    _TABLE_LEAF: _LEAF_HEADER,
}
# The kind of a page, its first freeblock, its number of cells, where these begin, and how many bytes are in fragments.
_HEADER = Struct(">BHHHB")
# The next freeblock and the size of this one.
_FREEBLOCK = Struct(">HH")
# The next page of the list, and the number of free pages that this one names.
_TRUNK = Struct(">II")
_NUMBER = Struct(">I")
# Of an overflow page: the number of the next one.
OVERFLOW_HEADER = 4
_SMALLEST_CELL = 4
_LARGEST_PAGE = 65536
_MOST_OF_A_VARINT = 9


class DamagedPageError(Exception):
    """A page is not what its place in the file says; nothing in it is known to be unused."""


class Cell(NamedTuple):
    """A cell: its bytes in the page, its payload's bytes in all and in the page, and its first overflow page or 0."""

    size: int
    payload: int
    local: int
    overflow: int


def unused_in_tree(page: bytes, usable: int, at: int) -> list[Range]:
    """Return what a page of a table or an index does not use.

    Args:
        page: the page.
        usable: its bytes without those that an extension of SQLite reserves at the end.
        at: where its header begins: 100 in the first page of a file, and 0 in any other.

    Raises:
        DamagedPageError: it is no such page.
    """
    try:
        kind, block, cells, begins, fragments = _HEADER.unpack_from(page, at)
        pointers = at + _HEADERS[kind]
        places = unpack_from(f">{cells}H", page, pointers)
        begins = begins or _LARGEST_PAGE
        ends = pointers + 2 * cells
        if not ends <= begins <= usable or (cells and not begins <= min(places) <= max(places) < usable):
            raise DamagedPageError
        blocks = list(_freeblocks(page, usable, block, begins))
        unused = [(ends, begins), *((start + _FREEBLOCK.size, end) for start, end in blocks)]
        if fragments:
            sizes = ((place, place + _cell(page, usable, kind, place).size) for place in places)
            unused += _between(sorted([*blocks, *sizes]), begins, usable)
    except (KeyError, IndexError, error) as problem:
        raise DamagedPageError from problem
    return unused


def _freeblocks(page: bytes, usable: int, block: int, begins: int) -> Iterator[Range]:
    """Yield the freeblocks of a page, which are linked in ascending order."""
    last = begins
    while block:
        following, size = _FREEBLOCK.unpack_from(page, block)
        end = block + size
        if block < last or size < _FREEBLOCK.size or end > usable:
            raise DamagedPageError
        yield block, end
        last, block = end, following


def _between(used: list[Range], begins: int, usable: int) -> Iterator[Range]:
    """Yield what is between some ranges, which may not overlap."""
    last = begins
    for start, end in [*used, (usable, usable)]:
        if start < last:
            raise DamagedPageError
        if start > last:
            yield last, start
        last = end


def cells_of(page: bytes, usable: int, at: int) -> Iterator[Cell]:
    """Yield the cells of a page of a table or an index.

    Raises:
        DamagedPageError: it is no such page.
    """
    try:
        kind, _, cells, _, _ = _HEADER.unpack_from(page, at)
        for place in unpack_from(f">{cells}H", page, at + _HEADERS[kind]):
            yield _cell(page, usable, kind, place)
    except (KeyError, IndexError, error) as problem:
        raise DamagedPageError from problem


def _cell(page: bytes, usable: int, kind: int, place: int) -> Cell:
    at = place + OVERFLOW_HEADER if kind in {_INDEX_INTERIOR, _TABLE_INTERIOR} else place
    number, at = _varint(page, at)
    if kind == _TABLE_INTERIOR:
        return Cell(max(at - place, _SMALLEST_CELL), 0, 0, 0)
    if kind == _TABLE_LEAF:
        _, at = _varint(page, at)
        most = usable - 35
    else:
        most = (usable - 12) * 64 // 255 - 23
    if number <= most:
        return Cell(max(at + number - place, _SMALLEST_CELL), number, number, 0)
    least = (usable - 12) * 32 // 255 - 23
    local = least + (number - least) % (usable - OVERFLOW_HEADER)
    if local > most:
        local = least
    (overflow,) = _NUMBER.unpack_from(page, at + local)
    return Cell(at + local + _NUMBER.size - place, number, local, overflow)


def _varint(page: bytes, at: int) -> tuple[int, int]:
    """Return a varint, and where it ends."""
    value = 0
    for number in range(_MOST_OF_A_VARINT - 1):
        byte = page[at + number]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:  # noqa: PLR2004 - the last byte
            return value, at + number + 1
    return value << 8 | page[at + _MOST_OF_A_VARINT - 1], at + _MOST_OF_A_VARINT


def unused_in_overflow(cell: Cell, pages: int, usable: int) -> list[Range]:
    """Return what the last of a cell's overflow pages does not use.

    Args:
        cell: the cell.
        pages: the number of its overflow pages.
        usable: the usable bytes of a page.

    Raises:
        DamagedPageError: the cell has another number of overflow pages.
    """
    room = usable - OVERFLOW_HEADER
    rest = cell.payload - cell.local - (pages - 1) * room
    if not 0 < rest <= room:
        raise DamagedPageError
    return [(OVERFLOW_HEADER + rest, usable)]


class Trunk(NamedTuple):
    """A page of the list of free pages: the next one or 0, and how many pages it names."""

    following: int
    leaves: int


def read_trunk(page: bytes) -> Trunk:
    """Return a page of the list of free pages."""
    return Trunk(*_TRUNK.unpack_from(page, 0))


def unused_in_trunk(page: bytes, usable: int) -> list[Range]:
    """Return what a page of the list of free pages does not use.

    Raises:
        DamagedPageError: it is no such page.
    """
    ends = _TRUNK.size + _NUMBER.size * read_trunk(page).leaves
    if ends > usable:
        raise DamagedPageError
    return [(ends, usable)]


def next_overflow(page: bytes) -> int:
    """Return the page that continues an overflow page, or 0."""
    (number,) = _NUMBER.unpack_from(page, 0)
    return int(number)
