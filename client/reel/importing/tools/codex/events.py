"""The events in a rollout of Codex: what a person saw of the items, and how a turn went on."""

from itertools import islice
from typing import BinaryIO

from reel.base.strict_json import Json
from reel.importing.sources.files import lines_of
from reel.importing.sources.responses_items import Item
from reel.importing.values import list_in, map_in, parse_record, text_in
from reel.providers.blocks import text as text_block

# The number of lines that are read to determine whether the answers are items or events.
_SCANNED = 2000
# Events, and completed items in events, that say something, by who says it.
_SPEAKERS = {"user_message": "user", "UserMessage": "user", "agent_message": "assistant", "AgentMessage": "assistant"}
# Those that repeat the items.
_SHOWN = frozenset(
    {
        *_SPEAKERS,
        *("agent_reasoning", "agent_reasoning_raw_content", "Reasoning", "Plan", "ContextCompaction", "HookPrompt"),
    }
)
# Completed items with data that no item of the model has.
DONE_ITEMS = frozenset(
    {
        *("CommandExecution", "FileChange", "Extension", "McpToolCall", "DynamicToolCall", "FunctionCallOutput"),
        *("WebSearch", "ImageView", "ImageGeneration", "CollabAgentToolCall", "SubAgentActivity", "Sleep"),
        *("EnteredReviewMode", "ExitedReviewMode"),
    }
)
_PROGRESS = frozenset(
    {
        *("task_started", "task_complete", "turn_started", "turn_complete", "agent_reasoning_section_break"),
        *("exec_command_begin", "exec_command_end", "patch_apply_begin", "patch_apply_end", "turn_diff", "plan_update"),
        *("mcp_tool_call_begin", "mcp_tool_call_end", "web_search_begin", "web_search_end", "view_image_tool_call"),
        *("entered_review_mode", "exited_review_mode", "context_compacted", "item_started", "turn_aborted"),
        *("thread_name_updated", "thread_settings_applied", "undo_completed", "background_event", "stream_error"),
    }
)


def kind_of(event: Json) -> str:
    """Return the type of an event, or of the item that it says is completed."""
    kind = text_in(event, "type")
    return text_in(map_in(event, "item"), "type") if kind == "item_completed" else kind


def rule_for(kind: str) -> str:
    """Return the name of the rule that ignores an event; empty if none does."""
    if kind in _SHOWN:
        return "shown to the person, and also an item"
    return "progress of a turn" if kind in _PROGRESS else ""


def said_in(kind: str, event: Json) -> Item | None:
    """Return a message that exists only as an event, or as an item in one."""
    if kind not in _SPEAKERS:
        return None
    parts = [text_in(part, "text") for part in list_in(event, "content")]
    text = text_in(event, "message") or text_in(event, "text") or "".join(parts)
    return Item(_SPEAKERS[kind], [text_block(text)])


def has_events_only(file: BinaryIO) -> bool:
    """Return whether a thread's answers are events rather than items."""
    shown = False
    for line in islice(lines_of(file), _SCANNED):
        try:
            found = parse_record(line.data) or {} if line.data else {}
        except (ValueError, RecursionError):
            continue
        payload = map_in(found, "payload")
        kind = text_in(payload, "type")
        if text_in(found, "type") == "response_item" and (
            kind in ("reasoning", "function_call", "custom_tool_call") or text_in(payload, "role") == "assistant"
        ):
            return False
        is_answer = _SPEAKERS.get(kind_of(payload)) == "assistant"
        shown = shown or (text_in(found, "type") == "event_msg" and is_answer)
    return shown
