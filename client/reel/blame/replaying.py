"""Replays what is known to have happened to a file between two of its texts.

In between, the file is kept as *pieces*: the whole file, if its text was known once, and a piece for each edit whose
place is not known. If the pieces have the text that an edit replaced exactly once, the edit is made there, as its tool
made it. Otherwise somebody else has changed the file: the edit becomes a piece of its own, and the lines that it
replaced are forgotten everywhere else. When the whole text is known again, all pieces are matched with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from reel.blame.matching import BORDER, matches
from reel.blame.rewriting import Line, lines_of, rewritten, words_of
from reel.blame.steps import Edit, Look

T = TypeVar("T")


def writers(
    before: str | None, steps: Iterable[Edit[T] | Look], after: str, by: Sequence[T | None] | None = None
) -> list[T | None]:
    """Return for each line of a text who wrote it since an earlier text; None if nobody did, or if it is not certain.

    Args:
        before: the earlier text of the file; None if it is not known, or if there was none.
        steps: what happened in between, in this order.
        after: the text, whose lines are asked for.
        by: who wrote the lines of the earlier text. Default: unknown.
    """
    replay: Replay[T] = Replay(
        None if before is None else [Line(text, writer) for text, writer in _written(before, by)]
    )
    for step in steps:
        replay.take(step)
    return [line.writer for line in replay.settled(after)]


class Replay(Generic[T]):
    """What is known of a file, while it changes.

    Args:
        lines: all lines of the file; None if its text is not known, or if there is no file yet.
    """

    def __init__(self, lines: list[Line[T]] | None) -> None:
        self._pieces: list[list[Line[T]]] = [] if lines is None else [lines]
        # Whether the first piece is the whole file, unless somebody else has changed it.
        self._whole = lines is not None
        # Whether somebody may have changed the file since, because a tool had to read it again.
        self._looked = False

    def take(self, step: Edit[T] | Look) -> None:
        """Take the next thing that happened."""
        if isinstance(step, Look):
            self._look(step)
        elif step.whole:
            self._write(step)
        else:
            self._edit(step)

    def settled(self, text: str) -> list[Line[T]]:
        """Return the lines of the whole file, given its text."""
        new = lines_of(text)
        old = self._lines()
        found = matches(
            [line.words for line in old], [words_of(line) for line in new], whole=self._whole and len(self._pieces) == 1
        )
        return [Line(line, old[found[at]].writer if at in found else None) for at, line in enumerate(new)]

    def _lines(self) -> list[Line[T]]:
        """Return the lines of all pieces, with a border between two."""
        lines: list[Line[T]] = []
        for piece in self._pieces:
            lines += [Line(BORDER), *piece] if lines else piece
        return lines

    def _look(self, look: Look) -> None:
        if look.text is None:
            self._looked = self._looked or not look.is_first or not self._pieces
        else:
            self._be(self.settled(look.text))

    def _be(self, lines: list[Line[T]]) -> None:
        """Replace all pieces by the whole file."""
        self._pieces, self._whole, self._looked = [lines], True, False

    def _write(self, edit: Edit[T]) -> None:
        """Write the whole file. Unless its text before is certain, the new lines may have been in it already."""
        if edit.before is not None:
            self._be(self.settled(edit.before))
        certain = edit.done and not self._looked and len(self._pieces) == self._whole
        if edit.done:
            self._be(rewritten(self._lines(), lines_of(edit.after), edit.source if certain else None))
        else:
            self._looked = True

    def _edit(self, edit: Edit[T]) -> None:
        before = edit.before or ""
        places = list(self._places(before)) if before else []
        if edit.done and (len(places) == 1 or (edit.every and self._whole and len(self._pieces) == 1 and places)):
            for piece, at in reversed(places):
                self._replace(piece, at, before, edit)
            return
        for piece, at in reversed(places):
            self._forget(piece, at, before)
        self._add(lines_of(before), edit)

    def _places(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where a text is: the number of the piece, and where it begins there; none overlaps another."""
        for number, piece in enumerate(self._pieces):
            whole = _joined(piece)
            at = whole.find(text)
            while at >= 0:
                yield number, at
                at = whole.find(text, at + len(text))

    def _replace(self, number: int, at: int, before: str, edit: Edit[T]) -> None:
        """Replace a text in a piece."""
        piece = self._pieces[number]
        whole = _joined(piece)
        lines = _lines_with(whole, at, at + len(before), edit.after)
        begin = sum(map(len, _texts(piece[: lines.start])))
        end = begin + sum(map(len, _texts(piece[lines.start : lines.stop])))
        new = f"{whole[begin:at]}{edit.after}{whole[at + len(before) : end]}"
        piece[lines.start : lines.stop] = rewritten(piece[lines.start : lines.stop], lines_of(new), edit.source)

    def _forget(self, number: int, at: int, text: str) -> None:
        """Forget the lines of a piece that a text is in."""
        piece = self._pieces[number]
        lines = _lines_with(_joined(piece), at, at + len(text), "\n")
        piece[lines.start : lines.stop] = [Line(BORDER)] * len(lines)

    def _add(self, old: list[str], edit: Edit[T]) -> None:
        """Add a piece for an edit whose place is not known; forget the lines that it replaced in all other pieces."""
        lines = self._lines()
        found = matches([line.words for line in lines], [words_of(line) for line in old], whole=False)
        begun = [Line(text, lines[found[at]].writer if at in found else None) for at, text in enumerate(old)]
        for piece in self._pieces:
            piece[:] = [Line(BORDER) if _may_be(line.text, old) else line for line in piece]
        self._pieces.append(rewritten(begun, lines_of(edit.after), edit.source if edit.done else None))


def _written(text: str, by: Sequence[T | None] | None) -> Iterator[tuple[str, T | None]]:
    """Yield the lines of a text with their writers."""
    lines = lines_of(text)
    return zip(lines, [None] * len(lines) if by is None else by, strict=True)


def _texts(piece: Sequence[Line[T]]) -> list[str]:
    """Return the lines of a piece. A line that may have been changed is a character that no tool writes."""
    return ["\0\n" if line.text is None else line.text for line in piece]


def _joined(piece: Sequence[Line[T]]) -> str:
    return "".join(_texts(piece))


def _lines_with(whole: str, begin: int, end: int, after: str) -> range:
    """Return the lines that a part of a text is in, and the next one if what replaces it does not end a line."""
    first = whole.count("\n", 0, begin)
    is_clean = after.endswith("\n") or (not after and whole[begin - 1 : begin] in ("", "\n"))
    last = whole.count("\n", 0, end)
    return range(first, last if whole[end - 1] == "\n" and is_clean else last + 1)


def _may_be(line: str | None, texts: Sequence[str]) -> bool:
    """Return whether a line may be one of a text that begins and ends within lines."""
    if line is None or not texts:
        return False
    return line in texts or line.endswith(texts[0]) or line.startswith(texts[-1])
