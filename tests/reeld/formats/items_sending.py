"""Items through a conversation: added, stored, and written again."""

from collections.abc import Iterable, Sequence
from typing import Any

from reel.base.strict_json import parse
from reel.wire.short_messages import unpacked
from reeld.core.open_calls import OpenCall
from reeld.formats.items.reading import ItemReader
from reeld.formats.items.writing import write_items
from reeld.formats.table import FORMATS
from tests.reeld.formats.histories import Json, entries_of


def stored(name: str, items: Sequence[Json], open_calls: Iterable[OpenCall] | None = ()) -> list[Json]:
    """Return the messages that items become, as they go over the wire."""
    found = ItemReader(FORMATS[name], None, lambda: "call_made", open_calls).rows(list(items))
    rows = [row for row, _ in found.rows]
    return shown([{"kind": row.kind, "content": row.content, "data_json": row.data_json} for row in rows])


def shown(messages: Iterable[Any]) -> list[Json]:
    """Return messages that were added as they go over the wire."""
    return [unpacked(entry.message) for entry in entries_of(messages) if entry.message is not None]


def written(name: str, messages: Iterable[Json]) -> list[Any]:
    """Return the items of messages, which go over the wire as UTF-8."""
    return [parse(item.encode().decode()) for found in write_items(name, messages, {}) for item in found.items or ()]


def again(name: str, items: Sequence[Json]) -> list[Any]:
    """Return items that were added and read."""
    return written(name, stored(name, items))
