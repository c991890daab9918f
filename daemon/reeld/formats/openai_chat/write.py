"""Writes turns and the prompt for Chat Completions: messages, each in its own role."""

from collections.abc import Sequence

from reel.base.strict_json import Json
from reel.providers.changes import Change
from reel.providers.content import media_title, shortest, url_of
from reel.providers.json_values import arguments_as_text
from reel.providers.metadata import opaque_object, restore_key, restore_keys
from reel.providers.openai import PROVIDER
from reeld.formats.format import Prompt, PromptPart
from reeld.formats.model import AssistantTurn, Piece, RenderContext, Turn, UserTurn, is_thought
from reeld.formats.openai import CACHE_BREAKPOINT, custom_tool_input
from reeld.formats.openai_chat.dialect import Dialect, Reasoning
from reeld.formats.openai_chat.rules import SOUNDS, accepts_instruction_roles, is_speaker_name
from reeld.formats.prompt import original_prompt_pieces
from reeld.formats.writing import by_message, with_error_prefix

_METADATA = "provider_metadata"
_OF_A_FILE = ("file_id", "file_data", "filename")
_DETAILS = ("auto", "low", "high")
# The assistant's text between results and the user's text (rules D10 and D12).
_NOTED = {"role": "assistant", "content": "(noted)"}
_BRIDGED = "the assistant must speak between results and the user's words"


def write_turn(dialect: Dialect, turn: Turn, context: RenderContext) -> list[Json]:
    """Convert a turn to messages: results directly after their calls, each message separate."""
    if isinstance(turn, UserTurn):
        return _user_turn(dialect, turn, context)
    return _assistant(dialect, turn, context)


def write_prompt(dialect: Dialect, prompt: Prompt, context: RenderContext) -> PromptPart:
    """Return the prompt as leading messages: those that it was loaded from, or one of its text."""
    pieces = original_prompt_pieces(PROVIDER, prompt) if dialect.instructions_anywhere else []
    if pieces:
        return PromptPart({}, [_user(dialect, group, context) for group in by_message(pieces)])
    role = "system" if accepts_instruction_roles(context.model) else "user"
    return PromptPart({}, [{"role": role, "content": prompt.text}])


def _user_turn(dialect: Dialect, turn: UserTurn, context: RenderContext) -> list[Json]:
    """Return the results; the media of all of them follow in one user message, then the user's text (rule C6)."""
    messages, shown = _results(dialect, turn, context) if turn.results else ([], [])
    if dialect.alternates:
        said = [_part(dialect, piece.block) for piece in turn.pieces]
        for group in by_message(turn.pieces):
            context.note_lost_role(group[0])
        if shown or said:
            messages.append({"role": "user", "content": _joined(dialect, [*shown, *said])})
        return messages
    if shown:
        messages.append({"role": "user", "content": shown})
    messages += [_user(dialect, pieces, context) for pieces in by_message(turn.pieces)]
    return messages


def _results(dialect: Dialect, turn: UserTurn, context: RenderContext) -> tuple[list[Json], list[Json]]:
    """Return the messages of a turn's results, and the parts of the user message that shows their media."""
    messages: list[Json] = []
    shown: list[Json] = []
    follows = list(turn.pieces[:1])
    for result in turn.results:
        if (text := result.text) is not None:
            messages.append({"role": "tool", "tool_call_id": result.call.id, "content": text})
            continue
        blocks = result.blocks
        texts = with_error_prefix(result, [block for block in blocks if block["type"] == "text"], context, PROVIDER)
        media = [_part(dialect, block) for block in blocks if block["type"] == "media"]
        if media and result.piece is not None:
            context.note(result.piece, "moved", "media of a result follow in a user message after all results")
            shown += [{"type": "text", "text": media_title(result.call.name, result.call.id)}, *media]
            follows.append(result.piece)
        messages.append({"role": "tool", "tool_call_id": result.call.id, "content": _content(dialect, texts)})
    if dialect.bridges and follows:
        context.note(follows[0], "synthesized", _BRIDGED)
        messages.append(_NOTED)
    return messages, shown


def _user(dialect: Dialect, pieces: Sequence[Piece], context: RenderContext) -> Json:
    """Return a message of the user's, or of an instruction role if the model accepts it and all of it is text.

    Args:
        dialect: the dialect.
        pieces: the pieces of one message.
        context: receives reports of roles and names that cannot be sent.
    """
    blocks = [piece.block for piece in pieces]
    role = pieces[0].privileged_role or "user"
    if role != "user" and not (
        dialect.instructions_anywhere
        and accepts_instruction_roles(context.model)
        and all(block["type"] == "text" for block in blocks)
    ):
        context.note_lost_role(pieces[0])
        role = "user"
    if role == "developer" and not dialect.is_openai:
        role = "system"
    return {"role": role, "content": _content(dialect, blocks), **_name(dialect, pieces[0], context)}


def _assistant(dialect: Dialect, turn: AssistantTurn, context: RenderContext) -> list[Json]:
    """Return the assistant's messages; all calls are in the last one, which their results follow (rule C1)."""
    messages: list[Json] = []
    if dialect.bridges and not turn.pieces and context.follows_results and not context.is_last:
        # Nothing is left of an answer to results, and the user speaks next.
        context.report.append(Change(None, None, "synthesized", _BRIDGED))
        messages.append(_NOTED)
    calls = [piece for piece in turn.pieces if piece.block["type"] == "tool_call"]
    pieces = [piece for piece in turn.pieces if piece.block["type"] != "tool_call"] if calls else turn.pieces
    said = ([pieces] if pieces else []) if dialect.alternates else _messages(pieces)
    if calls and not (said and (dialect.alternates or _belongs(calls, said[-1]))):
        said.append([])
    in_loop = context.follows_results or bool(calls)
    for group in said:
        message = _assistant_message(dialect, group, calls if group is said[-1] else [], context)
        if dialect.reasoning is not None:
            message = _with_reasoning(dialect, dialect.reasoning, message, group, calls, context, in_loop=in_loop)
        messages.append(message)
    return messages


def _messages(pieces: list[Piece]) -> list[list[Piece]]:
    """Group the pieces of one message; one that is nothing but reasoning joins the next."""
    if len(pieces) == 1:  # nearly always
        return [pieces]
    groups: list[list[Piece]] = []
    waiting: list[Piece] = []
    for group in by_message(pieces):
        waiting += group
        if not all(is_thought(piece.block) for piece in group):
            groups.append(waiting)
            waiting = []
    return [*groups, waiting] if waiting else groups


def _belongs(calls: Sequence[Piece], pieces: Sequence[Piece]) -> bool:
    """Whether a message has calls, or nothing but the reasoning that led to them."""
    if pieces[-1].message_index == calls[0].message_index:  # nearly always
        return True
    made = {call.message_index for call in calls}
    return all(is_thought(piece.block) for piece in pieces) or any(piece.message_index in made for piece in pieces)


def _assistant_message(
    dialect: Dialect, pieces: Sequence[Piece], calls: Sequence[Piece], context: RenderContext
) -> Json:
    """Return a message of the assistant's without its reasoning."""
    texts: list[Json] = []
    refusals: list[str] = []
    sound: Json | None = None
    for piece in pieces:
        block = piece.block
        if block["type"] == "opaque":
            sound = opaque_object(block)
        elif block["type"] == "text" and _METADATA in block and dialect.is_openai and _is_refusal(block):
            refusals.append(block["text"])
        elif block["type"] == "text":
            texts.append(block)
    # Null content is accepted only beside calls, a refusal or audio (rule C2); nothing else is left without a text.
    nothing = None if dialect.null_content else ""
    message: Json = {"role": "assistant", "content": _content(dialect, texts) if texts else nothing}
    described = [piece for piece in (*pieces, *calls) if piece.message.get(_METADATA)]
    if described:
        message |= _name(dialect, (pieces or calls)[0], context)
    if refusals:
        message["refusal"] = "\n".join(refusals)
    if sound is not None:
        message["audio"] = {"id": sound["audio"]["id"]}
    if calls:
        message["tool_calls"] = [_call(dialect, call, context, is_first=index == 0) for index, call in enumerate(calls)]
    for group in by_message(described):
        if kept := restore_keys(group[0].metadata, PROVIDER, _SIGNED):
            message |= _noted(dialect.message_keys(group[0].metadata, context.model), kept, group[0], context)
    return message


# The keys beside content and calls that one server signs, and only its own model reads (rule D9).
_SIGNED = ("extra_content",)


def _noted(sent: Json, kept: Json, piece: Piece, context: RenderContext) -> Json:
    """Return the keys that are sent, and report those that an answer had and that are not sent as they were."""
    if sent != kept:
        context.note(piece, "dropped", "the signature in extra_content: only the model that made it reads it")
    return sent


def _with_reasoning(
    dialect: Dialect,
    reasoning: Reasoning,
    message: Json,
    pieces: Sequence[Piece],
    calls: Sequence[Piece],
    context: RenderContext,
    *,
    in_loop: bool,
) -> Json:
    """Return a message with the reasoning that led to it, if the server reads it (rule D3)."""
    thoughts = [piece for piece in pieces if is_thought(piece.block)]
    if reasoning.in_loops_only and not (in_loop or context.past_reasoning):
        for piece in thoughts:
            context.note(piece, "dropped", f"{dialect.server} ignores reasoning outside of a tool loop")
        thoughts = []
    ids = {call.message["content"][call.block_index]["id"]: call.block["id"] for call in calls}
    return reasoning.add(message, [piece.block for piece in thoughts], ids)


def _is_refusal(block: Json) -> bool:
    metadata = block.get("provider_metadata")
    return metadata is not None and restore_keys(metadata, PROVIDER, ("refusal",)) != {}


def _name(dialect: Dialect, piece: Piece, context: RenderContext) -> Json:
    """Return the name of a speaker if it can be sent (rules C5 and D1)."""
    metadata = piece.metadata
    name = restore_key(metadata, PROVIDER, "name") if metadata else None
    if name is None or (dialect.names and is_speaker_name(name)):
        return {"name": name} if name is not None else {}
    context.note(piece, "dropped", f"the name {name!r}: the API does not accept it")
    return {}


def _call(dialect: Dialect, piece: Piece, context: RenderContext, *, is_first: bool) -> Json:
    """Return a call, in the kind in which it was made if the server has that kind."""
    block = piece.block
    metadata = block.get(_METADATA)
    if metadata and restore_keys(metadata, PROVIDER, ("type",)) == {"type": "custom_tool_call"}:
        if dialect.is_openai:
            custom = {"name": block["name"], "input": custom_tool_input(block["arguments"])}
            return {"id": block["id"], "type": "custom", "custom": custom}
        context.note(piece, "downgraded", f"{dialect.server} has no custom tools; it is sent as a function call")
    function = {"name": block["name"], "arguments": arguments_as_text(block["arguments"])}
    beside: Json = dialect.call_keys(piece, context.model, is_first=is_first)
    if metadata and (kept := restore_keys(metadata, PROVIDER, _SIGNED)):
        _noted(beside, kept, piece, context)
    return {"id": block["id"], "type": "function", "function": function, **beside}


def _content(dialect: Dialect, blocks: Sequence[Json]) -> str | list[Json]:
    if len(blocks) == 1 and blocks[0]["type"] == "text" and _METADATA not in blocks[0]:  # nearly always
        text: str = blocks[0]["text"]
        return text
    return _joined(dialect, [_part(dialect, block) for block in blocks])


def _joined(dialect: Dialect, parts: list[Json]) -> str | list[Json]:
    """Return parts as content; servers whose templates expect a text get one if there are only texts."""
    if dialect.one_text and all(part["type"] == "text" for part in parts):
        return "\n\n".join(part["text"] for part in parts)
    return shortest(parts)


def _part(dialect: Dialect, block: Json) -> Json:
    """Return the content part of a block, with no key that the API does not know (rule C3)."""
    metadata = block.get("provider_metadata")
    if metadata is None and block["type"] == "text":  # nearly always
        return {"type": "text", "text": block["text"]}
    kept = (CACHE_BREAKPOINT,) if dialect.is_openai else ()
    cached = restore_keys(metadata, PROVIDER, kept)
    if block["type"] == "opaque":
        return _kept_part(opaque_object(block) or {})
    if block["type"] == "media":
        return {**_media_part(dialect, block), **cached}
    return {"type": "text", "text": block["text"], **cached}


def _kept_part(part: Json) -> Json:
    """Return a part that was kept whole, without the keys of a file that the API does not know (rule C3)."""
    file = part.get("file")
    return {**part, "file": {key: file[key] for key in _OF_A_FILE if key in file}} if type(file) is dict else part


def _media_part(dialect: Dialect, block: Json) -> Json:
    mime_type: str = block["mime_type"]
    if mime_type in SOUNDS:
        return {"type": "input_audio", "input_audio": {"data": block["data_base64"], "format": SOUNDS[mime_type]}}
    if mime_type.startswith("image/"):
        detail = restore_keys(block.get("provider_metadata"), PROVIDER, ("detail",))
        accepted = detail if detail.get("detail") in _DETAILS else {}
        return {"type": "image_url", "image_url": {"url": url_of(block), **accepted}}
    return dialect.media.file_part(block)
