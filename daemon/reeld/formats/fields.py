"""What reading a provider's body gives, and how its fields are read: with an error that names the place."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from reel.blocks import kind_of
from reel.errors import InvalidMessage
from reeld.formats import metadata as native
from reeld.formats.report import Change

Json = dict[str, Any]
# Who speaks, in the words of any of the four: those who translate histories mix them up, and each means one thing.
_ROLES = {
    **{role: role for role in ("user", "assistant", "system", "developer", "tool")},
    "model": "assistant",
    "function": "tool",
}
_DIGITS = 16


class Response(NamedTuple):
    """What a response body holds.

    Args:
        message: the assistant's, in the form that is added.
        usage: what it cost, in the provider's words.
        broke_off: why it is not whole; ``None`` where it is, or does not say.
    """

    message: Json
    usage: Json | None
    broke_off: str | None = None


class Loaded(NamedTuple):
    """What a request body holds: messages in the form that is added, and what was left out or changed."""

    messages: list[Json]
    report: list[Change]


def refused(where: str, why: str) -> InvalidMessage:
    """Make the error that names a place of a body."""
    return InvalidMessage(f"{where}: {why}", field=where)


def text_at(value: Any, where: str) -> str:
    """Take a string."""
    if type(value) is not str:
        raise refused(where, f"expected a string, got {kind_of(value)}")
    return value


def role_at(value: Any, where: str, api: str) -> str:
    """Take a role; whatever API's word it is, this is ours: user, assistant, system, developer or tool."""
    role = _ROLES.get(value) if type(value) is str else None
    if role is None:
        shown = f"{value[:40]!r}" if type(value) is str else kind_of(value)
        raise refused(where, f"{shown} is no role of {api}")
    return role


def arguments_of(given: Any) -> str:
    """Give the arguments of a call as text: they are one in two of the APIs, and an object in the others.

    What stands for an object without keys in other languages, null and an empty list, is that.
    """
    if type(given) is str:
        return given
    return "{}" if given is None or given == [] else native.text_of(given)


def map_at(value: Any, where: str) -> Json:
    """Take an object."""
    if type(value) is not dict:
        raise refused(where, f"expected an object, got {kind_of(value)}")
    return value


def list_at(value: Any, where: str) -> list[Any]:
    """Take an array."""
    if type(value) is not list:
        raise refused(where, f"expected an array, got {kind_of(value)}")
    return value


def entries_at(value: Any, where: str) -> list[Any]:
    """Take an array, or the one object that stands where an array belongs; null is an empty one."""
    if value is None:
        return []
    return [value] if type(value) is dict else list_at(value, where)


def history_at(value: Any, where: str, api: str) -> list[Any]:
    """Take the history of a request; without one it is no request of an API."""
    if value is None:
        raise refused(where, f"is missing; this is no request of {api}")
    entries = entries_at(value, where)
    if not entries:
        raise refused(where, "is empty; there is nothing to load")
    return entries


def refuse_error(body: Mapping[str, Any]) -> None:
    """Refuse what a provider sends when it does not answer.

    Raises:
        InvalidMessage: the body has an ``error``; it is quoted.
    """
    error = body.get("error")
    if error is not None:
        raise refused("error", f"the provider did not answer; it said: {said_in(error)}")


def said_in(error: Any) -> Any:
    """Give what an error says, whether it is a text or has one; else all of it."""
    return (error.get("message") or native.text_of(error)) if type(error) is dict else error


def left_to_extra(body: Mapping[str, Any], taken: tuple[str, ...]) -> list[Change]:
    """Report the keys of a request that are no part of its history."""
    return [
        Change(None, None, "dropped", f"{key} is no part of the history; give it to render in extra")
        for key in body
        if key not in taken
    ]


def about_answer(provider: str, **found: Any) -> Json:
    """Give the metadata of a message that a provider answered, less what it left out."""
    return {"provider": provider, **{key: value for key, value in found.items() if value is not None}}


def stem_of(body: Json, key: str) -> str:
    """Give what the ids of an answer's calls begin with where they have none: from its own id, if it says one."""
    return sha256(repr(body.get(key) or body).encode("utf-8", "replace")).hexdigest()[:_DIGITS]
