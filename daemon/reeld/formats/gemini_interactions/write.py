"""Writes turns and the prompt for the Interactions API: steps, in their original order."""

from typing import Any

from reel.base.strict_json import Json
from reel.providers.content import ANY_PICTURE, mime_of, texts_of
from reel.providers.gemini import PROVIDER
from reel.providers.json_values import arguments_as_object
from reel.providers.metadata import restore_key, restore_keys
from reeld.formats.format import Prompt, PromptPart
from reeld.formats.gemini.rules import is_signing, signature
from reeld.formats.gemini.write import UNSIGNED
from reeld.formats.gemini_interactions.steps import (
    BESIDE_MEDIA,
    content_part,
    kind_of_media,
    lone_signature,
    media_part,
    server_step,
)
from reeld.formats.model import AssistantTurn, CallResult, Piece, RenderContext, Turn
from reeld.formats.naming import signed_elsewhere
from reeld.formats.tool_names import ToolNames

# Other tools than functions have names that are not called.
TOOL_NAMES = ToolNames(
    frozenset({"generation_config", "tool_choice", "allowed_tools"}),
    keys=frozenset({"name", "tools"}),
    kinds=frozenset({"function"}),
)
_CITATIONS = ("url_citation", "file_citation", "place_citation", "word_info", "speech_metadata")


def write_turn(dialect: str | None, turn: Turn, context: RenderContext) -> list[Json]:
    """Convert a turn to steps: results come before the user's text (rules I1 and I2)."""
    if isinstance(turn, AssistantTurn):
        return _signed([step for piece in turn.pieces for step in _steps(piece, context, dialect)], context.model)
    for piece in turn.pieces:
        context.note_lost_role(piece)
    results = [_result(result) for result in turn.results]
    content = [_content(piece.block) for piece in turn.pieces]
    return [*results, {"type": "user_input", "content": content}] if content else results


def write_prompt(prompt: Prompt, _context: RenderContext) -> PromptPart:
    """Return the prompt, which is a text."""
    return PromptPart({"system_instruction": prompt.text}, [])


def _steps(piece: Piece, context: RenderContext, dialect: str | None) -> list[Json]:
    """Convert a block to steps; its own signature becomes a thought before it (rule I3)."""
    block = piece.block
    signed = signature(block, context.model, dialect)
    if block["type"] == "thinking":
        return [_thought(block, signed)]
    if block["type"] == "opaque":
        lone = lone_signature(block)
        if lone is not None:
            return [{"type": "thought", "signature": lone}]
        step = server_step(block) or {"type": "model_output", "content": [_content(block)]}
        if (other := signed_elsewhere(block, dialect)) and step.pop("signature", None):
            context.note(piece, "dropped", f"the signature of {other}")
        return [step]
    before = [{"type": "thought", "signature": signed}] if signed else []
    if block["type"] == "tool_call":
        return [*before, _call(block)]
    return [*before, {"type": "model_output", "content": [_content(block)]}]


def _signed(steps: list[Json], model: str | None) -> list[Json]:
    """Return the steps of a turn, its texts and media joined; it begins with a thought if it must (rule I3)."""
    joined: list[Json] = []
    for step in steps:
        if step["type"] == "model_output" and joined and joined[-1]["type"] == "model_output":
            joined[-1]["content"] += step["content"]
        else:
            joined.append(step)
    if is_signing(model) and joined and joined[0]["type"] != "thought" and any(map(_requires_thought, joined)):
        return [{"type": "thought", "signature": UNSIGNED}, *joined]
    return joined


def _requires_thought(step: Json) -> bool:
    """Whether a turn with a step begins with a thought: all but texts require that."""
    return step["type"] != "model_output" or any(part["type"] != "text" for part in step["content"])


def _thought(block: Json, signed: str | None) -> Json:
    given = restore_key(block.get("provider_metadata"), PROVIDER, "summary")
    if type(given) is not list:
        given = [{"type": "text", "text": block["text"]}]
    summary = [part for part in map(_summary_part, given) if part is not None]
    return {"type": "thought", "signature": signed, **({"summary": summary} if summary else {})}


def _summary_part(part: Any) -> Json | None:
    """Return a part of a summary, which is a text or a picture; ``None`` if it is neither."""
    if type(part) is not dict or part.get("type") not in ("text", "image"):
        return None
    if part["type"] == "image":
        return media_part(part)
    text = part.get("text")
    return {"type": "text", "text": text} if type(text) is str and text.strip() else None


def _call(block: Json) -> Json:
    arguments = arguments_as_object(block["arguments"])
    return {"type": "function_call", "id": block["id"], "name": block["name"], "arguments": arguments}


def _content(block: Json) -> Json:
    if block["type"] == "text":
        return {"type": "text", "text": block["text"], **_annotations(block)}
    if block["type"] == "opaque":
        return content_part(block) or {}
    mime = mime_of(block)
    kind = kind_of_media(mime)
    beside = restore_keys(block.get("provider_metadata"), PROVIDER, BESIDE_MEDIA[kind])
    if block.get("url") is None:
        return {"type": kind, "data": block["data_base64"], "mime_type": mime, **beside}
    typed = {} if mime == ANY_PICTURE else {"mime_type": mime}
    return {"type": kind, "uri": block["url"], **typed, **beside}


def _annotations(block: Json) -> Json:
    given = restore_key(block.get("provider_metadata"), PROVIDER, "annotations")
    found = [cited for cited in given if _is_citation(cited)] if type(given) is list else []
    return {"annotations": found} if found else {}


def _is_citation(value: Any) -> bool:
    return type(value) is dict and value.get("type") in _CITATIONS


def _result(result: CallResult) -> Json:
    """Return a function_result: the original object if it came from Gemini, else a text or contents (rule I5)."""
    failed = {"is_error": True} if result.failed else {}
    named = {"type": "function_result", "name": result.call.name, "call_id": result.call.id}
    return {**named, "result": _result_value(result), **failed}


def _result_value(result: CallResult) -> Any:
    if (text := result.text) is not None and not result.metadata:  # nearly always
        return text
    if any(block["type"] != "text" for block in result.blocks):
        return [_content(block) for block in result.blocks]
    own = restore_key(result.metadata, PROVIDER, "response")
    return own if type(own) is dict else texts_of(result.blocks)
