"""The filters in a query that a person typed, and what the client knows of them: the person's days, and directories.

The daemon reads filters as well. But its days need not be the person's, and it does not know what ``in:.`` stands for.
"""

from __future__ import annotations

import re

from reel.base.light_typing import TYPE_CHECKING, NamedTuple
from reel.reading.moments import moment

if TYPE_CHECKING:
    from collections.abc import Iterator

FIELDS = ("role", "agent", "tag", "before", "after", "live", "in", "here", "file", "has")
# What is between quotes, between slashes, or behind a minus, is text. A span of time has two words.
_LEXEME = re.compile(
    r"""
    -?"[^"]*"?
    | (?<!\S)-?/(?:[^/\\\n]|\\.)+/(?!\S)
    | -has:(?:"[^"]*"?|[^\s"]*)
    | (?P<field>[A-Za-z]+):(?:"(?P<phrase>[^"]*)"?|(?P<span>(?:last|this)\ (?:week|month|year)\b)|(?P<word>[^\s"]*))
    | [^\s"]+
    """,
    re.IGNORECASE | re.VERBOSE,
)


class Filter(NamedTuple):
    """What looks like a filter, in lower case, its value, and where in the query it is."""

    field: str
    value: str
    begin: int
    end: int


class Narrowed(NamedTuple):
    """A query without its times and directories, and these.

    Args:
        query: the rest of the query.
        since: the earliest time, in milliseconds since the epoch.
        until: the end of the time, excluded.
        places: the directories as they were typed; ``.`` is where the person is.
    """

    query: str
    since: int | None = None
    until: int | None = None
    places: tuple[str, ...] = ()


def filters(query: str) -> Iterator[Filter]:
    """Yield what looks like a filter, also with a field or a value that does not exist."""
    for lexeme in _LEXEME.finditer(query):
        if lexeme["field"] is not None:
            value = next(filter(None, (lexeme["phrase"], lexeme["span"], lexeme["word"])), "")
            yield Filter(lexeme["field"].lower(), value, *lexeme.span())


def narrowed(query: str, now: float) -> Narrowed:
    """Return a query without its times and directories, and these; what is none of them stays.

    Args:
        query: what was typed.
        now: the time now, in seconds since the epoch.
    """
    since: list[int] = []
    until: list[int] = []
    places: list[str] = []
    rest, done = "", 0
    for found in filters(query):
        when = moment(found.value, now) if found.field in ("after", "before") else None
        if when is not None:
            (since if found.field == "after" else until).append(when)
        elif found.field == "in" and found.value:
            places.append(found.value)
        elif found.field == "here" and not found.value:
            places.append(".")
        else:
            continue
        rest, done = rest + query[done : found.begin], found.end
    rest = (rest + query[done:]).strip()
    return Narrowed(rest, max(since, default=None), min(until, default=None), tuple(places))
