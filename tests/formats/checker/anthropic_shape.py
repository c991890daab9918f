"""The keys and types in a body of Anthropic Messages, as in the SDK (betas among them)."""

from collections.abc import Iterator
from typing import Any

from tests.formats.checker.problem import Fault, Json, key_faults, shape_of, shapes

TOP = shape_of(
    "betas billing_policy cache_control compaction container context_management diagnostics fallback_credit_token "
    "fallbacks inference_geo max_tokens mcp_servers messages! metadata model output_config output_format service_tier "
    "speed stop_sequences stream system temperature thinking thread tool_choice tools top_k top_p user_profile_id "
    "workspace_id anthropic_version anthropic_beta"
)
MESSAGE = shape_of("role! content!")
SYSTEM_MESSAGE = shape_of("role! content clear_at output_config")
RESULT = "tool_use_id! content! cache_control caller"
BLOCKS = shapes(
    {
        "text": "text! cache_control citations",
        "image": "source! cache_control transformations",
        "document": "source! cache_control citations context title",
        "search_result": "content! source! title! cache_control citations",
        "thinking": "thinking! signature",
        "redacted_thinking": "data!",
        "connector_text": "connector_text! signature",
        "tool_use": "id! input! name! cache_control caller toolset_name",
        "tool_result": "tool_use_id! cache_control content is_error toolset_name",
        "server_tool_use": "id! input! name! cache_control caller",
        "mcp_tool_use": "id! input! name! server_name! cache_control",
        "mcp_tool_result": "tool_use_id! cache_control content is_error",
        "container_upload": "file_id! cache_control",
        "compaction": "cache_control content encrypted_content signature tool_changes",
        "tool_addition": "tool! cache_control",
        "tool_removal": "tool! cache_control",
        "mcp_tool_listing": "mcp_server_name! tools!",
        "fallback": "from! to! trigger",
        **dict.fromkeys(
            [
                "web_search_tool_result",
                "web_fetch_tool_result",
                "advisor_tool_result",
                "code_execution_tool_result",
                "bash_code_execution_tool_result",
                "text_editor_code_execution_tool_result",
                "tool_search_tool_result",
            ],
            RESULT,
        ),
    }
)
# Inside a tool result.
INNER = {
    **{name: BLOCKS[name] for name in ("text", "image", "search_result", "document")},
    **shapes({"tool_reference": "tool_name! cache_control", "browser_state": "tabs! cache_control state_changes"}),
}
SOURCES = shapes(
    {
        "base64": "data! media_type!",
        "url": "url!",
        "file": "file_id!",
        "text": "data! media_type!",
        "content": "content!",
    }
)
STRINGS = ("text", "thinking", "connector_text", "data", "id", "name", "tool_use_id")


def body_faults(body: Json) -> Iterator[Fault]:
    """Check the body, its system prompt and each of its messages."""
    yield from key_faults("body", body, TOP)
    yield from content_faults("system", body.get("system") or [], ("text",))
    messages = body.get("messages", [])
    if not isinstance(messages, list):
        yield Fault("messages", "not an array")
        return
    for index, message in enumerate(messages):
        where = f"messages[{index}]"
        if isinstance(message, dict):
            yield from message_faults(where, message)
        else:
            yield Fault(where, "not an object")


def message_faults(where: str, message: Json) -> Iterator[Fault]:
    """Check one message."""
    role = message.get("role")
    if role not in ("user", "assistant", "system"):
        yield Fault(f"{where}.role", f"{role!r} is not a role")
    system = role == "system"
    yield from key_faults(where, message, SYSTEM_MESSAGE if system else MESSAGE)
    types = ("text", "tool_addition", "tool_removal") if system else tuple(BLOCKS)
    yield from content_faults(f"{where}.content", message.get("content", ""), types)


def content_faults(where: str, content: Any, types: tuple[str, ...]) -> Iterator[Fault]:
    """Check content: a string, or a list of blocks of these types."""
    if isinstance(content, str):
        return
    if not isinstance(content, list):
        yield Fault(where, "neither a string nor an array of blocks")
        return
    for index, block in enumerate(content):
        place = f"{where}[{index}]"
        if not isinstance(block, dict) or block.get("type") not in types:
            yield Fault(place, "no block of a fitting type")
        else:
            yield from block_faults(place, block)


def block_faults(where: str, block: Json) -> Iterator[Fault]:
    """Check one block by its type."""
    kind = block["type"]
    yield from key_faults(where, block, BLOCKS[kind] if kind in BLOCKS else INNER[kind])
    for key in STRINGS:
        if key in block and not isinstance(block[key], str):
            yield Fault(f"{where}.{key}", "not a string")
    if not isinstance(block.get("input", {}), dict):
        yield Fault(f"{where}.input", "not an object")
    if kind == "tool_result":
        yield from content_faults(f"{where}.content", block.get("content") or [], tuple(INNER))
    if kind in ("image", "document"):
        yield from source_faults(f"{where}.source", block.get("source"))


def source_faults(where: str, source: Any) -> Iterator[Fault]:
    """Check the source of an image or a document."""
    if not isinstance(source, dict) or str(source.get("type")) not in SOURCES:
        yield Fault(where, "no source of a known type")
    else:
        yield from key_faults(where, source, SOURCES[source["type"]])
