"""Writes turns and the prompt as LangChain's messages, in the plain form of ``model_dump``."""

from collections.abc import Callable, Sequence
from operator import attrgetter

from reel.base.strict_json import Json
from reel.providers.content import ANY_PICTURE, mime_of, shortest
from reel.providers.json_values import arguments_as_object
from reel.providers.metadata import opaque_object, restore_keys
from reeld.formats.format import Prompt, PromptPart
from reeld.formats.langchain.rules import CALL_SIGNATURES, OPENAI_ROLE, PROVIDER, is_native, model_provider_of
from reeld.formats.model import CallResult, Piece, RenderContext, Turn, UserTurn
from reeld.formats.writing import by_message, prompt_as_messages, said_and_calls

_KEPT = ("name", "id", "additional_kwargs", "response_metadata", "usage_metadata")
_OF_RESULTS = ("id", "additional_kwargs", "response_metadata", "artifact")
_OF_TEXTS = ("annotations", "extras", "citations")
_MEDIA_TYPES = ("image", "audio", "video")
# The providers whose integration reads calls in the content, in their place.
_SHOWS_CALLS = ("anthropic", "bedrock")
_block_index = attrgetter("block_index")


def write_turn(turn: Turn, context: RenderContext) -> list[Json]:
    """Convert a turn to messages: each separate, the calls in the last one, results directly after it (rule L2)."""
    if isinstance(turn, UserTurn):
        return [*map(_result, turn.results), *(_user(pieces, context) for pieces in by_message(turn.pieces))]
    return [_message(pieces, calls) for pieces, calls in said_and_calls(turn)]


def write_prompt(prompt: Prompt, context: RenderContext) -> PromptPart:
    """Return the prompt as leading messages: those that it was loaded from, or one of its text."""
    plain = {"type": "system", "content": prompt.text}
    return prompt_as_messages(PROVIDER, prompt, lambda pieces: _user(pieces, context), plain)


def _result(result: CallResult) -> Json:
    """Return the result of a call; whether it failed is its status (rule L2)."""
    return {
        "type": "tool",
        "content": shortest([_block(block) for block in result.blocks]) if result.text is None else result.text,
        "tool_call_id": result.call.id,
        "name": result.call.name,
        "status": "error" if result.failed else "success",
        **restore_keys(result.metadata, PROVIDER, _OF_RESULTS),
    }


def _user(pieces: Sequence[Piece], context: RenderContext) -> Json:
    """Return a message of the user's, or of the system's if all of it is text; ``developer`` is a mark (rule L1)."""
    role = pieces[0].privileged_role
    if role is not None and any(piece.block["type"] != "text" for piece in pieces):
        context.note_lost_role(pieces[0])
        role = None
    message: Json = {
        "type": "human" if role is None else "system",
        "content": shortest([_block(piece.block) for piece in pieces]),
        **restore_keys(pieces[0].metadata, PROVIDER, _KEPT),
    }
    if role == "developer":
        beside = message.get("additional_kwargs")
        message["additional_kwargs"] = {**(beside if type(beside) is dict else {}), OPENAI_ROLE: role}
    return message


def _message(pieces: Sequence[Piece], calls: Sequence[Piece]) -> Json:
    first = (*pieces, *calls)[0]
    if not first.metadata and all(map(_is_plain, (*pieces, *calls))):  # nearly always
        plain: Json = {"type": "ai", "content": shortest([_block(piece.block) for piece in pieces])}
        return {**plain, "tool_calls": [_call(piece.block) for piece in calls]} if calls else plain
    kept = restore_keys(first.metadata, PROVIDER, _KEPT)
    maker = _maker(first, [*pieces, *calls])
    shown = _in_order(pieces, calls) if maker.get("model_provider") in _SHOWS_CALLS else pieces
    message: Json = {"type": "ai", "content": shortest([_block(piece.block) for piece in shown])}
    if calls:
        message["tool_calls"] = [_call(piece.block) for piece in calls]
    made_by = {"response_metadata": maker} if maker else {}
    signatures = {call.block["id"]: found for call in calls if (found := _signature(call.block))}
    if signatures:
        beside = kept.get("additional_kwargs")
        kept["additional_kwargs"] = {**(beside if type(beside) is dict else {}), CALL_SIGNATURES: signatures}
    return {**message, **made_by, **kept}


def _is_plain(piece: Piece) -> bool:
    """Whether a piece does not say who made it, and has nothing beside its text or call."""
    return piece.block["type"] in ("text", "tool_call") and "provider_metadata" not in piece.block


def _in_order(pieces: Sequence[Piece], calls: Sequence[Piece]) -> Sequence[Piece]:
    """Return the pieces of a message with its calls among them, if something follows a call (rule L3)."""
    own = [call for call in calls if call.message_index == pieces[0].message_index] if pieces else []
    if not own or own[0].block_index > pieces[-1].block_index:
        return pieces
    return sorted((*pieces, *own), key=_block_index)


def _signature(block: Json) -> str | None:
    """Return the signature of a text, a call or media (rule L4)."""
    metadata = block.get("provider_metadata")
    found = metadata.get("signature") if metadata else None
    return found if type(found) is str else None


def _maker(first: Piece, pieces: Sequence[Piece]) -> Json:
    """Return the maker of a message in LangChain's terms, so that its integrations read the content (rule L4)."""
    blocks = [piece.block for piece in pieces]
    signed = [block["provider_metadata"] for block in blocks if _signature(block)]
    for holder in (first.metadata, *blocks, *signed):
        if holder.get("provider") not in (None, PROVIDER):
            named = {"model_provider": model_provider_of(holder["provider"])}
            model = holder.get("model")
            return {**named, "model_name": model} if model else named
    return {}


def _call(block: Json) -> Json:
    arguments = arguments_as_object(block["arguments"])
    return {"name": block["name"], "args": arguments, "id": block["id"], "type": "tool_call"}


def _shown_call(block: Json) -> Json:
    """Return a call in the form in which the integrations of Anthropic and Bedrock have it in the content."""
    arguments = arguments_as_object(block["arguments"])
    return {"type": "tool_use", "id": block["id"], "name": block["name"], "input": arguments}


def _block(block: Json) -> Json:
    return _WRITERS[block["type"]](block)


def _text(block: Json) -> Json:
    if "provider_metadata" not in block:  # nearly always
        return {"type": "text", "text": block["text"]}
    kept = restore_keys(block.get("provider_metadata"), PROVIDER, _OF_TEXTS)
    return {"type": "text", "text": block["text"], **_signed(block), **kept}


def _signed(block: Json) -> Json:
    return {"extras": {"signature": found}} if (found := _signature(block)) else {}


def _thinking(block: Json) -> Json:
    """Return thinking: Anthropic's in the form of its integration, any other as LangChain's reasoning (rule L4)."""
    signature = block.get("signature")
    if block.get("provider") == "anthropic":
        signed = {"signature": signature} if signature else {}
        return {"type": "thinking", "thinking": block["text"], **signed}
    extras = {"extras": {"signature": signature}} if signature else {}
    return {"type": "reasoning", "reasoning": block["text"], **extras}


def _redacted(block: Json) -> Json:
    return {"type": "redacted_thinking", "data": block["data"]}


def _media(block: Json) -> Json:
    """Return media as LangChain's own block; anything other than a picture, audio or video is a file."""
    mime = mime_of(block)
    kind = mime.partition("/")[0]
    written: Json = {"type": kind if kind in _MEDIA_TYPES else "file"}
    written |= {"url": block["url"]} if block.get("url") is not None else {"base64": block["data_base64"]}
    if mime != ANY_PICTURE:
        written["mime_type"] = mime
    named = {"filename": block["name"]} if block.get("name") else {}
    return {**written, **named, **_signed(block)}


def _opaque(block: Json) -> Json:
    value = opaque_object(block) or {}
    return value if is_native(block) else {"type": "non_standard", "value": value}


_WRITERS: dict[str, Callable[[Json], Json]] = {
    "text": _text,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "media": _media,
    "opaque": _opaque,
    "tool_call": _shown_call,
}
