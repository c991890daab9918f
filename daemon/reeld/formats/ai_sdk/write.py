"""Writes turns and the prompt as ``ModelMessage`` of the AI SDK."""

from collections.abc import Iterator, Sequence
from typing import Any

from reel.base.strict_json import Json
from reel.providers.content import mime_of, shortest, texts_of
from reel.providers.json_values import arguments_as_object, load_sendable
from reel.providers.metadata import restore_key
from reeld.formats.ai_sdk.options import KEPT, PROVIDER, are_options, encrypted_options, written_options
from reeld.formats.ai_sdk.rules import own_part, reasoning_item, reasoning_parts
from reeld.formats.ai_sdk.ui import DENIED
from reeld.formats.format import Position, Prompt, PromptPart
from reeld.formats.model import AssistantTurn, CallResult, Piece, RenderContext, Turn
from reeld.formats.tool_names import ToolNames
from reeld.formats.writing import by_message, with_error_prefix

TOOL_NAMES = ToolNames(frozenset({"toolChoice"}), keys=frozenset({"toolName", "activeTools"}), by_name="tools")


def write_turn(turn: Turn, context: RenderContext) -> list[Json]:
    """Convert a turn to messages: results come first (rules V1 and V3)."""
    if isinstance(turn, AssistantTurn):
        parts = [part for piece in turn.pieces for part in _parts(piece.block, "assistant")]
        return [{"role": "assistant", "content": shortest(parts)}] if parts else []
    results = [_result(result, context) for result in turn.results]
    messages: list[Json] = [{"role": "tool", "content": results}] if results else []
    return [*messages, *(_user(pieces, context) for pieces in by_message(turn.pieces))]


def write_prompt(prompt: Prompt, _context: RenderContext) -> PromptPart:
    """Return the prompt beside the messages, among which the AI SDK does not allow it (rule V1)."""
    return PromptPart({"system": prompt.text}, [])


def _user(pieces: Sequence[Piece], context: RenderContext) -> Json:
    context.note_lost_role(pieces[0])
    options = restore_key(pieces[0].metadata, PROVIDER, KEPT)
    kept = {KEPT: options} if options and are_options(options) else {}
    content = shortest([part for piece in pieces for part in _parts(piece.block, "user")])
    return {"role": "user", "content": content, **kept}


def _parts(block: Json, position: Position) -> Iterator[Json]:
    kind = block["type"]
    if kind == "text" and "provider_metadata" not in block:  # nearly always
        yield {"type": "text", "text": block["text"]}
    elif kind == "text":
        yield {"type": "text", "text": block["text"], **written_options(block)}
    elif kind in ("thinking", "redacted_thinking"):
        yield {"type": "reasoning", "text": block.get("text", ""), **written_options(block)}
    elif kind == "media":
        yield {"type": "file", **_file(block), **written_options(block)}
    elif kind == "tool_call":
        called = {"type": "tool-call", "toolCallId": block["id"], "toolName": block["name"]}
        yield {**called, "input": arguments_as_object(block["arguments"]), **written_options(block)}
    elif (item := reasoning_item(block)) is not None:
        yield from reasoning_parts(block) or [_reasoning(item)]
    else:
        yield own_part(block, position) or {}


def _file(block: Json) -> Json:
    """Return a file; a text in place of bytes is a URL or base64, in every version of the AI SDK (rule V5)."""
    data = block["url"] if block.get("url") is not None else block["data_base64"]
    named = {"filename": block["name"]} if block.get("name") else {}
    return {"data": data, "mediaType": mime_of(block), **named}


def _reasoning(item: Json) -> Json:
    summary = item.get("summary")
    texts = [part.get("text") for part in summary if type(part) is dict] if type(summary) is list else []
    text = "\n\n".join(text for text in texts if type(text) is str)
    return {"type": "reasoning", "text": text, KEPT: encrypted_options(item["encrypted_content"])}


def _result(result: CallResult, context: RenderContext) -> Json:
    about = {"type": "tool-result", "toolCallId": result.call.id, "toolName": result.call.name}
    if not result.metadata:  # nearly always
        return {**about, "output": _output(result, context)}
    options = restore_key(result.metadata, PROVIDER, "outputOptions")
    kept = {KEPT: options} if options and are_options(options) else {}
    block = result.piece.block if result.piece is not None else {"type": "tool_result"}
    return {**about, "output": {**_output(result, context), **kept}, **written_options(block)}


def _output(result: CallResult, context: RenderContext) -> Json:
    """Return the output of a tool, in its original kind if that still fits (rule V3)."""
    if (said := result.text) is not None and not result.metadata:  # nearly always
        return {"type": "text", "value": said}
    if any(block["type"] != "text" for block in result.blocks):
        blocks = with_error_prefix(result, result.blocks, context, PROVIDER)
        return {"type": "content", "value": [part for block in blocks for part in _content(block)]}
    text = texts_of(result.blocks)
    kind = restore_key(result.metadata, PROVIDER, "output")
    if kind == "execution-denied" and result.failed:
        return {"type": kind, **({} if text == DENIED else {"reason": text})}
    if kind in ("json", "error-json"):
        value: Any = load_sendable(text)
        if value is not None or text == "null":
            return {"type": "error-json" if result.failed else "json", "value": value}
    return {"type": "error-text" if result.failed else "text", "value": text}


def _content(block: Json) -> Iterator[Json]:
    """Return a part of a result; files have separate types here, which versions 6 and 7 read (rule V5)."""
    if block["type"] != "media":
        yield from _parts(block, "result")
        return
    file = _file(block)
    if block.get("url") is None:
        yield {"type": "file-data", **file, **written_options(block)}
    else:
        yield {"type": "file-url", "url": file["data"], "mediaType": file["mediaType"], **written_options(block)}
