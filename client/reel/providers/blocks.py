"""Makes neutral blocks of the parts of a content, with the reader of each type."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from reel.base.errors import InvalidMessage
from reel.base.strict_json import Json
from reel.base.values import new_tuple
from reel.providers.elements import Element, arguments_of, require_elements, require_map
from reel.providers.metadata import opaque_block
from reel.providers.refusals import Refusals
from reel.providers.roles import INSTRUCTION_ROLES

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


def blocks_of(
    content: Any, where: str, read: Callable[[Element], Json], refusals: Refusals | None = None
) -> list[Json]:
    """Read content: a text, or a list of parts. A bare string among them is a text; null is no block (rule X12).

    Args:
        content: the content.
        where: its place, for errors.
        read: reads a part.
        refusals: what keeps a part that is refused; ``None`` if that is an error.
    """
    if type(content) is str:
        return [text(content)]
    blocks = []
    for index, part in enumerate(require_elements(content, where)):
        if type(part) is str:
            blocks.append(text(part))
            continue
        place = f"{where}[{index}]"
        try:
            found = part if type(part) is dict else require_map(part, place)
            blocks.append(read(new_tuple(Element, (found, place, refusals))))
        except InvalidMessage:
            if refusals is None:
                raise
            blocks.append(refusals.keep(part))
    return blocks


def by_type(readers: Mapping[str, PartReader], provider: str, part: Element, **metadata: Any) -> Json:
    """Read a part with the reader of its type; one without a neutral form is kept whole, with some metadata."""
    kind = part.value.get("type")
    read = readers.get(kind) if type(kind) is str else None
    return (None if read is None else read(part)) or opaque_block(provider, part.value, **metadata)


def text_part(provider: str, part: Element, *without: str) -> Json:
    """Read a part that is a text, and its keys beside it."""
    return {"type": "text", "text": part.text("text"), **part.kept(provider, "type", "text", *without)}


def own_media(provider: str, block: Json, part: Element, *without: str) -> Json:
    """Return media with their provider, which accepts what came from it, whatever its type (rules C6, R4 and G6)."""
    kept = part.kept(provider, "type", *without)
    return {**block, **(kept or {"provider_metadata": {"provider": provider}})}


def privileged(provider: str, role: str) -> Json:
    """Return the metadata of a user message that was an instruction, nothing for any other role."""
    return {"provider_metadata": {"provider": provider, "role": role}} if role in INSTRUCTION_ROLES else {}
