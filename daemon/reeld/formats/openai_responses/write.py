"""Writes turns and the prompt for Responses: input items, in their original order."""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any

from reel.base.strict_json import Json
from reel.providers.content import shortest, texts_of, url_of
from reel.providers.json_values import arguments_as_text
from reel.providers.metadata import is_own, restore_key, restore_keys
from reel.providers.openai import PROVIDER
from reel.providers.openai_responses import CALL_KINDS
from reeld.formats.format import Prompt, PromptPart
from reeld.formats.model import CallResult, Piece, RenderContext, Turn, UserTurn
from reeld.formats.naming import sent_id
from reeld.formats.openai import CACHE_BREAKPOINT, custom_tool_input, filename
from reeld.formats.openai_responses.items import (
    CALL_ITEMS,
    CLIENT_ITEMS,
    COMPACTION,
    OUTPUT_ITEMS,
    SERVER_ITEMS,
    content_part,
    is_only_reasoning,
    is_output,
    is_reasoning,
    reasoning_id,
    sendable_item,
    strip_item,
)
from reeld.formats.openai_responses.rules import DETAILS, PHASES
from reeld.formats.prompt import original_prompt_pieces
from reeld.formats.writing import by_message, with_error_prefix

_NOTHING: Json = {}
# The keys of an output beside its content.
_OUTPUT_KEYS = {"function_call_output": ("caller", "name", "namespace"), "custom_tool_call_output": ("caller",)}
# The keys of a citation; Responses requires all of them.
_CITATION = ("url", "title", "start_index", "end_index")
# A screenshot is required where the tool returned none: one black pixel.
_NO_SCREENSHOT = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNgAAAAAgAB5Sfe/AAAAABJRU5ErkJggg=="
)


def write_turn(turn: Turn, context: RenderContext) -> list[Json]:
    """Convert a turn to items."""
    return _user(turn, context) if isinstance(turn, UserTurn) else _assistant(turn.pieces, context)


def write_prompt(prompt: Prompt, context: RenderContext) -> PromptPart:
    """Return the prompt as ``instructions``; of several messages the first, if it is the system's."""
    original = original_prompt_pieces(PROVIDER, prompt)
    messages = [item for group in by_message(original) for item in _message(group, context)]
    if not messages:
        return PromptPart({"instructions": prompt.text}, [])
    if messages[0]["role"] == "system" and type(messages[0]["content"]) is str:
        return PromptPart({"instructions": messages[0]["content"]}, messages[1:])
    return PromptPart({}, messages)


def _user(turn: UserTurn, context: RenderContext) -> list[Json]:
    """Return results and messages in the order in which they came (rule R1); synthesized results come first."""
    if not turn.results:
        return [item for pieces in by_message(turn.pieces) for item in _message(pieces, context)]
    if not turn.pieces:
        return [_output(result, context) for result in sorted(turn.results, key=_place)]
    return list(_mixed(turn, context))


def _mixed(turn: UserTurn, context: RenderContext) -> Iterator[Json]:
    ordered: list[CallResult | Piece] = sorted([*turn.results, *turn.pieces], key=_place)
    for message, group in groupby(ordered, key=lambda found: found.message_index if isinstance(found, Piece) else None):
        if message is None:
            yield from (_output(found, context) for found in group if isinstance(found, CallResult))
        else:
            yield from _message([found for found in group if isinstance(found, Piece)], context)


def _place(found: CallResult | Piece) -> tuple[int, int]:
    piece = found if isinstance(found, Piece) else found.piece
    return (piece.seq or 0, piece.block_index) if piece is not None else (0, 0)


def _message(pieces: Sequence[Piece], context: RenderContext) -> Iterator[Json]:
    """Return one message of the user's or of an instruction role; an opaque item in it is an item by itself."""
    _note_lost_name(pieces[0], context)
    role = pieces[0].privileged_role or "user"
    for is_item, group in groupby(pieces, key=_is_item):
        blocks = [piece.block for piece in group]
        if is_item:
            yield from (sendable_item(block, CLIENT_ITEMS) or {} for block in blocks)
        else:
            yield {"role": role, "content": _content(blocks)}


def _note_lost_name(piece: Piece, context: RenderContext) -> None:
    """Report that the name of a speaker is lost (rule R7)."""
    name = restore_key(piece.metadata, PROVIDER, "name")
    if name is not None:
        context.note(piece, "dropped", f"the name {name!r}: Responses has no names of speakers")


def _is_item(piece: Piece) -> bool:
    return piece.block["type"] == "opaque" and content_part(piece.block) is None


def _assistant(pieces: Sequence[Piece], context: RenderContext) -> list[Json]:
    """Return the assistant's output, in order; reasoning has its id if the item after it has one (rule R10)."""
    if not any(piece.block["type"] == "opaque" for piece in pieces):  # nearly always
        return list(_made(pieces, context))
    items = list(_made(list(_without_lone_reasoning(pieces, context)), context))
    for index, item in enumerate(items, 1):
        if item.get("type") == "reasoning" and "id" in item:
            after = items[index] if index < len(items) else _NOTHING
            tied = context.by_id and "id" in after and after["type"] != "reasoning"
            if not tied or item["id"] in context.sent_once:
                del item["id"]
            else:
                context.sent_once[item["id"]] = None
    return items


def _made(pieces: Sequence[Piece], context: RenderContext) -> Iterator[Json]:
    for key, group in groupby(pieces, key=_text_key):
        if key is not None:
            yield _assistant_message(list(group), context)
            continue
        for piece in group:
            block = piece.block
            if block["type"] == "tool_call":
                yield _call(block)
            else:
                item = sendable_item(block, SERVER_ITEMS) or {}
                context.has_summary = context.has_summary or item.get("type") == COMPACTION
                yield {**reasoning_id(block), **item}


def _without_lone_reasoning(pieces: Sequence[Piece], context: RenderContext) -> Iterator[Piece]:
    """Leave out reasoning that is not followed by the model's output (rule R5)."""
    after: Piece | None = None
    kept: list[Piece] = []
    for piece in reversed(pieces):
        if is_reasoning(piece.block) and (after is None or not _continues(piece, after)):
            context.note(piece, "dropped", "reasoning without the content that it led to")
            continue
        after = piece
        kept.append(piece)
    return reversed(kept)


def _continues(reasoning: Piece, after: Piece) -> bool:
    """Whether a piece is what reasoning led to: in its message, or in the next one if that is only reasoning."""
    distance = after.message_index - reasoning.message_index
    is_next = distance == 0 or (distance == 1 and is_only_reasoning(reasoning.message))
    return is_next and not is_output(after.block)


def _text_key(piece: Piece) -> tuple[int, str | None] | None:
    """Return what the texts of one message item have in common; ``None`` for anything but a text."""
    return (piece.message_index, _phase(piece)) if piece.block["type"] == "text" else None


def _phase(piece: Piece) -> str | None:
    if "provider_metadata" not in piece.block:
        return None
    phase = restore_key(piece.block.get("provider_metadata"), PROVIDER, "phase")
    return phase if phase in PHASES else None


def _assistant_message(pieces: Sequence[Piece], context: RenderContext) -> Json:
    _note_lost_name(pieces[0], context)
    phase = _phase(pieces[0])
    message = {"role": "assistant", "content": _content([piece.block for piece in pieces], "output_text")}
    return message if phase is None else {**message, "phase": phase}


def _content(blocks: Sequence[Json], text_type: str = "input_text") -> str | list[Json]:
    """Return the content of a message or an output. The assistant's texts have the type ``output_text`` (rule R4)."""
    return shortest([_part(block, text_type) for block in blocks])


def _part(block: Json, text_type: str) -> Json:
    metadata = block.get("provider_metadata")
    if metadata is None and block["type"] == "text":  # nearly always
        return {"type": text_type, "text": block["text"]}
    cached = restore_keys(metadata, PROVIDER, (CACHE_BREAKPOINT,))
    if block["type"] == "opaque":
        return content_part(block) or {}
    if block["type"] == "media":
        return {**_media_part(block), **cached}
    if text_type == "input_text":
        return {"type": text_type, "text": block["text"], **cached}
    if restore_keys(metadata, PROVIDER, ("refusal",)):
        return {"type": "refusal", "refusal": block["text"]}
    return {"type": text_type, "text": block["text"], **_annotations(metadata)}


def _annotations(metadata: Json | None) -> Json:
    kept = restore_keys(metadata, PROVIDER, ("annotations", "logprobs"))
    lists = {key: value for key, value in kept.items() if type(value) is list}
    if "annotations" in lists:
        lists["annotations"] = [found for found in map(_annotation, lists["annotations"]) if found is not None]
    return {key: value for key, value in lists.items() if value}


def _annotation(given: Any) -> Any:
    """Return an annotation. Chat Completions nests a citation; it is sent only if it has every required key."""
    cited = given.get("url_citation") if type(given) is dict else None
    if type(cited) is not dict:
        return given
    found = {key: cited[key] for key in _CITATION if cited.get(key) is not None}
    return {"type": "url_citation", **found} if len(found) == len(_CITATION) else None


def _media_part(block: Json) -> Json:
    detail = restore_keys(block.get("provider_metadata"), PROVIDER, ("detail",))
    accepted = detail if detail.get("detail") in DETAILS else {}
    if block["mime_type"].startswith("image/"):
        return {"type": "input_image", "image_url": url_of(block), **accepted}
    if block.get("url") is not None:
        named = {"filename": block["name"]} if block.get("name") and is_own(block, PROVIDER) else {}
        return {"type": "input_file", "file_url": block["url"], **named, **accepted}
    return {"type": "input_file", "filename": filename(block), "file_data": url_of(block), **accepted}


def _kind_of(metadata: Json, call_id: str) -> str:
    """Return the kind of call that a tool_call is sent as, which its output must match (rule R2).

    Args:
        metadata: the call's metadata.
        call_id: the id under which it is sent.
    """
    kind = restore_key(metadata, PROVIDER, "type")
    if kind is None:  # nearly always
        return "function_call"
    if kind == "custom_tool_call" or _kept_call(metadata, kind, call_id) is not None:
        return str(kind)
    return "function_call"


def _kept_call(metadata: Json, kind: Any, call_id: str) -> Json | None:
    """Return the item that a call was kept as; one with an id is sent once, and later as a function call (rule R3)."""
    item = strip_item(restore_key(metadata, PROVIDER, "item"), CALL_ITEMS)
    if item is None or item["type"] != kind:
        return None
    given = item[CALL_KINDS[item["type"]].call_id_key]
    return None if "id" in item and (type(given) is not str or sent_id(given, {}, 0, 0) != call_id) else item


def _call(block: Json) -> Json:
    """Return a call, in the kind in which it was made."""
    metadata: Json = block.get("provider_metadata") or {}
    if not metadata:  # nearly always
        arguments = arguments_as_text(block["arguments"])
        return {"type": "function_call", "call_id": block["id"], "name": block["name"], "arguments": arguments}
    kind = _kind_of(metadata, block["id"])
    kept = restore_keys(metadata, PROVIDER, ("namespace", "caller", "async"))
    named = {"type": kind, "call_id": block["id"], "name": block["name"]}
    if kind == "function_call":
        return {**named, "arguments": arguments_as_text(block["arguments"]), **kept}
    if kind == "custom_tool_call":
        return {**named, "input": custom_tool_input(block["arguments"]), **kept}
    item = _kept_call(metadata, kind, block["id"]) or {}
    return item if CALL_KINDS[kind].call_id_key == "id" else {**item, "call_id": block["id"]}


def _output(result: CallResult, context: RenderContext) -> Json:
    """Return the output of a call, in the kind that its call requires (rule R2)."""
    if (text := result.text) is not None and not result.call.metadata and not result.metadata:  # nearly always
        return {"type": "function_call_output", "call_id": result.call.id, "output": text}
    kind = _kind_of(result.call.metadata, result.call.id)
    shape = CALL_KINDS[kind]
    call_id = result.call.given_id if shape.call_id_key == "id" else result.call.id
    items = (sendable_item(block, OUTPUT_ITEMS) for block in result.blocks if block["type"] == "opaque")
    item = next((item for item in items if item is not None and item["type"] == shape.output), None)
    if item is not None:
        return {**item, shape.output_id_key: call_id}
    parts = [block for block in result.blocks if block["type"] != "opaque" or content_part(block) is not None]
    if len(parts) < len(result.blocks) and result.piece is not None:
        context.note(result.piece, "dropped", f"in the result: an output that does not belong to a {kind}")
    if kind in _OUTPUTS:
        return {
            "type": shape.output,
            shape.output_id_key: call_id,
            **_OUTPUTS[kind](texts_of(parts), parts, result.failed),
        }
    parts = with_error_prefix(result, parts, context, PROVIDER)
    # A search for tools may be answered with the output of a function.
    output = "function_call_output" if kind == "tool_search_call" else shape.output
    kept = restore_keys(result.metadata, PROVIDER, _OUTPUT_KEYS.get(output, ()))
    if "name" in kept:
        kept["name"] = result.call.name
    return {"type": output, "call_id": call_id, "output": _content(parts), **kept}


def _screen(_text: str, parts: list[Json], _failed: bool) -> Json:  # noqa: FBT001 - one of a table
    seen = next((url_of(block) for block in parts if block["type"] == "media"), _NO_SCREENSHOT)
    return {"output": {"type": "computer_screenshot", "image_url": seen}}


def _shell(text: str, _parts: list[Json], failed: bool) -> Json:  # noqa: FBT001 - one of a table
    return {"output": [{"stdout": text, "stderr": "", "outcome": {"type": "exit", "exit_code": int(failed)}}]}


def _patch(text: str, _parts: list[Json], failed: bool) -> Json:  # noqa: FBT001 - one of a table
    return {"status": "failed" if failed else "completed", "output": text}


def _local_shell(text: str, _parts: list[Json], _failed: bool) -> Json:  # noqa: FBT001 - one of a table
    return {"output": text}


def _approval(text: str, _parts: list[Json], _failed: bool) -> Json:  # noqa: FBT001 - one of a table
    # A plain result is never consent: only an added mcp_approval_response item approves.
    return {"approve": False, "reason": text}


# The outputs of other kinds than functions, made from a plain result: its text, its parts, and whether it failed.
_OUTPUTS: dict[str, Callable[[str, list[Json], bool], Json]] = {
    "computer_call": _screen,
    "shell_call": _shell,
    "apply_patch_call": _patch,
    "local_shell_call": _local_shell,
    "mcp_approval_request": _approval,
}
