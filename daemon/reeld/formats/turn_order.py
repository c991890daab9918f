"""The order of an assistant turn: what one answer said stays as it was, as far as the API accepts it.

A turn may join several messages. Their calls are answered together, by the results that follow the turn, so what a
later message says goes in front of the calls that an earlier one ended in. Inside of one message nothing moves: from
Claude 4 on an answer may say more after a call, and the API compares its thinking, in its place, with what it signed
(rules A2 and B2). A server's tool that comes after a client's call is the exception: it goes in front, unless the
model thought in between.
"""

from typing import Literal, TypeAlias

from reeld.formats.model import Piece

# What may follow a call in a turn: only calls; in its own message anything, but of later messages only calls; anything.
AfterCalls: TypeAlias = Literal["calls", "own message", "anything"]

# Why a piece goes in front of a call.
MOVED = "only calls may follow a call in a turn"


class OrderedPieces:
    """Collects the pieces of one turn.

    Args:
        after_calls: what the API accepts behind a call.
    """

    def __init__(self, after_calls: AfterCalls) -> None:
        self.pieces: list[Piece] = []
        # Until there is one, pieces may be appended as they come.
        self.has_calls = False
        self._after_calls = after_calls
        # Where the calls begin that the turn ends in so far, and those since the model last thought.
        self._last_calls: int | None = None
        self._calls: int | None = None
        # Both, before the thinking that the turn ends in.
        self._before_thinking: tuple[int | None, int | None] | None = None

    def add_call(self, piece: Piece) -> None:
        """Add a call."""
        self.has_calls = True
        if self._last_calls is None:
            self._last_calls = len(self.pieces)
        if self._calls is None:
            self._calls = len(self.pieces)
        self.pieces.append(piece)
        self._before_thinking = None

    def add(self, piece: Piece, *, is_thought: bool = False, is_server_tool: bool = False) -> bool:
        """Add anything else, and return whether it went in front of a call that was made before.

        Args:
            piece: the piece.
            is_thought: whether it is reasoning.
            is_server_tool: whether it is the call of a server's tool, or its result.
        """
        place = self._place(piece, is_thought=is_thought, is_server_tool=is_server_tool)
        if place is not None:
            self.pieces.insert(place, piece)
            self._calls, self._last_calls = (
                at if at is None or at < place else at + 1 for at in (self._calls, self._last_calls)
            )
            return True
        if is_thought:
            self._before_thinking = self._before_thinking or (self._calls, self._last_calls)
            self._calls = None
        else:
            self._before_thinking = None
        self._last_calls = None
        self.pieces.append(piece)
        return False

    def pop_thought(self) -> Piece:
        """Remove the last piece, which is reasoning, as if the model had not thought there."""
        self._calls, self._last_calls = self._before_thinking or (None, None)
        return self.pieces.pop()

    def _place(self, piece: Piece, *, is_thought: bool, is_server_tool: bool) -> int | None:
        """Return in front of which call a piece goes; ``None`` if it comes last."""
        if self._after_calls == "anything" or self._calls is None:
            return None
        if self._after_calls == "calls":
            return self._last_calls
        if is_server_tool:
            return self._calls
        is_of_another = self.pieces[-1].message_index != piece.message_index
        return self._last_calls if is_of_another and not is_thought else None
