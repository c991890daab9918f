"""Translation between LangChain's messages and neutral messages, in both directions, possibly losing details.

:mod:`reel.integrations.langgraph.messages` stores the details beside the neutral message.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from reel.base.values import clean, clean_deep
from reel.integrations.langgraph import values
from reel.providers.blocks import text as text_block
from reel.providers.blocks import tool_call, tool_result
from reel.providers.roles import INSTRUCTION_ROLES

Json = dict[str, Any]

# The protocol's limit for call ids and tool names.
_LONGEST = 1024
# LangChain's names for providers whose thinking has another provider name in the daemon.
_PROVIDERS = {"google_genai": "gemini", "google_vertexai": "gemini", "google": "gemini", "azure_openai": "openai"}


def to_neutral(message: BaseMessage) -> Json:
    """Convert a message of LangChain to a neutral message."""
    if isinstance(message, ToolMessage):
        result = tool_result(_word(message.tool_call_id), _result(message), failed=message.status == "error")
        return {"role": "tool", "content": [result], "provider_metadata": {}}
    role = "assistant" if isinstance(message, AIMessage) else "user"
    metadata = {"role": "system"} if message.type == "system" else {}
    return {"role": role, "content": _blocks(message, role) or [text_block("")], "provider_metadata": metadata}


def _result(message: ToolMessage) -> Any:
    if type(message.content) is str:
        return clean(message.content)[0]
    # A tool may return no blocks; a result has at least one.
    return [block for block in _blocks(message, "user") if block["type"] in ("text", "media", "opaque")] or ""


def _blocks(message: BaseMessage, role: str) -> list[Json]:
    if type(message.content) is str and not getattr(message, "tool_calls", None):
        parts: Sequence[Any] = [{"type": "text", "text": message.content}] if message.content else []
    else:
        try:
            parts = message.content_blocks
        except Exception:  # translators fail on unexpected content
            parts = [{"type": "text", "text": str(message.text)}]
    named = message.response_metadata.get("model_provider") if type(message.response_metadata) is dict else None
    provider = _PROVIDERS.get(named, named) if type(named) is str and named else None
    # Values that the daemon does not accept, anywhere, are kept in the item beside the message.
    blocks: list[Json] = clean_deep([_block(part, role, provider) for part in parts])[0]
    return blocks


def _word(text: Any) -> str:
    return clean(str(text or "?"))[0][:_LONGEST]


def _block(part: Any, role: str, provider: str | None) -> Json:
    match part:
        case {"type": "text" | "text-plain", "text": str(text)}:
            return text_block(text)
        case {"type": "reasoning"} if role == "assistant" and type(part.get("reasoning")) is str:
            signature = (part.get("extras") or {}).get("signature") or part.get("signature")
            signed = {"signature": signature} if type(signature) is str and signature else {}
            made = {"provider": provider} if provider else {}
            return {"type": "thinking", "text": part["reasoning"], **signed, **made}
        case {"type": "tool_call" | "invalid_tool_call" | "tool_call_chunk"} if role == "assistant":
            given = part.get("args")
            arguments = values.to_json(given) if type(given) is dict else str(given or "")
            return tool_call(_word(part.get("id")), _word(part.get("name")), arguments)
        case {"type": "image" | "audio" | "video" | "file" as kind} if _media(part, kind):
            return _media(part, kind)
    value = part.get("value", part) if type(part) is dict and part.get("type") == "non_standard" else part
    try:
        return {"type": "opaque", "provider": provider or "langchain", "data_json": json.dumps(value, allow_nan=False)}
    except (TypeError, ValueError, RecursionError):
        return text_block(str(value))


def _media(part: Mapping[str, Any], kind: str) -> Json:
    mime = part.get("mime_type")
    mime = mime if type(mime) is str and mime else {"file": "application/octet-stream"}.get(kind, f"{kind}/*")
    for field, name in (("base64", "data_base64"), ("url", "url")):
        if type(part.get(field)) is str and part[field]:
            return {"type": "media", "mime_type": mime, name: part[field]}
    return {}


def from_neutral(message: Mapping[str, Any], name: str) -> list[BaseMessage]:
    """Convert a neutral message to messages of LangChain: one, unless it has several results.

    Args:
        message: a message of the protocol.
        name: the id of the first one; it is the prefix of the other ids.
    """
    content = message["content"]
    if message["role"] == "tool":
        return [
            ToolMessage(
                content=block["content"] if type(block["content"]) is str else [*map(_part, block["content"])],
                tool_call_id=block["tool_call_id"],
                status="error" if block.get("is_error") else "success",
                id=f"{name}-{number}" if number else name,
            )
            for number, block in enumerate(content)
        ]
    said = [block for block in content if block["type"] != "tool_call"]
    only = said[0]["text"] if len(said) == 1 and said[0]["type"] == "text" else None
    parts = only if only is not None else [*map(_part, said)] or ""
    if message["role"] == "user":
        kind = SystemMessage if message["provider_metadata"].get("role") in INSTRUCTION_ROLES else HumanMessage
        return [kind(content=parts, id=name)]
    calls, invalid = [], []
    for block in content:
        if block["type"] == "tool_call":
            try:
                arguments = json.loads(block["arguments"] or "{}")
            except (ValueError, RecursionError):
                arguments = None
            known = {"id": block["id"], "name": block["name"]}
            if type(arguments) is dict:
                calls.append({**known, "args": arguments, "type": "tool_call"})
            else:
                invalid.append({**known, "args": block["arguments"], "error": None, "type": "invalid_tool_call"})
    return [AIMessage(content=parts, tool_calls=calls, invalid_tool_calls=invalid, id=name)]


def _part(block: Mapping[str, Any]) -> Json:
    match block["type"]:
        case "text":
            return {"type": "text", "text": block["text"]}
        case "thinking":
            signed = {"extras": {"signature": block["signature"]}} if block.get("signature") else {}
            return {"type": "reasoning", "reasoning": block["text"], **signed}
        case "media":
            mime: str = block["mime_type"]
            kind = mime.partition("/")[0]
            where = {"url": block["url"]} if block.get("url") is not None else {"base64": block["data_base64"]}
            return {"type": kind if kind in ("image", "audio", "video") else "file", "mime_type": mime, **where}
        case "opaque":
            return {"type": "non_standard", "value": json.loads(block["data_json"])}
    return {"type": "non_standard", "value": dict(block)}  # redacted thinking
