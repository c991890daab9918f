"""Converts messages of Strands Agents to messages of the protocol, and such messages to theirs.

Both are JSON. Theirs is what ``SessionMessage.to_dict`` returns: a message of Bedrock's Converse, in which bytes are
``{"__bytes_encoded__": true, "data": "…"}``. A block without a counterpart becomes an ``opaque`` one, which is not sent
to any provider.
"""

import json
from typing import Any, Final

from reel.base.values import is_clean
from reel.integrations.arguments import map_of
from reel.providers.blocks import text as text_block
from reel.providers.blocks import tool_call, tool_result
from reel.providers.content import mime_of, shortest
from reel.providers.roles import split_by_role
from reel.said.blocks import check_name
from reel.said.messages import Message

Json = dict[str, Any]

# The provider of the opaque blocks, and of the reasoning.
_PROVIDER: Final = "strands"
_ENCODED: Final = "__bytes_encoded__"
_MEDIA: Final = ("image", "document", "video", "audio")
# The formats of documents; the MIME type of any other medium has its format at the end.
_DOCUMENTS: Final = {
    "pdf": "application/pdf",
    "csv": "text/csv",
    "doc": "application/msword",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xls": "application/vnd.ms-excel",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "html": "text/html",
    "txt": "text/plain",
    "md": "text/markdown",
}
_FORMATS: Final = {mime: name for name, mime in _DOCUMENTS.items()}
# The kind and format of each MIME type that a model can read, beside the documents.
_READ: Final = {
    **{f"image/{name}": ("image", name) for name in ("png", "jpeg", "gif", "webp")},
    **{f"video/{name}": ("video", name) for name in ("mp4", "webm", "mpeg")},
}


def messages_of(item: Json) -> list[Any]:
    """Convert a message of a session to messages of the protocol, at least one.

    Theirs may have results and text. The protocol needs several messages then: each role has its own blocks.
    """
    said = item.get("redact_message") or item["message"]
    speaker = "assistant" if said["role"] == "assistant" else "user"
    blocks = [_block(block) for block in said["content"]]
    return [{"role": holder, "content": found} for holder, found in split_by_role(blocks, speaker)]


def _block(block: Json) -> Json:
    found = None
    if isinstance(block.get("text"), str):
        found = text_block(block["text"])
    elif call := block.get("toolUse"):
        found = _call(call)
    elif result := block.get("toolResult"):
        found = _result(result)
    elif thought := (block.get("reasoningContent") or {}).get("reasoningText"):
        signed = {"signature": thought["signature"]} if thought.get("signature") else {}
        found = {"type": "thinking", "text": thought.get("text") or "", "provider": _PROVIDER, **signed}
    elif guarded := (block.get("guardContent") or {}).get("text"):
        found = text_block(guarded["text"])
    elif cited := (block.get("citationsContent") or {}).get("content"):
        found = text_block("".join(str(part.get("text", "")) for part in cited))
    elif kind := next((kind for kind in _MEDIA if block.get(kind)), None):
        found = _media(kind, block[kind])
    return found or {"type": "opaque", "provider": _PROVIDER, "data_json": _json(block)}


def _call(call: Json) -> Json | None:
    if check_name(call.get("toolUseId")) is not None or check_name(call.get("name")) is not None:
        return None
    return tool_call(call["toolUseId"], call["name"], _json(call.get("input")))


def _result(result: Json) -> Json | None:
    if check_name(result.get("toolUseId")) is not None:
        return None
    blocks = [
        text_block(_json(part["json"])) if "json" in part else _block(part) for part in result.get("content") or ()
    ]
    return tool_result(result["toolUseId"], shortest(blocks), failed=result.get("status") == "error")


def _media(kind: str, media: Json) -> Json | None:
    name, source = str(media.get("format")), media.get("source") or {}
    mime = _DOCUMENTS.get(name, f"application/{name}") if kind == "document" else f"{kind}/{name}"
    named = {"name": media["name"]} if isinstance(media.get("name"), str) else {}
    inside, place = source.get("bytes"), (source.get("location") or {}).get("uri")
    if isinstance(inside, dict) and inside.get(_ENCODED) and is_clean(mime):
        return {"type": "media", "mime_type": mime, "data_base64": inside["data"], **named}
    if isinstance(place, str) and is_clean(place) and is_clean(mime):
        return {"type": "media", "mime_type": mime, "url": place, **named}
    return None


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def content_of(message: Message) -> list[Json]:
    """Return the content of a foreign message as blocks of theirs, without those that the framework cannot read.

    Another provider's reasoning and own blocks are left out: no model of the framework could read them.
    """
    return [found for block in message["content"] if (found := _theirs(dict(block))) is not None]


def _theirs(block: Json) -> Json | None:
    match block["type"]:
        case "text":
            return {"text": block["text"]} if block["text"] else None  # Converse refuses an empty text
        case "tool_call":
            call = {"toolUseId": block["id"], "name": block["name"], "input": map_of(block["arguments"])}
            return {"toolUse": call}
        case "tool_result":
            output = block["content"]
            blocks = [text_block(output)] if isinstance(output, str) else output
            content = [found for inside in blocks if (found := _theirs(inside)) is not None]
            status = "error" if block.get("is_error") else "success"
            return {"toolResult": {"toolUseId": block["tool_call_id"], "status": status, "content": content}}
        case "media":
            return _their_media(block)
    return None


def _their_media(block: Json) -> Json | None:
    mime = mime_of(block)
    kind, written = ("document", _FORMATS[mime]) if mime in _FORMATS else _READ.get(mime, ("", ""))
    if not kind or not (block.get("data_base64") or str(block.get("url")).startswith("s3://")):
        return None
    named = {"name": block.get("name") or "document"} if kind == "document" else {}
    source = (
        {"bytes": {_ENCODED: True, "data": block["data_base64"]}}
        if block.get("data_base64")
        else {"location": {"type": "s3", "uri": block["url"]}}
    )
    return {kind: {"format": written, "source": source, **named}}
