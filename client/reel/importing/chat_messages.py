"""Messages in the forms that several programs write: Chat Completions, Anthropic, Gemini, ShareGPT and ChatML."""

from typing import Any, NamedTuple

from reel.blocks import ALLOWED
from reel.importing.anthropic_blocks import blocks_of, by_role, opaque
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
_REASONING = ("reasoning_content", "reasoning")
_GEMINI = "gemini"


class Spoken(NamedTuple):
    """What one role said: its blocks, and the metadata of the message."""

    role: str
    blocks: list[Json]
    metadata: Json


def role_in(found: Json) -> str:
    """Return who said a message: user, assistant, tool or system; empty if it does not say."""
    return _ROLES.get((text_in(found, "role") or text_in(found, "from")).lower(), "")


def read_message(found: Json, index: int, *, is_first: bool) -> list[Spoken]:
    """Return what a message says.

    Args:
        found: the message.
        index: its number, from which calls without ids get theirs.
        is_first: whether nobody has spoken before: only then a system message is the prompt.
    """
    role = role_in(found) or "user"
    if "parts" in found and role != "system":
        return _gemini_message(found, role, index)
    content = found.get("content", found.get("value"))
    if role == "tool":
        call_id = text_in(found, "tool_call_id") or text_in(found, "name") or f"call-{index}"
        return [Spoken("tool", [result(call_id, _blocks(content, "tool_result"))], {})]
    if role == "system":
        text = _blocks(content, "system") or [text_block("")]
        return [Spoken("system", text, {})] if is_first else [Spoken("user", text, {"role": "system"})]
    blocks = _blocks(content, role)
    if role == "assistant":
        thinking = [{"type": "thinking", "text": found[key]} for key in _REASONING if text_in(found, key)]
        blocks = [*thinking[:1], *blocks, *_calls(found, index)]
    model = {"model": found["model"]} if text_in(found, "model") and role == "assistant" else {}
    return [Spoken(owner, run, model) for owner, run in by_role(blocks or [text_block("")], role)]


def text_block(text: str) -> Json:
    """Return a block of text."""
    return {"type": "text", "text": text}


def call_block(call_id: str, name: str, arguments: Any) -> Json:
    """Return a block that calls a tool; arguments that are not text become JSON."""
    given = arguments if type(arguments) is str else encode({} if arguments is None else arguments)
    return {"type": "tool_call", "id": call_id or "call", "name": name or "unknown", "arguments": given}


def result(call_id: str, blocks: list[Json], *, is_error: bool = False) -> Json:
    """Return the block of a tool's result."""
    plain = len(blocks) == 1 and blocks[0].keys() == {"type", "text"}
    content = blocks[0]["text"] if plain else blocks or ""
    return {"type": "tool_result", "tool_call_id": call_id, "content": content, "is_error": is_error}


def said_from(spoken: list[Spoken], ref: str, sent: int | None, line: int = 0) -> list[Said]:
    """Return what one message says as steps; the last one has the ref itself, because what follows follows it."""
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
    blocks = [_gemini_part(part, f"call-{index}") for part in list_in(found, "parts")]
    fitting = [
        block
        if block["type"] in (*ALLOWED[role if role != "tool" else "user"], "tool_result")
        else opaque(block, _GEMINI)
        for block in blocks
    ]
    return [
        Spoken(owner, run, {})
        for owner, run in by_role(fitting or [text_block("")], role if role != "tool" else "user")
    ]


def _gemini_part(part: Any, made: str) -> Json:
    signature = text_in(part, "thoughtSignature")
    kept = {"provider_metadata": {"provider": _GEMINI, "signature": signature}} if signature else {}
    if call := map_in(part, "functionCall"):
        name = text_in(call, "name")
        return {**call_block(text_in(call, "id") or name or made, name, call.get("args")), **kept}
    if response := map_in(part, "functionResponse"):
        call_id = text_in(response, "id") or text_in(response, "name") or made
        return result(call_id, [text_block(encode(response.get("response")))])
    if data := map_in(part, "inlineData") or map_in(part, "inline_data"):
        mime = text_in(data, "mimeType") or text_in(data, "mime_type") or "application/octet-stream"
        return {"type": "media", "mime_type": mime, "data_base64": text_in(data, "data")}
    if type(part) is str:
        return text_block(part)
    if type(part) is not dict:
        return opaque({"value": part}, _GEMINI)
    if "text" in part:
        text = text_in(part, "text")
        if part.get("thought") is True:
            return {"type": "thinking", "text": text, "provider": _GEMINI, **kept}
        return {**text_block(text), **kept}
    return opaque(part, _GEMINI)
