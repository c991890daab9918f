"""The blocks that Anthropic's API accepts from each role, and its requirements."""

from datetime import UTC, datetime
from types import UnionType
from typing import Any

from reel.base.strict_json import Json
from reel.providers.anthropic import FALLBACK, PDF, PROVIDER
from reel.providers.content import mime_of
from reel.providers.metadata import opaque_object, restore_key, restore_keys
from reel.providers.roles import THOUGHTS
from reeld.formats.anthropic import betas
from reeld.formats.anthropic.models import (
    is_binding,
    refuses_forced_tools,
    refuses_thinking,
    takes_system_messages,
    thinks_unasked,
)
from reeld.formats.fields import why_continues
from reeld.formats.format import LoopThinking, Notice, Position, Prompt, ServerToolHalf
from reeld.formats.model import HistorySettings
from reeld.formats.naming import why_not_transferable

CACHE_CONTROL = "cache_control"
# The other provider of Claude's whose conversations have a form of their own (rule A20).
_BEDROCK = "bedrock"
# The type of a block that may stand for everything before it (rule A19).
COMPACTION = "compaction"
# The metadata key of a block of an unknown type in Anthropic's own answer.
ANSWERED = "answered"
# Blocks that change the tools in mid-history; only a system message may contain them.
TOOL_CHANGES = ("tool_addition", "tool_removal")
# The kinds of thinking that let the last turn contain some.
_THINKING = ("enabled", "adaptive", "between_tools")
# The blocks that have no cache_control (rule A7), in all of the API's types.
UNMARKED = ("thinking", "redacted_thinking", FALLBACK, "mcp_tool_listing")
_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
# The calls of a server's tools; the types of their results have this ending.
_SERVER_CALLS, _SERVER_RESULT = ("server_tool_use", "mcp_tool_use"), "_tool_result"
# Blocks that a tool result may contain besides text, and those allowed nowhere else.
_IN_RESULTS = ("image", "document", "search_result", "tool_reference", "browser_state")
_IN_RESULTS_ONLY = ("tool_reference", "browser_state")
# Blocks that the assistant never produces.
_USER_ONLY = ("image", "document", "search_result", "container_upload", *TOOL_CHANGES)
# These have a neutral form, to which their rules apply; an opaque block of such a type would evade the rules.
_NEUTRAL = ("text", *THOUGHTS, "tool_use", "tool_result")
# The keys that an opaque block must have, and their JSON types, by its type (rule A6).
_REQUIRED: dict[str, dict[str, type | UnionType]] = {
    **{kind: {"source": dict} for kind in ("image", "document")},
    "search_result": {"content": list, "source": str, "title": str},
    "container_upload": {"file_id": str},
    "tool_reference": {"tool_name": str},
    "browser_state": {"tabs": list},
    **{kind: {"tool": dict} for kind in TOOL_CHANGES},
    "server_tool_use": {"id": str, "input": dict, "name": str},
    "mcp_tool_use": {"id": str, "input": dict, "name": str, "server_name": str},
    "mcp_tool_result": {"tool_use_id": str},
    "mcp_tool_listing": {"mcp_server_name": str, "tools": list},
    COMPACTION: {},
    FALLBACK: {"from": object, "to": object},
}
_SERVER_RESULT_REQUIRED: dict[str, type | UnionType] = {"tool_use_id": str, "content": dict | list | str}
# The other keys of a block made by a client. A block made by Anthropic goes back unchanged.
_OPTIONAL = {
    "image": (CACHE_CONTROL, "transformations"),
    "document": (CACHE_CONTROL, "citations", "context", "title"),
    "search_result": (CACHE_CONTROL, "citations"),
    "browser_state": (CACHE_CONTROL, "state_changes"),
    **dict.fromkeys(("container_upload", "tool_reference", *TOOL_CHANGES), (CACHE_CONTROL,)),
}
_OF_A_DOCUMENT = ("type", "cited_text", "document_index", "document_title")
# The keys of a citation in a request (rule A16), by its type.
_CITATION_KEYS = {
    "char_location": (*_OF_A_DOCUMENT, "start_char_index", "end_char_index"),
    "page_location": (*_OF_A_DOCUMENT, "start_page_number", "end_page_number"),
    "content_block_location": (*_OF_A_DOCUMENT, "start_block_index", "end_block_index"),
}
_SOURCES = ("base64", "url", "file", "text", "content")
# The keys of a block that its neutral form lacks, by its type here (rule A6).
_OWN_KEYS = {
    "text": (CACHE_CONTROL, "citations"),
    "image": _OPTIONAL["image"],
    "document": _OPTIONAL["document"],
    "tool_use": (CACHE_CONTROL, "caller", "toolset_name"),
    "tool_result": (CACHE_CONTROL, "toolset_name"),
}


def why_unsendable(block: Json, position: Position, model: str | None) -> str | None:
    """Return why a block cannot be sent."""
    kind = block["type"]
    if kind == "media":
        return _why_media_unsendable(block, position)
    if (why := why_not_transferable(block, PROVIDER, model, moves=is_thinking_of_claude(block))) is not None:
        return why
    if kind == "opaque":
        return _why_opaque_unsendable(opaque_object(block), position, answered=is_answered(block))
    if kind == "thinking" and not block.get("signature"):
        return "thinking without a signature"  # rule A8
    return None


def is_thinking_of_claude(block: Json) -> bool:
    """Whether a block is Claude's thinking, which Claude reads on all of its platforms (rule A20).

    Behind Bedrock's API are other models too, so the model must be known. Redacted thinking stays where it was made:
    nobody says how Bedrock's bytes are Anthropic's text.
    """
    made_at = block.get("provider")
    is_claudes = made_at == PROVIDER or (made_at == _BEDROCK and "claude" in str(block.get("model")))
    return is_claudes and block["type"] == "thinking"


def _why_media_unsendable(block: Json, position: Position) -> str | None:
    """Return why media cannot be sent (rules A4 and A5)."""
    if position == "assistant":
        return "media from the assistant"
    if position == "failed_result":
        return "media in a failed result"
    mime = mime_of(block)
    readable = mime == PDF or mime in _IMAGES or (block.get("url") is not None and mime.startswith("image/"))
    return None if readable else f"media of type {mime}"


def _why_opaque_unsendable(value: Json | None, position: Position, *, answered: bool) -> str | None:
    kind = value.get("type") if value else None
    if value is None or type(kind) is not str or not _is_complete(value, kind):
        return "an opaque block that Anthropic does not accept"
    if not is_known(kind) and not any(value[key] for key in value if key != "type"):
        return f"an empty {kind}"  # rule A21
    accepted = {
        "user": kind in _REQUIRED and kind not in (*_SERVER_CALLS, *_IN_RESULTS_ONLY) and not _is_server_result(kind),
        "assistant": kind not in (*_USER_ONLY, *_IN_RESULTS_ONLY) and (answered or is_known(kind)),
        "result": kind in _IN_RESULTS,
        "failed_result": False,
    }
    return None if accepted[position] else f"{kind} is not allowed here"


def _is_server_result(kind: str) -> bool:
    return kind.endswith(_SERVER_RESULT)


def is_known(kind: str) -> bool:
    """Whether the content and the allowed positions of a type of block are known."""
    return kind in (*_NEUTRAL, *_REQUIRED) or _is_server_result(kind)


def is_answered(block: Json) -> bool:
    """Whether Anthropic itself answered with a block. One of a newer type goes back unchanged."""
    return restore_keys(block.get("provider_metadata"), PROVIDER, (ANSWERED,)) != {}


def _is_complete(value: Json, kind: str) -> bool:
    """Whether an opaque block has the keys that its type requires (rule A6)."""
    if kind in _NEUTRAL:
        return False
    required = _REQUIRED.get(kind, _SERVER_RESULT_REQUIRED if _is_server_result(kind) else {})
    source = value.get("source")
    known_source = type(source) is not dict or source.get("type") in _SOURCES
    return known_source and all(isinstance(value.get(key), wanted) for key, wanted in required.items())


def server_tool_half(block: Json) -> ServerToolHalf | None:
    """Return which half of a server's tool call a block is; both halves have the call's id (rule A11)."""
    value = opaque_object(block) or {}
    kind = str(value.get("type"))
    if kind in _SERVER_CALLS:
        return ServerToolHalf(str(value.get("id")), is_call=True)
    return ServerToolHalf(str(value.get("tool_use_id")), is_call=False) if _is_server_result(kind) else None


def made_by_tool(block: Json) -> str | None:
    """Return the id of the call of a server's tool whose program made a call, as its ``caller`` says (rule A11)."""
    if block["type"] == "opaque":
        caller = (opaque_object(block) or {}).get("caller")
    else:
        caller = restore_key(block.get("provider_metadata"), PROVIDER, "caller")
    tool_id = caller.get("tool_id") if type(caller) is dict else None
    return tool_id if type(tool_id) is str else None


def own_keys(block: Json, kind: str) -> Json:
    """Return Anthropic's own keys that were kept with a neutral block."""
    metadata = block.get("provider_metadata")
    return with_citations(restore_keys(metadata, PROVIDER, _OWN_KEYS[kind])) if metadata else {}


def with_citations(value: Json) -> Json:
    """Return a value without the keys of citations that only answers have, such as ``file_id`` (rule A16)."""
    citations, content = value.get("citations"), value.get("content")
    if type(citations) is list:
        value = {**value, "citations": [_citation(found) for found in citations]}
    if type(content) is list:
        value = {**value, "content": [with_citations(part) if type(part) is dict else part for part in content]}
    return value


def may_be_marked(kind: str) -> bool:
    """Return whether a block of a type may have a breakpoint; one of a type that is not known gets none (rule A7)."""
    is_known = kind in _NEUTRAL or kind in _REQUIRED or kind.endswith(_SERVER_RESULT)
    return is_known and kind not in UNMARKED


def _citation(found: Any) -> Any:
    accepted = _CITATION_KEYS.get(str(found.get("type"))) if type(found) is dict else None
    return found if accepted is None else {key: value for key, value in found.items() if key in accepted}


def accepted_keys(value: Json) -> Json:
    """Return an opaque block without the keys that the API refuses in a client's block (rule A6)."""
    kind = value["type"]
    value = with_citations(value)
    if kind in UNMARKED:
        return {key: found for key, found in value.items() if key != CACHE_CONTROL}
    if kind not in _OPTIONAL:
        return value
    accepted = {"type", *_REQUIRED[kind], *_OPTIONAL[kind]}
    return {key: found for key, found in value.items() if key in accepted}


def history_settings(extra: Json, _prompt: Prompt | None, model: str | None) -> HistorySettings:
    """Return whether thinking is on; if the request does not say so, that is up to the model (rule A9)."""
    kind = _thinking(extra)
    thinks = kind in _THINKING or (kind is None and thinks_unasked(model))
    return HistorySettings(thinking=thinks, declared=betas.declared(extra))


def why_invalid(extra: Json, loop: LoopThinking | None, model: str | None) -> str | None:
    """Return why ``extra`` cannot be sent: a thread has its history on the server (rule A18), betas are no names."""
    if extra.get("thread") is not None:
        return why_continues(extra, ("thread",))
    if (why := betas.why_invalid(extra)) is not None:
        return why
    choice = extra.get("tool_choice")
    kind = choice.get("type") if type(choice) is dict else None
    return why_thinking_invalid(extra, loop, model) or why_choice_invalid("tool_choice", kind, extra, model)


def why_choice_invalid(where: str, choice: Any, fields: Json, model: str | None) -> str | None:
    """Return why a request cannot say that a tool is to be called (rule A25).

    Args:
        where: the name of the setting.
        choice: ``any``, or ``tool`` for a certain one, if a tool is to be called.
        fields: what sets the thinking.
        model: the model.
    """
    if choice not in ("any", "tool"):
        return None
    instead = f"leave {where} out, and ask for the tool in the prompt"
    if refuses_forced_tools(model):
        return f"{where}: {model} does not take {choice!r}; {instead}"
    if _thinking(fields) == "enabled":
        return f"{where}: a model whose thinking is enabled does not take {choice!r}; {instead}, or leave thinking out"
    return None


def why_thinking_invalid(fields: Json, loop: LoopThinking | None, model: str | None) -> str | None:
    """Return why the setting of thinking among some fields cannot be sent.

    Some models take no such setting (rule A24), and a tool loop that began without thinking cannot continue with it
    (rule A9).
    """
    kind = _thinking(fields)
    if type(kind) is str and refuses_thinking(model, kind):
        return (
            f'thinking: {model} does not take the type {kind!r}; leave it out or use {{"type": "adaptive"}}, and set '
            "output_config.effort for how much it thinks"
        )
    if kind == "enabled" and loop is not None and not any(loop):
        return (
            "thinking: it cannot be enabled in the middle of a tool loop that began without thinking (by another "
            'provider, or with thinking off); use {"type": "adaptive"}, or leave it out until the loop is over'
        )
    return None


def _thinking(extra: Json) -> Any:
    thinking = extra.get("thinking")
    return thinking.get("type") if type(thinking) is dict else None


def binds_thinking(model: str | None, extra: Json) -> bool:
    """Whether a model binds its thinking to all before it, and the request does not say what is to happen (rule A8)."""
    thinking = extra.get("thinking")
    is_up_to_api = type(thinking) is dict and thinking.get("block_binding") is not None
    return is_binding(model) and not is_up_to_api


def from_compaction(messages: list[Json]) -> list[Json] | None:
    """Return a turn from its last signed summary on, with the calls before it; ``None`` if it has none (rule A19)."""
    content = messages[-1]["content"] if messages and messages[-1]["role"] == "assistant" else []
    for index in reversed(range(len(content))):
        if _is_summary(content[index]):
            calls = [block for block in content[:index] if block["type"] == "tool_use"]
            return [{**messages[-1], "content": [content[index], *calls, *content[index + 1 :]]}]
    return None


def _is_summary(block: Json) -> bool:
    """Whether a block stands for all before it; one without content is of a compaction that failed."""
    return block["type"] == COMPACTION and bool(block.get("signature") and block.get("content"))


def is_continuing(thread: Any) -> bool:
    """Whether the ``thread`` of a request continues one; one that begins with it has the whole history (rule A18)."""
    return type(thread) is dict and thread.get("type") == "continue"


def container_of(message: Json) -> Json | None:
    """Return the container in which the tools of an answer ran (rule A14)."""
    metadata = message.get("provider_metadata")
    found = restore_key(metadata, PROVIDER, "container") if metadata else None
    return found if type(found) is dict and type(found.get("id")) is str else None


def continue_container(extra: Json, container: Json, now: float) -> tuple[Json, Notice | None]:
    """Return ``extra`` with a container that the next request continues, or why it cannot (rule A14).

    Args:
        extra: the top of the body. A container in it belongs to the caller, unless it has only skills.
        container: the newest one.
        now: the time in seconds since 1970.
    """
    own = extra.get("container", {})
    if type(own) is not dict or "id" in own:
        return extra, None
    if (expires := _timestamp(container.get("expires_at"))) is not None and expires <= now:
        return extra, ("dropped", f"the container {container['id']} expired at {container['expires_at']}")
    return {**extra, "container": {**own, "id": container["id"]} if own else container["id"]}, None


def _timestamp(value: Any) -> float | None:
    try:
        found = datetime.fromisoformat(value) if type(value) is str else None
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() if found else None
    except (ValueError, OverflowError):
        return None


def sends_settings(message: Json, model: str | None) -> bool:
    """Whether a system message is sent for its effort alone (rule A10)."""
    metadata = message.get("provider_metadata")
    if not metadata or metadata.get("role") != "system" or not takes_system_messages(model):
        return False
    return bool(restore_key(metadata, PROVIDER, "output_config"))
