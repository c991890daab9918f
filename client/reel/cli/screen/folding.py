"""A line in several: broken at blanks, with the styles of its pieces."""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING
from reel.reading.wording import TAB, breaks, safe

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import TypeAlias

    # A text, or a text with a style.
    Piece: TypeAlias = "str | tuple[str, str]"


def fold(line: Iterable[Piece], width: int, hang: int = 0) -> Iterator[list[Piece]]:
    """Yield the lines of a line that is broken at blanks, and within a word only if that is too long.

    Args:
        line: the line.
        width: how many columns there are.
        hang: the indentation from the second line on.
    """
    pairs = [(span, "") if isinstance(span, str) else span for span in line]
    runs = [(safe(text.expandtabs(TAB)), style) for text, style in pairs]
    plain = "".join(text for text, _ in runs)
    for indent, start, stop in breaks(plain.rstrip(" "), max(width, 2), hang):
        yield [" " * indent, *cut_out(runs, start, stop)]


def cut_out(runs: Sequence[tuple[str, str]], start: int, stop: int) -> Iterator[Piece]:
    """Yield the part of the runs between two positions."""
    at = 0
    for text, style in runs:
        piece = text[max(start - at, 0) : max(stop - at, 0)]
        if piece:
            yield (piece, style)
        at += len(text)
