"""The hash of a history up to somewhere in a turn, which is what a later message of the turn was made behind (rule A8).

A turn may be of many messages, each with thinking to compare. So the hash grows with the turn, as if the whole message
had been written each time: the APIs that bind thinking write a turn as one message, each piece by itself, in order.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from reel.base.strict_json import Json, encode
from reeld.formats.encoded_turns import EncodedTurns
from reeld.formats.format import Format
from reeld.formats.model import AssistantTurn, Piece, RenderContext, is_thought

# What ends a message, and the comma after it.
_CLOSING = b"]},"


def hash_of(turns: Sequence[EncodedTurns]) -> Any:
    """Return the SHA-256 of the bytes of some turns, one after the other; of those before a summary nothing counts."""
    begin = max((index for index, more in enumerate(turns) if more.is_anew), default=0)
    first, *others = turns[begin:]
    made = first.hash(first.count)
    for more in others:
        for part in more.data.parts(0, len(more.data)):
            made.update(part)
    return made


class BegunTurn:
    """The beginning of an assistant turn.

    Args:
        turns: the turns before it, one after the other.
        target: the format.
        context: the context in which the turn will be written.
    """

    def __init__(self, turns: Sequence[EncodedTurns], target: Format, context: RenderContext) -> None:
        self._target = target
        self._context = RenderContext(context.model, by_id=context.by_id)
        self._pieces: list[Piece] = []
        # The hash, without the end of the message, and of how many pieces it is.
        self._hash, self._count = hash_of(turns), 0
        # Both up to the newest thinking: nothing goes in front of that any more.
        self._fixed = self._hash.copy(), 0

    def add(self, piece: Piece) -> None:
        """Add the next piece."""
        self._pieces.append(piece)
        if is_thought(piece.block):
            self._go_on()
            self._fixed = self._hash.copy(), self._count

    def reorder(self, pieces: list[Piece]) -> None:
        """Replace the pieces by the same and one more, which went in front of calls."""
        self._pieces = pieces
        self._hash, self._count = self._fixed[0].copy(), self._fixed[1]

    def hash(self) -> Any:
        """Return the SHA-256 of everything before the next piece."""
        self._go_on()
        made = self._hash.copy()
        if self._pieces:
            made.update(_CLOSING)
        return made

    def _go_on(self) -> None:
        """Hash the pieces that are not hashed yet."""
        for piece in self._pieces[self._count :]:
            message = self._written(piece)
            if self._context.has_summary and self._target.begins_anew([message]) is not None:
                self._hash = sha256()
                calls = [found for found in self._pieces[: self._count] if found.block["type"] == "tool_call"]
                self._append([message, *map(self._written, calls)], is_first=True)
            else:
                self._append([message], is_first=self._count == 0)
            self._count += 1

    def _written(self, piece: Piece) -> Json:
        """Return the message of a single piece."""
        [message] = self._target.write_turn(AssistantTurn([piece]), self._context)
        return message

    def _append(self, messages: list[Json], *, is_first: bool) -> None:
        """Hash the content of messages as that of one message, without cache breakpoints."""
        caching = self._target.caching
        blocks = [block for message in messages for block in message["content"]]
        content = encode(blocks if caching is None else caching.newest(blocks, 0))[1:-1]
        self._hash.update((f"{_opening(messages[0])}{content}" if is_first else f",{content}").encode())


def _opening(message: Json) -> str:
    """Return the text of a message in front of its content, which comes last."""
    return encode({**message, "content": []}).removesuffix("]}")
