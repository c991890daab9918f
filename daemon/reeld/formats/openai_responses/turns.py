"""Turns in the words of Responses: items of ``input``, in the order in which they came."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from reeld.formats import metadata as native
from reeld.formats.format import Page
from reeld.formats.model import Answer, Json, Piece, Turn, UserTurn
from reeld.formats.openai import PROVIDER
from reeld.formats.openai_responses.whole import CLIENTS, SERVERS, held, is_reasoning, part_in
from reeld.formats.openai_responses.writing import PHASES, call_of, content_of, output_of


def entries(turn: Turn, page: Page) -> list[Json]:
    """Give the items that a turn becomes."""
    return list(_heard(turn, page) if isinstance(turn, UserTurn) else _spoken(turn.pieces, page))


def _heard(turn: UserTurn, page: Page) -> Iterator[Json]:
    """Give results and words as they came; a result that was made up stands before all."""
    if not turn.answers:
        ordered: list[Answer | Piece] = [*turn.said]
    else:
        ordered = sorted([*turn.answers, *turn.said], key=_place)
    for message, group in groupby(ordered, key=lambda entry: id(entry.message) if isinstance(entry, Piece) else None):
        if message is None:
            yield from (output_of(entry, page) for entry in group if isinstance(entry, Answer))
        else:
            yield from words([entry for entry in group if isinstance(entry, Piece)], page)


def _place(entry: Answer | Piece) -> tuple[int, int]:
    piece = entry if isinstance(entry, Piece) else entry.piece
    return (piece.seq or 0, piece.index) if piece is not None else (0, 0)


def words(pieces: Sequence[Piece], page: Page) -> Iterator[Json]:
    """Give what the user, or somebody above, said in one message; what is an item of its own stands by itself."""
    _unnamed(pieces[0], native.given_back(pieces[0].metadata, PROVIDER, ("name",)), page)
    role = pieces[0].above or "user"
    for whole, group in groupby(pieces, key=lambda piece: is_item(piece.block)):
        blocks = [piece.block for piece in group]
        if whole:
            yield from (held(block, CLIENTS) or {} for block in blocks)
        else:
            yield {"role": role, "content": content_of(blocks)}


def _unnamed(piece: Piece, kept: Json, page: Page) -> None:
    """Report that a speaker's name is lost."""
    if kept.get("name") is not None:
        page.note(piece, "dropped", f"the name {kept['name']!r}: Responses knows no names of speakers")


def is_item(block: Json) -> bool:
    """Tell whether an opaque block is an item of its own, and no part of a message."""
    return block["type"] == "opaque" and part_in(block) is None


def _spoken(pieces: Sequence[Piece], page: Page) -> Iterator[Json]:
    """Give what the assistant made, in its order; reasoning only before what it led to."""
    led = list(_with_what_it_led_to(pieces, page))
    for texts, group in groupby(led, key=_text_key):
        if texts is not None:
            yield _message(list(group), page)
            continue
        for piece in group:
            block = piece.block
            yield call_of(block) if block["type"] == "tool_call" else held(block, SERVERS) or {}


def _with_what_it_led_to(pieces: Sequence[Piece], page: Page) -> Iterator[Piece]:
    """Leave out reasoning after which its message was cut off."""
    after: Piece | None = None
    kept: list[Piece] = []
    for piece in reversed(pieces):
        if is_reasoning(piece.block) and (after is None or after.message is not piece.message):
            page.note(piece, "dropped", "reasoning without what it led to")
            continue
        after = piece
        kept.append(piece)
    return reversed(kept)


def _text_key(piece: Piece) -> tuple[int, str | None] | None:
    """Give what the texts of one message item have in common; ``None`` for what is no text."""
    return (id(piece.message), _phase(piece)) if piece.block["type"] == "text" else None


def _phase(piece: Piece) -> str | None:
    phase = native.given_back(piece.block.get("provider_metadata"), PROVIDER, ("phase",)).get("phase")
    return phase if phase in PHASES else None


def _message(pieces: Sequence[Piece], page: Page) -> Json:
    _unnamed(pieces[0], native.given_back(pieces[0].metadata, PROVIDER, ("name",)), page)
    phase = _phase(pieces[0])
    message = {"role": "assistant", "content": content_of([piece.block for piece in pieces], "output_text")}
    return message if phase is None else {**message, "phase": phase}
