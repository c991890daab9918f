"""Writes turns and the prompt for Converse: messages of blocks, each of one key, with cache points between them."""

from collections.abc import Callable

from reel.base.strict_json import Json
from reel.providers.json_values import arguments_as_object, load_sendable
from reel.providers.metadata import opaque_object, restore_key, restore_keys
from reeld.formats.bedrock_converse.media import document_name, media_block
from reeld.formats.bedrock_converse.models import caches, is_claude, mixes_results, parts_calls, takes_status
from reeld.formats.bedrock_converse.rules import PROVIDER, accepted_keys
from reeld.formats.format import Prompt, PromptPart
from reeld.formats.model import PLACEHOLDER, AssistantTurn, CallResult, Piece, RenderContext, Turn, is_thought
from reeld.formats.naming import reads
from reeld.formats.prompt import original_prompt_pieces
from reeld.formats.tool_names import ToolNames
from reeld.formats.writing import with_error_prefix

CACHE_POINT = "cachePoint"
_METADATA = "provider_metadata"
TOOL_NAMES = ToolNames(frozenset({"toolConfig", "toolSpec", "toolChoice", "tool"}))
# The assistant's text between results and the user's text, the user's text between the assistant's text and its calls
# (rule B2), and the text of a message that has only documents (rule B6).
_NOTED, _GO_ON, _SHOWN = "(noted)", "(go on)", "(attached)"
# A cache point cannot follow these (rule B10).
_NOT_CACHED = ("reasoningContent", "document", "video", "audio")


def write_turn(turn: Turn, context: RenderContext) -> list[Json]:
    """Convert a turn to messages: one, or three if text follows results (rules B1 and B2)."""
    if isinstance(turn, AssistantTurn):
        return _assistant(turn.pieces, context)
    for piece in turn.pieces:
        context.note_lost_role(piece)
    results = [block for result in turn.results for block in _result(result, context)]
    said = _content(turn.pieces, context)
    if any("document" in block for block in said) and not any("text" in block for block in said):
        said.append({"text": _SHOWN})
        context.note(turn.pieces[0], "synthesized", "a message with documents must have a text")
    if not results or not said or mixes_results(context.model):
        return _message("user", [*results, *said])
    context.note(turn.pieces[0], "synthesized", "the model must speak between results and the user's words")
    return [*_message("user", results), *_message("assistant", [{"text": _NOTED}]), *_message("user", said)]


def _assistant(pieces: list[Piece], context: RenderContext) -> list[Json]:
    """Return the messages of the assistant: one, or three if the model refuses text beside calls (rule B2)."""
    calls = [piece for piece in pieces if piece.block["type"] == "tool_call"]
    if not calls or len(calls) == len(pieces) or not parts_calls(context.model):
        return _message("assistant", _content(pieces, context))
    words = [piece for piece in pieces if piece.block["type"] != "tool_call"]
    while words and is_thought(words[-1].block):  # it led to the calls, which are in another message
        context.note(words.pop(), "dropped", "a message cannot end in reasoning, and this model's calls have their own")
    if not words:
        return _message("assistant", _content(calls, context))
    context.note(calls[0], "synthesized", "the user must speak between the model's words and its calls")
    said = _content(words, context)
    between = _message("user", [{"text": _GO_ON}])
    return [*_message("assistant", said), *between, *_message("assistant", _content(calls, context))]


def write_prompt(prompt: Prompt, context: RenderContext) -> PromptPart:
    """Return the system prompt: its text, or the blocks that it was loaded from."""
    return PromptPart(
        {"system": _content(original_prompt_pieces(PROVIDER, prompt), context) or [{"text": prompt.text}]}, []
    )


def _message(role: str, content: list[Json]) -> list[Json]:
    return [{"role": role, "content": content}] if content else []


def _content(pieces: list[Piece], context: RenderContext) -> list[Json]:
    content: list[Json] = []
    for piece in pieces:
        content.append(_WRITERS[piece.block["type"]](piece.block, context))
        if _METADATA in piece.block:
            content += _cache_point(content[-1], piece.block, piece, context)
    return content


def _cache_point(written: Json, block: Json, piece: Piece, context: RenderContext) -> list[Json]:
    """Return the cache point that was after a block, if the model accepts one there (rule B10)."""
    found = restore_key(block.get("provider_metadata"), PROVIDER, CACHE_POINT)
    if type(found) is not dict or not caches(context.model) or any(kind in written for kind in _NOT_CACHED):
        return []
    context.breakpoints.append((piece.seq, piece.block_index))
    lasting = {"ttl": found["ttl"]} if found.get("ttl") in ("5m", "1h") and is_claude(context.model) else {}
    return [{CACHE_POINT: {"type": "default", **lasting}}]


def _result(result: CallResult, context: RenderContext) -> list[Json]:
    """Return a result and the cache point after it; rules B4 and B5 define its content."""
    if (text := result.text) is not None and text.strip() and not result.metadata:  # nearly always
        return [{"toolResult": {"toolUseId": result.call.id, "content": [{"text": text}]}}]
    flagged = takes_status(context.model)
    blocks = result.blocks if flagged else with_error_prefix(result, result.blocks, context, PROVIDER)
    content = [_in_result(block, context) for block in blocks if block["type"] != "text" or block["text"].strip()]
    if not content and result.piece is not None:
        content = [{"text": PLACEHOLDER}]
        context.note(result.piece, "synthesized", "a result cannot be empty")
    written: Json = {"toolUseId": result.call.id, "content": content}
    if result.failed and flagged:
        written["status"] = "error"
    found = {"toolResult": written}
    return [found, *(_cache_point(found, result.piece.block, result.piece, context) if result.piece else [])]


def _in_result(block: Json, context: RenderContext) -> Json:
    """Return a block of a result; an original object goes back as an object."""
    if restore_keys(block.get("provider_metadata"), PROVIDER, ("json",)) == {"json": True}:
        value = load_sendable(block["text"])
        if type(value) is dict:
            return {"json": value}
    return {"text": block["text"]} if block["type"] == "text" else _WRITERS[block["type"]](block, context)


def _text(block: Json, context: RenderContext) -> Json:
    """Return a text, with the model's citations, or as one that a guardrail checks (rule B9)."""
    metadata = block.get(_METADATA)
    if not metadata:  # nearly always
        return {"text": block["text"]}
    kept = restore_keys(metadata, PROVIDER, ("citations", "guard"))
    citations, guard = kept.get("citations"), kept.get("guard")
    if type(citations) is list and reads(context.model, metadata.get("model"), metadata):
        return {"citationsContent": {"content": [{"text": block["text"]}], "citations": citations}}
    if guard is not None:
        qualifiers = {"qualifiers": guard} if type(guard) is list else {}
        return {"guardContent": {"text": {"text": block["text"], **qualifiers}}}
    return {"text": block["text"]}


def _call(block: Json, _context: RenderContext) -> Json:
    arguments = arguments_as_object(block["arguments"])
    return {"toolUse": {"toolUseId": block["id"], "name": block["name"], "input": arguments}}


def _thinking(block: Json, _context: RenderContext) -> Json:
    return {"reasoningContent": {"reasoningText": {"text": block["text"], "signature": block["signature"]}}}


def _redacted(block: Json, _context: RenderContext) -> Json:
    return {"reasoningContent": {"redactedContent": block["data"]}}


def _media(block: Json, context: RenderContext) -> Json:
    return _named(media_block(block, block.get("name")), context)


def _opaque(block: Json, context: RenderContext) -> Json:
    return _named(accepted_keys(opaque_object(block) or {}), context)


def _named(written: Json, context: RenderContext) -> Json:
    """Return a block with a name that no other document has (rule B6)."""
    document = written.get("document")
    if document is None:
        return written
    return {"document": {**document, "name": document_name(document["name"], context.sent_once)}}


_WRITERS: dict[str, Callable[[Json, RenderContext], Json]] = {
    "text": _text,
    "tool_call": _call,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "media": _media,
    "opaque": _opaque,
}
