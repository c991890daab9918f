"""Reads the events of OpenHands that say something: what blocks they are, and which of their fields are left out."""

from collections.abc import Iterator
from typing import Any

from reel.base.strict_json import Json, encode
from reel.importing.sources.blocks import anthropic_blocks, call_block, fitting
from reel.importing.values import as_map, list_in, map_in, other_fields, text_in
from reel.providers.blocks import text as text_block
from reel.providers.blocks import tool_result
from reel.providers.content import ANY_PICTURE, media_from, shortest
from reel.providers.metadata import opaque_block
from reel.providers.openai import PROVIDER as OPENAI
from reel.providers.openai_chat_reasoning import thought
from reel.providers.refusals import Refusals

NAME = "openhands"
_EVENT = frozenset({"id", "timestamp", "source", "kind"})
_THOUGHTS = frozenset({"reasoning_content", "thinking_blocks", "responses_reasoning_item"})
# The fields of events that are used. An action repeats what its call asks for, in a form of OpenHands' own.
FIELDS = {
    "SystemPromptEvent": _EVENT | {"system_prompt", "dynamic_context", "tools"},
    "MessageEvent": _EVENT | {"llm_message", "llm_response_id", "activated_skills", "extended_content"},
    "ActionEvent": _EVENT
    | _THOUGHTS
    | {"thought", "action", "tool_name", "tool_call_id", "tool_call", "llm_response_id", "security_risk", "summary"},
    "ObservationEvent": _EVENT | {"tool_name", "tool_call_id", "observation", "action_id", "extended_content"},
    "UserRejectObservation": _EVENT
    | {"tool_name", "tool_call_id", "action_id", "rejection_reason", "rejection_source"},
    "AgentErrorEvent": _EVENT | {"tool_name", "tool_call_id", "error"},
    "Condensation": _EVENT | {"forgotten_event_ids", "summary", "summary_offset", "llm_response_id"},
}
_MESSAGE = _THOUGHTS | {"role", "content", "tool_calls", "tool_call_id", "name"}
# What a result has already, and whole files before and after an edit.
_OBSERVED = ("content", "is_error", "old_content", "new_content")
_CALL = frozenset({"id", "responses_item_id", "name", "arguments", "origin"})


def says_nothing(found: Json) -> bool:
    """Return whether an event lacks what its kind promises."""
    match found.get("kind"):
        case "SystemPromptEvent":
            return not text_in(map_in(found, "system_prompt"), "text")
        case "MessageEvent":
            return not list_in(map_in(found, "llm_message"), "content") and not _has_thoughts(found)
        case "ActionEvent":
            return not map_in(found, "tool_call")
        case "ObservationEvent":
            return "content" not in map_in(found, "observation")
        case "UserRejectObservation":
            return not text_in(found, "rejection_reason")
        case "AgentErrorEvent":
            return not text_in(found, "error")
    return True


def _has_thoughts(found: Json) -> bool:
    return any(map_in(found, "llm_message").get(key) for key in _THOUGHTS)


def read_blocks(found: Json, refusals: Refusals, model: str) -> list[Json]:
    """Return the blocks of an event: of a prompt, a message, a call or a result."""
    kind = found["kind"]
    if kind == "SystemPromptEvent":
        added = text_in(map_in(found, "dynamic_context"), "text")
        return [text_block(text) for text in (found["system_prompt"]["text"], added) if text]
    if kind == "MessageEvent":
        message = found["llm_message"]
        parts = [*list_in(message, "content"), *list_in(found, "extended_content")]
        calls = [_call(call) for call in list_in(message, "tool_calls")]
        return [*_thoughts(message, refusals, model), *_parts(parts), *calls]
    if kind == "ActionEvent":
        return [*_thoughts(found, refusals, model), *_parts(list_in(found, "thought")), _call(found["tool_call"])]
    return [_result(found, refusals)]


def _thoughts(found: Json, refusals: Refusals, model: str) -> list[Json]:
    """Return what the model thought; Anthropic's blocks have the text as well, and a signature."""
    blocks = list_in(found, "thinking_blocks")
    signed = [block for block in blocks if text_in(block, "signature") or text_in(block, "type") != "thinking"]
    if signed:
        return anthropic_blocks(signed, refusals, model)
    item = map_in(found, "responses_reasoning_item")
    kept = [opaque_block(OPENAI, {**item, "type": "reasoning"}, model or None)] if item else []
    text = text_in(found, "reasoning_content") or "".join(text_in(block, "thinking") for block in blocks)
    return [*([thought(text, model or None)] if text else []), *kept]


def _parts(parts: list[Any]) -> list[Json]:
    return [block for part in parts for block in _part(part)]


def _part(part: Any) -> list[Json]:
    if text_in(part, "type") == "text" and type(part.get("text")) is str:
        return [text_block(part["text"])] if part["text"] else []
    urls = list_in(part, "image_urls")
    if urls and all(type(url) is str for url in urls):
        return [media_from(url, ANY_PICTURE) for url in urls]
    return [opaque_block(NAME, {"type": "unknown", **as_map(part)})]


def _call(found: Any) -> Json:
    return call_block(
        text_in(found, "id"), text_in(found, "name"), found.get("arguments") if type(found) is dict else None
    )


def _result(found: Json, refusals: Refusals) -> Json:
    """Return the result of a call, with what OpenHands knows of it beside its text."""
    ident = text_in(found, "tool_call_id") or "call"
    reason = text_in(found, "error") or text_in(found, "rejection_reason")
    if found["kind"] != "ObservationEvent":
        return tool_result(ident, reason, failed=True)
    observation = found["observation"]
    content = observation["content"]
    parts = [text_block(content)] if type(content) is str else _parts(content if type(content) is list else [content])
    blocks = [
        fitting(block, "tool_result", refusals) for block in [*parts, *_parts(list_in(found, "extended_content"))]
    ]
    rest = {key: value for key, value in observation.items() if key not in ("content", "is_error")}
    kept = {"provider_metadata": {"provider": NAME, "observation_json": encode(rest)}} if rest else {}
    return {**tool_result(ident, shortest(blocks), failed=observation.get("is_error") is True), **kept}


def left_out_of(found: Json) -> Iterator[str]:
    """Yield the fields of an event that its blocks lack."""
    kind = found["kind"]
    yield from other_fields(found, FIELDS[kind], f"{kind}.")
    parts = [*list_in(found, "thought"), *list_in(found, "extended_content")]
    if kind == "MessageEvent":
        message = found["llm_message"]
        yield from other_fields(message, _MESSAGE, f"{kind}.llm_message.")
        parts += list_in(message, "content")
        for call in list_in(message, "tool_calls"):
            yield from other_fields(as_map(call), _CALL, f"{kind}.llm_message.tool_calls.")
    holder = found["llm_message"] if kind == "MessageEvent" else found
    for block in list_in(holder, "thinking_blocks"):
        if not text_in(block, "signature") and text_in(block, "type") == "thinking":
            yield from other_fields(block, {"type", "thinking", "signature"}, f"{kind}.thinking_blocks.")
    if kind == "ActionEvent":
        yield from other_fields(found["tool_call"], _CALL, f"{kind}.tool_call.")
    if kind == "ObservationEvent":
        content = found["observation"]["content"]
        parts += content if type(content) is list else []
    if kind == "SystemPromptEvent":
        parts += [found["system_prompt"], map_in(found, "dynamic_context")]
    for part in parts:
        if type(part) is dict and ("text" in part or "image_urls" in part):
            yield from other_fields(part, {"type", "text", "image_urls", "cache_prompt"}, f"{kind}.part.")
