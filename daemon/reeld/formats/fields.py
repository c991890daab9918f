"""Reads what whole bodies have, and says which fields an object of an API may have."""

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json
from reel.base.values import clean_deep
from reel.providers.changes import Change
from reel.providers.elements import Element, elements_of, invalid_at, require_elements
from reel.providers.json_values import dump
from reel.providers.metadata import preserve_keys

# The keys of a message's metadata that the formats use.
_OWN_METADATA = ("provider", "role", "name")
# Digits of a hash, enough to distinguish the answers of one conversation.
_DIGITS = 16


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


def why_continues(extra: Json, outside: Iterable[str]) -> str | None:
    """Return why ``extra`` cannot be sent: it continues a history on the server (rules R8, I8 and A18)."""
    key = next((key for key in outside if extra.get(key) is not None), None)
    return None if key is None else f"{key} continues a history on the server; the body has all of it, so leave it out"


def raise_provider_error(body: Mapping[str, Any]) -> None:
    """Raise InvalidMessage with the provider's message if the body is an error instead of an answer."""
    error = body.get("error")
    if error is not None:
        raise invalid_at("error", f"the provider refused: {error_message(error)}")


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
