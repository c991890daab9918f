"""What Chat Completions takes, and where the prompt stands (``formats.md`` section 1)."""

from reeld.formats import metadata as native
from reeld.formats.dataurl import mime_of
from reeld.formats.families import foreign
from reeld.formats.fields import Json
from reeld.formats.format import Head, Holder, Page, Prompt
from reeld.formats.openai import PICTURES, PROVIDER, by_message
from reeld.formats.openai_chat.parts import FORMAT
from reeld.formats.openai_chat.writing import SOUNDS, knows_roles, words
from reeld.formats.prompt import kept_pieces


def refuses(block: Json, holder: Holder, model: str | None) -> str | None:
    """Say why a block that is no text cannot be sent."""
    kind = block["type"]
    if kind == "opaque":
        return _refuses_opaque(block, holder)
    if kind != "media":
        return foreign(block, PROVIDER, None) or "Chat Completions takes no reasoning back"
    return "media from the assistant" if holder == "assistant" else _refuses_media(block, model)


def _refuses_media(block: Json, model: str | None) -> str | None:
    mime_type = mime_of(block)
    ours = (block.get("provider_metadata") or {}).get("provider") == PROVIDER
    if mime_type in SOUNDS:
        if block.get("data_base64") is None:
            return "sound can only be sent, not linked to"
        return None if model is None or "audio" in model else f"{model} does not hear"
    if mime_type in PICTURES or (mime_type.startswith("image/") and (ours or block.get("url") is not None)):
        return None
    if block.get("data_base64") is None:
        return "a file can only be sent, not linked to"
    return None if ours or mime_type == "application/pdf" else f"media of type {mime_type}"


def _refuses_opaque(block: Json, holder: Holder) -> str | None:
    if (why := foreign(block, PROVIDER, None)) is not None:
        return why
    if native.given_back(block.get("provider_metadata"), PROVIDER, ("format",)) != {"format": FORMAT}:
        return "a block of Responses"
    match holder, native.object_of(block):
        case "assistant", {"audio": {"id": str()}}:
            return None
        case "user", {"type": "file", "file": {"file_id": str()}}:
            return None
    return "Chat Completions does not take it back"


def head(prompt: Prompt | None, page: Page) -> Head:
    """Put the prompt first: the messages that it was loaded from, or one of its text."""
    if prompt is None:
        return Head({}, [])
    pieces = kept_pieces(PROVIDER, prompt)
    if pieces:
        return Head({}, [words(group, page) for group in by_message(pieces)])
    role = "system" if knows_roles(page.model) else "user"
    return Head({}, [{"role": role, "content": prompt.text}])
