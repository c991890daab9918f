"""Builds messages from the blocks that a format reads.

What all formats share is here once: an empty message is an empty text, and a call without an id gets one and a result
is paired with its call (rule X12).
"""

from collections.abc import Mapping
from typing import Any

from reel.base.strict_json import Json
from reel.providers.blocks import text, tool_call
from reel.providers.changes import Change
from reel.providers.elements import Element
from reel.providers.pairing import Pairing
from reel.providers.roles import split_by_role

_NOTHING: Json = {}


class MessageBuilder:
    """Collects messages in order; ``messages`` holds those so far.

    Args:
        models: names of the model that wrote the assistant's messages: the first that is one counts.
        made: the beginning of the ids that calls without one get.
    """

    def __init__(self, *models: Any, made: str = "call") -> None:
        self.messages: list[Json] = []
        self.model: str | None = next((name for name in models if type(name) is str and name), None)
        self._made = made
        self._pairing = Pairing()

    def call_id(self, given: str | None, name: Any, place: str, where: str) -> str:
        """Return the id of a call; one without an id gets one.

        Args:
            given: its own id; ``None`` or empty if it has none.
            name: the name of its tool.
            place: what makes a generated id unique.
            where: its place in the body.
        """
        if not given:
            return self._pairing.add_call_without_id(f"{self._made}_{place}", name, where)
        self._pairing.add_call(given, name)
        return given

    def call(self, found: Element, name: str, arguments: Any, place: str, kept: Json = _NOTHING) -> Json:
        """Read a call with the field ``id``.

        Args:
            found: the call.
            name: the name of its tool.
            arguments: as a text or an object.
            place: what makes a generated id unique.
            kept: its metadata.
        """
        return tool_call(self.call_id(found.text_or_none("id"), name, place, found.where), name, arguments, kept)

    def answered_id(self, given: Any, name: Any, where: str) -> str:
        """Return the id of the call that a result answers: by its own id, else by the tool's name, else by the order.

        Args:
            given: the result's own id, if it has one.
            name: the name of its tool, if it has one.
            where: the place of the id in the body.
        """
        return self._pairing.id_for_result(given, name, where)

    def add(self, role: str, blocks: list[Json], kept: Mapping[str, Any] | None = None) -> None:
        """Add a message; an empty one has an empty text.

        Args:
            role: its role.
            blocks: its content.
            kept: its metadata, as :func:`reel.providers.metadata.preserve_keys` returns them.
        """
        self.messages.append({"role": role, "content": blocks or [text("")], **(kept or {})})

    def add_by_role(self, blocks: list[Json], speaker: str, kept: Mapping[str, Any] | None = None) -> None:
        """Add a message for each role that some blocks belong to; ``speaker`` is that of all others."""
        for owner, content in split_by_role(blocks, speaker):
            self.add(owner, content, kept)

    def extend(self, role: str, blocks: list[Json]) -> None:
        """Add blocks to the newest message if it has this role and no metadata, else in a message of their own."""
        last = self.messages[-1] if self.messages else {}
        if last.get("role") == role and "provider_metadata" not in last:
            last["content"] += blocks
        elif blocks:
            self.add(role, blocks)

    @property
    def report(self) -> list[Change]:
        """The calls that were given an id."""
        return self._pairing.report
