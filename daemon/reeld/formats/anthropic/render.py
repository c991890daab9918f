"""Turns as messages of Anthropic's API: one a turn, the results first, a system message after the user's."""

from itertools import takewhile

from reeld.formats import metadata as native
from reeld.formats.anthropic.blocks import CHANGES, PROVIDER, THOUGHTS, marked, own_keys, version, written
from reeld.formats.format import Head, Page, Prompt
from reeld.formats.model import Answer, AssistantTurn, Json, Piece, Turn, UserTurn, text_piece
from reeld.formats.prompt import kept_pieces
from reeld.formats.repair import PLACEHOLDER

# The first version that takes system messages among the others.
_SYSTEM_MESSAGES = (4, 8)


def entries(turn: Turn, page: Page) -> list[Json]:
    """Give the messages that a turn becomes."""
    if isinstance(turn, AssistantTurn):
        return _message("assistant", [written(piece.block, piece, page) for piece in _thoughtful(turn.pieces, page)])
    said, instructions = _instructions(turn, page)
    content = [_result(answer, page) for answer in turn.answers]
    content += [written(piece.block, piece, page) for piece in said]
    system = _message("system", [written(piece.block, piece, page) for piece in instructions])
    if system:
        system[0] |= native.given_back(instructions[-1].metadata, PROVIDER, ("clear_at", "output_config"))
    return [*_message("user", content), *system]


def _message(role: str, content: list[Json]) -> list[Json]:
    return [{"role": role, "content": content}] if content else []


def _thoughtful(pieces: list[Piece], page: Page) -> list[Piece]:
    """Leave out thinking where it is switched off."""
    if page.thinking:
        return pieces
    for piece in pieces:
        if piece.block["type"] in THOUGHTS:
            page.note(piece, "dropped", "the last turn cannot have thinking where extra does not switch it on")
    return [piece for piece in pieces if piece.block["type"] not in THOUGHTS]


def _instructions(turn: UserTurn, page: Page) -> tuple[list[Piece], list[Piece]]:
    """Split off what may be said as the system: the end of a turn in which the user or a tool spoke before."""
    if not any(piece.above for piece in turn.said):
        return turn.said, []
    system = list(takewhile(_can_instruct, reversed(turn.said)))[::-1]
    said = turn.said[: len(turn.said) - len(system)]
    found = version(page.model)
    if found is None or found < _SYSTEM_MESSAGES or not (turn.answers or any(not piece.above for piece in said)):
        said, system = turn.said, []
    allowed = []
    for piece in said:
        if piece.above:
            change = _type_of(piece) in CHANGES
            why = "only a system message can do this" if change else f"a {piece.above} message is the user's here"
            page.note(piece, "dropped" if change else "downgraded", why)
            if change:
                continue
        allowed.append(piece)
    if not allowed and not turn.answers:
        allowed = [text_piece(PLACEHOLDER)]
    return allowed, system


def _can_instruct(piece: Piece) -> bool:
    return piece.above is not None and _type_of(piece) in ("text", *CHANGES)


def _type_of(piece: Piece) -> str:
    opaque = piece.block["type"] == "opaque"
    return str((native.object_of(piece.block) or {}).get("type")) if opaque else str(piece.block["type"])


def _result(answer: Answer, page: Page) -> Json:
    found: Json = {"type": "tool_result", "tool_use_id": answer.call.id, "content": answer.content}
    if answer.failed:
        found["is_error"] = True
    if answer.piece is None:
        return found
    if isinstance(answer.content, str) and answer.content.isspace():
        # A text block of white space is refused; nothing at all is taken.
        found["content"] = ""
        page.note(answer.piece, "dropped", "in the result: a blank text")
    if isinstance(answer.content, list):
        found["content"] = [written(block, answer.piece, page) for block in answer.content]
    if answer.failed and not found["content"]:
        # "content cannot be empty if `is_error` is true"
        found["content"] = PLACEHOLDER
        page.note(answer.piece, "synthesized", "a result that failed must say something")
    return marked({**found, **own_keys(answer.piece.block, "tool_result")}, answer.piece, page)


def head(prompt: Prompt | None, page: Page) -> Head:
    """Give the system prompt: a text, or the blocks that it was loaded from."""
    if prompt is None:
        return Head({}, [])
    counted = Page(page.model, 4)
    blocks = [written(piece.block, piece, counted) for piece in kept_pieces(PROVIDER, prompt)]
    return Head({"system": blocks or prompt.text}, [])
