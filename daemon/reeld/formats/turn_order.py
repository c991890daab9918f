"""The order of an assistant turn: what one answer said stays as it was, as far as the API accepts it.

A turn may join several messages. Their calls are answered together, by the results that follow the turn, so what a
later message says goes in front of the calls that an earlier one ended in. Inside of one message nothing moves: from
Claude 4 on an answer may say more after a call, and the API compares its thinking, in its place, with what it signed
(rules A2 and B2). A server's tool that comes after a client's call is the exception: it goes in front, unless the
model thought in between, or said something that is signed as thinking is (rule A21).
"""

from collections.abc import Callable
from itertools import takewhile
from typing import Literal, TypeAlias

from reel.base.strict_json import Json
from reeld.formats.model import Piece

# What may follow a call in a turn: only calls; in its own message anything, but of later messages only calls; anything.
AfterCalls: TypeAlias = Literal["calls", "own message", "anything"]

# Why a piece goes in front of a call.
MOVED = "only calls may follow a call in a turn"


def pop_thoughts(pieces: list[Piece], is_reasoning: Callable[[Json], bool]) -> list[Piece]:
    """Remove and return the reasoning that some pieces end in."""
    led = list(takewhile(lambda piece: is_reasoning(piece.block), reversed(pieces)))
    del pieces[len(pieces) - len(led) :]
    return led[::-1]


class OrderedPieces:
    """Collects the pieces of one turn.

    They are kept in parts, each of which only grows at its end, so that a piece which goes in front of calls moves none
    of them: one list would take a time that grows with the square of the messages.

    Args:
        after_calls: what the API accepts behind a call.
        said: the pieces before the first call.
        calls: the calls behind them.
    """

    __slots__ = ("_after_calls", "_before", "_last_calls", "_since_calls", "_thoughts")

    def __init__(self, after_calls: AfterCalls, said: list[Piece], calls: list[Piece]) -> None:
        self._after_calls = after_calls
        # What comes before the calls since the model last thought, and from these on.
        self._before = said
        self._since_calls: list[Piece] = []
        # The calls that the turn ends in so far, or else the thinking.
        self._last_calls = calls
        self._thoughts: list[Piece] = []

    @property
    def pieces(self) -> list[Piece]:
        """All pieces, in order."""
        return [*self._before, *self._since_calls, *self._last_calls, *self._thoughts]

    def add_call(self, piece: Piece) -> None:
        """Add a call."""
        self._go_on()
        self._last_calls.append(piece)

    def add(self, piece: Piece, *, is_thought: bool, is_server_tool: bool) -> bool:
        """Add anything else, and return whether it went in front of a call that was made before.

        Args:
            piece: the piece.
            is_thought: whether it is reasoning, or checked like it.
            is_server_tool: whether it is the call of a server's tool, or its result.
        """
        part = self._in_front(piece, is_thought=is_thought, is_server_tool=is_server_tool)
        if part is not None:
            part.append(piece)
            return True
        if is_thought:
            self._thoughts.append(piece)
            return False
        self._go_on()
        self._since_calls += self._last_calls
        self._last_calls = []
        (self._since_calls or self._before).append(piece)
        return False

    def take_over(self, piece: Piece) -> list[Piece]:
        """Add the place where another model took over, and return the calls that went behind it.

        Nothing that was thought before it is in the turn (rule A17). A call before it has its result behind the turn.
        """
        made = self.pieces
        calls = [found for found in made if found.block["type"] == "tool_call"]
        self._before = [*(found for found in made if found.block["type"] != "tool_call"), piece]
        self._since_calls, self._last_calls, self._thoughts = [], calls, []
        return calls

    def pop_thoughts(self, is_reasoning: Callable[[Json], bool]) -> list[Piece]:
        """Remove and return the reasoning that the turn ends in, as if the model had not thought there."""
        return pop_thoughts(self._thoughts, is_reasoning)

    def _go_on(self) -> None:
        """Let something follow the reasoning that the turn ends in: nothing goes in front of that any more."""
        if self._thoughts:
            self._before += self._since_calls
            self._before += self._last_calls
            self._before += self._thoughts
            self._since_calls, self._last_calls, self._thoughts = [], [], []

    def _in_front(self, piece: Piece, *, is_thought: bool, is_server_tool: bool) -> list[Piece] | None:
        """Return the part at whose end a piece goes in front of calls; ``None`` if it comes last."""
        if self._after_calls == "anything" or self._thoughts:
            return None
        calls = self._last_calls
        if self._after_calls == "own message":
            if is_server_tool:
                return self._before if self._since_calls or calls else None
            if calls and (is_thought or calls[-1].message_index == piece.message_index):
                return None
        return (self._since_calls or self._before) if calls else None
