"""The blocks that Responses accepts from each role, and its requirements."""

from reel.base.strict_json import Json
from reel.providers.content import mime_of
from reel.providers.metadata import is_own, restore_key, restore_keys
from reel.providers.openai import PROVIDER
from reeld.formats.fields import why_continues
from reeld.formats.format import IN_RESULTS, LoopThinking, Position, Prompt, ServerToolHalf
from reeld.formats.model import HistorySettings, Turn
from reeld.formats.naming import why_not_transferable
from reeld.formats.openai import PICTURES
from reeld.formats.openai_responses.items import (
    CALL_ITEMS,
    CLIENT_ITEMS,
    OUTPUT_ITEMS,
    SERVER_ITEMS,
    call_half,
    content_part,
    is_reasoning,
    sendable_item,
    strip_item,
)

# The keys of a request that continues a history on the server (rule R8).
CONTINUES = ("previous_response_id", "conversation")
# The metadata key of a compaction that stands for everything but the user's messages (rule R14).
WINDOW = "window"
DETAILS = ("low", "high", "auto", "original")
PHASES = ("commentary", "final_answer")


def why_unsendable(block: Json, position: Position, model: str | None) -> str | None:
    """Return why a block that is not a text cannot be sent."""
    kind = block["type"]
    if kind == "opaque":
        return _why_opaque_unsendable(block, position, model)
    if kind != "media":
        return why_not_transferable(block, PROVIDER, None) or "Responses accepts reasoning only as items"  # rule R5
    return "media from the assistant" if position == "assistant" else _why_media_unsendable(block)


def _why_media_unsendable(block: Json) -> str | None:
    """Return why media cannot be sent (rule R4)."""
    mime_type = mime_of(block)
    if mime_type.startswith(("audio/", "video/")):
        return f"media of type {mime_type}"
    is_picture = mime_type.startswith("image/")
    if mime_type in PICTURES or not is_picture or is_own(block, PROVIDER) or block.get("url") is not None:
        return None
    return f"media of type {mime_type}"


def _why_opaque_unsendable(block: Json, position: Position, model: str | None) -> str | None:
    """Return why an opaque block cannot be sent (rules R2, R5 and R6)."""
    if (why := why_not_transferable(block, PROVIDER, None)) is not None:
        return why
    if restore_keys(block.get("provider_metadata"), PROVIDER, ("format",)):
        return "an opaque block of Chat Completions"
    if position in IN_RESULTS:
        accepted = sendable_item(block, OUTPUT_ITEMS) or content_part(block)
        return None if accepted else "an opaque block that is not the output of a call"
    if position == "user":
        accepted = sendable_item(block, CLIENT_ITEMS) or content_part(block)
        return None if accepted else "an opaque block that is not an item of a client's"
    if sendable_item(block, SERVER_ITEMS) is None:
        unencrypted = is_reasoning(block)
        return "reasoning without encrypted_content" if unencrypted else "an item that the API does not accept back"
    return why_not_transferable(block, PROVIDER, model)


def why_invalid(extra: Json, _loop: LoopThinking | None, _model: str | None) -> str | None:
    """Return why ``extra`` cannot be sent: it continues a response or a conversation on the server (rule R8)."""
    return why_continues(extra, CONTINUES)


def history_settings(extra: Json, _prompt: Prompt | None, _model: str | None) -> HistorySettings:
    """Return whether the server looks up items by their ids: it does unless ``store`` is false (rule R10)."""
    return HistorySettings(by_id=extra.get("store") is not False)


def keeps_messages(turn: Turn, is_first: bool) -> bool:  # noqa: FBT001 - asked by position, as all of a format
    """Return whether the compaction in a turn leaves what the user said before as it was (rule R14).

    One of ``/responses/compact`` does. One that no answer comes before is of such a window too, or stands for nothing
    else.
    """
    made = [piece.block for piece in turn.pieces if piece.block["type"] == "opaque"]
    return is_first or any(restore_keys(block.get("provider_metadata"), PROVIDER, (WINDOW,)) for block in made)


def requires_reasoning(block: Json) -> bool:
    """Whether a block is an item with an id, which the server ties to the reasoning that it followed (rule R10)."""
    if block["type"] == "opaque":
        return "id" in (sendable_item(block, SERVER_ITEMS) or {})
    return block["type"] == "tool_call" and "id" in _own_form(block)


def unique_ids(block: Json) -> tuple[str, ...]:
    """Return the ids that an item is sent with; the API refuses two items with one id, and two such calls (rule R3)."""
    item = sendable_item(block, SERVER_ITEMS) or {}
    call_id = item.get("call_id") if server_tool_half(block) is not None else None
    return tuple(dict.fromkeys(found for found in (item.get("id"), call_id) if type(found) is str))


def call_item_ids(block: Json) -> tuple[str, ...]:
    """Return the id of the item that a call is sent as, which is not the id of the call (rule R3)."""
    found = _own_form(block).get("id")
    return (found,) if type(found) is str else ()


def _own_form(block: Json) -> Json:
    """Return the item that a call was kept as; an empty one if it was not kept as such."""
    item = restore_key(block.get("provider_metadata"), PROVIDER, "item")
    return strip_item(item, CALL_ITEMS) or {}


def server_tool_half(block: Json) -> ServerToolHalf | None:
    """Return which half of a call that the server both made and answered a block is (rules R12 and X9)."""
    item = sendable_item(block, SERVER_ITEMS) or {}
    half = call_half(item)
    if half is None or item.get("execution") == "server":
        return None
    return ServerToolHalf(half.key, half.is_call)
