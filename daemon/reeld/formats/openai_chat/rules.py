"""What Chat Completions accepts from whom, and what it requires."""

import re

from reel.strict_json import Json
from reeld.formats.content import mime_of
from reeld.formats.format import Position
from reeld.formats.metadata import is_own, opaque_object, restore_keys
from reeld.formats.naming import why_not_transferable
from reeld.formats.openai import PICTURES, PROVIDER

# Also the mark of opaque blocks: the two APIs of OpenAI do not accept each other's.
NAME = "openai-chat"
SOUNDS = {"audio/mpeg": "mp3", "audio/mp3": "mp3", "audio/wav": "wav", "audio/x-wav": "wav", "audio/wave": "wav"}
# The names of speakers that every version accepts (rule C5).
_SPEAKER = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_WITHOUT_INSTRUCTIONS = re.compile(r"o1-(mini|preview)")


def why_unsendable(block: Json, position: Position, model: str | None) -> str | None:
    """Return why a block that is not a text cannot be sent."""
    kind = block["type"]
    if kind == "opaque":
        return _why_opaque_unsendable(block, position)
    if kind != "media":
        return why_not_transferable(block, PROVIDER, None) or "Chat Completions does not accept reasoning"  # rule C8
    return "media from the assistant" if position == "assistant" else _why_media_unsendable(block, model)


def _why_media_unsendable(block: Json, model: str | None) -> str | None:
    """Return why media cannot be sent (rules C6 and C7)."""
    mime_type = mime_of(block)
    ours = is_own(block, PROVIDER)
    if mime_type in SOUNDS:
        if block.get("data_base64") is None:
            return "sound by URL; Chat Completions accepts only its bytes"
        return None if model is None or "audio" in model else f"sound; {model} does not accept it"
    if mime_type in PICTURES or (mime_type.startswith("image/") and (ours or block.get("url") is not None)):
        return None
    if block.get("data_base64") is None:
        return "a file by URL; Chat Completions accepts only its bytes"
    return None if ours or mime_type == "application/pdf" else f"media of type {mime_type}"


def _why_opaque_unsendable(block: Json, position: Position) -> str | None:
    if (why := why_not_transferable(block, PROVIDER, None)) is not None:
        return why
    if restore_keys(block.get("provider_metadata"), PROVIDER, ("format",)) != {"format": NAME}:
        return "an opaque block of Responses"
    match position, opaque_object(block):
        case "assistant", {"audio": {"id": str()}}:
            return None
        case "user", {"type": "file", "file": {"file_id": str()}}:
            return None
    return "an opaque block that Chat Completions does not accept"


def accepts_instruction_roles(model: str | None) -> bool:
    """Whether a model accepts the roles system and developer; the first o1 models do not (rule C4)."""
    return _WITHOUT_INSTRUCTIONS.match(model or "") is None


def is_speaker_name(name: object) -> bool:
    """Whether a name of a speaker is accepted by every version of the API (rule C5)."""
    return _SPEAKER.fullmatch(str(name)) is not None
