"""Converts all forms in which LangChain writes a message to one (rule L1)."""

import re
from typing import Any

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json
from reel.providers.elements import Element, invalid_at, require_map
from reeld.formats.langchain.rules import OPENAI_ROLE, provider_of

_API = "LangChain"
_CLASS = re.compile(r"(?P<kind>[A-Za-z]+?)Message(Chunk)?")
_ROLES = {
    **dict.fromkeys(("human", "user"), "user"),
    **dict.fromkeys(("ai", "assistant", "model"), "assistant"),
    **dict.fromkeys(("tool", "function"), "tool"),
    **{role: role for role in ("system", "developer")},
}
_PAIR = 2
_QUOTED = 40


class Maker(NamedTuple):
    """The provider and the model that wrote a message; ``None`` if unknown."""

    provider: str | None
    model: str | None


class Envelope(NamedTuple):
    """A message in its plain form.

    Args:
        role: its neutral role: user, assistant, tool, system or developer.
        message: its fields, such as ``content`` and ``tool_calls``.
    """

    role: str
    message: Element

    def maker(self, model: str | None) -> Maker:
        """Return the maker of the message from its metadata; by default, the model is the caller's."""
        found = self.message.get("response_metadata")
        metadata = found if type(found) is dict else {}
        named = next(
            (name for key in ("model_name", "model") if type(name := metadata.get(key)) is str and name), model
        )
        return Maker(provider_of(metadata.get("model_provider")), named)


def open_envelope(given: Any, where: str) -> Envelope:
    """Open a message in any form of LangChain.

    Args:
        given: a text, a pair of a role and a text, ``message_to_dict``, ``dumps``, or the fields themselves.
        where: its place, for errors.

    Raises:
        InvalidMessage: it is in none of these forms.
    """
    if type(given) is str:
        return Envelope("user", Element({"content": given}, where))
    if type(given) is list and len(given) == _PAIR:
        return Envelope(_role(given[0], f"{where}[0]"), Element({"content": given[1]}, where))
    message = require_map(given, where)
    if type(message.get("kwargs")) is dict and type(message.get("id")) is list and message["id"]:
        fields = message["kwargs"]
        return _envelope(message["id"][-1], fields, f"{where}.kwargs", f"{where}.id")
    if type(message.get("data")) is dict:
        return _envelope(message.get("type"), message["data"], f"{where}.data", f"{where}.type")
    named = "type" if message.get("type") is not None else "role"
    return _envelope(message.get(named), message, where, f"{where}.{named}")


def _envelope(kind: Any, fields: Json, where: str, named: str) -> Envelope:
    own = _CLASS.fullmatch(kind) if type(kind) is str else None
    kind = own["kind"].lower() if own else kind
    role = _role(fields.get("role"), f"{where}.role") if kind == "chat" else _role(kind, named)
    beside = fields.get("additional_kwargs")
    if role == "system" and type(beside) is dict and beside.get(OPENAI_ROLE) == "developer":
        role = "developer"
    return Envelope(role, Element(fields, where))


def _role(kind: Any, where: str) -> str:
    role = _ROLES.get(kind) if type(kind) is str else None
    if role is None:
        raise invalid_at(where, f"{str(kind)[:_QUOTED]!r} is not a type of {_API}; expected human, ai, system or tool")
    return role
