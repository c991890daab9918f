"""The lines that show the hits of a search."""

from __future__ import annotations

from itertools import islice

from reel.base.light_typing import TYPE_CHECKING

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
    when = told(hit.time if hit.sent is None else hit.sent)
    lacks: Line = [(f"  without: {', '.join(map(_flat, hit.without))}", "dim")] if hit.without else []
    return [f"  #{hit.seq}  ", (hit.role or hit.kind, hit.role or "dim"), (f"  {when}", "dim"), *gone, *lacks]


def snippet(hit: Hit) -> Line:
    """Return the snippet on one line, with its matches in colour."""
    return ["    ", *_marked(hit)]


def opening(hit: Hit) -> list[str]:
    """Return the arguments of the command that shows a hit in its conversation."""
    if hit.role is None:
        return ["log", hit.name]
    return ["show", hit.name, *([str(hit.seq)] if hit.live else ["--at", str(hit.seq)])]


def _marked(hit: Hit) -> Iterator[Span]:
    done = 0
    for begin, end in islice(hit.matches, len(hit.snippet)):
        yield _flat(hit.snippet[done:begin])
        yield _flat(hit.snippet[begin:end]), "match"
        done = end
    yield _flat(hit.snippet[done:])


def _flat(text: str) -> str:
    return "".join(" " if char.isspace() else char for char in text)
