"""Converts messages to a provider's items, one by one, without the repairs of a whole request."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json, encode, parse
from reel.base.values import is_clean
from reel.said.item_forms import ITEM, check_of, item_json_from, texts_of
from reeld.core.item_forms import place_of
from reeld.formats.around_texts import Around, around_text
from reeld.formats.format import Format
from reeld.formats.model import HistorySettings, RenderContext, Turn
from reeld.formats.repair import repair
from reeld.formats.repair_state import RepairState
from reeld.formats.table import FORMATS

# The key in the data of a message that is not the first of its item.
PART = '"part":'
# The tool name for an unknown call.
_UNKNOWN = "unknown"
_TEXT_KEYS = {"type", "text"}
_SPEAKERS = ("user", "assistant")
# The blocks of most items, one of each kind.
_SAMPLES: dict[str, Json] = {
    "text": {"type": "text", "text": "Hello?"},
    "tool_call": {"type": "tool_call", "id": "c1", "name": "look_up", "arguments": "{}"},
    "tool_result": {"type": "tool_result", "tool_call_id": "c1", "content": "done", "is_error": False},
}


class WrittenItems(NamedTuple):
    """The items of one message, or the single item of several messages.

    Args:
        first: the message, or the first of them.
        items: the items as JSON: one if it was added as an item of this format; none if the format has no words for it.
            ``None`` if the format is a client's own, and only that client can convert the message.
    """

    first: Json
    items: list[str] | None


def write_items(name: str, messages: Iterable[Json], calls: dict[str, Json]) -> Iterator[WrittenItems]:
    """Yield the items of messages, lazily.

    Args:
        name: the format, which may be a client's own.
        messages: messages in the form sent to clients, in order.
        calls: the calls before them, by their ids; theirs are added.
    """
    target = FORMATS.get(name)
    rest = iter(messages)
    after = next(rest, None)
    while after is not None:
        together, after = [after], next(rest, None)
        while after is not None and place_of(after["provider_metadata"]) == len(together) < parts_of(together[0]):
            together.append(after)
            after = next(rest, None)
        if (item := added_item(name, together)) is not None:
            calls.update(calls_in(together))
            yield WrittenItems(together[0], [item])
            continue
        for message in together:
            if target is None:
                yield WrittenItems(message, None)
                continue
            if (text := _text_item(target, message)) is not None:
                yield WrittenItems(message, [text])
                continue
            yield WrittenItems(message, [encode(item) for item in write_message(target, message, calls)])
            calls.update(calls_in([message]))


def calls_in(messages: Iterable[Json]) -> Iterator[tuple[str, Json]]:
    """Yield the calls of messages, with their ids."""
    for message in messages:
        if message["role"] == "assistant":
            for block in message["content"]:
                if block["type"] == "tool_call":
                    yield block["id"], block


def results_in(messages: Iterable[Json]) -> Iterator[str]:
    """Yield the ids of the calls that messages answer."""
    for message in messages:
        if message["role"] == "tool":
            for block in message["content"]:
                yield block["tool_call_id"]


def _kept(message: Json) -> Json:
    """Return a message's data about its item; any client can write it."""
    kept = message["provider_metadata"].get(ITEM)
    return kept if type(kept) is dict else {}


def parts_of(message: Json) -> int:
    """Return the number of messages of the item that begins with this one."""
    count = _kept(message).get("of")
    return count if type(count) is int and count > 1 else 1


def is_alone(message: Json) -> bool:
    """Whether what a message becomes does not depend on the messages behind it: its item has no other one."""
    return parts_of(message) == 1 and not place_of(message["provider_metadata"])


def added_item(name: str, messages: Sequence[Json]) -> str | None:
    """Return the item that messages were added as, as JSON; ``None`` if there is none, or they were changed since.

    Args:
        name: the format of the item.
        messages: the messages of one item.
    """
    kept = _kept(messages[0])
    if kept.get("format") != name or len(messages) != parts_of(messages[0]):
        return None
    try:
        text = kept.get("form_json")
        form = parse(text) if type(text) is str else kept.get("form")
        if kept.get("check") != check_of(messages, form):
            return None
        if type(text) is str:
            return item_json_from(text, texts_of(messages), ascii_only=True)
        made = item_json_from(encode(form), texts_of(messages))
        # A text that is JSON may have the escape of a lone surrogate, which no message over the wire can have.
        return made if is_clean(made) else encode(parse(made), ascii_only=True)
    except (ValueError, RecursionError):
        return None


def write_message(target: Format, message: Json, calls: Mapping[str, Json]) -> list[Json]:
    """Return the items that a message becomes: what a request would have of it, but for the messages around it.

    Args:
        target: the format.
        message: the message.
        calls: the calls that its results may answer, by their ids.
    """
    before: list[Json] = []
    if message["role"] == "tool":
        called = [calls.get(call_id) or _unknown(call_id) for call_id in dict.fromkeys(results_in([message]))]
        before = [{"role": "assistant", "content": called, "provider_metadata": {}, "seq": 0}]
    repaired = repair([*before, message], RepairState(), target, None, HistorySettings())
    exchange = repaired.open[0]
    turn: Turn = exchange.assistant if message["role"] == "assistant" else exchange.user
    if not getattr(turn, "results", ()) and not any(piece.message for piece in turn.pieces):
        return []
    return target.write_turn(turn, RenderContext(None))


def _unknown(call_id: str) -> Json:
    return {"type": "tool_call", "id": call_id, "name": _UNKNOWN, "arguments": "{}"}


def plain_item(target: Format, message: Json) -> Any:
    """Return the item that a message without metadata is, whatever is before it; ``None`` if that cannot be said.

    What such a message becomes is part of what is promised: it must never change for a message of one text, call or
    result. A test has all of them.
    """
    blocks = message["content"]
    if message["provider_metadata"] or len(blocks) != 1 or "provider_metadata" in blocks[0]:
        return None
    if message["role"] == "tool" and not _results_are_plain(target.name):
        return None
    if (text := _text_item(target, message)) is not None:
        return parse(text)
    written = write_message(target, message, {})
    return written[0] if len(written) == 1 else None


def may_be_plain(target: Format, item: Json, message: Json) -> bool:
    """Whether :func:`plain_item` may return an item, which takes a hundred times as long to find out.

    An item that has other keys than what a text, a call or a result becomes has a form.
    """
    keys = _plain_keys(target.name, message["role"], message["content"][0]["type"])
    return keys is None or keys == item.keys()


@cache
def _plain_keys(name: str, role: str, kind: str) -> set[str] | None:
    """Return the keys of the item that a block of a kind becomes; ``None`` if they are not known."""
    if kind not in _SAMPLES:
        return None
    message = {"role": role, "content": [_SAMPLES[kind]], "provider_metadata": {}, "seq": 0}
    item = plain_item(FORMATS[name], message)
    return None if item is None else set(item)


@cache
def _results_are_plain(name: str) -> bool:
    """Whether the item of a result is independent of its call."""
    target = FORMATS[name]
    result = {"type": "tool_result", "tool_call_id": "c1", "content": "done", "is_error": False}
    message = {"role": "tool", "content": [result], "provider_metadata": {}, "seq": 0}
    kind = {"provider": target.provider, "type": "custom_tool_call"}
    other = {**_unknown("c1"), "name": "other", "provider_metadata": kind}
    return write_message(target, message, {}) == write_message(target, message, {"c1": other})


class _Text(NamedTuple):
    """The JSON around a plain text in its item, and the keys that lead to the text there."""

    around: Around
    place: tuple[str | int, ...]


@cache
def _text_around(name: str, role: str) -> _Text | None:
    """Return the JSON around every text of a role; ``None`` if that varies."""
    around, one = around_text(partial(_written_text, name, role)), "a text"
    return None if around is None else _Text(around, _place_of(one, parse(around.fill(one))) or ())


def _place_of(text: str, value: Any) -> tuple[str | int, ...] | None:
    """Return the keys that lead to a text; ``None`` if it is not found."""
    if value == text:
        return ()
    inside = value.items() if type(value) is dict else enumerate(value) if type(value) is list else ()
    return next(((key, *rest) for key, found in inside if (rest := _place_of(text, found)) is not None), None)


def text_message(target: Format, item: Json) -> Json | None:
    """Return the message of an item that is nothing but a text, and nothing but what such a message becomes.

    Most items of the user's are. It is what the format's reader makes of it, in a fifth of the time.
    """
    known = [(role, found) for role in _SPEAKERS if (found := _text_around(target.name, role))]
    for role, found in known:
        text: Any = item
        try:
            for key in found.place:
                text = text[key]
        except (KeyError, IndexError, TypeError):
            continue
        if type(text) is not str or not is_clean(text) or not text.strip():
            continue
        if encode(item) == found.around.fill(text):
            return {"role": role, "content": [{"type": "text", "text": text}]}
    return None


def _written_text(name: str, role: str, text: str) -> str:
    message = {"role": role, "content": [{"type": "text", "text": text}], "provider_metadata": {}, "seq": 0}
    return "".join(map(encode, write_message(FORMATS[name], message, {})))


def _text_item(target: Format, message: Json) -> str | None:
    """Return the item of a message that is only a text, as JSON; ``None`` if it is more, or blank.

    The result equals that of :func:`write_message`, in a tenth of the time.
    """
    blocks = message["content"]
    if len(blocks) != 1 or message["provider_metadata"] or blocks[0].keys() != _TEXT_KEYS:
        return None
    text: str = blocks[0]["text"]
    found = _text_around(target.name, message["role"])
    return None if found is None or not text.strip() else found.around.fill(text)
