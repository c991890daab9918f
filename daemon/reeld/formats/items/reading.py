"""Converts a provider's items to messages, one by one, with all data that the messages lack."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any

from reel.base.errors import InvalidMessage, InvalidParams
from reel.base.strict_json import Json, parse_bounded
from reel.providers.metadata import opaque_block
from reel.said.blocks import kind_of
from reeld.core.open_calls import OpenCall
from reeld.core.rows import CheckedRow
from reeld.core.validation import Altered, rows_from
from reeld.formats.format import Format
from reeld.formats.items.rows import ItemRows, rows_of, with_form
from reeld.formats.items.writing import calls_in, results_in, text_message, write_message
from reeld.formats.table import FORMATS

# A text shorter than this is a role or a type, and is not content.
_WORDS = 10


class OpenCallsNeeded(Exception):
    """Raised when a result does not name its call, and the earlier calls are unknown."""


def parse_items(given: Any, *, may_be_empty: bool = False) -> list[Json]:
    """Return the items of a client: a list of objects, or JSON of such a list.

    Raises:
        InvalidParams: it is not a list, or it is empty though it must not be.
        InvalidMessage: an element is not an object; ``data`` has its index.
    """
    items = given
    if type(given) is str:
        try:
            items = parse_bounded(given)
        except (ValueError, RecursionError) as error:
            raise InvalidParams(f"items: invalid JSON: {error}", field="items") from None
    if type(items) is not list or not (items or may_be_empty):
        shown = "an empty one" if items == [] else kind_of(items)
        raise InvalidParams(f"items: expected a list of at least one item, got {shown}", field="items")
    for index, item in enumerate(items):
        if type(item) is not dict:
            raise InvalidMessage(
                f"items[{index}]: expected an object, got {kind_of(item)}", index=index, field=f"items[{index}]"
            )
    return items


class ItemReader:
    """Reads items one by one.

    Args:
        target: their format.
        model: the model that wrote the assistant's items, if known.
        made_id: returns an id that no other call has; with a number, it is that of a call without one.
        open_calls: the calls before the items; ``None`` if unknown.
    """

    def __init__(
        self,
        target: Format,
        model: str | None,
        made_id: Callable[[], str],
        open_calls: Iterable[OpenCall] | None = (),
    ) -> None:
        self._target = target
        self._model = model
        self._made_id = made_id
        # What the ids of this reader begin with, and how many it has made. Few items need one.
        self._prefix = ""
        self._made = 0
        self._is_known = open_calls is not None
        self._open = [(call.id, call.name) for call in open_calls or ()]

    def rows(self, items: Sequence[Json]) -> ItemRows:
        """Return the rows of items.

        Raises:
            OpenCallsNeeded: the calls before the items are needed.
        """
        return rows_of(map(self._rows, items))

    def _rows(self, item: Json) -> tuple[list[CheckedRow], Altered]:
        plain = text_message(self._target, item)
        return self._converted(item) if plain is None else rows_from([plain])

    def _converted(self, item: Json) -> tuple[list[CheckedRow], Altered]:
        messages = self._messages(item)
        try:
            found = with_form(self._target.name, item, *rows_from(messages))
        except InvalidMessage:  # a message cannot hold everything that an item can, such as a name of any length
            return with_form(self._target.name, item, *rows_from([_unread(self._target, item)]))
        answered = set(results_in(messages))
        self._open += [(call_id, call["name"]) for call_id, call in calls_in(messages)]
        self._open = [call for call in self._open if call[0] not in answered]
        return found

    def _messages(self, item: Json) -> list[Json]:
        """Return the messages of an item, with ids for the calls and results that have none."""
        messages = _read(self._target, self._model, item)
        results = list(results_in(messages))
        if not results and next(calls_in(messages), None) is None:
            return messages
        given = set(_texts(item))
        answers: dict[str, str] = {}
        if any(call_id not in given for call_id in results):
            messages, answers = self._paired(item, messages)
        for call_id, call in calls_in(messages):
            if call_id not in given:
                call["id"] = answers[call_id] = self._new_id()
        for message in messages:
            for block in message["content"] if message["role"] == "tool" else ():
                of = block["tool_call_id"]
                block["tool_call_id"] = of if of in given else answers.get(of) or self._new_id()
        return messages

    def _new_id(self) -> str:
        self._prefix = self._prefix or self._made_id()
        self._made += 1
        return f"{self._prefix}_{self._made}"

    def _paired(self, item: Json, alone: list[Json]) -> tuple[list[Json], dict[str, str]]:
        """Return the messages of an item behind the open calls, and for these, the ids used there and the real ones."""
        if not self._is_known:
            raise OpenCallsNeeded
        calls = [{"type": "tool_call", "id": of, "name": name, "arguments": "{}"} for of, name in self._open]
        asked = {"role": "assistant", "content": calls, "provider_metadata": {}, "seq": 0}
        before = write_message(self._target, asked, {}) if calls else []
        read_before = _read(self._target, None, *before) if before else []
        read_ids = [call_id for call_id, _ in calls_in(read_before)]
        if len(read_ids) != len(calls) or not calls:
            return alone, {}
        found = _read(self._target, self._model, *before, item)[len(read_before) :]
        return found or alone, {there: of for there, (of, _) in zip(read_ids, self._open, strict=True)}


def _read(target: Format, model: str | None, *items: Json) -> list[Json]:
    """Return the messages of consecutive items; an unknown one is kept whole.

    Instructions at the beginning of a request are its prompt. So they are read after a user's text.
    """
    try:
        found = target.read_request({target.history_key: [*items]}, model).messages
        if any(message["role"] == "system" for message in found):
            found = target.read_request({target.history_key: [_lead(target.name), *items]}, model).messages[1:]
    except InvalidMessage:
        found = []
    return found if found and _says_something(found, items[-1]) else [_unread(target, items[-1])]


def _says_something(messages: list[Json], item: Json) -> bool:
    """Whether any part of an item was read, or there is nothing to read in it."""
    is_blank = all(
        block["type"] == "text" and not block["text"] for message in messages for block in message["content"]
    )
    return not is_blank or not any(len(text) >= _WORDS for text in _texts(item))


@cache
def _lead(name: str) -> Json:
    said = {"role": "user", "content": [{"type": "text", "text": "Hi"}], "provider_metadata": {}, "seq": 0}
    return write_message(FORMATS[name], said, {})[0]


def _unread(target: Format, item: Json) -> Json:
    """Return a message with an item that the format does not know."""
    role = item.get("role", item.get("type"))
    speaker = "user" if role in ("user", "human") else "assistant"
    return {"role": speaker, "content": [opaque_block(target.provider, item)]}


def _texts(value: Any) -> Iterator[str]:
    kind = type(value)
    if kind is str:
        yield value
    elif kind is dict or kind is list:
        for inside in value.values() if kind is dict else value:
            yield from _texts(inside)
