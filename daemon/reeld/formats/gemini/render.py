"""Turns as contents of Gemini's API: results and what the user says after them stand in turns of their own."""

from reeld.formats.format import Head, Page, Prompt
from reeld.formats.gemini.parts import PROVIDER, UNSIGNED, is_signing, response, signature, written
from reeld.formats.model import AssistantTurn, Json, Piece, Turn
from reeld.formats.prompt import kept_pieces

# What the model says between results and the user's words.
_NOTED = "(noted)"


def entries(turn: Turn, page: Page) -> list[Json]:
    """Give the contents that a turn becomes."""
    if isinstance(turn, AssistantTurn):
        return [{"role": "model", "parts": _signed(turn.pieces, page.model)}] if turn.pieces else []
    for piece in turn.said:
        if piece.above:
            page.note(piece, "downgraded", f"a {piece.above} message is the user's here")
    contents = []
    if turn.answers:
        contents.append({"role": "user", "parts": [response(answer) for answer in turn.answers]})
    if turn.answers and turn.said:
        contents.append({"role": "model", "parts": [{"text": _NOTED}]})
        page.note(turn.said[0], "synthesized", "the model must speak between results and the user's words")
    if turn.said:
        contents.append({"role": "user", "parts": [written(piece.block, page.model) for piece in turn.said]})
    return contents


def _signed(pieces: list[Piece], model: str | None) -> list[Json]:
    """Write what the model said; the first call of a step has a signature, were it the one that stands for none."""
    parts = []
    first = True
    for piece in pieces:
        part = written(piece.block, model)
        if piece.block["type"] == "tool_call":
            if first and is_signing(model) and not signature(piece.block, model):
                part["thoughtSignature"] = UNSIGNED
            first = False
        parts.append(part)
    return parts


def head(prompt: Prompt | None, _page: Page) -> Head:
    """Give the system instruction: a part of its text, or the parts that it was loaded from."""
    if prompt is None:
        return Head({}, [])
    texts = [piece.block["text"] for piece in kept_pieces(PROVIDER, prompt)] or [prompt.text]
    return Head({"systemInstruction": {"parts": [{"text": text} for text in texts]}}, [])
