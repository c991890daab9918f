"""Turns and the prompt as Chat Completions has them: messages, each in the role that said it."""

from collections.abc import Iterator, Sequence

from reel.strict_json import Json
from reeld.formats.content import media_title, shortest, url_of
from reeld.formats.format import Prompt, PromptPart
from reeld.formats.json_values import arguments_as_text
from reeld.formats.metadata import opaque_object, restore_keys
from reeld.formats.model import AssistantTurn, CallResult, Piece, RenderContext, Turn, UserTurn
from reeld.formats.openai import (
    CACHE_BREAKPOINT,
    PROVIDER,
    by_message,
    custom_tool_input,
    filename,
    with_error_prefix,
)
from reeld.formats.openai_chat.rules import SOUNDS, accepts_instruction_roles, is_speaker_name
from reeld.formats.prompt import original_prompt_pieces

_DETAILS = ("auto", "low", "high")


def write_turn(turn: Turn, context: RenderContext) -> list[Json]:
    """Return the messages that a turn becomes: results directly after their calls, each message by itself."""
    if isinstance(turn, UserTurn):
        return [*_results(turn.results, context), *(_user(pieces, context) for pieces in by_message(turn.pieces))]
    return list(_assistant(turn, context))


def write_prompt(prompt: Prompt | None, context: RenderContext) -> PromptPart:
    """Return the prompt as leading messages: those that it was loaded from, or one of its text."""
    if prompt is None:
        return PromptPart({}, [])
    pieces = original_prompt_pieces(PROVIDER, prompt)
    if pieces:
        return PromptPart({}, [_user(group, context) for group in by_message(pieces)])
    role = "system" if accepts_instruction_roles(context.model) else "user"
    return PromptPart({}, [{"role": role, "content": prompt.text}])


def _results(results: Sequence[CallResult], context: RenderContext) -> Iterator[Json]:
    """Return the results; the media of all of them follow in one user message (rule C6)."""
    shown: list[Json] = []
    for result in results:
        blocks = result.blocks
        texts = with_error_prefix(result, [block for block in blocks if block["type"] == "text"], context)
        media = [_part(block) for block in blocks if block["type"] == "media"]
        if media and result.piece is not None:
            context.note(result.piece, "moved", "media of a result follow in a user message after all results")
            shown += [{"type": "text", "text": media_title(result.call.name, result.call.id)}, *media]
        yield {"role": "tool", "tool_call_id": result.call.id, "content": _content(texts)}
    if shown:
        yield {"role": "user", "content": shown}


def _user(pieces: Sequence[Piece], context: RenderContext) -> Json:
    """Return a message of the user's, or of an instruction role if the model accepts it and all of it is text.

    Args:
        pieces: the pieces of one message.
        context: where a role or a name that cannot be sent is reported.
    """
    blocks = [piece.block for piece in pieces]
    kept = restore_keys(pieces[0].metadata, PROVIDER, ("name",))
    role = pieces[0].privileged_role or "user"
    if role != "user" and not (accepts_instruction_roles(context.model) and _is_text(blocks)):
        context.note(pieces[0], "downgraded", f"a {role} message is sent as the user's")
        role = "user"
    return {"role": role, "content": _content(blocks), **_name(pieces[0], kept, context)}


def _is_text(blocks: Sequence[Json]) -> bool:
    return all(block["type"] == "text" for block in blocks)


def _assistant(turn: AssistantTurn, context: RenderContext) -> Iterator[Json]:
    """Return the assistant's messages; all calls are in the last one, which their results follow (rule C1)."""
    calls = [piece for piece in turn.pieces if piece.block["type"] == "tool_call"]
    said = list(by_message([piece for piece in turn.pieces if piece.block["type"] != "tool_call"]))
    if calls and not (said and any(said[-1][0].message_index == call.message_index for call in calls)):
        said.append([])
    for pieces in said:
        yield _assistant_message(pieces, calls if pieces is said[-1] else [], context)


def _assistant_message(pieces: Sequence[Piece], calls: Sequence[Piece], context: RenderContext) -> Json:
    first = (*pieces, *calls)[0]
    name = _name(first, restore_keys(first.metadata, PROVIDER, ("name",)), context)
    blocks = [piece.block for piece in pieces]
    texts = [block for block in blocks if block["type"] == "text"]
    refusals = [block["text"] for block in texts if _is_refusal(block)]
    said = [block for block in texts if not _is_refusal(block)]
    sound = [opaque_object(block) or {} for block in blocks if block["type"] == "opaque"]
    # Null content is accepted only beside calls, a refusal or audio (rule C2); nothing else is left without a text.
    message: Json = {"role": "assistant", "content": _content(said) if said else None, **name}
    if refusals:
        message["refusal"] = "\n".join(refusals)
    if sound:
        message["audio"] = {"id": sound[-1]["audio"]["id"]}
    if calls:
        message["tool_calls"] = [_call(call.block) for call in calls]
    return message


def _is_refusal(block: Json) -> bool:
    return restore_keys(block.get("provider_metadata"), PROVIDER, ("refusal",)) != {}


def _name(piece: Piece, kept: Json, context: RenderContext) -> Json:
    """Return the name of a speaker if it can be sent (rule C5)."""
    name = kept.get("name")
    if name is None or is_speaker_name(name):
        return {"name": name} if name is not None else {}
    context.note(piece, "dropped", f"the name {name!r}: the API does not accept it")
    return {}


def _call(block: Json) -> Json:
    """Return a call, in the kind in which it was made."""
    if restore_keys(block.get("provider_metadata"), PROVIDER, ("type",)) == {"type": "custom_tool_call"}:
        custom = {"name": block["name"], "input": custom_tool_input(block["arguments"])}
        return {"id": block["id"], "type": "custom", "custom": custom}
    function = {"name": block["name"], "arguments": arguments_as_text(block["arguments"])}
    return {"id": block["id"], "type": "function", "function": function}


def _content(blocks: Sequence[Json]) -> str | list[Json]:
    return shortest([_part(block) for block in blocks])


def _part(block: Json) -> Json:
    """Return the content part of a block, with no key that the API does not know (rule C3)."""
    cached = restore_keys(block.get("provider_metadata"), PROVIDER, (CACHE_BREAKPOINT,))
    if block["type"] == "opaque":
        return opaque_object(block) or {}
    if block["type"] == "media":
        return {**_media_part(block), **cached}
    return {"type": "text", "text": block["text"], **cached}


def _media_part(block: Json) -> Json:
    mime_type: str = block["mime_type"]
    if mime_type in SOUNDS:
        return {"type": "input_audio", "input_audio": {"data": block["data_base64"], "format": SOUNDS[mime_type]}}
    if mime_type.startswith("image/"):
        detail = restore_keys(block.get("provider_metadata"), PROVIDER, ("detail",))
        accepted = detail if detail.get("detail") in _DETAILS else {}
        return {"type": "image_url", "image_url": {"url": url_of(block), **accepted}}
    return {"type": "file", "file": {"filename": filename(block), "file_data": url_of(block)}}
