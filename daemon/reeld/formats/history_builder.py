"""Builds the messages of a history, or the one of an answer, from the blocks that a format reads.

What all formats share is here once: an empty message is an empty text, a call without an id gets one and a result is
paired with its call (rule X12), and the instructions that lead a history become its prompt (rule X13).
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import takewhile
from typing import Any, TypeAlias

from reel.providers.metadata import opaque_block
from reel.strict_json import Json
from reeld.formats.fields import (
    Element,
    LoadedRequest,
    Response,
    arguments_of,
    report_unused_keys,
    require_elements,
    require_map,
    response_metadata,
)
from reeld.formats.model import INSTRUCTION_ROLES, Change, split_by_role
from reeld.formats.pairing import Pairing
from reeld.formats.prompt import system_message

# Reads a part of a content; ``None`` if the part has no neutral form.
PartReader: TypeAlias = Callable[[Element], Json | None]
_NOTHING: Json = {}


def text(value: str) -> Json:
    """Return a text block."""
    return {"type": "text", "text": value}


def tool_call(call_id: str, name: str, arguments: Any, kept: Json = _NOTHING) -> Json:
    """Return a call; truncated arguments are a text, as received. ``kept`` has its metadata."""
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments_of(arguments), **kept}


def tool_result(call_id: str, content: str | list[Json], kept: Json = _NOTHING, *, failed: bool = False) -> Json:
    """Return a result; ``kept`` has its metadata."""
    return {"type": "tool_result", "tool_call_id": call_id, "content": content, "is_error": failed, **kept}


def made_by(model: str | None) -> Json:
    """Return the key that names the model of a block, if it is known."""
    return {} if model is None else {"model": model}


def blocks_of(content: Any, where: str, read: Callable[[Element], Json]) -> list[Json]:
    """Read content: a text, or a list of parts. A bare string among them is a text; null is no block (rule X12)."""
    if type(content) is str:
        return [text(content)]
    return [
        text(part) if type(part) is str else read(Element(require_map(part, f"{where}[{index}]"), f"{where}[{index}]"))
        for index, part in enumerate(require_elements(content, where))
    ]


def by_type(readers: Mapping[str, PartReader], provider: str, part: Element, **metadata: Any) -> Json:
    """Read a part with the reader of its type; one without a neutral form is kept whole, with some metadata."""
    kind = part.get("type")
    read = readers.get(kind) if type(kind) is str else None
    return (None if read is None else read(part)) or opaque_block(provider, part.value, **metadata)


def text_part(provider: str, part: Element, *without: str) -> Json:
    """Read a part that is a text, and its keys beside it."""
    return {**text(part.text("text")), **part.kept(provider, "type", "text", *without)}


def own_media(provider: str, block: Json, part: Element, *without: str) -> Json:
    """Return media with their provider, which accepts what came from it, whatever its type (rules C6, R4 and G6)."""
    kept = part.kept(provider, "type", *without)
    return {**block, **(kept or {"provider_metadata": {"provider": provider}})}


def privileged(provider: str, role: str) -> Json:
    """Return the metadata of a user message that was an instruction, nothing for any other role."""
    return {"provider_metadata": {"provider": provider, "role": role}} if role in INSTRUCTION_ROLES else {}


class HistoryBuilder:
    """Collects the messages of a history in order; ``messages`` holds those so far.

    Args:
        provider: the provider of the body.
        models: names of the model that wrote the assistant's messages: the first that is one counts.
        made: the beginning of the ids that calls without one get.
    """

    def __init__(self, provider: str, *models: Any, made: str = "call") -> None:
        self.messages: list[Json] = []
        self.model: str | None = next((name for name in models if type(name) is str and name), None)
        self._provider = provider
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

    def loaded(self, body: Json, used: tuple[str, ...], *beside: list[Json]) -> LoadedRequest:
        """Return the whole history; the instructions that lead it are its prompt.

        Args:
            body: the request.
            used: its keys that are part of the history.
            beside: the content of each of the instructions that it has beside its messages.

        Raises:
            InvalidMessage: an instruction contains something other than text.
        """
        leading = list(takewhile(_is_instruction, self.messages))
        kept = privileged(self._provider, "system")
        apart = [{"role": "user", "content": content, **kept} for content in beside if content]
        prompt = system_message(self._provider, [*apart, *leading])
        return LoadedRequest([*prompt, *self.messages[len(leading) :]], [*self.report, *report_unused_keys(body, used)])

    @property
    def report(self) -> list[Change]:
        """The calls that were given an id."""
        return self._pairing.report

    def answer(
        self, beside: Mapping[str, Any], read: Iterable[str], *, broke_off: str | None = None, **found: Any
    ) -> Response:
        """Return the answer: the blocks of all messages, as one of the assistant's.

        Args:
            beside: the keys of the response.
            read: those among them that are stored elsewhere, or under another name.
            broke_off: why it is incomplete, if it is.
            found: values that every provider has, under neutral names.
        """
        blocks = [block for message in self.messages for block in message["content"]]
        kept = {key: value for message in self.messages for key, value in message.get("provider_metadata", {}).items()}
        metadata = {**kept, **response_metadata(self._provider, beside, read, model=self.model, **found)}
        message = {"role": "assistant", "content": blocks or [text("")], "provider_metadata": metadata}
        return Response(message, found.get("usage"), broke_off)


def _is_instruction(message: Json) -> bool:
    return message["role"] == "user" and message.get("provider_metadata", {}).get("role") in INSTRUCTION_ROLES
