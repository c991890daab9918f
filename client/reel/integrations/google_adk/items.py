"""Converts events of Google's ADK to messages of the protocol, and such messages to contents of events.

Both are JSON: the event's is the output of its ``model_dump(mode="json")``. A part without a matching block becomes an
``opaque`` one, which is not sent to any provider.
"""

import json
from typing import Any, Final

from reel.base.values import is_clean
from reel.integrations.arguments import map_of
from reel.providers.blocks import text as text_block
from reel.providers.blocks import tool_call, tool_result
from reel.providers.content import standard_base64, texts_of
from reel.providers.roles import split_by_role
from reel.said.blocks import check_name
from reel.said.messages import Message

Json = dict[str, Any]

# The provider of the opaque blocks, and the signer of thoughts.
_PROVIDER: Final = "google-adk"
_SIGNER: Final = "gemini"
# The name of the tool that runs a model's code.
_CODE: Final = "code_execution"
# The fields of an event beside its content that matter to a person if there is no content.
_TOLD: Final = ("actions", "output")


def messages_of(event: Json) -> list[Any]:
    """Convert an event to messages of the protocol, at least one.

    One event may contain calls, their results and text. The protocol needs several messages: each role has its own
    blocks.
    """
    content = event.get("content") or {}
    by_model = content.get("role") == "model" if content.get("role") else event.get("author") != "user"
    speaker = "assistant" if by_model else "user"
    parts = content.get("parts") or ()
    blocks = [_block(part, f"{event.get('id') or 'event'}_{number}") for number, part in enumerate(parts)]
    by_role = split_by_role(blocks or [_without_content(event)], speaker)
    return [{"role": holder, "content": found} for holder, found in by_role]


def _without_content(event: Json) -> Json:
    """Return the block of an event that only has actions."""
    problem = [str(event[key]) for key in ("error_code", "error_message") if event.get(key)]
    spoken = event.get("output_transcription") or event.get("input_transcription") or {}
    if problem:
        return text_block(f"Error: {': '.join(problem)}")
    if isinstance(spoken.get("text"), str):
        return text_block(spoken["text"])
    return _opaque({key: event[key] for key in _TOLD if event.get(key)})


def _block(part: Json, made_id: str) -> Json:
    """Convert a part of a content to a block; ``made_id`` is the id for a call without one."""
    text = part.get("text")
    if isinstance(text, str) and part.get("thought"):
        signed = {"signature": part["thought_signature"]} if part.get("thought_signature") else {}
        return {"type": "thinking", "text": text, "provider": _SIGNER, **signed}
    if isinstance(text, str):
        return text_block(text)
    found = None
    if call := part.get("function_call"):
        found = _call(call.get("id") or made_id, call.get("name"), call.get("args") or {})
    elif result := part.get("function_response"):
        found = _result(result.get("id") or "", result.get("response"))
    elif code := part.get("executable_code"):
        found = _call(code.get("id") or f"{_CODE}_{made_id}", _CODE, code)
    elif ran := part.get("code_execution_result"):
        found = _result(ran.get("id") or f"{_CODE}_{made_id}", ran, is_error=ran.get("outcome") != "OUTCOME_OK")
    elif file := part.get("inline_data"):
        found = _media(file.get("mime_type"), "data_base64", file.get("data"))
    elif file := part.get("file_data"):
        found = _media(file.get("mime_type"), "url", file.get("file_uri"))
    return found or _opaque(part)


def _opaque(value: Json) -> Json:
    return {"type": "opaque", "provider": _PROVIDER, "data_json": json.dumps(value, ensure_ascii=False)}


def _call(call_id: str, name: Any, arguments: Json) -> Json | None:
    if check_name(call_id) is not None or check_name(name) is not None:
        return None
    return tool_call(call_id, name, json.dumps(arguments, ensure_ascii=False))


def _result(call_id: str, response: Any, *, is_error: bool = False) -> Json | None:
    if check_name(call_id) is not None:
        return None
    lone = response.get("result", response.get("output")) if isinstance(response, dict) else None
    text = lone if isinstance(lone, str) else json.dumps(response, ensure_ascii=False)
    failed = is_error or (isinstance(response, dict) and "error" in response)
    return tool_result(call_id, text, failed=failed)


def _media(mime_type: Any, field: str, data: Any) -> Json | None:
    if not isinstance(mime_type, str) or not isinstance(data, str) or not (mime_type and data):
        return None
    if not (is_clean(mime_type) and is_clean(data)):
        return None
    # Pydantic writes the alphabet for URLs.
    return {"type": "media", "mime_type": mime_type, field: data if field == "url" else standard_base64(data)}


def content_of(message: Message) -> Json | None:
    """Convert a foreign message to a content; ``None`` if nothing in it is readable for the framework."""
    parts = [part for block in message["content"] if (part := _part(dict(block))) is not None]
    return {"role": "model" if message["role"] == "assistant" else "user", "parts": parts} if parts else None


def _part(block: Json) -> Json | None:
    match block["type"]:
        case "text":
            return {"text": block["text"]}
        case "tool_call":
            return {"function_call": {"id": block["id"], "name": block["name"], "args": map_of(block["arguments"])}}
        case "tool_result":
            output = block["content"] if isinstance(block["content"], str) else texts_of(block["content"])
            key = "error" if block.get("is_error") else "result"
            return {"function_response": {"id": block["tool_call_id"], "name": "tool", "response": {key: output}}}
        case "media" if "data_base64" in block:
            return {"inline_data": {"mime_type": block["mime_type"], "data": block["data_base64"]}}
        case "media":
            return {"file_data": {"mime_type": block["mime_type"], "file_uri": block["url"]}}
    return None
