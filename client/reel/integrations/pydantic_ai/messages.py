"""Converts messages of Pydantic AI to messages of the protocol, and back.

Both are JSON: the framework's is the output of its ``ModelMessagesTypeAdapter``. Each part becomes one block, or
several. A part without a matching block becomes an ``opaque`` one, which is not sent to any provider.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from reel.providers.blocks import text as text_block
from reel.providers.blocks import tool_call, tool_result
from reel.providers.roles import INSTRUCTION_ROLES
from reel.said.blocks import InvalidRecord, check_blocks

Json: TypeAlias = dict[str, Any]

# The provider of the opaque blocks.
_OWN: Final = "pydantic-ai"
# Only its thinking is signed in a way that the daemon can send back.
_SIGNING: Final = "anthropic"
_REDACTED: Final = "redacted_thinking"
# The outcomes of a call that are sent to its provider as errors.
_ERRORS: Final = ("failed", "retried")
# The default type of a file at a URL, and the kind of a URL by the first word of its type.
_TYPES: Final = {
    "image-url": "image/jpeg",
    "audio-url": "audio/mpeg",
    "video-url": "video/mp4",
    "document-url": "application/pdf",
}
_KINDS: Final = {"image": "image-url", "audio": "audio-url", "video": "video-url"}
_URL_SAFE: Final = str.maketrans("-_", "+/")


def messages_of(item: Json) -> list[Json]:
    """Convert a message of the framework to messages of the protocol, at least one.

    The framework keeps results and text, or calls of a provider's tools and their results, in one message. The protocol
    needs several. Encoded files in the item are rewritten in the standard base64 alphabet, which the framework reads as
    well.

    Args:
        item: the message.
    """
    holder = "assistant" if item.get("kind") == "response" else "user"
    said: list[Json] = []
    for part in item.get("parts") or ():
        _say(said, part, holder)
    if not said:
        said.append({"role": holder, "content": [text_block("")]})
    if holder == "assistant" and isinstance(model := item.get("model_name"), str):
        for message in said:
            if message["role"] == holder:
                message["provider_metadata"] = {"model": model}
    return said


def _say(said: list[Json], part: Json, holder: str) -> None:
    """Add the content of a part, to the last message if that has the same role."""
    kind = part.get("part_kind")
    role = "tool" if _is_result(part) else holder
    metadata = {"role": "system"} if kind in ("system-prompt", "instruction-delta") and role == "user" else {}
    blocks = list(_blocks(part, role))
    try:
        check_blocks(blocks, role, "content")
    except InvalidRecord:  # an id, a name or a type that is not valid in a block
        role, blocks = holder, [_opaque(part)]
    if said and said[-1]["role"] == role and said[-1].get("provider_metadata", {}) == metadata:
        said[-1]["content"] += blocks
    else:
        said.append({"role": role, "content": blocks, **({"provider_metadata": metadata} if metadata else {})})


def _is_result(part: Json) -> bool:
    kind = part.get("part_kind")
    return kind in ("tool-return", "builtin-tool-return") or (kind == "retry-prompt" and bool(part.get("tool_name")))


def _blocks(part: Json, role: str) -> Iterator[Json]:
    kind, content = part.get("part_kind"), part.get("content")
    if role == "tool":
        yield _result(part)
    elif kind in ("tool-call", "builtin-tool-call"):
        args = part.get("args")
        arguments = args if isinstance(args, str) else _dump({} if args is None else args)
        yield tool_call(part.get("tool_call_id") or "", part.get("tool_name") or "", arguments)
    elif kind == "thinking":
        yield _thinking(part)
    elif kind == "file" and isinstance(content, dict):
        yield _content(content)
    elif kind == "speech":
        yield from _speech(part)
    elif kind in ("retry-feedback", "retry-prompt"):
        yield text_block(_as_text(content))
    elif isinstance(content, str) and kind != "instruction-baseline":
        yield text_block(content)
    elif isinstance(content, list) and content:
        yield from map(_content, content)
    else:
        yield _opaque(part)


def _result(part: Json) -> Json:
    content = part.get("content")
    files = content if isinstance(content, list) else [content]
    found: str | list[Json] = _as_text(content)
    if any(_is_file(value) for value in files):
        found = [_content(value) if _is_file(value) else text_block(_as_text(value)) for value in files]
    failed = part.get("outcome") in _ERRORS or part["part_kind"] == "retry-prompt"
    return tool_result(part.get("tool_call_id") or "", found, failed=failed)


def _is_file(value: Any) -> bool:
    return isinstance(value, dict) and (value.get("kind") == "binary" or value.get("kind") in _TYPES)


def _content(value: Any) -> Json:
    """Convert a piece of a prompt to a block: text, a file, or an opaque block."""
    if isinstance(value, str):
        return text_block(value)
    kind = value.get("kind")
    if kind == "binary":
        value["data"] = str(value.get("data", "")).translate(_URL_SAFE)
        return {"type": "media", "mime_type": value.get("media_type"), "data_base64": value["data"]}
    if kind in _TYPES:
        return {"type": "media", "mime_type": value.get("media_type") or _TYPES[kind], "url": value.get("url")}
    if isinstance(value.get("content"), str):
        return text_block(value["content"])
    return _opaque(value)


def _thinking(part: Json) -> Json:
    signature = part.get("signature") if part.get("provider_name") == _SIGNING else None
    if signature and part.get("id") == _REDACTED:
        return {"type": _REDACTED, "data": signature, "provider": _SIGNING}
    found = {"type": "thinking", "text": part.get("content") or ""}
    return {**found, "signature": signature, "provider": _SIGNING} if signature else found


def _speech(part: Json) -> Iterator[Json]:
    if isinstance(part.get("audio"), dict):
        yield _content(part["audio"])
    yield text_block(part.get("transcript") or "")


def _opaque(value: Json) -> Json:
    return {"type": "opaque", "provider": _OWN, "data_json": json.dumps(value)}


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else _dump(value)


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def as_words(part: Any, kind: Any) -> Json:
    """Convert a part that this version of the framework cannot read to a part with its text.

    Args:
        part: the part, or the value stored in place of one.
        kind: the kind of its message.
    """
    content = part.get("content") if isinstance(part, dict) else part
    words = content if isinstance(content, str) else _dump(part)
    return {"part_kind": "text" if kind == "response" else "user-prompt", "content": words}


class MessageReader:
    """Converts foreign messages to messages of the framework, one after the other.

    In the framework, a result has the name of its tool; in the protocol, it does not. The name is that of the call,
    which came before the result.
    """

    def __init__(self) -> None:
        self._tools: dict[str, str] = {}

    def note(self, item: Json) -> None:
        """Remember the calls in a message in the framework's format, which any client can write."""
        parts = item.get("parts")
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict) and part.get("part_kind") in ("tool-call", "builtin-tool-call"):
                call_id, tool = part.get("tool_call_id"), part.get("tool_name")
                if isinstance(call_id, str) and isinstance(tool, str):
                    self._tools[call_id] = tool

    def item_of(self, message: Mapping[str, Any], time: int) -> Json:
        """Return a message of the protocol as one of the framework.

        Args:
            message: the message.
            time: when it was said, in milliseconds since the epoch.
        """
        metadata = message.get("provider_metadata", {})
        at = datetime.fromtimestamp(time / 1000, UTC).isoformat()
        if message["role"] == "assistant":
            parts = list(self._said(message["content"]))
            model = metadata.get("model")
            named = {"model_name": model} if isinstance(model, str) else {}
            item = {"kind": "response", "parts": parts, "timestamp": at, **named}
            self.note(item)
            return item
        if message["role"] == "tool":
            parts = [self._returned(block, at) for block in message["content"]]
        elif metadata.get("role") in INSTRUCTION_ROLES:
            parts = [{"part_kind": "system-prompt", "content": _words(message["content"]), "timestamp": at}]
        else:
            parts = [{"part_kind": "user-prompt", "content": _prompt(message["content"]), "timestamp": at}]
        return {"kind": "request", "parts": parts, "timestamp": at}

    def _returned(self, block: Json, at: str) -> Json:
        call_id, content = block["tool_call_id"], block["content"]
        return {
            "part_kind": "tool-return",
            "tool_name": self._tools.get(call_id, "unknown"),
            "tool_call_id": call_id,
            "content": content if isinstance(content, str) else _prompt(content),
            "outcome": "failed" if block.get("is_error") else "success",
            "timestamp": at,
        }

    @staticmethod
    def _said(blocks: Iterable[Json]) -> Iterator[Json]:
        for block in blocks:
            if (read := _SAID.get(block["type"])) is not None:
                yield read(block)


def _call_part(block: Json) -> Json:
    return {
        "part_kind": "tool-call",
        "tool_name": block["name"],
        "args": block["arguments"],
        "tool_call_id": block["id"],
    }


def _thinking_part(block: Json) -> Json:
    signature = block.get("signature") if block.get("provider") == _SIGNING else None
    signed = {"signature": signature, "provider_name": _SIGNING} if signature else {}
    return {"part_kind": "thinking", "content": block["text"], **signed}


def _redacted_part(block: Json) -> Json:
    if block.get("provider") != _SIGNING:
        return {"part_kind": "thinking", "content": ""}
    signed = {"signature": block["data"], "provider_name": _SIGNING}
    return {"part_kind": "thinking", "content": "", "id": _REDACTED, **signed}


def _file_part(block: Json) -> Json:
    if "data_base64" not in block:
        return {"part_kind": "text", "content": block["url"]}
    return {"part_kind": "file", "content": _file(block)}


_SAID: Final[dict[str, Callable[[Json], Json]]] = {
    "text": lambda block: {"part_kind": "text", "content": block["text"]},
    "tool_call": _call_part,
    "thinking": _thinking_part,
    _REDACTED: _redacted_part,
    "media": _file_part,
}


def _prompt(blocks: Iterable[Json]) -> str | list[Any]:
    """Return the text and files of a prompt or a result; a single text as a string."""
    found: list[Any] = [
        block["text"] if block["type"] == "text" else _file(block) for block in blocks if block["type"] != "opaque"
    ]
    if not found:
        return ""
    return found[0] if len(found) == 1 and isinstance(found[0], str) else found


def _file(block: Json) -> Json:
    mime = block["mime_type"]
    if "data_base64" in block:
        return {"kind": "binary", "data": block["data_base64"], "media_type": mime}
    kind = _KINDS.get(mime.split("/")[0], "document-url")
    return {"kind": kind, "url": block["url"], "media_type": mime}


def _words(blocks: Iterable[Json]) -> str:
    return "\n\n".join(block["text"] for block in blocks if block["type"] == "text")
