"""Pages of an SQLite file: its trees, and what a power cut may leave of a page that was being written.

https://www.sqlite.org/fileformat2.html#b_tree_pages
"""

import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing
from typing import NamedTuple

# A small page makes a tree of a few rows deep.
SIZE = 512
_INTERIOR = {0x02: "index", 0x05: "table"}
# Where the number of the rightmost child is, and where the places of the cells begin.
_RIGHTMOST, _CELLS = 8, 12


class Page(NamedTuple):
    """A page of a tree; ``children`` are the places in the file of the numbers of its children."""

    tree: str
    number: int
    children: list[int]

    @property
    def start(self) -> int:
        """Its place in the file."""
        return (self.number - 1) * SIZE


def trees(path: str) -> dict[str, int]:
    """Return the root page of each table and index."""
    with closing(sqlite3.connect(path)) as connection:
        return dict(connection.execute("SELECT name, rootpage FROM sqlite_schema WHERE rootpage > 0").fetchall())


def pages(content: bytes, tree: str, number: int) -> Iterator[Page]:
    """Yield a page and everything below it."""
    page = Page(tree, number, [])
    if content[page.start] in _INTERIOR:
        (cells,) = struct.unpack_from(">H", content, page.start + 3)
        places = struct.unpack_from(f">{cells}H", content, page.start + _CELLS)
        page.children.extend([*(page.start + place for place in places), page.start + _RIGHTMOST])
    yield page
    for child in page.children:
        yield from pages(content, tree, child_at(content, child))


def child_at(content: bytes, place: int) -> int:
    """Return the number of a child."""
    (number,) = struct.unpack_from(">I", content, place)
    return int(number)


def with_child(content: bytes, place: int, number: int) -> bytes:
    """Return the file with another number of a child."""
    return content[:place] + struct.pack(">I", number) + content[place + 4 :]


def with_page(content: bytes, page: Page, data: bytes) -> bytes:
    """Return the file with another content of a page."""
    return content[: page.start] + data + content[page.start + SIZE :]


def data_of(content: bytes, page: Page) -> bytes:
    """Return the content of a page."""
    return content[page.start : page.start + SIZE]
