"""What a request means, without what means nothing: two bodies that say the same give the same value."""

import json
import re
from copy import deepcopy
from typing import Any

from tests.reeld.formats.openai_meaning import openai_chat, openai_responses

Json = dict[str, Any]
MADE_UP = ({"text": "(noted)"}, {"text": "(empty)"}, {"text": "(attached)"}, {"text": "(go on)"})
PLACEHOLDERS = ("skip_thought_signature_validator", "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=")


def anthropic(body: Json) -> Any:
    """Neighbours of one role are one; a string is a text; what is false or null is not there; blanks say nothing.

    An id is what it pairs: how often a call was made before it.
    """
    said: list[tuple[str, list[Any]]] = []
    ids: dict[str, int] = {}
    for message in body["messages"]:
        blocks = [block for block in map(_block, _blocks(message["content"])) if block]
        if not said or said[-1][0] != message["role"]:
            said.append((message["role"], []))
        said[-1][1].extend(blocks)
        for block in blocks:
            if block["type"] == "tool_use":
                ids[block["id"]] = len(said)
                block["id"] = len(said)
            elif block["type"] == "tool_result":
                block["tool_use_id"] = ids[block["tool_use_id"]]
    return [_blocks(body.get("system") or []), said]


def _blocks(content: Any) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _block(block: Json) -> Json | None:
    found = {key: value for key, value in block.items() if value is not None}
    if found["type"] == "text" and not found["text"].strip():
        return None
    if found["type"] == "tool_result":
        content = _blocks(found.get("content") or [])
        found["content"] = [inner for inner in map(_block, content) if inner]
        if not found.get("is_error"):
            found.pop("is_error", None)
    if not found.get("citations"):
        found.pop("citations", None)
    return found


def gemini(body: Json) -> Any:
    """Keys are spelt one way, neighbours of one role are one; ids are given; results and words have their own turns.

    A placeholder signature stands for none.
    """
    body = _camel(body)
    said: list[tuple[str, list[Any]]] = []
    for content in _listed(body["contents"]):
        role = "model" if content.get("role") == "model" else "user"
        parts = [part for part in map(_part, _listed(content["parts"])) if part not in (None, *MADE_UP)]
        calls = [part for part in parts if "functionCall" in part]
        parts = [part for part in parts if "functionCall" not in part] + calls
        if parts and (not said or said[-1][0] != role):
            said.append((role, []))
        if parts:
            said[-1][1].extend(parts)
    for _, parts in said:
        for part in parts:
            for key in ("functionCall", "functionResponse"):
                if key in part:
                    part[key].pop("id", None)
    instruction = body.get("systemInstruction") or {"parts": []}
    return [[part["text"] for part in _listed(instruction["parts"])], said]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _part(part: Json) -> Json | None:
    part = {key: _camel(value) if isinstance(value, dict) else value for key, value in _camel(part).items()}
    if part.get("thoughtSignature") in (
        "skip_thought_signature_validator",
        "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=",
    ):
        del part["thoughtSignature"]
    if part.get("thought") is False:
        del part["thought"]
    if part.get("text") == "" and "thoughtSignature" not in part:
        return None
    if not part.get("text", "x").strip():
        del part["text"]
    if "functionCall" in part:
        part["functionCall"].setdefault("args", {})
    if "parts" in part.get("functionResponse", {}):
        inner = [_part(inside) for inside in part["functionResponse"]["parts"]]
        part["functionResponse"]["parts"] = inner
    return part


def _camel(found: Json) -> Json:
    return {re.sub(r"(?<=[a-z])_([a-z])", lambda match: match[1].upper(), key): value for key, value in found.items()}


def ollama(body: Json) -> Any:
    """An id is what it pairs; a key that is empty or null is not there; blanks say nothing."""
    said: list[Json] = []
    ids: dict[str, int] = {}
    for message in body["messages"]:
        found = {key: value for key, value in message.items() if value not in (None, "", [])}
        found["content"] = found.get("content", "").strip()
        for call in found.get("tool_calls", []):
            ids[call.get("id") or call["function"]["name"]] = len(said)
            call["id"] = len(said)
            call["function"].pop("index", None)
        if found["role"] == "tool":
            found["tool_call_id"] = ids[found.get("tool_call_id") or found["tool_name"]]
        said.append(found)
    return said


def bedrock_converse(body: Json) -> Any:
    """Neighbours of one role are one; blanks, null members and words made up say nothing; an id is what it pairs."""
    said: list[tuple[str, list[Any]]] = []
    ids: dict[str, int] = {}
    for message in body["messages"]:
        content = [block for block in map(_converse_block, message["content"]) if block]
        if content and (not said or said[-1][0] != message["role"]):
            said.append((message["role"], []))
        for block in content:
            said[-1][1].append(block)
            if "toolUse" in block:
                ids[block["toolUse"]["toolUseId"]] = len(said)
                block["toolUse"]["toolUseId"] = len(said)
            elif "toolResult" in block:
                block["toolResult"]["toolUseId"] = ids[block["toolResult"]["toolUseId"]]
    return [body.get("system", []), said]


def _converse_block(block: Json) -> Json | None:
    ((kind, found),) = ((key, value) for key, value in block.items() if value is not None)
    if kind == "text" and (not found.strip() or {"text": found} in MADE_UP):
        return None
    if kind == "toolResult" and found.get("status") == "success":
        found = {key: value for key, value in found.items() if key != "status"}
    return {kind: found}


MEANINGS = {
    "openai_chat": openai_chat,
    "openai_responses": openai_responses,
    "anthropic": anthropic,
    "gemini": gemini,
    "ollama": ollama,
    "bedrock_converse": bedrock_converse,
}


def same(provider: str, one: Json, other: Json) -> tuple[Any, Any]:
    """Return what two bodies mean, as JSON values that can be compared."""
    meaning = MEANINGS[provider]
    return json.loads(json.dumps(meaning(deepcopy(one)))), json.loads(json.dumps(meaning(deepcopy(other))))
