"""Reads the items of OpenAI's Responses API one by one, as ``reel load`` reads them; what it refuses is kept whole."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from reel.base.errors import InvalidMessage
from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json
from reel.importing.sources.blocks import fitting, is_named
from reel.importing.values import other_fields
from reel.providers.message_builder import MessageBuilder
from reel.providers.openai import PROVIDER
from reel.providers.openai_responses import ItemReader
from reel.providers.refusals import Refusals

# The fields of a message of the assistant of which something is made, or which the API makes anew.
_FIELDS = frozenset({"type", "role", "content", "id", "status", "phase", "tool_calls"})


class Item(NamedTuple):
    """An item as blocks of a message with this role and this ``provider_metadata``."""

    role: str
    blocks: list[Json]
    metadata: Mapping[str, Any] = {}

    @property
    def kept_role(self) -> str:
        """The original role of an instruction; empty for other items."""
        role: str = self.metadata.get("role", "")
        return role


def left_out_of(found: Json) -> list[str]:
    """Return the fields of an item that its blocks do not have: all others are kept beside them."""
    return other_fields(found, _FIELDS) if found.get("role") == "assistant" else []


def _require_content(found: Json) -> None:
    """Raise :exc:`InvalidMessage` if a message has no content: what was said is damaged, or under an unknown name.

    A load takes it as an empty text, because a program that makes a request may leave it out (rule X12).
    """
    is_message = "role" in found and found.get("type") in (None, "message")
    if is_message and found.keys().isdisjoint(("content", "tool_calls")):
        raise InvalidMessage("a message without content")


class Items:
    """Reads the items of one conversation.

    Args:
        refused: how often something of a type was refused; is added to.
    """

    def __init__(self, refused: Counter[str]) -> None:
        self._refusals = Refusals(PROVIDER, refused)
        self._builder = MessageBuilder()
        self._reader = ItemReader(self._builder, self._refusals)

    def read(self, found: Json, where: str, model: str = "") -> Item:
        """Convert an item.

        Args:
            found: the item.
            where: its place, which makes a generated id unique.
            model: the model that generated it; empty if unknown.
        """
        self._builder.messages, self._builder.model = [], model or None
        try:
            _require_content(found)
            self._reader.add(found, where)
        except InvalidMessage:
            return Item("user" if found.get("role") == "user" else "assistant", [self._refusals.keep(found)])
        (message,) = self._builder.messages
        role, blocks = message["role"], message["content"]
        if not all(map(is_named, blocks)):
            role = "user" if role == "tool" else role
            blocks = [fitting(block, role, self._refusals) for block in blocks]
        return Item(role, blocks, message.get("provider_metadata", {}))
