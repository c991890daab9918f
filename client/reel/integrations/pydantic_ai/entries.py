"""The entries of a conversation of Pydantic AI: an agent's items, and messages that others added.

An entry is an item, and its id is the item's ``ref``. A message without a ``ref`` was added by another program; the id
of its entry names its agent and its seq.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from functools import cache
from typing import Any, Final

from pydantic import ValidationError
from pydantic_ai.conversation_store import ConversationEntry
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter
from pydantic_core import PydanticSerializationError

from reel import requests
from reel.integrations.pydantic_ai.messages import Json, MessageReader, as_words
from reel.integrations.results_first import results_first
from reel.replies import ItemsPage
from reel.requests import Call
from reel.sync.client import Client

FORMAT: Final = "x-pydantic-ai"
# The maximum number of messages on a page, and so the maximum of ``last``.
_PAGE: Final = 10_000
# The id of an entry without a ``ref``: the agent's id, and the seq.
_PLACE: Final = re.compile(r"([0-9a-f]{32}):([1-9][0-9]{0,14})")
# JSON with at most this many brackets is not nested too deep for the framework.
_SURELY_READ: Final = 100
_SURROGATES: Final = re.compile("[\ud800-\udfff]")


def place_in(entry_id: str) -> tuple[str, int] | None:
    """Return the agent's id and the seq in the id of an entry without a ``ref``; ``None`` for any other id."""
    found = _PLACE.fullmatch(entry_id)
    return None if found is None else (found[1], int(found[2]))


def _entry_id(agent: str, item: Mapping[str, Any]) -> str:
    return str(item.get("ref") or f"{agent}:{item['seq']}")


def items_of(messages: list[ModelMessage]) -> list[Json]:
    """Return the JSON of messages; U+FFFD replaces lone surrogates, which UTF-8 cannot encode.

    Raises:
        UserError: the framework cannot write one of them as JSON, or could not read it back.
    """
    try:
        dumped = ModelMessagesTypeAdapter.dump_json(messages).decode()
    except PydanticSerializationError:
        dumped = "[{}]".format(",".join(_without_surrogates(message, at) for at, message in enumerate(messages)))
    items = json.loads(dumped)
    if may_be_deep(dumped):
        _require_depth(items)
    return [_shortened(item, message) for item, message in zip(items, messages, strict=True)]


def may_be_deep(text: str) -> bool:
    """Whether JSON may be nested deeper than the framework reads, which is 200 levels."""
    return text.count("[") + text.count("{") > _SURELY_READ


def _require_depth(items: list[Json]) -> None:
    """Require that the framework can read messages back.

    Raises:
        UserError: it cannot.
    """
    for at, item in enumerate(items):
        text = json.dumps([item])
        if may_be_deep(text):
            try:
                ModelMessagesTypeAdapter.validate_json(text)
            except ValidationError as error:
                raise UserError(f"new message {at}: {unreadable(error)}") from None


def unreadable(error: ValidationError) -> str:
    """Return the reason for refusing a message that is nested too deep."""
    why = error.errors(include_url=False, include_input=False)[0]["msg"]
    return f"the framework could not read it again, a value in it is nested too deep: {why}"


def _without_surrogates(message: ModelMessage, at: int) -> str:
    try:
        (value,) = ModelMessagesTypeAdapter.dump_python([message], mode="json")
    except PydanticSerializationError as error:
        raise UserError(f"new message {at}: there is no JSON for it: {error}") from None
    return _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", json.dumps(value, ensure_ascii=False))


def _shortened(item: Json, message: ModelMessage) -> Json:
    """Return the JSON of a message without empty fields, about half of it: nulls, and a usage of 0."""
    short = _without_nulls(item, message)
    if "usage" in short:
        short["usage"] = {key: value for key, value in short["usage"].items() if value}
    short["parts"] = [_without_nulls(part, of) for part, of in zip(item["parts"], message.parts, strict=True)]
    return short


def _without_nulls(item: Json, of: Any) -> Json:
    kind: Any = type(of)
    optional = _optional(kind)
    return {key: value for key, value in item.items() if value is not None or key not in optional}


@cache
def _optional(kind: Any) -> frozenset[str]:
    """Return the fields of a type that are null if they are missing."""
    return frozenset(field.name for field in fields(kind) if field.default is None)


def tip(client: Client, agent: str) -> str | None:
    """Return the id of the newest entry of the current conversation."""
    items = _call(agent, last=1)
    found = client.call(items).items
    return _entry_id(agent, found[-1]) if found else None


def seq_of(client: Client, agent: str, entry_id: str) -> int | None:
    """Return the seq of an entry in the past of an agent; ``None`` if it does not exist."""
    if (place := place_in(entry_id)) is None:
        events = client.history(agent, refs=[entry_id], inherited=True).events
        return events[0]["seq"] if events else None
    uid, seq = place
    if uid != agent:
        return None
    events = client.history(agent, seq - 1, limit=1, inherited=True).events
    return seq if events and events[0]["seq"] == seq else None


def is_current(client: Client, agent: str, entry_id: str, seq: int) -> bool:
    """Whether the current conversation has an entry; one that a clone into the agent brought may have the same seq."""
    items = client.call(_call(agent, since=seq - 1, limit=1)).items
    return bool(items) and items[0]["seq"] == seq and _entry_id(agent, items[0]) == entry_id


def behind(client: Client, agent: str, seq: int) -> int | None:
    """Return the seq of the first entry of the current conversation that is later; ``None`` if there is none."""
    items = client.call(_call(agent, since=seq, limit=1)).items
    return items[0]["seq"] if items else None


def read_entries(client: Client, agent: str, at: int, limit: int | None = None) -> list[ConversationEntry]:
    """Return the entries of the conversation as it was at a position.

    Foreign messages between a call and its result are moved after the result.

    Args:
        client: the client.
        agent: the agent's id.
        at: the position, a seq.
        limit: only this many of the last entries.
    """
    # One more than the limit: the first entry points at it.
    window = {"limit": _PAGE} if limit is None or limit >= _PAGE else {"last": limit + 1}
    pages = client.pages(_call(agent, **window))
    first = next(pages)
    if first.head != at:  # otherwise it is the current conversation, which is found faster
        pages = client.pages(_call(agent, at=at, **window))
        first = next(pages)
    items = [*first.items, *(item for page in pages for item in page.items)]
    ids = [_entry_id(agent, item) for item in items]
    added = [place for place, item in enumerate(items) if "item_json" not in item]
    # The ids stay in place: the next save comes after the last of them.
    messages = results_first(read_messages(items), _calls, _results, _is_prompt, added)
    entries = [
        ConversationEntry(id=entry_id, parent_id=parent_id, message=message)
        for entry_id, parent_id, message in zip(ids, [None, *ids], messages, strict=False)
    ]
    return entries if limit is None else entries[-limit:]


def _calls(message: ModelMessage) -> list[str]:
    return [part.tool_call_id for part in message.parts if part.part_kind == "tool-call"]


def _results(message: ModelMessage) -> list[str]:
    return [part.tool_call_id for part in message.parts if part.part_kind in ("tool-return", "retry-prompt")]


def _is_prompt(message: ModelMessage) -> bool:
    return any(part.part_kind == "user-prompt" for part in message.parts)


def _call(agent: str, **window: int) -> Call[ItemsPage]:
    """Return the call that reads a page of items, with their JSON: the framework parses it."""
    return requests.items(agent, FORMAT, **window)._replace(read=lambda result: ItemsPage(**result))


def read_messages(items: Sequence[Mapping[str, Any]]) -> list[ModelMessage]:
    """Convert items to messages of the framework."""
    texts = list(_texts(items))
    try:
        messages: list[ModelMessage] = ModelMessagesTypeAdapter.validate_json(f"[{','.join(texts)}]")
    except ValidationError:  # a newer version has written one
        return [_message(text) for text in texts]
    return messages


def _texts(items: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    is_ours = all("item_json" in item for item in items)
    reader = MessageReader()
    for item in items:
        if "item_json" in item:
            if not is_ours:
                reader.note(_parsed(item["item_json"]))
            yield item["item_json"]
        else:
            yield json.dumps(reader.item_of(item["message"], item.get("sent") or item["time"]))


def _parsed(text: str) -> Json:
    """Parse an item; any client can write one, even with a number of more digits than Python reads."""
    try:
        item: Json = json.loads(text)
    except ValueError:
        return {}
    return item


def _message(text: str) -> ModelMessage:
    """Return a message; parts that this version of the framework cannot read become text."""
    with suppress(ValidationError):
        message: ModelMessage = ModelMessagesTypeAdapter.validate_json(f"[{text}]")[0]
        return message
    item = _parsed(text)
    parts = item.get("parts")
    if type(parts) is list:
        known = [part if _is_known(item, part) else as_words(part, item.get("kind")) for part in parts]
        with suppress(ValidationError):
            return _valid({**item, "parts": known})
    return _valid({"kind": "request", "parts": [as_words(item or text, "request")]})


def _is_known(item: Json, part: Any) -> bool:
    try:
        _valid({**item, "parts": [part]})
    except ValidationError:
        return False
    return True


def _valid(item: Json) -> ModelMessage:
    text = _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", json.dumps([item], ensure_ascii=False))
    return ModelMessagesTypeAdapter.validate_json(text)[0]
