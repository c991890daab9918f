"""The lines that show the hits of a search."""

from __future__ import annotations

from bisect import bisect_right
from itertools import islice, pairwise

from reel.base.light_typing import TYPE_CHECKING
from reel.reading.when_said import said_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reel.cli.screen.output import Line, Span
    from reel.replies import Hit


def title(hit: Hit) -> Line:
    """Return the line above the hits of a conversation."""
    return [(hit.name, "heading"), *([f"  {hit.title}"] if hit.title else [])]


def heading(hit: Hit, told: Callable[[int], str]) -> Line:
    """Return the line above a snippet: where it is, who said it and when, and which words it lacks."""
    gone: Line = [] if hit.live else [("  not in the conversation", "dim")]
    when = told(said_at(hit))
    lacks: Line = [(f"  without: {', '.join(map(_flat, hit.without))}", "dim")] if hit.without else []
    return [f"  #{hit.seq}  ", (hit.role or hit.kind, hit.role or "dim"), (f"  {when}", "dim"), *gone, *lacks]


def snippet(hit: Hit) -> Line:
    """Return the snippet on one line, with its matches in colour."""
    return ["    ", *_marked(hit)]


def around(hit: Hit, lines: int) -> Iterator[Line]:
    """Yield the lines of a snippet with a match, so many before and after each, and a mark where some are left out."""
    begins = [0, *(at + 1 for at, char in enumerate(hit.snippet) if char == "\n"), len(hit.snippet) + 1]
    spans = list(pairwise(begins))
    having = {bisect_right(begins, begin) - 1 for begin, _ in hit.matches}
    near = (range(max(at - lines, 0), min(at + lines + 1, len(spans))) for at in having)
    shown = sorted({number for numbers in near for number in numbers})
    last = shown[0] if shown else 0
    for number in shown:
        if number > last + 1:
            yield ["    ", ("--", "dim")]
        last = number
        yield ["    ", *_marked(hit, spans[number][0], spans[number][1] - 1)]


def opening(hit: Hit) -> list[str]:
    """Return the arguments of the command that shows a hit in its conversation."""
    if hit.role is None:
        return ["log", hit.name]
    return ["show", hit.name, *([str(hit.seq)] if hit.live else ["--at", str(hit.seq)])]


def _marked(hit: Hit, first: int = 0, last: int | None = None) -> Iterator[Span]:
    """Yield the pieces of a snippet between two places."""
    done, last = first, len(hit.snippet) if last is None else last
    for begin, end in islice(hit.matches, len(hit.snippet)):
        if begin < last and end > first:
            yield _flat(hit.snippet[done : max(begin, first)])
            yield _flat(hit.snippet[max(begin, first) : min(end, last)]), "match"
            done = min(end, last)
    yield _flat(hit.snippet[done:last])


def _flat(text: str) -> str:
    return "".join(" " if char.isspace() else char for char in text)
