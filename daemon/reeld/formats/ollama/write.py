"""Writes turns and the prompt for Ollama: messages whose content is a text, with pictures and calls beside it."""

from collections.abc import Sequence

from reel.base.strict_json import Json
from reel.providers.content import texts_of
from reel.providers.json_values import arguments_as_object
from reeld.formats.format import Prompt, PromptPart
from reeld.formats.model import CallResult, Piece, RenderContext, Turn, UserTurn
from reeld.formats.ollama.rules import PROVIDER
from reeld.formats.writing import by_message, prompt_as_messages, said_and_calls, with_error_prefix


def write_turn(turn: Turn, context: RenderContext) -> list[Json]:
    """Convert a turn to messages; all calls are in the last one, which their results follow (rule O4)."""
    if isinstance(turn, UserTurn):
        results = [_result(result, context) for result in turn.results]
        return [*results, *(_user(pieces, context) for pieces in by_message(turn.pieces))]
    return [_message(said, calls) for said, calls in said_and_calls(turn)]


def write_prompt(prompt: Prompt, context: RenderContext) -> PromptPart:
    """Return the prompt as leading messages: those that it was loaded from, or one of its text."""
    plain = {"role": "system", "content": prompt.text}
    return prompt_as_messages(PROVIDER, prompt, lambda pieces: _user(pieces, context), plain)


def _result(result: CallResult, context: RenderContext) -> Json:
    """Return the result of a call; templates use the name of its tool, newer ones the id (rule O4)."""
    content = result.text
    if content is None:
        content = texts_of(with_error_prefix(result, result.blocks, context, PROVIDER))
    return {"role": "tool", "tool_name": result.call.name, "tool_call_id": result.call.id, "content": content}


def _user(pieces: Sequence[Piece], context: RenderContext) -> Json:
    """Return a message of the user's, or of the system's if all of it is text (rules O1 and O5)."""
    blocks = [piece.block for piece in pieces]
    pictures = [block["data_base64"] for block in blocks if block["type"] == "media"]
    role = pieces[0].privileged_role
    if role is not None and pictures:
        context.note_lost_role(pieces[0])
        role = None
    message: Json = {"role": "system" if role else "user", "content": texts_of(blocks)}
    return {**message, "images": pictures} if pictures else message


def _message(pieces: Sequence[Piece], calls: Sequence[Piece]) -> Json:
    blocks = [piece.block for piece in pieces]
    thoughts = [block["text"] for block in blocks if block["type"] == "thinking"]
    message: Json = {"role": "assistant", "content": texts_of(blocks)}
    if thoughts:
        message["thinking"] = "\n".join(thoughts)
    if calls:
        message["tool_calls"] = [_call(call.block) for call in calls]
    return message


def _call(block: Json) -> Json:
    function = {"name": block["name"], "arguments": arguments_as_object(block["arguments"])}
    return {"id": block["id"], "function": function}
