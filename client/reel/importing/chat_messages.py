"""Reads messages in several common formats: Chat Completions, Anthropic, Gemini, ShareGPT and ChatML."""

from typing import Any, NamedTuple

from reel.blocks import ALLOWED
from reel.importing.anthropic_blocks import blocks_of
from reel.importing.blocks import by_role, call_block, result_block, text_block
from reel.importing.gemini_parts import fitting, read_part
from reel.importing.responses_items import image_block
from reel.importing.steps import Part, Said
from reel.importing.values import list_in, map_in, text_in
from reel.strict_json import Json, encode

_ROLES = {
    **dict.fromkeys(("user", "human"), "user"),
    **dict.fromkeys(("assistant", "gpt", "model", "ai", "bot", "chatgpt"), "assistant"),
    **dict.fromkeys(("tool", "function", "observation"), "tool"),
    **dict.fromkeys(("system", "developer"), "system"),
}
REASONING = ("reasoning_content", "reasoning")


class Spoken(NamedTuple):
    """A message of one role: its blocks and its metadata."""

    role: str
    blocks: list[Json]
    metadata: Json


def role_in(found: Json) -> str:
    """Return the role of a message: user, assistant, tool or system; empty if it has none."""
    return _ROLES.get((text_in(found, "role") or text_in(found, "from")).lower(), "")


def read_message(found: Json, index: int, *, is_first: bool) -> list[Spoken]:
    """Convert a message.

    Args:
        found: the message.
        index: its number, from which ids are made for calls without ids.
        is_first: whether it is the first message: only then a system message is the prompt.
    """
    role = role_in(found) or "user"
    if "parts" in found and role != "system":
        return _gemini_message(found, role, index)
    content = found.get("content", found.get("value"))
    if role == "tool":
        call_id = text_in(found, "tool_call_id") or text_in(found, "name") or f"call-{index}"
        return [Spoken("tool", [result_block(call_id, _blocks(content, "tool_result"))], {})]
    if role == "system":
        text = _blocks(content, "system") or [text_block("")]
        return [Spoken("system", text, {})] if is_first else [Spoken("user", text, {"role": "system"})]
    blocks = _blocks(content, role)
    if role == "assistant":
        thinking = [{"type": "thinking", "text": found[key]} for key in REASONING if text_in(found, key)]
        blocks = [*thinking[:1], *blocks, *_calls(found, index)]
    model = {"model": found["model"]} if text_in(found, "model") and role == "assistant" else {}
    return [Spoken(owner, run, model) for owner, run in by_role(blocks or [text_block("")], role)]


def said_from(spoken: list[Spoken], ref: str, sent: int | None, line: int = 0) -> list[Said]:
    """Convert one message to steps; the last one has the ref itself, because the next message follows it."""
    refs = [f"{ref}/{number}" for number in range(1, len(spoken))] + [ref]
    return [
        Said(role, (Part(name, blocks),), metadata, sent, line)
        for name, (role, blocks, metadata) in zip(refs, spoken, strict=True)
    ]


def _blocks(content: Any, holder: str) -> list[Json]:
    if type(content) is str:
        return [text_block(content)]
    if content is None:
        return []
    if type(content) is not list:
        return [text_block(encode(content))]
    return [_block(part, holder) for part in content]


def _block(part: Any, holder: str) -> Json:
    kind = text_in(part, "type")
    block: Json | None = None
    if kind in ("input_text", "output_text") and type(part.get("text")) is str:
        block = text_block(part["text"])
    elif kind in ("image_url", "input_image"):
        url = text_in(part, "image_url") or text_in(map_in(part, "image_url"), "url")
        block = image_block(url) if url else None
    elif holder == "system":
        block = text_block(part if type(part) is str else text_in(part, "text") or encode(part))
    if block is None or block["type"] not in ALLOWED[holder]:
        (block,) = blocks_of([part], holder)
    return block


def _calls(found: Json, index: int) -> list[Json]:
    calls = []
    for number, given in enumerate(list_in(found, "tool_calls")):
        function = map_in(given, "function") or (given if type(given) is dict else {})
        call_id = text_in(given, "id") or f"call-{index}-{number}"
        calls.append(call_block(call_id, text_in(function, "name"), function.get("arguments")))
    if function := map_in(found, "function_call"):
        calls.append(call_block(text_in(function, "name"), text_in(function, "name"), function.get("arguments")))
    return calls


def _gemini_message(found: Json, role: str, index: int) -> list[Spoken]:
    holder = role if role != "tool" else "user"
    blocks = [read_part(part, f"call-{index}") for part in list_in(found, "parts")]
    kept = [block if block["type"] == "tool_result" else fitting(block, holder) for block in blocks]
    return [Spoken(owner, run, {}) for owner, run in by_role(kept or [text_block("")], holder)]
