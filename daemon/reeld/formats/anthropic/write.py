"""Writes turns and the prompt for Anthropic's API: one message a turn, results first, instructions after the user."""

from collections.abc import Callable
from itertools import takewhile

from reel.base.strict_json import Json
from reel.providers.anthropic import PDF, PROVIDER
from reel.providers.content import mime_of
from reel.providers.json_values import arguments_as_object
from reel.providers.metadata import opaque_object, restore_keys
from reeld.formats.anthropic.models import takes_system_messages
from reeld.formats.anthropic.rules import (
    CACHE_CONTROL,
    COMPACTION,
    TOOL_CHANGES,
    accepted_keys,
    own_keys,
)
from reeld.formats.format import Prompt, PromptPart
from reeld.formats.model import (
    PLACEHOLDER,
    AssistantTurn,
    CallResult,
    Piece,
    RenderContext,
    Turn,
    UserTurn,
    is_thought,
    placeholder,
)
from reeld.formats.prompt import original_prompt_pieces
from reeld.formats.tool_names import ToolNames

TOOL_NAMES = ToolNames(frozenset({"tool_choice"}))


def write_turn(turn: Turn, context: RenderContext) -> list[Json]:
    """Convert a turn to messages."""
    if isinstance(turn, AssistantTurn):
        pieces = _without_disabled_thinking(turn.pieces, context)
        return _message("assistant", [_block(piece.block, piece, context) for piece in pieces])
    said, instructions = _split_instructions(turn, context)
    content = [_result(result, context) for result in turn.results]
    content += [_block(piece.block, piece, context) for piece in said]
    written = _message("user", content)
    return [*written, *_system(instructions, context)] if instructions else written


def write_prompt(prompt: Prompt, context: RenderContext) -> PromptPart:
    """Return the system prompt: a text, or the blocks that it was loaded from."""
    blocks = [_block(piece.block, piece, context) for piece in original_prompt_pieces(PROVIDER, prompt)]
    return PromptPart({"system": blocks or prompt.text}, [])


def _system(pieces: list[Piece], context: RenderContext) -> list[Json]:
    """Return a system message; one with settings needs no words (rule A10)."""
    content = [_block(piece.block, piece, context) for piece in pieces if not _is_blank(piece.block)]
    beside = restore_keys(pieces[-1].metadata, PROVIDER, ("clear_at", "output_config"))
    said = {"content": content} if content else {}
    return [{"role": "system", **said, **beside}] if said or beside.get("output_config") else []


def _is_blank(block: Json) -> bool:
    return block["type"] == "text" and not block["text"].strip()


def _message(role: str, content: list[Json]) -> list[Json]:
    return [{"role": role, "content": content}] if content else []


def _without_disabled_thinking(pieces: list[Piece], context: RenderContext) -> list[Piece]:
    """Leave out thinking if it is off and the turn is the last (rule A9)."""
    if context.thinking:
        return pieces
    for piece in pieces:
        if is_thought(piece.block):
            context.note(piece, "dropped", "the last turn cannot contain thinking unless extra enables it")
    return [piece for piece in pieces if not is_thought(piece.block)]


def _split_instructions(turn: UserTurn, context: RenderContext) -> tuple[list[Piece], list[Piece]]:
    """Split off the part that can be sent as a system message: the end of a turn after other speakers (rule A10)."""
    if not any(piece.privileged_role for piece in turn.pieces):
        return turn.pieces, []
    system = list(takewhile(_is_instruction, reversed(turn.pieces)))[::-1]
    said = turn.pieces[: len(turn.pieces) - len(system)]
    spoken_before = turn.results or any(not piece.privileged_role for piece in said)
    if not takes_system_messages(context.model) or not spoken_before:
        said, system = turn.pieces, []
    allowed = []
    for piece in said:
        if piece.privileged_role and _type_of(piece) in TOOL_CHANGES:
            context.note(piece, "dropped", "only a system message can change the tools")
            continue
        if _is_blank(piece.block):
            context.note(piece, "dropped", "only a system message can change the effort")
            continue
        context.note_lost_role(piece)
        allowed.append(piece)
    if not allowed and not turn.results and not context.is_last:
        allowed = [placeholder()]
    return allowed, system


def _is_instruction(piece: Piece) -> bool:
    return piece.privileged_role is not None and _type_of(piece) in ("text", *TOOL_CHANGES)


def _type_of(piece: Piece) -> str:
    opaque = piece.block["type"] == "opaque"
    return str((opaque_object(piece.block) or {}).get("type")) if opaque else str(piece.block["type"])


def _result(result: CallResult, context: RenderContext) -> Json:
    """Return a tool_result block; rule A4 defines its content."""
    written: Json = {"type": "tool_result", "tool_use_id": result.call.id, "content": result.content}
    if result.failed:
        written["is_error"] = True
    if result.piece is None:
        return written
    if type(result.content) is str and result.content.isspace():
        written["content"] = ""
        context.note(result.piece, "dropped", "in the result: a blank text")
    if type(result.content) is list:
        written["content"] = [_block(block, result.piece, context) for block in result.content]
    if result.failed and not written["content"]:
        written["content"] = PLACEHOLDER
        context.note(result.piece, "synthesized", "a failed result cannot be empty")
    if "provider_metadata" in result.piece.block:
        written |= own_keys(result.piece.block, "tool_result")
        _note_breakpoint(written, result.piece, context)
    return written


def _block(block: Json, piece: Piece, context: RenderContext) -> Json:
    """Convert a block to the API's form.

    Args:
        block: the block; inside a result it is not the piece's own.
        piece: its place, for the report.
        context: records the cache breakpoints.
    """
    if block["type"] == "text" and "provider_metadata" not in block:  # nearly always
        return {"type": "text", "text": block["text"]}
    written = _WRITERS[block["type"]](block)
    if block["type"] == "opaque":
        context.has_summary = context.has_summary or written.get("type") == COMPACTION
        if type(written.get("content")) is list:
            for part in [part for part in written["content"] if type(part) is dict]:
                _note_breakpoint(part, piece, context)
    _note_breakpoint(written, piece, context)
    return written


def _note_breakpoint(written: Json, piece: Piece, context: RenderContext) -> None:
    """Record the origin of a cache breakpoint; the selection requires that all have been seen (rule A7)."""
    if written.get(CACHE_CONTROL) is not None:
        context.breakpoints.append((piece.seq, piece.block_index))


def _text(block: Json) -> Json:
    return {"type": "text", "text": block["text"], **own_keys(block, "text")}


def _call(block: Json) -> Json:
    arguments = arguments_as_object(block["arguments"])
    called = {"type": "tool_use", "id": block["id"], "name": block["name"], "input": arguments}
    return {**called, **own_keys(block, "tool_use")}


def _thinking(block: Json) -> Json:
    return {"type": "thinking", "thinking": block["text"], "signature": block["signature"]}


def _redacted(block: Json) -> Json:
    return {"type": "redacted_thinking", "data": block["data"]}


def _media(block: Json) -> Json:
    mime = mime_of(block)
    kind = "document" if mime == PDF else "image"
    source = {"type": "url", "url": block["url"]} if block.get("url") is not None else None
    source = source or {"type": "base64", "media_type": mime, "data": block["data_base64"]}
    titled = {"title": block["name"]} if kind == "document" and block.get("name") else {}
    return {"type": kind, "source": source, **titled, **own_keys(block, kind)}


def _opaque(block: Json) -> Json:
    return accepted_keys(opaque_object(block) or {})


_WRITERS: dict[str, Callable[[Json], Json]] = {
    "text": _text,
    "tool_call": _call,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "media": _media,
    "opaque": _opaque,
}
