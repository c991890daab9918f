"""Builds the rows for storing an item: those of its messages, the first one with its form."""

import re
from collections.abc import Iterable
from typing import Any

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json, encode
from reel.base.values import has_large_number, is_deeper
from reel.providers.json_values import dump
from reel.said.item_forms import ITEM, canonical, check_of, form_of, texts_of
from reel.said.records import Parts
from reeld.core.rows import CheckedRow, Row, row_from_blocks
from reeld.core.validation import Altered
from reeld.formats.items.writing import may_be_plain, plain_item
from reeld.formats.table import FORMATS

# The maximum depth of lists and maps of a form in metadata; a deeper one is kept as text.
_LEVELS = 5
# The JSON of a map that may have a number that some clients cannot hold, or a character that text cannot hold. A number
# stands behind one of three characters; ids and times, which have many digits as well, are texts.
_MAY_BE_LARGE = re.compile(r"[:,\[]-?[0-9.]*(?:[0-9]{16}|[eE])")
_NOT_CLEAN = re.compile(r"\\u(?:0000|d[89a-f])")


class ItemRows(NamedTuple):
    """The rows that items become.

    Args:
        rows: the rows.
        items: for each row, the number of its item.
        altered: how much of the messages was altered; the items come back unchanged.
    """

    rows: list[CheckedRow]
    items: list[int]
    altered: Altered


def rows_of(each: Iterable[tuple[list[CheckedRow], Altered]]) -> ItemRows:
    """Return the rows of items, from those of each."""
    rows: list[CheckedRow] = []
    numbers: list[int] = []
    replaced = as_text = 0
    for number, (made, altered) in enumerate(each):
        rows += made
        numbers += [number] * len(made)
        replaced += altered.replaced
        as_text += altered.numbers_as_text
    return ItemRows(rows, numbers, Altered(replaced, as_text))


def with_form(name: str, item: Json, rows: list[CheckedRow], altered: Altered) -> tuple[list[CheckedRow], Altered]:
    """Return the rows of an item's messages, the first with the data that they lack, each other with its index."""
    shown = [_shown(row) for row in rows]
    if len(shown) == 1 and _is_plain(name, item, shown[0]):
        return rows, altered
    form = form_of(item, texts_of(shown))
    kept: Json = {"format": name, "check": check_of(shown, form)}
    if len(shown) > 1:
        kept["of"] = len(shown)
    kept |= {"form": form} if _is_simple(form) else {"form_json": dump(form)}
    places = [kept, *({"part": place} for place in range(1, len(shown)))]
    return [_row_of(message, place) for message, place in zip(shown, places, strict=True)], altered


def _is_plain(name: str, item: Json, message: Json) -> bool:
    """Whether an item is exactly what its message converts to, so that it needs no form."""
    target = FORMATS.get(name)
    if target is None or message["provider_metadata"] or not may_be_plain(target, item, message):
        return False
    plain = plain_item(target, message)
    if plain != item:
        return False
    # 1 and true are equal in Python, but not in JSON.
    return all(type(value) is str for value in item.values()) or canonical(plain) == canonical(item)


def _is_simple(form: Any) -> bool:
    """Whether a form can be stored in metadata unchanged."""
    text = dump(form)
    if is_deeper(form, _LEVELS) or _NOT_CLEAN.search(text):
        return False
    return not _MAY_BE_LARGE.search(text) or not has_large_number(form)


def _row_of(message: Json, kept: Json) -> CheckedRow:
    """Return the row of a message that was read from another row, with the kept data of its item."""
    role, blocks, metadata = message["role"], message["content"], {**message["provider_metadata"], ITEM: kept}
    parts = Parts(role, blocks, metadata)
    is_text = len(blocks) == 1 and blocks[0].keys() == {"type", "text"} and blocks[0]["type"] == "text"
    if role != "tool" and is_text and "blocks" not in metadata:
        # The text is in a separate column, and need not be stored twice.
        return CheckedRow(Row(role, blocks[0]["text"], encode(metadata)), parts)
    return CheckedRow(row_from_blocks(role, blocks, metadata), parts)


def _shown(checked: CheckedRow) -> Json:
    """Return the message of a row as it will be sent to clients, except for its place."""
    (kind, content, _, _), parts = checked
    if parts is None:
        return {"role": kind, "content": [{"type": "text", "text": content}], "provider_metadata": {}, "seq": 0}
    return {"role": parts.role, "content": parts.content, "provider_metadata": parts.provider_metadata, "seq": 0}
