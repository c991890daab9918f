"""Writes turns and the prompt for Gemini's API: results, and the user's text after them, in separate contents."""

from collections.abc import Callable

from reel.base.strict_json import Json
from reel.providers.content import ANY_PICTURE, mime_of, texts_of
from reel.providers.gemini import BESIDE_DATA, OF_A_RESPONSE, PROVIDER
from reel.providers.json_values import arguments_as_object
from reel.providers.metadata import opaque_object, restore_key, restore_keys
from reeld.formats.format import Prompt, PromptPart
from reeld.formats.gemini.rules import accepted_keys, is_signing, signature
from reeld.formats.model import AssistantTurn, CallResult, Piece, RenderContext, Turn
from reeld.formats.naming import signed_elsewhere
from reeld.formats.prompt import original_prompt_pieces
from reeld.formats.tool_names import ToolNames

# Google's own value for a call that never had a signature: another provider's, or a synthesized one (rule G3).
UNSIGNED = "skip_thought_signature_validator"
# Google's SDKs write keys in either spelling (rule G8).
TOOL_NAMES = ToolNames(
    frozenset({"toolConfig", "functionCallingConfig", "tool_config", "function_calling_config"}),
    lists=frozenset({"tools", "functionDeclarations", "function_declarations"}),
    keys=frozenset({"name", "allowedFunctionNames", "allowed_function_names"}),
)
# The model's text between results and the user's text (rule G2).
_NOTED = "(noted)"


def write_turn(dialect: str | None, turn: Turn, context: RenderContext) -> list[Json]:
    """Convert a turn to contents."""
    if isinstance(turn, AssistantTurn):
        return [{"role": "model", "parts": _signed_parts(turn.pieces, context, dialect)}] if turn.pieces else []
    for piece in turn.pieces:
        context.note_lost_role(piece)
    contents = []
    if turn.results:
        contents.append({"role": "user", "parts": [_response(result) for result in turn.results]})
    if turn.results and turn.pieces:
        contents.append({"role": "model", "parts": [{"text": _NOTED}]})
        context.note(turn.pieces[0], "synthesized", "the model must speak between results and the user's words")
    if turn.pieces:
        contents.append(
            {"role": "user", "parts": [_part(piece.block, context.model, dialect) for piece in turn.pieces]}
        )
    return contents


def write_prompt(prompt: Prompt, _context: RenderContext) -> PromptPart:
    """Return the system instruction: one part with its text, or the parts that it was loaded from (rule G9)."""
    texts = [piece.block["text"] for piece in original_prompt_pieces(PROVIDER, prompt)] or [prompt.text]
    return PromptPart({"systemInstruction": {"parts": [{"text": text} for text in texts]}}, [])


def _signed_parts(pieces: list[Piece], context: RenderContext, dialect: str | None) -> list[Json]:
    """Return the model's parts; the first call of a step has a signature, if only a dummy (rule G3)."""
    parts = []
    is_first, model = True, context.model
    for piece in pieces:
        part = _part(piece.block, model, dialect)
        if piece.block["type"] == "tool_call":
            if is_first and is_signing(model) and not signature(piece.block, model, dialect):
                part["thoughtSignature"] = UNSIGNED
            is_first = False
        elif (other := signed_elsewhere(piece.block, dialect)) and part.pop("thoughtSignature", None):
            context.note(piece, "dropped", f"the signature of {other}")
        parts.append(part)
    return parts


def _part(block: Json, model: str | None, dialect: str | None) -> Json:
    if block["type"] == "text" and "provider_metadata" not in block:  # nearly always
        return {"text": block["text"]}
    part = _WRITERS[block["type"]](block)
    if "provider_metadata" in block:
        part |= _beside(block)
    signed = signature(block, model, dialect)
    if signed:
        part["thoughtSignature"] = signed
    return part


def _beside(block: Json) -> Json:
    """Return the keys that were beside the data of a part (rule G12)."""
    return {} if block["type"] == "opaque" else restore_keys(block.get("provider_metadata"), PROVIDER, BESIDE_DATA)


def _text(block: Json) -> Json:
    return {"text": block["text"]}


def _thinking(block: Json) -> Json:
    return {"text": block["text"], "thought": True}


def _call(block: Json) -> Json:
    arguments = arguments_as_object(block["arguments"])
    return {"functionCall": {"name": block["name"], "args": arguments, "id": block["id"]}}


def _media(block: Json) -> Json:
    named = {"displayName": block["name"]} if block.get("name") else {}
    thought = restore_keys(block.get("provider_metadata"), PROVIDER, ("thought",))
    beside = thought if thought.get("thought") is True else {}
    mime = mime_of(block)
    if block.get("url") is not None:
        typed = {} if mime == ANY_PICTURE else {"mimeType": mime}
        return {"fileData": {"fileUri": block["url"], **typed, **named}, **beside}
    return {"inlineData": {"data": block["data_base64"], "mimeType": mime, **named}, **beside}


def _opaque(block: Json) -> Json:
    """Return a part unchanged; a lone signature becomes the signature of an empty text (rule G3)."""
    part = accepted_keys(opaque_object(block) or {})
    return {"text": "", **part} if part.keys() <= {"thought", "thoughtSignature"} else part


_WRITERS: dict[str, Callable[[Json], Json]] = {
    "text": _text,
    "thinking": _thinking,
    "tool_call": _call,
    "media": _media,
    "opaque": _opaque,
}


def _response(result: CallResult) -> Json:
    """Return a functionResponse: the original object if it came from Gemini, else the text under a key (rule G4)."""
    text = result.text
    if text is not None and not result.metadata:  # nearly always
        return {"functionResponse": {"name": result.call.name, "response": {"result": text}, "id": result.call.id}}
    written: Json = {"name": result.call.name, "response": _response_object(result), "id": result.call.id}
    written |= restore_keys(result.metadata, PROVIDER, OF_A_RESPONSE)
    media = [{**_WRITERS[block["type"]](block), **_beside(block)} for block in result.blocks if block["type"] != "text"]
    if media:
        written["parts"] = media
    return {"functionResponse": written, **restore_keys(result.metadata, PROVIDER, BESIDE_DATA)}


def _response_object(result: CallResult) -> Json:
    own = restore_key(result.metadata, PROVIDER, "response")
    if type(own) is dict:
        return own
    return {"error" if result.failed else "result": texts_of(result.blocks)}
