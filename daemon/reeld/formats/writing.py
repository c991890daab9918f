"""What the writers of all formats do alike: pieces by message, calls in the last message, failed results, prompts."""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter

from reel.base.strict_json import Json
from reel.providers.content import as_error
from reel.providers.metadata import is_own
from reeld.formats.format import Prompt, PromptPart
from reeld.formats.model import AssistantTurn, CallResult, Piece, RenderContext
from reeld.formats.prompt import original_prompt_pieces

_EMPTY: Json = {"type": "text", "text": ""}
_message_index = attrgetter("message_index")


def by_message(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Group neighbouring pieces of one message."""
    if len(pieces) == 1:  # nearly always
        return [[*pieces]]
    return [list(group) for _, group in groupby(pieces, key=_message_index)]


def with_error_prefix(result: CallResult, blocks: list[Json], context: RenderContext, provider: str) -> list[Json]:
    """Return a result's blocks; those of a failed one begin with "Error:", for an API that has no flag (rule C9).

    Args:
        result: the result. A synthesized one says already that it failed, and one that came from the provider never
            had a flag.
        blocks: its blocks.
        context: where the change is reported.
        provider: the provider.
    """
    if not result.failed or result.piece is None or is_own(result.piece.block, provider):
        return blocks
    context.note(result.piece, "downgraded", "this API has no flag for a failed result; its text says so")
    first, rest = (blocks[0], blocks[1:]) if blocks and blocks[0]["type"] == "text" else (_EMPTY, blocks)
    return [{**first, "text": as_error(first["text"])}, *rest]


def said_and_calls(turn: AssistantTurn) -> Iterator[tuple[list[Piece], list[Piece]]]:
    """Yield the pieces of each message of the assistant's, and its calls: the last one has all, results follow it."""
    calls = [piece for piece in turn.pieces if piece.block["type"] == "tool_call"]
    said = by_message([piece for piece in turn.pieces if piece.block["type"] != "tool_call"])
    if calls and not said:
        said.append([])
    for pieces in said:
        yield pieces, calls if pieces is said[-1] else []


def prompt_as_messages(provider: str, prompt: Prompt, write: Callable[[list[Piece]], Json], plain: Json) -> PromptPart:
    """Return a prompt as leading messages: those that it was loaded from, or a plain one."""
    return PromptPart({}, list(map(write, by_message(original_prompt_pieces(provider, prompt)))) or [plain])
