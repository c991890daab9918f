"""The hits of a search as lines for editors, below the names of their conversations.

A line is a list of spans, each a text and what it is: so an editor colours them without counting in the daemon's units.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reel.base.light_typing import NamedTuple
from reel.reading.wording import age

# What a span is: a role, or one of these; "" has no colour.
NAME, MATCH, NOTE, PLAIN = "name", "match", "note", ""
_BREAK = re.compile(r"[\r\n]")

Span = tuple[str, str]


class HitLine(NamedTuple):
    """A line of a list of hits.

    Args:
        spans: its texts, and what each is.
        hit: which of the hits the line is about, from 0; ``None`` for a blank line.
    """

    spans: list[Span]
    hit: int | None


def in_groups(hits: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return hits with those of each conversation together, conversations in the order of their first hit."""
    first = {hit["agent"]: number for number, hit in reversed(list(enumerate(hits)))}
    return sorted(hits, key=lambda hit: first[hit["agent"]])


def hit_lines(hits: Sequence[Mapping[str, Any]], above: str | None, now: float) -> Iterator[HitLine]:
    """Yield the lines of hits, those of each conversation below its name.

    Args:
        hits: the hits, in groups.
        above: the id of the conversation of the hit above, whose name is not repeated.
        now: the time, in seconds since the epoch.
    """
    for number, hit in enumerate(hits):
        if hit["agent"] != above:
            if above is not None:
                yield HitLine([], None)
            title = "" if hit["title"] is None else f"  {hit['title']}"
            yield HitLine([(_flat(hit["name"]), NAME), (_flat(title), PLAIN)], number)
        above = hit["agent"]
        yield HitLine(_heading(hit, now), number)
        yield HitLine([("    ", PLAIN), *_snippet(hit)], number)


def context(hit: Mapping[str, Any]) -> list[str] | None:
    """Return the line around the first match of a hit, in three parts: before it, the match, behind it."""
    if not hit["matches"]:
        return None
    text, (first, last) = hit["snippet"], hit["matches"][0]
    before, match, behind = _BREAK.split(text[:first])[-1], _BREAK.split(text[first:last])[0], text[last:]
    return [before, match, "" if _BREAK.search(text[first:last]) else _BREAK.split(behind)[0]]


def _heading(hit: Mapping[str, Any], now: float) -> list[Span]:
    role = hit["role"]
    when = age(hit.get("sent", hit["time"]), now)
    gone = "" if hit["live"] else "  not in the conversation"
    lacks = f"  without: {_flat(', '.join(hit['without']))}" if hit.get("without") else ""
    return [(f"  #{hit['seq']}  ", PLAIN), (role or hit["kind"], role or NOTE), (f"  {when}{gone}{lacks}", NOTE)]


def _snippet(hit: Mapping[str, Any]) -> Iterator[Span]:
    text, done = _flat(hit["snippet"]), 0
    for first, last in hit["matches"]:
        yield text[done:first], PLAIN
        yield text[first:last], MATCH
        done = last
    yield text[done:], PLAIN


def _flat(text: str) -> str:
    """Return a text on one line, as long as it was, without characters that an editor may obey."""
    return "".join(each if each.isprintable() else " " for each in text)
