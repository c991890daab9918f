"""Writes turns and the prompt for Ollama: messages whose content is a text, with pictures and calls beside it."""

from collections.abc import Iterator, Sequence

from reel.strict_json import Json
from reeld.formats.content import texts_of
from reeld.formats.format import Prompt, PromptPart
from reeld.formats.json_values import arguments_as_object
from reeld.formats.model import AssistantTurn, CallResult, Piece, RenderContext, Turn, UserTurn
from reeld.formats.ollama.rules import PROVIDER
from reeld.formats.openai import by_message, with_error_prefix
from reeld.formats.prompt import original_prompt_pieces


def write_turn(turn: Turn, context: RenderContext) -> list[Json]:
    """Convert a turn to messages."""
    if isinstance(turn, UserTurn):
        results = [_result(result, context) for result in turn.results]
        return [*results, *(_user(pieces, context) for pieces in by_message(turn.pieces))]
    return list(_assistant(turn))


def write_prompt(prompt: Prompt | None, context: RenderContext) -> PromptPart:
    """Return the prompt as leading messages: those that it was loaded from, or one of its text."""
    if prompt is None:
        return PromptPart({}, [])
    groups = by_message(original_prompt_pieces(PROVIDER, prompt))
    items = [_user(pieces, context) for pieces in groups] or [{"role": "system", "content": prompt.text}]
    return PromptPart({}, items)


def _result(result: CallResult, context: RenderContext) -> Json:
    """Return the result of a call; templates use the name of its tool, newer ones the id (rule O4)."""
    texts = with_error_prefix(result, result.blocks, context, PROVIDER)
    named = {"tool_name": result.call.name, "tool_call_id": result.call.id}
    return {"role": "tool", **named, "content": texts_of(texts)}


def _user(pieces: Sequence[Piece], context: RenderContext) -> Json:
    """Return a message of the user's, or of the system's if all of it is text (rules O1 and O5)."""
    blocks = [piece.block for piece in pieces]
    pictures = [block["data_base64"] for block in blocks if block["type"] == "media"]
    role = pieces[0].privileged_role
    if role is not None and pictures:
        context.note(pieces[0], "downgraded", f"a {role} message is sent as the user's")
        role = None
    message: Json = {"role": "system" if role else "user", "content": texts_of(blocks)}
    return {**message, "images": pictures} if pictures else message


def _assistant(turn: AssistantTurn) -> Iterator[Json]:
    """Return the assistant's messages; all calls are in the last one, which their results follow (rule O4)."""
    calls = [_call(piece.block) for piece in turn.pieces if piece.block["type"] == "tool_call"]
    said = list(by_message([piece for piece in turn.pieces if piece.block["type"] != "tool_call"]))
    for number, pieces in enumerate(said, 1):
        yield _message([piece.block for piece in pieces], calls if number == len(said) else [])
    if calls and not said:
        yield _message([], calls)


def _message(blocks: Sequence[Json], calls: list[Json]) -> Json:
    thoughts = [block["text"] for block in blocks if block["type"] == "thinking"]
    message: Json = {"role": "assistant", "content": texts_of(list(blocks))}
    if thoughts:
        message["thinking"] = "\n".join(thoughts)
    if calls:
        message["tool_calls"] = calls
    return message


def _call(block: Json) -> Json:
    function = {"name": block["name"], "arguments": arguments_as_object(block["arguments"])}
    return {"id": block["id"], "function": function}
