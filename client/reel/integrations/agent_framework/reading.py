"""Reads messages of Microsoft's Agent Framework from an agent's items, and from the messages that others added.

Any client can write items. The parts that the framework cannot read become text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from inspect import signature
from types import NoneType
from typing import Any, Final

from agent_framework import Content, Message

from reel.integrations.agent_framework.items import Json, item_of
from reel.integrations.results_first import results_first

# The key of an item with numbers that JSON lacks, such as NaN: its value is the message in Python's JSON.
PYTHON_JSON: Final = "python_json"
# The fields of a message and of a content for additional data.
ADDITIONAL: Final = "additional_properties"
_CALL: Final = "function_call"
_RESULT: Final = "function_result"
# The exceptions that the framework raises for unusable values; it checks few of them.
_UNUSABLE: Final = (TypeError, ValueError, AttributeError, RecursionError)
# The types of JSON values, by the first word of a Python type.
_JSON_TYPES: Final[dict[str, type]] = {
    "None": NoneType,
    "str": str,
    "bool": bool,
    "int": int,
    "list": list,
    "Sequence": list,
    "Mapping": dict,
    "MutableMapping": dict,
    "Content": dict,
}


def _fields(of: type) -> dict[str, tuple[type, ...]]:
    """Return the declared types of the fields of a class, without fields of any type."""
    found: dict[str, tuple[type, ...]] = {}
    for name, parameter in signature(of).parameters.items():
        words = [word.split("[")[0] for word in str(parameter.annotation).split(" | ")]
        if all(word in _JSON_TYPES for word in words):
            found[name] = tuple(_JSON_TYPES[word] for word in words)
    return {**found, "raw_representation": (NoneType,)}


_MESSAGE: Final = {**_fields(Message), "role": (str,), "contents": (list,)}
_FIELDS: Final = frozenset(signature(Content).parameters)
_CONTENT: Final = {**_fields(Content), "type": (str,)}
# The fields that hold a content or a list of contents, each of which must be checked.
_NESTED: Final = frozenset({"function_call", "screenshot", "items", "annotations"})
# The fields of a text that has nothing else.
_PLAIN: Final = frozenset({"type", "text"})
# The types of contents: the class has a constructor for each.
_KNOWN: Final = frozenset(name.removeprefix("from_") for name in dir(Content) if name.startswith("from_")) - {"dict"}
# The fields of a message apart from its role and its contents.
_BESIDE: Final = ("author_name", "message_id", ADDITIONAL)


def not_stored(stored: Sequence[Message], given: Sequence[Message]) -> list[Message]:
    """Return the given messages after those that are the end of what is stored.

    The framework has such a function, but its name is private. A lone input without an id counts as said again.

    Args:
        stored: the newest messages of the history.
        given: those that are to be stored: the new ones, or the history with the new ones.
    """
    end, begin = [message.to_dict() for message in stored], [message.to_dict() for message in given]
    is_said_again = bool(stored) and stored[-1].role == "user" and not stored[-1].message_id
    overlaps = range(min(len(end), len(begin)), int(is_said_again), -1)
    return [*given[next((size for size in overlaps if end[-size:] == begin[:size]), 0) :]]


def messages_in(found: Sequence[Any]) -> list[Message]:
    """Return the messages of the framework in a list of items with their JSON, as the daemon sends them.

    A foreign message is left out if nothing in it is readable for the framework. One between a call and its result is
    moved after the result.
    """
    messages: list[Message] = []
    added: set[int] = set()
    own = iter(_all_parsed([each["item_json"] for each in found if "item_json" in each]))
    for each in found:
        if "item_json" in each:
            messages.append(_message(next(own)))
        elif (item := item_of(each["message"])) is not None:
            added.add(len(messages))
            messages.append(_message(item))
    return results_first(messages, _calls, _results, lambda message: message.role == "user", added)


def _calls(message: Message) -> list[str]:
    return [content.call_id for content in message.contents if content.type == _CALL and content.call_id]


def _results(message: Message) -> list[str]:
    return [content.call_id for content in message.contents if content.type == _RESULT and content.call_id]


def _all_parsed(texts: list[str]) -> list[Json]:
    """Parse items; at once, which takes half the time, if that works with all of them."""
    try:
        items: list[Any] = json.loads(f"[{','.join(texts)}]")
    except (ValueError, RecursionError):
        items = []
    if len(items) == len(texts) and all(type(item) is dict and item and PYTHON_JSON not in item for item in items):
        return items
    return [*map(_parsed, texts)]


def _parsed(text: str) -> Json:
    """Parse an item; return one with its JSON as text if it has a number with more digits than Python reads."""
    try:
        item: Json = json.loads(text)
        if type(item) is dict and type(item.get(PYTHON_JSON)) is str:
            item = json.loads(item[PYTHON_JSON])
    except ValueError:
        item = {}
    return item if type(item) is dict and item else {"role": "user", "contents": [text]}


def _message(item: Json) -> Message:
    """Return a message; parts that the framework cannot read become text."""
    try:
        if _has(item, _MESSAGE, ("role", "contents")) and all(map(_is_sound, item["contents"])):
            return Message(**item)
    except _UNUSABLE:  # part of it is from a newer version
        pass
    known = {key: item[key] for key in _BESIDE if key in item and isinstance(item[key], _MESSAGE[key])}
    contents, role = item.get("contents"), item.get("role")
    read = [_content(each) for each in contents] if type(contents) is list else [Content.from_text(_words(item))]
    return Message(role if type(role) is str else "user", read, **known)


def _has(value: Any, fields: dict[str, tuple[type, ...]], needed: Iterable[str]) -> bool:
    """Whether a value is a map whose fields have these types, including the required fields."""
    if type(value) is not dict:
        return False
    for key, inside in value.items():
        if key in fields and not isinstance(inside, fields[key]):
            return False
    return all(key in value for key in needed)


def _is_sound(content: Any) -> bool:
    """Whether a content is free of anything that would make the framework fail later."""
    if (
        type(content) is dict
        and content.keys() == _PLAIN
        and content["type"] == "text"
        and type(content["text"]) is str
    ):
        return True  # most are: fewer steps
    if not _has(content, _CONTENT, ("type",)):
        return False
    for key in _NESTED.intersection(content):
        found = content[key]
        if key == "annotations":
            is_sound = all(type(each) is dict for each in found or ())
        else:
            inside = [found] if type(found) is dict else found or ()
            is_sound = all(map(_is_sound, inside))
        if not is_sound:
            return False
    return True


def _content(item: Any) -> Content:
    """Return a content.

    A content of a type unknown to this version has all its fields among the additional ones; of any other type, those
    that are unknown. Any other unreadable content becomes text, or a result for the same call.
    """
    for form in (item, _older(item)):
        try:
            if _is_sound(form):
                return Content.from_dict(form)
        except _UNUSABLE:
            pass
    kind = item.get("type") if type(item) is dict else None
    if type(kind) is str and kind not in _KNOWN:
        return Content(kind, additional_properties={key: value for key, value in item.items() if key != "type"})
    if kind == _RESULT and type(item.get("call_id")) is str:
        return Content.from_function_result(item["call_id"], result=_words(item))
    return Content.from_text(_words(item))


def _older(item: Any) -> Any:
    """Return a content with the fields that this version does not know among the additional ones."""
    newer = set(item) - _FIELDS if type(item) is dict else ()
    if not newer:
        return item
    known = {key: value for key, value in item.items() if key in _FIELDS}
    more = item[ADDITIONAL] if type(item.get(ADDITIONAL)) is dict else {}
    return {**known, ADDITIONAL: {**more, **{key: item[key] for key in newer}}}


def _words(value: Any) -> str:
    return value if type(value) is str else json.dumps(value, ensure_ascii=False)
