"""Reads the fields of a provider's body; errors name the place. Also says which fields an object may have.

In all formats ``type(value) is`` asks for the type of a JSON value: it is exact, for ``True`` is an ``int`` to
``isinstance``. That one is for our own classes, and for tables with several types.
"""

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from reel.blocks import kind_of
from reel.errors import InvalidMessage
from reel.providers.json_values import dump
from reel.providers.metadata import preserve_keys
from reel.strict_json import Json
from reel.values import clean_deep
from reeld.formats.model import Change

# The roles of all APIs. Programs that convert histories mix them up, but each has one meaning (rule X12).
_ROLES = {
    **{role: role for role in ("user", "assistant", "system", "developer", "tool")},
    "model": "assistant",
    "function": "tool",
}
# The keys of a message's metadata that the formats use.
_OWN_METADATA = ("provider", "role", "name")
# Digits of a hash, enough to distinguish the answers of one conversation.
_DIGITS = 16
# The maximum number of characters of an unknown role in an error.
_QUOTED = 40


class Response(NamedTuple):
    """The content of a response body.

    Args:
        message: the assistant's message, in the form that is added.
        usage: its token counts, as the provider reports them.
        broke_off: why it is incomplete; ``None`` if it is complete or gives no reason.
    """

    message: Json
    usage: Json | None
    broke_off: str | None = None


class LoadedRequest(NamedTuple):
    """The content of a request body: messages in the form that is added, and a report of changes."""

    messages: list[Json]
    report: list[Change]


def invalid_at(where: str, why: str) -> InvalidMessage:
    """Return an error about a place in a body."""
    return InvalidMessage(f"{where}: {why}", field=where)


def require_str(value: Any, where: str) -> str:
    """Return a string, or raise InvalidMessage if it is not one."""
    if type(value) is not str:
        raise invalid_at(where, f"expected a string, got {kind_of(value)}")
    return value


def require_map(value: Any, where: str) -> Json:
    """Return an object, or raise InvalidMessage if it is not one."""
    if type(value) is not dict:
        raise invalid_at(where, f"expected an object, got {kind_of(value)}")
    return value


def require_list(value: Any, where: str) -> list[Any]:
    """Return an array, or raise InvalidMessage if it is not one."""
    if type(value) is not list:
        raise invalid_at(where, f"expected an array, got {kind_of(value)}")
    return value


def require_elements(value: Any, where: str) -> list[Any]:
    """Return the elements of an array; one object counts as an array of one, and null as an empty one (rule X12)."""
    if value is None:
        return []
    return [value] if type(value) is dict else require_list(value, where)


class Element(NamedTuple):
    """An object of a body, and its place in it, which errors name."""

    value: Json
    where: str

    def get(self, key: str) -> Any:
        """Return the value of a field; ``None`` if it is missing."""
        return self.value.get(key)

    def at(self, key: str) -> str:
        """Return the place of a field."""
        return f"{self.where}.{key}"

    def text(self, key: str) -> str:
        """Return a field that must be a text."""
        return require_str(self.value.get(key), self.at(key))

    def text_or_none(self, key: str) -> str:
        """Return a field that must be a text if it says anything; an empty text if it does not."""
        return require_str(self.value.get(key) or "", self.at(key))

    def inside(self, key: str) -> "Element":
        """Return a field that must be an object."""
        return Element(require_map(self.value.get(key), self.at(key)), self.at(key))

    def elements(self, key: str) -> Iterator["Element"]:
        """Yield the elements of a field, each of which must be an object."""
        return elements_of(self.value.get(key), self.at(key))

    def role(self, api: str, default: str | None = None) -> str:
        """Return the field ``role`` as a neutral role."""
        given = self.value.get("role")
        return require_role(given if default is None else given or default, self.at("role"), api)

    def kept(self, provider: str, *without: str) -> Json:
        """Return all fields but these as metadata of their provider."""
        return preserve_keys(provider, self.value, without)


def elements_of(value: Any, where: str) -> Iterator[Element]:
    """Yield the elements of an array, each of which must be an object."""
    for index, found in enumerate(require_elements(value, where)):
        place = f"{where}[{index}]"
        yield Element(require_map(found, place), place)


def require_role(value: Any, where: str, api: str) -> str:
    """Return the neutral role (user, assistant, system, developer or tool) for a role of any API (rule X12)."""
    role = _ROLES.get(value) if type(value) is str else None
    if role is None:
        shown = f"{value[:_QUOTED]!r}" if type(value) is str else kind_of(value)
        raise invalid_at(where, f"{shown} is not a role of {api}; expected user, assistant, system or tool")
    return role


def require_history(value: Any, where: str, api: str) -> list[Any]:
    """Return the items of a request's history, or raise InvalidMessage if it has none (rule X1)."""
    if value is None:
        raise invalid_at(where, f"is missing; a request of {api} has one")
    items = require_elements(value, where)
    if not items:
        raise invalid_at(where, "is empty; a history has at least one item")
    return items


def history_of(body: Json, key: str, api: str) -> Iterator[Element]:
    """Yield the items of a request's history, each of which must be an object."""
    return elements_of(require_history(body.get(key), key, api), key)


def require_whole(body: Json, outside: Iterable[str]) -> None:
    """Refuse a request with one of the keys that continue a history outside of its body (rules R8 and I8)."""
    for key in outside:
        if body.get(key) is not None:
            raise invalid_at(key, "the history begins outside this body; load a request that contains all of it")


def arguments_of(given: Any) -> str:
    """Return the arguments of a call, given as a text or an object, as a text (rule X8).

    ``null`` and ``[]`` become ``{}``: some languages cannot tell an empty object from these.
    """
    if type(given) is str:
        return given
    return "{}" if given is None or given == [] else dump(given)


def raise_provider_error(body: Mapping[str, Any]) -> None:
    """Raise InvalidMessage with the provider's message if the body is an error instead of an answer."""
    error = body.get("error")
    if error is not None:
        raise invalid_at("error", f"the provider did not answer: {error_message(error)}")


def error_message(error: Any) -> Any:
    """Return the message of a provider's error; the whole error if it has no message."""
    return (error.get("message") or dump(error)) if type(error) is dict else error


def report_unused_keys(body: Mapping[str, Any], used: tuple[str, ...]) -> list[Change]:
    """Return a report line for each key of a request that is not part of its history."""
    return [
        Change(None, None, "dropped", f"{key} is not part of the history; pass it to render in extra")
        for key in body
        if key not in used
    ]


def response_metadata(provider: str, beside: Mapping[str, Any], read: Iterable[str], **found: Any) -> Json:
    """Return the metadata of an assistant's message; keys that the provider left out are missing (rule X15).

    Args:
        provider: the provider.
        beside: the response, which contains the message.
        read: the keys of the response that are stored elsewhere, or under another name.
        found: the values that every provider has, under neutral names.
    """
    kept = preserve_keys(provider, beside, (*read, *_OWN_METADATA)).get("provider_metadata", {})
    # A map, such as the token counts, may have keys that cannot be stored; texts are cleaned later, and counted.
    own = {key: clean_deep(value)[0] if type(value) is dict else value for key, value in found.items()}
    return {**kept, "provider": provider, **{key: value for key, value in own.items() if value is not None}}


def usage_in(body: Mapping[str, Any], key: str = "usage") -> Json | None:
    """Return the token counts of an answer if its body has them as an object."""
    usage = body.get(key)
    return usage if type(usage) is dict else None


def id_prefix(body: Json, key: str) -> str:
    """Return a prefix for the ids of calls that have none: a hash of the answer's id, or of the whole answer."""
    hashed = sha256(repr(body.get(key) or body).encode("utf-8", "replace")).hexdigest()
    return f"call_{hashed[:_DIGITS]}"


class Shape(NamedTuple):
    """The keys that an object of an API may have, and those that it must have."""

    allowed: frozenset[str]
    required: frozenset[str]


def stripped(found: Json | None, shapes: Mapping[str, Shape]) -> Json | None:
    """Return an object with only the keys of its shape; ``None`` if it has none of these, or lacks a required key."""
    kind = found.get("type") if found else None
    shape = shapes.get(kind) if type(kind) is str else None
    if found is None or shape is None or any(found.get(key) is None for key in shape.required):
        return None
    return {key: value for key, value in found.items() if key in shape.allowed}


def shapes_of(table: dict[str, str]) -> dict[str, Shape]:
    """Return the shape of each type. The keys of a type are separated by spaces; a required key ends with "!"."""
    return {
        kind: Shape(
            frozenset(["type", *(key.rstrip("!") for key in keys.split())]),
            frozenset(key.rstrip("!") for key in keys.split() if key.endswith("!")),
        )
        for kind, keys in table.items()
    }
