"""A page of messages that fit into a room."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reel.mcp.answers.answer import size

if TYPE_CHECKING:
    from reel.mcp.answers.rendering import Rendering

_BETWEEN = "\n\n"
# The share of a page that a result, a call or thinking may take, and the message that was asked for.
_RESULT = 0.08
_TARGET = 0.6
# What even a small page shows of a result.
_LEAST = 400


class Page:
    """Messages that follow each other, taken from a place outwards until there is no room.

    Args:
        room: the bytes that all of them may take.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._left = room
        self._texts: list[tuple[int, str]] = []

    def take_target(self, rendering: Rendering, *, alone: bool = False) -> None:
        """Take the message that was asked for, which may have more room than others; all of it if it stands alone."""
        share = self._room if alone else int(_TARGET * self._room)
        self._put(rendering, rendering.fitted(share, share), first=False)

    def take(self, rendering: Rendering, *, first: bool = False) -> bool:
        """Take a message before or after the others if there is room, and return whether there was.

        The first message of a page always finds room, so that who reads page after page gets to the end.
        """
        most = max(_LEAST, int(_RESULT * self._room))
        if not self._texts:
            self._put(rendering, rendering.fitted(self._left, most), first=first)
            return True
        text = rendering.fitted(max(self._left, self._room // 2), most)
        if size(text) + len(_BETWEEN) > self._left:
            return False
        self._put(rendering, text, first=first)
        return True

    def _put(self, rendering: Rendering, text: str, *, first: bool) -> None:
        self._left -= size(text) + len(_BETWEEN)
        self._texts.insert(0 if first else len(self._texts), (rendering.seq, text))

    @property
    def text(self) -> str:
        """All of them."""
        return _BETWEEN.join(text for _, text in self._texts)

    @property
    def seqs(self) -> tuple[int, int] | None:
        """The seqs of the first and the last message; ``None`` without any."""
        return (self._texts[0][0], self._texts[-1][0]) if self._texts else None
