"""Items in a provider's format, added and read one by one: ``add`` and ``messages`` with a format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from reel import replies
from reel.base.errors import InvalidMessage, InvalidParams
from reel.base.light_typing import TYPE_CHECKING
from reel.requests.calls import Call, call, reply_reader

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from reel.said.formats import Body
    from reel.said.messages import NewMessage


def add_items(  # noqa: PLR0913 - the parameters of the protocol
    agent: str,
    items: str | Iterable[Body],
    format: str,  # noqa: A002 - the protocol's name
    create: bool | None = None,  # noqa: FBT001 - in the protocol's order
    from_: int | None = None,
    tags: Mapping[str, str] | None = None,
    *,
    model: str | None = None,
    messages: Iterable[Sequence[NewMessage]] | None = None,
    refs: Sequence[str | None] | None = None,
    sent: Sequence[int | None] | None = None,
    if_stands: int | None = None,
    if_seq: int | None = None,
    key: str | None = None,
) -> Call[replies.AddedItems]:
    """Add items of a provider's history, such as input items of Responses, all or none.

    Their content is stored as messages, which every client can read; :func:`items` returns the items unchanged.

    Args:
        agent: a name or an id.
        items: an iterable of items, each a map, JSON, or an object of the provider's SDK; or the JSON of a list.
        format: as in :func:`render`, or a name of your own that begins with ``x-``.
        create: create the agent if it does not exist.
        from_: the seq of a message of the current conversation: it and all later ones are replaced. ``items`` may be
            empty then.
        tags: the tags of the agent if this creates it.
        model: the model that wrote the assistant's items.
        messages: for each item of your own format, the messages with its content.
        refs: for each item its id elsewhere, or ``None``; an item whose id the agent's past already has is left out.
        sent: for each item the time when it was sent, in milliseconds since the epoch, or ``None``.
        if_stands: as in :func:`add`.
        if_seq: only if the agent's head is still this seq.
        key: makes the command safe to repeat. Default: the client makes one.

    Raises:
        InvalidMessage: an item is not an object; ``data`` has its index.
        InvalidParams: ``items`` is something else, or the conversation has no message ``from_``.
        Conflict: the agent's head is not ``if_seq``; ``data`` has the head.
        NotFound: there is no such agent.
        Killed: the agent was killed.
    """
    said = None if messages is None else list(map(list, messages))
    given = {**locals(), "items": _items(items), "messages": said}
    del given["said"]
    return call("add", _read_added, given, writes=True)


def _read_added(result: dict[str, Any]) -> replies.AddedItems:
    """Read a reply; if nothing was written, it has no command and no time."""
    return reply_reader(replies.AddedItems)({"command": 0, "time": 0, **result})


def _items(given: str | Iterable[Body]) -> str:
    """Return items as the JSON of a list, which can have any number and depth, unlike the other forms of a request."""
    if isinstance(given, str):
        return given
    if isinstance(given, Mapping | bytes | bytearray | memoryview) or not isinstance(given, Iterable):
        raise InvalidParams(f"items: expected an iterable of items, got a {type(given).__name__}", field="items")
    from reel.said.formats import json_text  # noqa: PLC0415 - most requests have no items

    texts = []
    for index, item in enumerate(given):
        try:
            texts.append(json_text(item))
        except ValueError as error:
            raise InvalidMessage(f"items[{index}]: {error}", index=index, field=f"items[{index}]") from None
    return f"[{','.join(texts)}]"


def items(
    agent: str,
    format: str,  # noqa: A002 - the protocol's name
    since: int | None = None,
    limit: int | None = None,
    last: int | None = None,
    at: int | None = None,
    *,
    max_bytes: int | None = None,
) -> Call[replies.ItemsPage]:
    """Read the current conversation in a provider's format, item by item.

    An item that was added in this format is returned unchanged. Every other message is converted, and may become
    several items, or none if the format cannot express it. If the format is your own, it has ``message`` in place of
    ``item``.

    Args:
        agent: a name or an id.
        format: as in :func:`render`, or a name of your own that begins with ``x-``.
        since: only items later than this seq.
        limit: the maximum number of messages on a page, 1 to 10,000. Default: 1,000.
        last: only the items of this many of the newest messages, oldest first.
        at: the conversation at this seq.
        max_bytes: the maximum size of a page, which has the items of at least one message. Default: 8 MiB.
    """
    return call("messages", _read_page, locals(), items="items")


def _read_page(result: dict[str, Any]) -> replies.ItemsPage:
    from reel.base.strict_json import parse  # noqa: PLC0415 - most replies have no JSON

    def read(found: dict[str, Any]) -> dict[str, Any]:
        beside = {field: value for field, value in found.items() if field != "item_json"}
        return {**beside, "item": parse(found["item_json"])} if "item_json" in found else found

    return reply_reader(replies.ItemsPage)({**result, "items": [read(found) for found in result["items"]]})
