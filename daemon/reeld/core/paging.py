"""Pages: how much of a list one reply holds. And batches: how much of a long list is done at a time.

A page is bounded in items and in bytes, so that no reply is larger than its reader expects. It always has at least one
item, so that a client that reads page by page gets past an item that is larger than a page. So has a batch.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

from reel.base.light_typing import NamedTuple

T = TypeVar("T")


class PackedPage(NamedTuple):
    """Items in the form of the protocol, as MessagePack, and whether there are more."""

    items: list[bytes]
    more: bool


def take_page(items: Iterable[T], limit: int, max_bytes: int, size: Callable[[T], int]) -> tuple[list[T], bool]:
    """Return the first items, at least one, that fit into a page, and whether there are more.

    Args:
        items: consumed only as far as needed, plus one item to learn whether there are more.
        limit: how many items at most.
        max_bytes: how many bytes at most.
        size: returns the bytes of an item.
    """
    page: list[T] = []
    room, rest = max_bytes, iter(items)
    for item in islice(rest, limit):
        room -= size(item)
        if room < 0 and page:
            return page, True
        page.append(item)
    return page, any(True for _ in rest)


def batches(items: Iterable[T], most: int, room: int, size: Callable[[T], int]) -> Iterator[list[T]]:
    """Yield all items in batches of so many, and of so much as ``size`` counts; read only as far as needed."""
    batch: list[T] = []
    left = room
    for item in items:
        taken = size(item)
        if batch and (len(batch) == most or taken > left):
            yield batch
            batch, left = [], room
        batch.append(item)
        left -= taken
    if batch:
        yield batch


def packed_page(items: Iterable[bytes], limit: int, max_bytes: int) -> PackedPage:
    """Return a page of packed items."""
    return PackedPage(*take_page(items, limit, max_bytes, len))
