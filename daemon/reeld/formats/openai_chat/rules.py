"""The blocks that Chat Completions accepts from each role, and its requirements."""

import re

from reel.base.strict_json import Json
from reel.providers.content import mime_of
from reel.providers.metadata import is_own, opaque_object, restore_keys
from reel.providers.openai import PROVIDER
from reel.providers.openai_chat import NAME
from reel.providers.openai_chat_reasoning import KEPT_OF_THOUGHTS
from reeld.formats.format import LoopThinking, Position, Prompt
from reeld.formats.model import HistorySettings
from reeld.formats.naming import why_not_transferable
from reeld.formats.openai_chat.dialect import Dialect

SOUNDS = {"audio/mpeg": "mp3", "audio/mp3": "mp3", "audio/wav": "wav", "audio/x-wav": "wav", "audio/wave": "wav"}
# The names of speakers that every version accepts (rule C5).
_SPEAKER = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_VERSION, _NO_FUNCTIONS_SINCE = re.compile(r"gpt-(\d+)(?:\.(\d+))?(?![\d.])"), (5, 6)
_WITHOUT_INSTRUCTIONS = re.compile(r"o1-(mini|preview)")


def why_unsendable(dialect: Dialect, block: Json, position: Position, model: str | None) -> str | None:
    """Return why a block that is not a text cannot be sent."""
    kind = block["type"]
    if kind == "opaque":
        return _why_opaque_unsendable(dialect, block, position)
    if kind != "media":
        return _why_thought_unsendable(dialect, block, model)
    return "media from the assistant" if position == "assistant" else _why_media_unsendable(dialect, block, model)


def _why_thought_unsendable(dialect: Dialect, block: Json, model: str | None) -> str | None:
    """Return why reasoning cannot be sent; OpenAI accepts none (rule C8)."""
    if dialect.reasoning is None:
        return why_not_transferable(block, PROVIDER, None) or f"{dialect.server} does not accept reasoning"
    if (why := why_not_transferable(block, PROVIDER, model)) is not None:
        return why
    if block["type"] == "redacted_thinking":
        return f"{dialect.server} has no redacted thinking"
    kept = restore_keys(block.get("provider_metadata"), PROVIDER, KEPT_OF_THOUGHTS)
    return None if block["text"].strip() or kept else "an empty thought"


def _why_media_unsendable(dialect: Dialect, block: Json, model: str | None) -> str | None:
    """Return why media cannot be sent (rules C6 and C7)."""
    mime_type = mime_of(block)
    is_url = block.get("data_base64") is None
    if mime_type in SOUNDS:
        if is_url:
            return f"sound by URL; {dialect.server} accepts only its bytes"
        return None if dialect.media.hears(model) else f"sound; {model or dialect.server} does not accept it"
    if mime_type.startswith("image/"):
        return _why_picture_unsendable(dialect, block, mime_type, is_url=is_url)
    if not dialect.media.files:
        return f"a file; {dialect.server} does not accept it"
    if is_url:
        return f"a file by URL; {dialect.server} accepts only its bytes"
    ours = dialect.is_openai and is_own(block, PROVIDER)
    return None if ours or mime_type == "application/pdf" else f"media of type {mime_type}"


def _why_picture_unsendable(dialect: Dialect, block: Json, mime_type: str, *, is_url: bool) -> str | None:
    """Return why a picture cannot be sent; only the server knows the content behind a URL."""
    if is_url and not dialect.media.picture_urls:
        return f"a picture by URL; {dialect.server} does not accept it"
    known = is_url or mime_type in dialect.media.pictures or (dialect.is_openai and is_own(block, PROVIDER))
    return None if known else f"media of type {mime_type}"


def _why_opaque_unsendable(dialect: Dialect, block: Json, position: Position) -> str | None:
    if not dialect.is_openai:
        return f"an opaque block; {dialect.server} has none"
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


def why_invalid(dialect: Dialect, extra: Json, _loop: LoopThinking | None, model: str | None) -> str | None:
    """Return why ``extra`` cannot be sent: newer models take no functions here while they reason (rule C10)."""
    found = _VERSION.match(model or "") if dialect.is_openai else None
    if found is None or (int(found[1]), int(found[2] or 0)) < _NO_FUNCTIONS_SINCE:
        return None
    tools = extra.get("tools")
    has_functions = type(tools) is list and any(type(tool) is dict and tool.get("type") == "function" for tool in tools)
    if not has_functions or extra.get("reasoning_effort") == "none":
        return None
    return (
        f"tools: {model} takes no functions at Chat Completions while it reasons; "
        'use the format openai-responses, or "reasoning_effort": "none"'
    )


def history_settings(dialect: Dialect, extra: Json, _prompt: Prompt | None, _model: str | None) -> HistorySettings:
    """Return what ``extra`` leaves to the history: whether the server reads reasoning outside of a tool loop."""
    return HistorySettings(past_reasoning=dialect.reads_past(extra))


def accepts_instruction_roles(model: str | None) -> bool:
    """Whether a model accepts the roles system and developer; the first o1 models do not (rule C4)."""
    return _WITHOUT_INSTRUCTIONS.match(model or "") is None


def is_speaker_name(name: object) -> bool:
    """Whether a name of a speaker is accepted by every version of the API (rule C5)."""
    return _SPEAKER.fullmatch(str(name)) is not None
