"""Tells what a line of JSON is that is not simply a message: a message in an envelope, or a record of a known tool."""

from collections.abc import Callable
from pathlib import Path

from reel.base.strict_json import Json
from reel.importing.values import list_in, map_in, text_in
from reel.providers.openai_responses import CALL_KINDS, OUTPUT_KINDS

# What an envelope says of its message.
_OF_MESSAGE = ("role", "timestamp", "created_at", "create_time", "time")
# The items of Responses beside calls and their outputs. A server's own calls end with the same word.
_ITEMS = ("message", "reasoning", "compaction", "item_reference", "mcp_list_tools", "additional_tools")
_CALLS = ("_call", "_call_output")
_CHAIN = {"uuid", "parentUuid", "sessionId"}
# The rows of Grok Build that have a type where messages have a role.
_ROWS = ("system", "user", "assistant", "tool_result")
# The directory of Cursor's transcripts, whose records any program could write.
_TRANSCRIPTS = "agent-transcripts"
# The fields of Mistral Vibe's messages that those of other programs lack.
_OF_VIBE = {"message_id", "injected"}


def _is_of_claude_code(found: Json) -> bool:
    return found.keys() >= _CHAIN and "parts" not in map_in(found, "message")


def _is_of_qwen_code(found: Json) -> bool:
    return found.keys() >= _CHAIN and "parts" in map_in(found, "message")


def _is_of_kimi_code(found: Json) -> bool:
    return "." in text_in(found, "type") and "time" in found


def _is_of_grok_build(found: Json) -> bool:
    return text_in(found, "type") in _ROWS and "content" in found and found.keys().isdisjoint({"id", "uuid"})


def _is_of_vscode_chat(found: Json) -> bool:
    return (found.get("kind") == 0 and "v" in found) or (type(found.get("requests")) is list and "version" in found)


def _is_of_opencode(found: Json) -> bool:
    return "info" in found and any(map_in(message, "info") for message in list_in(found, "messages"))


def _has(*keys: str) -> Callable[[Json], bool]:
    return lambda found: found.keys() >= {*keys}


# The tools whose files begin with such a record. They say more than messages: steps back, forks, usage.
_SIGNS: dict[str, Callable[[Json], bool]] = {
    "claude-code": _is_of_claude_code,
    "codex": lambda found: found.get("type") == "session_meta" and "payload" in found,
    "copilot-cli": lambda found: found.get("type") == "session.start" and "data" in found,
    "qwen-code": _is_of_qwen_code,
    "pi": lambda found: found.get("type") == "session" and "cwd" in found,
    "gemini-cli": _has("sessionId", "projectHash"),
    "kimi-code": _is_of_kimi_code,
    "kiro-cli": _has("version", "kind", "data"),
    "grok-build": _is_of_grok_build,
    "vscode-chat": _is_of_vscode_chat,
    "openhands": _has("id", "timestamp", "source", "kind"),
    "continue": _has("sessionId", "workspaceDirectory", "history"),
    "opencode": _is_of_opencode,
    "reel": _has("reel", "agent"),
}


def tool_of(found: Json, path: str) -> str:
    """Return the tool that writes files like this one; empty if it is not known.

    Args:
        found: the first record.
        path: the file.
    """
    if _TRANSCRIPTS in Path(path).parts and "message" in found:
        return "cursor"
    if "role" in found:  # a message, whatever else its program says of it
        return "mistral-vibe" if found.keys() >= _OF_VIBE else ""
    return next((name for name, is_its in _SIGNS.items() if is_its(found)), "")


def unwrapped(found: Json) -> Json:
    """Return the message in an envelope, with the role and the time beside it; anything else unchanged."""
    inner = map_in(found, "message")
    if not inner or "content" in found:
        return found
    return {**{key: found[key] for key in _OF_MESSAGE if key in found}, **inner}


def is_item(found: Json) -> bool:
    """Return whether a record without a role is an item of the Responses API."""
    kind = text_in(found, "type")
    return kind in _ITEMS or kind in CALL_KINDS or kind in OUTPUT_KINDS or kind.endswith(_CALLS)
