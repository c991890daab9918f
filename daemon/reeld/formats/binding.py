"""Thinking that its model bound to everything before it (rule A8).

From Claude Fable 5.1 and Claude 5.5 on, a thinking block is valid only behind the prompt, the tools and the messages
that it was made behind; elsewhere the API refuses the request, for ever. So what a request was made of is kept with its
answer, as a hash that ``render`` returns and ``ingest`` takes. When a turn is written, each answer in it is compared
with what stands before it now. If that is something else, or is not known, the thinking of this answer is left out. An
answer that was given without it is compared with a history without it, so one change costs only what came before it.

The hash is over the bytes that were sent, without cache breakpoints, which bind nothing.
"""

from collections.abc import Sequence
from typing import Any

from reel.base.strict_json import Json
from reel.providers.anthropic import CONNECTOR_TEXT, is_connector_text
from reel.providers.changes import Change
from reel.providers.roles import THOUGHTS
from reeld.formats.begun_turn import BegunTurn
from reeld.formats.encoded_turns import EncodedTurns, digest
from reeld.formats.format import Format
from reeld.formats.history import History
from reeld.formats.model import PLACEHOLDER, AssistantTurn, Piece, RenderContext, is_thought, placeholder
from reeld.formats.naming import PREFIX
from reeld.formats.turn_order import MOVED, OrderedPieces
from reeld.formats.writing import by_message

_UNKNOWN = "this thinking is bound to what was before it, which is not known: no prefix was given to ingest"
_CHANGED = "this thinking is bound to what was before it, which has changed"


def body_hash(top: bytes, hashed: Any) -> str:
    """Return the hash of what an answer is bound to.

    Args:
        top: a digest of the prompt and the tools.
        hashed: the SHA-256 of everything after them.
    """
    return digest(top + hashed.digest()).hex()


class Binding:
    """Leaves out the thinking that cannot stand where it would be sent.

    Args:
        tops: a digest of the prompt and the tools, and one of these as the caller declares them.
        turns: the turns that are written so far, one after the other.
        target: the format.
    """

    def __init__(self, tops: tuple[bytes, bytes], turns: Sequence[EncodedTurns], target: Format) -> None:
        self._top, self._undeclared = tops
        self._turns = turns
        self._target = target

    def keep_bound(self, turn: AssistantTurn, context: RenderContext) -> AssistantTurn:
        """Return a turn without the thinking that is bound to something else than what is before it."""
        if not any(map(self._is_bound, turn.pieces)):
            return turn
        # A server's tool may have come behind a call because of what is left out.
        left, is_served = OrderedPieces(self._target.after_calls, [], []), self._target.is_server_tool
        begun = BegunTurn(self._turns, self._target, context)
        for pieces in by_message(turn.pieces):
            why = self._why_lost(pieces, begun)
            for piece in pieces:
                if why is not None and self._is_bound(piece):
                    context.note(piece, "dropped", why)
                elif piece.block["type"] == "tool_call":
                    left.add_call(piece)
                    begun.add(piece)
                elif left.add(piece, is_thought=_is_checked(piece), is_server_tool=is_served(piece.block)):
                    context.note(piece, "moved", MOVED)
                    begun.reorder(left.pieces)
                else:
                    begun.add(piece)
        return AssistantTurn(left.pieces or [placeholder()])

    def _is_bound(self, piece: Piece) -> bool:
        """Whether a piece is thinking of a model that binds it; one that is not named may be such a model."""
        made_by = piece.block.get("model")
        return _is_checked(piece) and (made_by is None or self._target.binds_thinking(made_by, {}))

    def _why_lost(self, pieces: Sequence[Piece], begun: BegunTurn) -> str | None:
        """Return why the thinking of one message cannot stand behind what is written, and the beginning of its turn."""
        if not any(map(self._is_bound, pieces)):
            return None
        made_behind = pieces[0].metadata.get(PREFIX)
        if made_behind is None:
            return _UNKNOWN
        # An answer that calls tools was made with some, even if the caller declared none to us.
        is_calling = any(piece.block["type"] == "tool_call" for piece in pieces)
        tops, hashed = {self._top, self._undeclared} if is_calling else {self._top}, begun.hash()
        return None if made_behind in [body_hash(top, hashed) for top in tops] else _CHANGED


def _is_checked(piece: Piece) -> bool:
    """Whether the API compares a piece with what it signed: thinking, and what a model says between its calls."""
    return is_thought(piece.block) or is_connector_text(piece.block)


def without_thinking(history: History, report: list[Change]) -> tuple[History, list[Change]]:
    """Return a history that lost its beginning without the thinking that was bound to it, and say so in the report."""
    left = History(*(turns.rewritten(_without_thinking) for turns in history))
    if len(left.data) == len(history.data):
        return history, report
    why = "thinking: it is bound to what was before it, of which the budget leaves out a part"
    return left, [*report, Change(history.extents.seqs[0], None, "dropped", why)]


def _without_thinking(item: Json) -> Json:
    """Return a message of Anthropic's or Bedrock's without its thinking."""
    content = item["content"]
    if type(content) is not list or not any(map(_is_thinking, content)):
        return item
    left = [block for block in content if not _is_thinking(block)]
    called = next((place for place, block in enumerate(left) if _is_call(block)), len(left))
    served = [block for block in left[called:] if _is_served(block)]
    others = [block for block in left[called:] if not _is_served(block)]
    ordered = [*left[:called], *served, *others]
    return {**item, "content": ordered or [{"type": "text", "text": PLACEHOLDER}]}


def _is_thinking(block: Json) -> bool:
    return block.get("type") in (*THOUGHTS, CONNECTOR_TEXT) or "reasoningContent" in block


def _is_call(block: Json) -> bool:
    return block.get("type") == "tool_use" or ("toolUse" in block and "type" not in block["toolUse"])


def _is_served(block: Json) -> bool:
    """Whether a block of the assistant's is the call of a server's tool, or its result."""
    is_anthropics = str(block.get("type")).endswith(("_tool_use", "_tool_result"))
    return is_anthropics or "toolResult" in block or "type" in block.get("toolUse", {})
