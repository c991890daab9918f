"""Messages of LangChain and messages of the log: how the one becomes the other.

What a message says becomes a neutral message, which everybody reads. The message itself is an item of the format
``x-langgraph`` beside it: its class, and those of its fields that are not as in an empty one; or, if that is not all of
it, what the serializer made of it. It comes back exactly as the serializer would give it back: that is tried before it
is stored.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    HumanMessageChunk,
    SystemMessage,
    SystemMessageChunk,
    ToolMessage,
    ToolMessageChunk,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from reel.integrations.langgraph import values
from reel.integrations.langgraph.values import NotAValue
from reel.item_forms import ITEM, check_of, form_of, item_from, texts_of
from reel.kinds import ROLES
from reel.values import clean, clean_deep

Json = dict[str, Any]

FORMAT = "x-langgraph"
# The protocol's limit for an id of a call and the name of a tool.
_LONGEST = 1024
_CLASSES: dict[str, type[BaseMessage]] = {
    kind.__name__: kind
    for kind in (
        *(AIMessage, HumanMessage, SystemMessage, ToolMessage),
        *(AIMessageChunk, HumanMessageChunk, SystemMessageChunk, ToolMessageChunk),
    )
}
# The fields that any value of a type fits.
_SIMPLE = {
    "content": str,
    "id": str,
    "name": str,
    "tool_call_id": str,
    "additional_kwargs": dict,
    "response_metadata": dict,
}
# Of these a copy is made, so that nobody changes the fields of another one.
_CHANGED = frozenset({dict, list})
_PLAIN = frozenset({str, int, float, bool, type(None)})
# How LangChain calls the providers whose thinking the daemon knows by another name.
_PROVIDERS = {"google_genai": "gemini", "google_vertexai": "gemini", "google": "gemini", "azure_openai": "openai"}
_INSTRUCTIONS = ("system", "developer")


class Kept:
    """A message as the serializer gives it back, which can be copied and compared fast.

    Args:
        serde: the serializer.
        kind: the class, if the message is made of ``fields``.
        fields: its fields: plain values, which nobody else changes.
        typed: what the serializer made of it, in the place of class and fields.
    """

    __slots__ = ("_fields", "_kind", "_seen", "_serde", "_typed")

    def __init__(
        self,
        serde: SerializerProtocol,
        kind: type[BaseMessage] | None,
        fields: Json | None,
        typed: tuple[str, bytes] | None = None,
    ) -> None:
        self._serde = serde
        self._kind = kind
        self._fields = fields
        self._typed = typed
        # The fields of the same message before it went through the serializer, such as a tuple that is a list now.
        self._seen: tuple[type, Json] | None = None

    def copy(self) -> Any:
        """Return a message of the caller's own."""
        if self._kind is None or self._fields is None:
            return self._serde.loads_typed(self._typed or ("null", b""))
        made: Any = object.__new__(self._kind)
        fields = _copied(self._fields)
        # As if it was unpickled: the validators have seen these values.
        made.__setstate__(
            {
                "__dict__": fields,
                "__pydantic_extra__": {},
                "__pydantic_fields_set__": set(fields),
                "__pydantic_private__": None,
            }
        )
        return made

    def calls(self) -> list[str]:
        """Return the ids of the calls of tools in the message."""
        return [call["id"] for call in self._field("tool_calls", ())]

    def result(self) -> str | None:
        """Return the id of the call whose result the message is; ``None`` if it is no result."""
        found: str | None = self._field("tool_call_id", None)
        return found

    def _field(self, name: str, default: Any) -> Any:
        return getattr(self.copy(), name, default) if self._fields is None else self._fields.get(name, default)

    def is_like(self, message: Any) -> bool:
        """Whether a message would be stored as this one."""
        try:
            fields = message.__dict__
            if type(message) is self._kind and fields == self._fields and not message.__pydantic_extra__:
                return True
            if self._seen is not None and self._seen == (type(message), fields) and not message.__pydantic_extra__:
                return True
        except Exception:  # what compares in a way of its own, such as an array
            fields = {}
        if self._serde.dumps_typed(message) != self.typed():
            return False
        if _is_plain(fields):
            self._seen = (type(message), _copied(fields))
        return True

    def typed(self) -> tuple[str, bytes]:
        """Return what the serializer makes of the message."""
        return self._typed or self._serde.dumps_typed(self.copy())


def _copied(value: Any) -> Any:
    """Return a copy of plain values; what cannot be changed is not copied."""
    if type(value) is dict:
        return {
            # Most lists and maps are empty.
            key: inside if type(inside) not in _CHANGED else _copied(inside) if inside else type(inside)()
            for key, inside in value.items()
        }
    return [_copied(inside) if type(inside) in _CHANGED else inside for inside in value]


def _is_plain(value: Any) -> bool:
    kind = type(value)
    if kind is dict:
        return all(type(key) in _PLAIN and _is_plain(inside) for key, inside in value.items())
    return kind in _PLAIN or (kind in (list, tuple) and all(map(_is_plain, value)))


def is_history(value: Any) -> bool:
    """Whether the value of a channel is a list of messages."""
    return type(value) is list and all(isinstance(message, BaseMessage) for message in value)


def stored(serde: SerializerProtocol, message: BaseMessage) -> tuple[Json, Kept]:
    """Return a message as it is added to the log, and as it will be read."""
    said = _said(message)
    item, kept = _item_of(serde, message)
    form = form_of(item, texts_of([said]))
    metadata = {"format": FORMAT, "check": check_of([said], form), "form_json": values.to_json(form)}
    return {**said, "provider_metadata": {**said["provider_metadata"], ITEM: metadata}}, kept


def restored_from_record(serde: SerializerProtocol, record: Mapping[str, Any]) -> Kept | None:
    """Return a message that :func:`stored` made; ``None`` if the record may be anything else.

    What the record says is not checked as that of others is, which takes longer than all the rest: its checksum is.

    Args:
        serde: the serializer.
        record: an event of the log, or what of it makes a message.
    """
    try:
        data, role = json.loads(record["data_json"]), ROLES[record["kind"]]
        if "blocks" in data:
            content, metadata = data["blocks"], data["provider_metadata"]
        else:
            content, metadata = [_text(record["content"])], data
        return restored(serde, {"role": role, "content": content, "provider_metadata": metadata})
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def restored(serde: SerializerProtocol, message: Json) -> Kept | None:
    """Return a message that :func:`stored` made; ``None`` for any other one, and for one that was changed since.

    Args:
        serde: the serializer.
        message: a message of the protocol.
    """
    found = message["provider_metadata"].get(ITEM)
    if type(found) is not dict or found.get("format") != FORMAT:
        return None
    try:
        text = found.get("form_json")
        form = json.loads(text) if text is not None else found["form"]
        if found.get("check") != check_of([message], form):
            return None
        return kept_from(serde, item_from(form, texts_of([message])))
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def item_of(serde: SerializerProtocol, message: BaseMessage) -> Json:
    """Return a message as plain JSON."""
    return _item_of(serde, message)[0]


def kept_of(serde: SerializerProtocol, message: BaseMessage) -> Kept:
    """Return a message as it would be read."""
    return _item_of(serde, message)[1]


def _item_of(serde: SerializerProtocol, message: BaseMessage) -> tuple[Json, Kept]:
    typed = serde.dumps_typed(message)
    name = type(message).__name__
    if _CLASSES.get(name) is type(message):
        empty = _empty(name)
        fields = {key: value for key, value in message.__dict__.items() if key not in empty or value != empty[key]}
        try:
            item = json.loads(json.dumps({"class": name, "fields": fields}))
            kept = kept_from(serde, item)
            made = kept.copy()
            if serde.dumps_typed(made) == typed and serde.loads_typed(typed).__getstate__() == made.__getstate__():
                return item, kept
        except (ValueError, TypeError, AttributeError, RecursionError):
            pass  # it has what JSON has no word for
    return {"typed": values.written(typed)}, Kept(serde, None, None, typed)


def kept_from(serde: SerializerProtocol, item: Json) -> Kept:
    """Return the message that was stored as an item.

    Raises:
        NotAValue: the item is no message.
    """
    # No `match`: it takes as long as all the rest.
    if type(item) is dict:
        name, given = item.get("class"), item.get("fields")
        if type(name) is str and type(given) is dict and name in _CLASSES:
            fields = {**_empty(name), **given}
            if not _are_simple(tuple(given), tuple(map(type, given.values()))):
                _require_valid(name, fields)
            return Kept(serde, _CLASSES[name], fields)
        if "typed" in item and isinstance(values.loaded(serde, item["typed"]), BaseMessage | dict):
            return Kept(serde, None, None, values.read(item["typed"]))  # a dict is one of a class that is not allowed
    raise NotAValue(f"no message: {str(item)[:100]}")


@lru_cache
def _are_simple(fields: Sequence[str], kinds: Sequence[type]) -> bool:
    """Whether any message can have fields of these types."""
    return all(_SIMPLE.get(field) is kind for field, kind in zip(fields, kinds, strict=True))


def _require_valid(name: str, fields: Json) -> None:
    """Require that a message of a class can have these fields."""
    try:
        made = _CLASSES[name].model_validate(fields)
    except Exception as error:  # validators of messages raise more than a ValidationError
        raise NotAValue(f"no {name}: {error}") from error
    if made.__dict__ != fields:
        raise NotAValue(f"no {name}: a field has another type")


@cache
def _empty(name: str) -> Json:
    """Return the fields of an empty message of a class."""
    needed = {"tool_call_id": ""} if name.startswith("Tool") else {}
    return dict(_CLASSES[name](content="", **needed).__dict__)


# What a message of LangChain says.


def _said(message: BaseMessage) -> Json:
    """Return what a message says, as a neutral message."""
    if isinstance(message, ToolMessage):
        result = {
            "type": "tool_result",
            "tool_call_id": _word(message.tool_call_id),
            "content": _result(message),
            "is_error": message.status == "error",
        }
        return {"role": "tool", "content": [result], "provider_metadata": {}}
    role = "assistant" if isinstance(message, AIMessage) else "user"
    metadata = {"role": "system"} if message.type == "system" else {}
    return {"role": role, "content": _blocks(message, role) or [_text("")], "provider_metadata": metadata}


def _result(message: ToolMessage) -> Any:
    if type(message.content) is str:
        return clean(message.content)[0]
    # A tool may return no blocks; a result has one at least.
    return [block for block in _blocks(message, "user") if block["type"] in ("text", "media", "opaque")] or ""


def _blocks(message: BaseMessage, role: str) -> list[Json]:
    if type(message.content) is str and not getattr(message, "tool_calls", None):
        parts: Sequence[Any] = [{"type": "text", "text": message.content}] if message.content else []
    else:
        try:
            parts = message.content_blocks
        except Exception:  # translators of content that is not as they expect it
            parts = [{"type": "text", "text": str(message.text)}]
    named = message.response_metadata.get("model_provider") if type(message.response_metadata) is dict else None
    provider = _PROVIDERS.get(named, named) if type(named) is str and named else None
    # What the daemon does not take, wherever it is, is in the item beside it.
    blocks: list[Json] = clean_deep([_block(part, role, provider) for part in parts])[0]
    return blocks


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _word(text: Any) -> str:
    return clean(str(text or "?"))[0][:_LONGEST]


def _block(part: Any, role: str, provider: str | None) -> Json:
    match part:
        case {"type": "text" | "text-plain", "text": str(text)}:
            return _text(text)
        case {"type": "reasoning"} if role == "assistant" and type(part.get("reasoning")) is str:
            signature = (part.get("extras") or {}).get("signature") or part.get("signature")
            signed = {"signature": signature} if type(signature) is str and signature else {}
            made = {"provider": provider} if provider else {}
            return {"type": "thinking", "text": part["reasoning"], **signed, **made}
        case {"type": "tool_call" | "invalid_tool_call" | "tool_call_chunk"} if role == "assistant":
            given = part.get("args")
            arguments = values.to_json(given) if type(given) is dict else str(given or "")
            call = {"id": _word(part.get("id")), "name": _word(part.get("name")), "arguments": arguments}
            return {"type": "tool_call", **call}
        case {"type": "image" | "audio" | "video" | "file" as kind} if _media(part, kind):
            return _media(part, kind)
    value = part.get("value", part) if type(part) is dict and part.get("type") == "non_standard" else part
    try:
        return {"type": "opaque", "provider": provider or "langchain", "data_json": json.dumps(value, allow_nan=False)}
    except (TypeError, ValueError, RecursionError):
        return _text(str(value))


def _media(part: Mapping[str, Any], kind: str) -> Json:
    mime = part.get("mime_type")
    mime = mime if type(mime) is str and mime else {"file": "application/octet-stream"}.get(kind, f"{kind}/*")
    for field, name in (("base64", "data_base64"), ("url", "url")):
        if type(part.get(field)) is str and part[field]:
            return {"type": "media", "mime_type": mime, name: part[field]}
    return {}


# What a message that somebody else wrote is for LangChain.


def converted(serde: SerializerProtocol, message: Mapping[str, Any], agent: str) -> list[Kept]:
    """Return the messages that a message of somebody else is: one, but for several results.

    They have ids, so that a reducer of LangGraph need not give them new ones.

    Args:
        serde: the serializer.
        message: a message of the protocol.
        agent: the id of the agent that has it.
    """
    made = _converted(message, f"reel-{agent[:8]}-{message['seq']}")
    return [kept_of(serde, each) for each in made]


def _converted(message: Mapping[str, Any], name: str) -> list[BaseMessage]:
    content = message["content"]
    if message["role"] == "tool":
        return [
            ToolMessage(
                content=block["content"] if type(block["content"]) is str else [*map(_part, block["content"])],
                tool_call_id=block["tool_call_id"],
                status="error" if block.get("is_error") else "success",
                id=f"{name}-{number}" if number else name,
            )
            for number, block in enumerate(content)
        ]
    said = [block for block in content if block["type"] != "tool_call"]
    only = said[0]["text"] if len(said) == 1 and said[0]["type"] == "text" else None
    parts = only if only is not None else [*map(_part, said)] or ""
    if message["role"] == "user":
        kind = SystemMessage if message["provider_metadata"].get("role") in _INSTRUCTIONS else HumanMessage
        return [kind(content=parts, id=name)]
    calls, invalid = [], []
    for block in content:
        if block["type"] == "tool_call":
            try:
                arguments = json.loads(block["arguments"] or "{}")
            except (ValueError, RecursionError):
                arguments = None
            known = {"id": block["id"], "name": block["name"]}
            if type(arguments) is dict:
                calls.append({**known, "args": arguments, "type": "tool_call"})
            else:
                invalid.append({**known, "args": block["arguments"], "error": None, "type": "invalid_tool_call"})
    return [AIMessage(content=parts, tool_calls=calls, invalid_tool_calls=invalid, id=name)]


def _part(block: Mapping[str, Any]) -> Json:
    match block["type"]:
        case "text":
            return {"type": "text", "text": block["text"]}
        case "thinking":
            signed = {"extras": {"signature": block["signature"]}} if block.get("signature") else {}
            return {"type": "reasoning", "reasoning": block["text"], **signed}
        case "media":
            mime: str = block["mime_type"]
            kind = mime.partition("/")[0]
            where = {"url": block["url"]} if block.get("url") is not None else {"base64": block["data_base64"]}
            return {"type": kind if kind in ("image", "audio", "video") else "file", "mime_type": mime, **where}
        case "opaque":
            return {"type": "non_standard", "value": json.loads(block["data_json"])}
    return {"type": "non_standard", "value": dict(block)}  # redacted thinking
