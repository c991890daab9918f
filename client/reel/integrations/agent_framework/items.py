"""Converts messages of Microsoft's Agent Framework to messages of the protocol, and back.

Both are JSON: the framework's is the output of its ``Message.to_dict``. Each of its contents becomes one block. A
content without a matching block becomes an ``opaque`` one, which is not sent to any provider.
"""

import json
from collections.abc import Iterator
from mimetypes import guess_type
from typing import Any, Final

from reel.base.values import is_clean
from reel.providers.blocks import text as text_block
from reel.providers.blocks import tool_call, tool_result
from reel.providers.content import shortest
from reel.providers.roles import INSTRUCTION_ROLES, split_by_role
from reel.said.blocks import check_name
from reel.said.messages import Message

Json = dict[str, Any]

# The provider of the opaque blocks.
_PROVIDER: Final = "agent-framework"
# The fields that hold the output of a tool's result, the richest first.
_OUTPUTS: Final = ("items", "outputs", "output", "screenshot", "result")
# The fields that a call of a hosted tool has in place of arguments.
_INPUTS: Final = ("inputs", "commands", "actions")
_ANY_TYPE: Final = "application/octet-stream"


def messages_of(item: Json) -> list[Any]:
    """Convert a message of the framework to messages of the protocol, at least one.

    The framework keeps calls of hosted tools, their results and text in one message. The protocol needs several: each
    role has its own blocks.
    """
    role = item.get("role")
    speaker = "assistant" if role == "assistant" else "user"
    blocks = [_block(content) for content in item.get("contents") or ()]
    messages: list[Json] = [{"role": holder, "content": found} for holder, found in split_by_role(blocks, speaker)]
    if role in INSTRUCTION_ROLES:
        for message in messages:
            message["provider_metadata"] = {"role": role}
    return messages


def _block(content: Json) -> Json:
    """Convert a content of the framework to a block."""
    kind, text = str(content.get("type")), content.get("text")
    found: Json | None = None
    if kind == "text" and isinstance(text, str):
        found = text_block(text)
    elif kind == "text_reasoning" and text and isinstance(text, str):
        found = {"type": "thinking", "text": text}
    elif kind == "error":
        found = text_block(_error(content))
    elif kind in ("data", "uri"):
        found = _media(content)
    elif kind.endswith(("function_call", "_tool_call")):
        found = _call(kind, content)
    elif kind.endswith(("function_result", "_tool_result")):
        found = _result(content)
    return found or {"type": "opaque", "provider": _PROVIDER, "data_json": _strict_json(content)}


def _error(content: Json) -> str:
    said = [str(content[key]) for key in ("error_code", "message", "error_details") if content.get(key)]
    return ": ".join(["Error", *said])


def _media(content: Json) -> Json | None:
    """Return the block of a file; ``None`` if its URL or its type is not valid in a block."""
    uri, mime = content.get("uri"), content.get("media_type")
    if not isinstance(uri, str) or not is_clean(uri):
        return None
    begin, mark, data = uri.partition(";base64,")
    is_inside = begin.startswith("data:") and bool(mark)
    if not isinstance(mime, str) or not mime:
        mime = begin.removeprefix("data:") if is_inside else guess_type(uri)[0]
    block = {"type": "media", "mime_type": mime or _ANY_TYPE}
    block |= {"data_base64": data} if is_inside else {"url": uri}
    if isinstance(content.get("name"), str):
        block["name"] = content["name"]
    return block if is_clean(block["mime_type"]) else None


def _call(kind: str, content: Json) -> Json | None:
    """Return the block of a call; ``None`` if it has no id, or one that is not valid in a block."""
    call_id, name = (
        _call_id(content),
        content.get("name") or content.get("tool_name") or kind.removesuffix("_tool_call"),
    )
    if check_name(call_id) or check_name(name):
        return None
    return tool_call(call_id, name, _arguments(content))


def _call_id(content: Json) -> Any:
    return content.get("call_id") or content.get("image_id")


def _arguments(content: Json) -> str:
    given = content.get("arguments")
    if isinstance(given, str):
        return given
    if given is not None:
        return _json(given)
    inputs = {key: content[key] for key in _INPUTS if content.get(key) is not None}
    if "inputs" in inputs:  # of a code interpreter: contents, most of them text
        inputs["inputs"] = [block.get("text", block) for block in _output_blocks(inputs["inputs"])]
    return _json(inputs)


def _result(content: Json) -> Json | None:
    """Return the block of a result; ``None`` if it does not name its call."""
    call_id = _call_id(content)
    if check_name(call_id):
        return None
    blocks = list(_output_blocks(next((content[key] for key in _OUTPUTS if content.get(key) is not None), "")))
    return tool_result(call_id, shortest(blocks), failed=content.get("exception") is not None)


def _output_blocks(value: Any) -> Iterator[Json]:
    """Yield a tool's output as blocks allowed in a result: a model reads all of it."""
    if isinstance(value, list):
        for inside in value:
            yield from _output_blocks(inside)
        return
    kind = value.get("type") if isinstance(value, dict) else None
    if kind in ("data", "uri") and (media := _media(value)) is not None:
        yield media
    elif kind == "text" and isinstance(value.get("text"), str):
        yield text_block(value["text"])
    elif kind == "error":
        yield text_block(_error(value))
    elif kind == "shell_command_output":
        yield text_block(_shell_output(value))
    else:
        yield text_block(value if isinstance(value, str) else _json(value))


def _shell_output(content: Json) -> str:
    ended = ["(timed out)"] if content.get("timed_out") else []
    if content.get("exit_code"):
        ended.append(f"(exit status {content['exit_code']})")
    return "\n".join([*(str(content[key]) for key in ("stdout", "stderr") if content.get(key)), *ended])


def _json(value: Any) -> str:
    """Return JSON for reading; numbers may be NaN, as in Python's JSON."""
    return json.dumps(value, ensure_ascii=False, default=str)


def _strict_json(value: Any) -> str:
    """Return JSON of a value, or of its text if JSON cannot represent it."""
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        return json.dumps(_json(value))


def item_of(message: Message) -> Json | None:
    """Convert a foreign message to one of the framework; ``None`` if nothing in it is readable for the framework.

    Another provider's thinking and own blocks are left out: no client of the framework could send them.
    """
    contents = [content for block in message["content"] if (content := _content(block)) is not None]
    if not contents:
        return None
    instructing = message.get("provider_metadata", {}).get("role")
    return {"role": instructing if instructing in INSTRUCTION_ROLES else message["role"], "contents": contents}


def _content(block: Any) -> Json | None:
    match block["type"]:
        case "text":
            return text_block(block["text"])
        case "media":
            return _file(block)
        case "tool_call":
            call = {"call_id": block["id"], "name": block["name"], "arguments": block["arguments"]}
            return {"type": "function_call", "hosted": False, **call}
        case "tool_result":
            return _function_result(block)
    return None


def _file(block: Json) -> Json:
    inside, mime = block.get("data_base64"), block["mime_type"]
    named = {"name": block["name"]} if block.get("name") else {}
    if inside is None:
        return {"type": "uri", "uri": block["url"], "media_type": mime, **named}
    return {"type": "data", "uri": f"data:{mime};base64,{inside}", "media_type": mime, **named}


def _function_result(block: Json) -> Json:
    output = block["content"]
    blocks = [text_block(output)] if isinstance(output, str) else output
    items = [content for inside in blocks if (content := _content(inside)) is not None] or [text_block("")]
    text = "\n".join(content["text"] for content in items if content["type"] == "text" and content["text"])
    failed = {"exception": "the tool failed"} if block.get("is_error") else {}
    return {"type": "function_result", "call_id": block["tool_call_id"], "result": text, "items": items, **failed}
