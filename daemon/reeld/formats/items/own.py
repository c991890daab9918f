"""Items in a client's own format, such as a framework's, which come with their messages.

The daemon cannot convert them. So a client sends both, the item and its messages, and gets the item back unchanged;
all others read the messages. A foreign message comes back as a message.
"""

from collections.abc import Sequence
from typing import Any

from reel.base.errors import InvalidMessage, InvalidParams
from reel.base.strict_json import Json
from reel.said.blocks import kind_of
from reeld.core.rows import CheckedRow
from reeld.core.validation import Altered, rows_from
from reeld.formats.items.rows import ItemRows, rows_of, with_form

# The roles that the messages of an item may have.
_ROLES = ("user", "assistant", "tool")


def own_rows(name: str, items: Sequence[Json], messages: Any) -> ItemRows:
    """Return the rows of items of a client's own format, which come with their messages.

    Args:
        name: the format.
        items: the items.
        messages: for each item, the list of its messages.

    Raises:
        InvalidParams: there is no list for each item.
        InvalidMessage: an item has no message, or one that is not of a user, an assistant or a tool; ``data`` has the
            item's index.
    """
    if type(messages) is not list or len(messages) != len(items):
        has = f"a list of {len(messages)}" if type(messages) is list else kind_of(messages)
        raise InvalidParams(
            f"messages: expected for each of {len(items)} items the list of its messages, got {has}", field="messages"
        )
    each = enumerate(zip(items, messages, strict=True))
    return rows_of(with_form(name, item, *_rows_said(number, said)) for number, (item, said) in each)


def _rows_said(number: int, said: Any) -> tuple[list[CheckedRow], Altered]:
    """Return the rows of the messages that came with an item."""
    field = f"messages[{number}]"
    if type(said) is not list or not said:
        why = f"{field}: expected a list of at least one message, got {'an empty one' if said == [] else kind_of(said)}"
        raise InvalidMessage(why, index=number, field=field)
    try:
        rows, altered = rows_from(said)
    except InvalidMessage as error:
        why = error.message.removeprefix("messages")
        raise InvalidMessage(f"{field}{why}", index=number, field=field) from None
    for place, (row, parts) in enumerate(rows):
        role = row.kind if parts is None else parts.role
        if role not in _ROLES:
            why = f"{field}[{place}].role: expected one of {', '.join(_ROLES)}, got {role!r}"
            raise InvalidMessage(why, index=number, field=field)
        if row.origin is not None:
            why = f"{field}[{place}]: sent and ref are those of the item; give them in the lists sent and refs"
            raise InvalidMessage(why, index=number, field=field)
    return rows, altered
