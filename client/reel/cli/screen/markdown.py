"""Texts of messages as a terminal shows them: code as it is, the rest wrapped, with a light style for Markdown.

A message need not be Markdown, so nothing is rearranged: without colours a text is shown as it was written. Code in
fences is neither wrapped nor indented, so that what is copied from the screen is the code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reel.base.light_typing import NamedTuple
from reel.cli.screen.folding import cut_out
from reel.cli.screen.output import Line
from reel.reading.fences import Part, parts
from reel.reading.wording import TAB, breaks, safe

# Compiled by what first needs them: a ``reel show`` into a pipe does without.
_HEADING = r" {0,3}#{1,6}(\s|$)"
_BULLET = r"\s*([-*+]|\d{1,9}[.)])\s+"
_INLINE = r"(?<!`)`(?P<code>[^`]+)`(?!`)|\*\*(?P<bold>[^\s*]|[^\s*].*?\S)\*\*(?!\*)"


class Shown(NamedTuple):
    """A line of a text, and whether it belongs to code."""

    line: Line
    is_code: bool


def layout(text: str, width: int | None, *, styled: bool) -> Iterator[Shown]:
    """Lay out a text.

    Args:
        text: the text; its own line breaks stay.
        width: how many columns a line may take that is not code; with ``None`` there is no limit.
        styled: whether Markdown has a style; else its signs are shown.
    """
    for part, line in parts(text):
        if part is Part.TEXT:
            yield from (Shown(shown, is_code=False) for shown in _wrapped(line, width, styled=styled))
        else:
            yield Shown([line] if part is Part.CODE else [(line, "dim")], is_code=True)


def _wrapped(line: str, width: int | None, *, styled: bool) -> Iterator[Line]:
    """Wrap a line that is not code; what is in a list continues below its text."""
    shown = safe(line if width is None else line.expandtabs(TAB)).rstrip(" ")
    runs = _styled(shown) if styled else [(shown, "")]
    if width is None:
        yield [run for run in runs if run[0]]
        return
    plain = "".join(text for text, _ in runs)
    bullet = re.match(_BULLET, plain)
    for indent, start, stop in breaks(plain, max(width, 2), hang=bullet.end() if bullet else None):
        yield [" " * indent, *cut_out(runs, start, stop)]


def _styled(line: str) -> list[tuple[str, str]]:
    """Return the runs of a line, each with its style; the markup of styled runs is left out."""
    if re.match(_HEADING, line):
        return [(line, "heading")]
    if line.startswith(">"):
        return [(line, "dim")]
    runs: list[tuple[str, str]] = []
    end = 0
    for found in re.finditer(_INLINE, line):
        runs += [(line[end : found.start()], ""), (found["code"] or found["bold"], "code" if found["code"] else "bold")]
        end = found.end()
    return [*runs, (line[end:], "")]
