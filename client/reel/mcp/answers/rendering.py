"""A message as text, and what is left of it where room is short.

Whatever is left out is a stretch of the text, in the middle of a result or of the message, and the words in its place
have the cursor that reads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reel.base.light_typing import NamedTuple
from reel.mcp.answers.answer import beginning, end, size
from reel.mcp.answers.cursors import Cursor
from reel.reading.attribution import speaker_of
from reel.reading.wording import flat, safe, safe_lines, utc_minute

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reel.reading.layout import Layout, Shown
    from reel.said.messages import Message

# The bytes that the words for what is left out may take.
_GAP = 130
# The share of the room of a text that is cut in the middle which its beginning gets.
_BEGINNING = 2 / 3
# What may be shortened in the middle; the rest of a message is what somebody said.
_SHORTENED = frozenset({"thinking", "call", "result", "error", "question"})


class Piece(NamedTuple):
    """A part of a message's text, and whether it may be shortened."""

    text: str
    may_shorten: bool = False


class Look(NamedTuple):
    """How messages are shown.

    Args:
        mask: hides secrets in a text.
        thinking: whether to show thinking.
        at: the state of the conversation that is read, for cursors.
    """

    mask: Callable[[str], str]
    thinking: bool = False
    at: int | None = None


class Rendering:
    """The text of a message.

    Args:
        seq: of the message.
        pieces: its text.
        look: as the cursors in it have to say.
    """

    def __init__(self, seq: int, pieces: list[Piece], look: Look) -> None:
        self.seq = seq
        self._pieces = pieces
        self._look = look
        self.whole = "".join(piece.text for piece in pieces)

    def fitted(self, room: int, most: int) -> str:
        """Return the text, shortened if it has no room; it is never longer.

        Args:
            room: the bytes that it may take.
            most: the bytes that a result, a call or thinking may take.
        """
        if len(self.whole) <= most and size(self.whole) <= room:
            return self.whole
        texts, offset = [], 0
        for piece in self._pieces:
            texts.append(self._cut(piece.text, most, offset) if piece.may_shorten else piece.text)
            offset += len(piece.text)
        shortened = "".join(texts)
        return shortened if size(shortened) <= room else self._cut(self.whole, room, 0)

    def rest(self, part: int, offset: int, room: int) -> tuple[str, Cursor | None]:
        """Return the text from a character of a part on, as much as fits, and the cursor for what follows it."""
        begin = sum(len(piece.text) for piece in self._pieces[:part]) + offset
        found = beginning(self.whole[begin : begin + room], room)
        reached = begin + len(found)
        return found, self._cursor(reached) if reached < len(self.whole) else None

    def _cut(self, text: str, room: int, offset: int) -> str:
        """Return a text that is cut in the middle if it has no room.

        Args:
            text: the text.
            room: the bytes that it may take.
            offset: the number of its first character in the message.
        """
        if size(text) <= room:
            return text
        left = max(room - _GAP, 0)
        first = beginning(text, int(left * _BEGINNING))
        last = end(text, left - size(first))
        out = size(text) - size(first) - size(last)
        gap = f"\n[{out:,} bytes left out; read them with cursor {self._cursor(offset + len(first))}]\n"
        return beginning(f"{first}{gap}{last}", room)

    def _cursor(self, offset: int) -> Cursor:
        """Return the cursor for a character of the whole text."""
        part = 0
        while offset >= len(self._pieces[part].text):
            offset -= len(self._pieces[part].text)
            part += 1
        return Cursor("in", self.seq, part, offset, self._look.at, self._look.thinking)


def render(message: Message, layout: Layout, look: Look) -> Rendering:
    """Return the text of a message.

    Args:
        message: the message.
        layout: knows the calls of the messages before it.
        look: how it is shown.
    """
    who = " · ".join(filter(None, (message["role"], safe(speaker_of(message)))))
    pieces = [Piece(f"#{message['seq']} {who}, {utc_minute(message.get('sent', message['time']))}")]
    pieces += _pieces(layout.blocks(message["content"]), look)
    return Rendering(message["seq"], pieces, look)


def render_text(seq: int, heading: str, text: str, look: Look) -> Rendering:
    """Return a text that is no message, such as a prompt or a note, with a heading."""
    return Rendering(seq, [Piece(heading), Piece(f"\n{safe_lines(look.mask(text))}")], look)


def _pieces(blocks: Iterator[Shown], look: Look) -> Iterator[Piece]:
    for shown in blocks:
        if shown.kind == "thinking" and not look.thinking:
            continue
        if shown.kind in ("sealed", "opaque"):  # what only a provider can read
            continue
        if shown.kind != "text":
            instead = f" ({shown.instead})" if shown.kind == "media" else ""
            yield Piece(f"\n[{flat(safe(shown.label))}{instead}]")
        if shown.text:
            yield Piece(f"\n{safe_lines(look.mask(shown.text))}", shown.kind in _SHORTENED)
        for piece in _pieces(iter(shown.inner), look):
            yield piece._replace(may_shorten=True)
