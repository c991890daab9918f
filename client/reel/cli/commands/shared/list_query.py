"""The query of a list: the filters of a search, as far as they are about a conversation.

The daemon looks for words in names, titles and tags. What else a filter asks for is in each row of a list.
"""

from __future__ import annotations

import re

from reel.base.place import directories
from reel.cli.commands.shared.wanted import Wanted
from reel.cli.line.arguments import UsageError
from reel.cli.line.query_filters import why_meaningless
from reel.reading.query_filters import FIELDS, filters, narrowed

# The filters that are about a message.
_OF_MESSAGES = ("role", "live", "file", "has")
# What looks like a filter, and is between quotes because it is text.
_QUOTED = re.compile(r'"([^"]*:[^"]*)"')


def read_wanted(query: str, now: float) -> Wanted:
    """Return what a query asks for; a filter that means nothing is text.

    Args:
        query: what was typed, with whole names.
        now: the time now, in seconds since the epoch.
    """
    narrow = narrowed(query, now)
    places = tuple(path for place in narrow.places for path in directories(place))
    rest, names, tags = narrow.query, [], []
    for found in reversed([*filters(rest)]):  # so that the places of the others stay
        if found.field == "agent" and found.value:
            names.append(found.value)
        elif found.field == "tag" and found.value.strip("="):
            key, is_pair, value = found.value.partition("=")
            tags.append((key, value if is_pair else None))
        else:
            continue
        rest = rest[: found.begin] + rest[found.end :]
    words = " ".join(_QUOTED.sub(r"\1", rest).split())
    return Wanted(words, tuple(names), tuple(tags), narrow.since, narrow.until, places)


def require_meaning(query: str, now: float, *, person: bool) -> None:
    """Refuse a filter that a list does not know, or that means nothing; what only looks like one is text in a script.

    Args:
        query: what was typed.
        now: the time now, in seconds since the epoch.
        person: whether a person typed it.

    Raises:
        UsageError: there is one.
    """
    for found in filters(query):
        if not person and found.field not in FIELDS:
            continue
        typed = query[found.begin : found.end]
        if found.field in _OF_MESSAGES:
            raise UsageError(f"{found.field}: is about messages; find them with: reel search {typed}", "list")
        if (problem := why_meaningless(typed, now)) is not None:
            raise UsageError(problem, "list")
