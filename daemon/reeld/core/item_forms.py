"""Where the form of a provider's item is stored: in the metadata of the first of its messages.

:mod:`reel.said.item_forms` describes forms. This module knows just enough to remove one.
"""

import re
from collections.abc import Iterator
from typing import Any

from reel.base.light_typing import NamedTuple
from reel.said.blocks import InvalidRecord
from reel.said.item_forms import COPIES, COPIES_OF, ITEM
from reel.said.records import Parts, read_exactly
from reeld.core.events import data_of
from reeld.core.rows import Row, row_from_blocks

# The maximum number of records that a message names as its copies.
MOST_COPIES = 1000
# The first number that is no seq.
_END = 2**63
# How deep the places of copies may be in a record.
_DEEPEST = 8
# Formats with this prefix are never the daemon's.
_OWN = re.compile(r"x-[a-z0-9][a-z0-9-]{0,61}")


def is_own(name: str) -> bool:
    """Whether a format is a client's own."""
    return _OWN.fullmatch(name) is not None


def place_of(metadata: dict[str, Any]) -> int:
    """Return the index of a message among those of its item, from its metadata."""
    kept = metadata.get(ITEM)
    place = kept.get("part") if type(kept) is dict else None
    return place if type(place) is int and place > 0 else 0


def place_in(kind: str, content: str | None, data_json: str | None) -> int:
    """Return the index of the message of a row among those of its item; 0 if it belongs to none."""
    parts = _parts(kind, content, data_json)
    return 0 if parts is None else place_of(parts.provider_metadata)


def copies_in(kind: str, content: str | None, data_json: str | None) -> list[int]:
    """Return the seqs of records that hold copies of the message of a row, as its client said."""
    parts = _parts(kind, content, data_json)
    kept = None if parts is None else parts.provider_metadata.get(ITEM)
    found = kept.get(COPIES) if type(kept) is dict else None
    named = found[:MOST_COPIES] if type(found) is list else []
    return [seq for seq in named if type(seq) is int and 0 < seq < _END]


class Copy(NamedTuple):
    """Where a record has the content of messages again: the keys that lead there, and stretches of their seqs."""

    path: tuple[str, ...]
    stretches: list[tuple[int, int]]


def later_copies_in(data_json: str | None) -> list[Copy]:
    """Return where a record has the content of earlier messages again, as its program said; no path is all of it.

    A program says it in the data of the record, or in an object of that: of all of the record, or in the form of the
    object, of some places in it.
    """
    data = data_of(data_json)
    inside = [((key,), each) for key, each in data.items() if type(each) is dict]
    return [
        copy for path, each in [((), data), *inside] for copy in _copies_at(path, each.get(COPIES_OF), is_whole=True)
    ]


def _copies_at(path: tuple[str, ...], said: Any, *, is_whole: bool = False) -> Iterator[Copy]:
    if type(said) is list:
        pairs = [each for each in said if type(each) is list and [*map(type, each)] == [int, int]]
        yield Copy(() if is_whole else path, [(first, last) for first, last in pairs])
    elif type(said) is dict and len(path) < _DEEPEST:
        for key, each in said.items():
            yield from _copies_at((*path, key), each)


def without_form(kind: str, content: str | None, data_json: str | None) -> Row | None:
    """Return a row without the form of its item; ``None`` if it has none."""
    parts = _parts(kind, content, data_json)
    if parts is None or ITEM not in parts.provider_metadata:
        return None
    kept = {key: value for key, value in parts.provider_metadata.items() if key != ITEM}
    return row_from_blocks(parts.role, parts.content, kept)


def _parts(kind: str, content: str | None, data_json: str | None) -> Parts | None:
    if data_json is None:
        return None
    try:
        return read_exactly(kind, content, data_json)
    except InvalidRecord:
        return None
