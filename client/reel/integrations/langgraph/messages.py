"""How LangChain's messages are stored in the log, so that they come back unchanged.

The neutral message, which every client can read (:mod:`reel.integrations.langgraph.translation`), lacks some fields. So
the message itself is stored beside it, as an item of the format ``x-langgraph``: its class, and the fields that differ
from those of an empty message. If these do not restore it exactly, the item is the serializer's output. This is tested
before a message is stored.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
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
from reel.integrations.langgraph.translation import from_neutral, to_neutral
from reel.integrations.langgraph.values import NotAValue
from reel.providers.blocks import text as text_block
from reel.said.item_forms import COPIES, ITEM, check_of, form_of, item_from, texts_of
from reel.said.kinds import ROLES
from reel.said.messages import COMPACTED

Json = dict[str, Any]

FORMAT = "x-langgraph"
_CLASSES: dict[str, type[BaseMessage]] = {
    kind.__name__: kind
    for kind in (
        *(AIMessage, HumanMessage, SystemMessage, ToolMessage),
        *(AIMessageChunk, HumanMessageChunk, SystemMessageChunk, ToolMessageChunk),
    )
}
# The fields that accept any value of a type.
_SIMPLE = {
    "content": str,
    "id": str,
    "name": str,
    "tool_call_id": str,
    "additional_kwargs": dict,
    "response_metadata": dict,
}
# Values of these types are copied, so that no message shares them with another one.
_CHANGED = frozenset({dict, list})
_PLAIN = frozenset({str, int, float, bool, type(None)})


class Kept:
    """A message as the serializer restores it, for fast copying and comparing.

    Args:
        serde: the serializer.
        kind: the class, if the message is stored as ``fields``.
        fields: its fields: plain values that nothing else modifies.
        typed: the serializer's output, in place of class and fields.
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
        """Return a copy that the caller may modify."""
        if self._kind is None or self._fields is None:
            return self._serde.loads_typed(self._typed or ("null", b""))
        made: Any = object.__new__(self._kind)
        fields = _copied(self._fields)
        # As in unpickling: these values were validated before.
        made.__setstate__(
            {
                "__dict__": fields,
                "__pydantic_extra__": {},
                "__pydantic_fields_set__": set(fields),
                "__pydantic_private__": None,
            }
        )
        return made

    @property
    def id(self) -> str:
        """The id of the message; empty if it has none."""
        return str(self._field("id", None) or "")

    def calls(self) -> list[str]:
        """Return the ids of the calls of tools in the message."""
        return [call["id"] for call in self._field("tool_calls", ())]

    def result(self) -> str | None:
        """Return the id of the call whose result the message is; ``None`` if it is not a result."""
        found: str | None = self._field("tool_call_id", None)
        return found

    def _field(self, name: str, default: Any) -> Any:
        return getattr(self.copy(), name, default) if self._fields is None else self._fields.get(name, default)

    def is_like(self, message: Any) -> bool:
        """Whether a message would be stored in the same way as this one."""
        try:
            fields = message.__dict__
            if type(message) is self._kind and fields == self._fields and not message.__pydantic_extra__:
                return True
            if self._seen is not None and self._seen == (type(message), fields) and not message.__pydantic_extra__:
                return True
        except Exception:  # a value with its own comparison, such as an array
            fields = {}
        if self._serde.dumps_typed(message) != self.typed():
            return False
        if _is_plain(fields):
            self._seen = (type(message), _copied(fields))
        return True

    def typed(self) -> tuple[str, bytes]:
        """Return the serializer's output for the message."""
        return self._typed or self._serde.dumps_typed(self.copy())


def _copied(value: Any) -> Any:
    """Return a copy of plain values; immutable values are not copied."""
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


def stored(serde: SerializerProtocol, message: BaseMessage, *, is_first: bool) -> tuple[Json, Kept]:
    """Return the form of a message that is added to the log, and the form that will be read.

    :func:`with_copies` completes the former.

    Args:
        serde: stores what a message has beside its text.
        message: the message.
        is_first: whether it is the first of its list. A summary that is not sums up what a subgraph has had, and
            replaces nothing.
    """
    said = to_neutral(message)
    if message.additional_kwargs.get("lc_source") == "summarization":  # by LangChain's SummarizationMiddleware
        said = {**said, "provider_metadata": {**said["provider_metadata"], COMPACTED: is_first}}
    item, kept = _item_of(serde, message)
    form = form_of(item, texts_of([said]))
    metadata = {"format": FORMAT, "check": check_of([said], form), "form_json": values.to_json(form)}
    return {**said, "provider_metadata": {**said["provider_metadata"], ITEM: metadata}}, kept


def with_copies(message: Json, seqs: Sequence[int]) -> Json:
    """Return the form of a message that names the records that have its content as well."""
    if not seqs:
        return message
    metadata = message["provider_metadata"]
    return {**message, "provider_metadata": {**metadata, ITEM: {**metadata[ITEM], COPIES: [*seqs]}}}


def restored_from_record(serde: SerializerProtocol, record: Mapping[str, Any]) -> Kept | None:
    """Return a message that :func:`stored` made; ``None`` if the record may be anything else.

    Only the checksum of the record is verified. Full validation, as for foreign messages, takes longer than the rest.

    Args:
        serde: the serializer.
        record: an event of the log, or its parts that make a message.
    """
    try:
        data, role = json.loads(record["data_json"]), ROLES[record["kind"]]
        if "blocks" in data:
            content, metadata = data["blocks"], data["provider_metadata"]
        else:
            content, metadata = [text_block(record["content"])], data
        return restored(serde, {"role": role, "content": content, "provider_metadata": metadata})
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def restored(serde: SerializerProtocol, message: Json) -> Kept | None:
    """Return a message that :func:`stored` made; ``None`` for any other one, and for one changed since.

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


def converted(serde: SerializerProtocol, message: Mapping[str, Any], agent: str) -> list[Kept]:
    """Return the messages for one that another program wrote: one, unless it has several results.

    They have ids, so that a reducer of LangGraph need not give them new ones.

    Args:
        serde: the serializer.
        message: a message of the protocol.
        agent: the id of the agent that has it.
    """
    made = from_neutral(message, f"reel-{agent[:8]}-{message['seq']}")
    return [kept_of(serde, each) for each in made]


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
            pass  # JSON cannot represent it
    return {"typed": values.written(typed)}, Kept(serde, None, None, typed)


def kept_from(serde: SerializerProtocol, item: Json) -> Kept:
    """Return the message that was stored as an item.

    Raises:
        NotAValue: the item is not a message.
    """
    # No `match`: it would take as long as all the rest.
    if type(item) is dict:
        name, given = item.get("class"), item.get("fields")
        if type(name) is str and type(given) is dict and name in _CLASSES:
            fields = {**_empty(name), **given}
            if not all(_SIMPLE.get(field) is type(value) for field, value in given.items()):
                _require_valid(name, fields)
            return Kept(serde, _CLASSES[name], fields)
        if "typed" in item and isinstance(values.loaded(serde, item["typed"]), BaseMessage | dict):
            return Kept(serde, None, None, values.read(item["typed"]))  # a dict stands for a class that is not allowed
    raise NotAValue(f"no message: {str(item)[:100]}")


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
