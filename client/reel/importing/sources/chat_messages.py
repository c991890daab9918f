"""Reads the messages of agents that keep them in the form of Chat Completions.

Only the fields of that format become blocks. Others, such as the ids of an agent, would be sent to an API, which
refuses them.
"""

from collections import Counter

from reel.base.errors import InvalidMessage
from reel.base.strict_json import Json
from reel.importing.values import text_in
from reel.providers.blocks import text as text_block
from reel.providers.elements import Element
from reel.providers.message_builder import MessageBuilder
from reel.providers.openai import PROVIDER
from reel.providers.openai_chat import read_message
from reel.providers.refusals import Refusals

# Who speaks in each role: an instruction in the middle of a conversation is said to the model.
ROLES = {"user": "user", "assistant": "assistant", "tool": "user", "system": "user", "developer": "user"}
_SAID = ("content", "tool_calls", "reasoning_content", "refusal")
# The fields of which blocks are made.
FIELDS = frozenset({"role", "tool_call_id", "name", *_SAID})


def is_message(found: Json) -> bool:
    """Return whether a record is a message that says something, if only an empty text."""
    return text_in(found, "role") in ROLES and any(found.get(key) is not None for key in _SAID)


class ChatMessages:
    """Reads the messages of one conversation.

    Args:
        counts: receives how often something of each type was refused.
    """

    def __init__(self, counts: Counter[str]) -> None:
        self.refusals = Refusals(PROVIDER, counts)
        self._builder = MessageBuilder()

    def read(self, found: Json, place: str, model: str = "") -> list[Json]:
        """Return the blocks of a message; none for an empty text.

        Args:
            found: the message.
            place: what makes the ids of calls without ids unique.
            model: the model that wrote it; empty if none did.
        """
        builder = self._builder
        builder.model, builder.messages = model or None, []
        known = {key: value for key, value in found.items() if key in FIELDS}
        try:
            read_message(builder, Element(known, place, self.refusals), place)
        except InvalidMessage:
            return [self.refusals.keep(found)]
        (message,) = builder.messages
        blocks: list[Json] = message["content"]
        return [] if blocks == [text_block("")] else blocks
