"""Where the form of a provider's item is stored: in the metadata of the first of its messages.

:mod:`reel.said.item_forms` describes forms. This module knows just enough to remove one.
"""

import re
from typing import Any

from reel.said.blocks import InvalidRecord
from reel.said.item_forms import COPIES, ITEM
from reel.said.records import Parts, read_exactly
from reeld.core.rows import Row, row_from_blocks

# The maximum number of records that a message names as its copies.
MOST_COPIES = 1000
# The first number that is no seq.
_END = 2**63
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
