"""Reads the fields of a provider's objects; errors name the place.

In all formats ``type(value) is`` asks for the type of a JSON value: it is exact, for ``True`` is an ``int`` to
``isinstance``. That one is for our own classes, and for tables with several types.
"""

from collections.abc import Iterator
from typing import Any

from reel.base.errors import InvalidMessage
from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json
from reel.providers.json_values import dump
from reel.providers.metadata import preserve_keys
from reel.providers.refusals import Refusals
from reel.said.blocks import kind_of

# The roles of all APIs. Programs that convert histories mix them up, but each has one meaning (rule X12).
_ROLES = {
    **{role: role for role in ("user", "assistant", "system", "developer", "tool")},
    "model": "assistant",
    "function": "tool",
}
# The maximum number of characters of an unknown role in an error.
_QUOTED = 40


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
    """An object of a body.

    Args:
        value: the object.
        where: its place in the body, which errors name.
        refusals: what keeps the damaged parts in it; ``None`` if these are an error.
    """

    value: Json
    where: str
    refusals: Refusals | None = None

    def get(self, key: str) -> Any:
        """Return the value of a field; ``None`` if it is missing."""
        return self.value.get(key)

    def at(self, key: str) -> str:
        """Return the place of a field."""
        return f"{self.where}.{key}"

    def text(self, key: str) -> str:
        """Return a field that must be a text."""
        value = self.value.get(key)
        return value if type(value) is str else require_str(value, self.at(key))

    def text_or_none(self, key: str) -> str:
        """Return a field that must be a text if it says anything; an empty text if it does not."""
        return require_str(self.value.get(key) or "", self.at(key))

    def inside(self, key: str) -> "Element":
        """Return a field that must be an object."""
        return Element(require_map(self.value.get(key), self.at(key)), self.at(key), self.refusals)

    def elements(self, key: str) -> Iterator["Element"]:
        """Yield the elements of a field, each of which must be an object."""
        return elements_of(self.value.get(key), self.at(key), self.refusals)

    def role(self, api: str, default: str | None = None) -> str:
        """Return the field ``role`` as a neutral role."""
        given = self.value.get("role")
        return require_role(given if default is None else given or default, self.at("role"), api)

    def kept(self, provider: str, *without: str) -> Json:
        """Return all fields but these as metadata of their provider."""
        if self.value.keys() <= {*without}:  # as in most blocks
            return {}
        return preserve_keys(provider, self.value, without)


def elements_of(value: Any, where: str, refusals: Refusals | None = None) -> Iterator[Element]:
    """Yield the elements of an array, each of which must be an object."""
    for index, found in enumerate(require_elements(value, where)):
        place = f"{where}[{index}]"
        yield Element(require_map(found, place), place, refusals)


def require_role(value: Any, where: str, api: str) -> str:
    """Return the neutral role (user, assistant, system, developer or tool) for a role of any API (rule X12)."""
    role = _ROLES.get(value) if type(value) is str else None
    if role is None:
        shown = f"{value[:_QUOTED]!r}" if type(value) is str else kind_of(value)
        raise invalid_at(where, f"{shown} is not a role of {api}; expected user, assistant, system or tool")
    return role


def arguments_of(given: Any) -> str:
    """Return the arguments of a call, given as a text or an object, as a text (rule X8).

    ``null`` and ``[]`` become ``{}``: some languages cannot tell an empty object from these.
    """
    if type(given) is str:
        return given
    return "{}" if given is None or given == [] else dump(given)
