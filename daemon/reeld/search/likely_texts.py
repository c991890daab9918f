"""The texts in which patterns are looked for: those of the events whose rows may match, some at a time.

To find a row takes 0.4 us, to look for letters in it with LIKE as much again, and to make a text of it and look for a
pattern there 1 us. So where one pattern must be there, SQLite makes one text of many rows first. Mostly the pattern is
not in that, and none of them is looked at by itself.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence

from reeld.search.attached_log import log_of
from reeld.search.criteria import Criteria
from reeld.search.patterns import Pattern
from reeld.search.texts import IS_CONTENT, MAX_BLOCK, text_of
from reeld.search.volumes import Condition
from reeld.store.connection import Numbers

# The most events that are looked at in one step. One text is made of those that have so few bytes that it is no longer
# than that of a large block: an expression may take 0.2 s for it, in which the connection answers nobody else.
AT_ONCE = 256
_JOINED = MAX_BLOCK // AT_ONCE
# Texts that are looked at together, of so many characters.
_TOGETHER, _CHARACTERS = 64, 1 << 15
# Texts that are read together: a server answers once for all of them. They may have a megabyte each, but for those of
# so few characters, which are read with their rows.
_READ, _SHORT = 16, 2000

_LISTED = "FROM json_each(?) CROSS JOIN log.events ON log.events.id = value"
_TEXTS = f"SELECT log.events.id, kind, content, data_json {_LISTED}"
_ROWS = f"SELECT log.events.id, CASE WHEN {IS_CONTENT} AND length(content) <= ? THEN content END {_LISTED} WHERE {{}}"
# Those of them that have a text have it as their content. Of the others, those are told whose rows may match.
_IS_JOINED = "data_json IS NULL AND length(CAST(content AS BLOB)) <= ?"
_JOIN = f"""
    SELECT group_concat(CASE WHEN {_IS_JOINED} THEN content END, '\n'),
        group_concat(CASE WHEN {_IS_JOINED} THEN NULL WHEN {{}} THEN CAST(log.events.id AS TEXT) END, ',')
    {_LISTED}
"""


def likely_texts(
    connection: sqlite3.Connection, wanted: Criteria, events: Sequence[int]
) -> Iterator[list[tuple[int, str]]]:
    """Yield those of events that may match with their texts, as many at once as are looked at together.

    Args:
        connection: reads the index and the log.
        wanted: the criteria; without patterns, every event may match, and texts do not matter.
        events: at most :data:`AT_ONCE`.
    """
    if not wanted.patterns:
        yield from ([(event, "")] for event in events)
        return
    pattern = _only(wanted.patterns)
    raw = wanted.raw or Condition("TRUE", ())
    likely = events if pattern is None else _likely(connection, pattern, raw, events)
    if likely:
        yield from _texts(connection, raw, likely)


def _only(patterns: Sequence[Pattern]) -> Pattern | None:
    """Return the pattern that texts must have, if there is one such pattern and it is looked for in several at once.

    Of several, each is somewhere among many rows; but few rows have the letters of all.
    """
    had = [pattern for pattern in patterns if not pattern.is_excluded]
    return had[0] if len(had) == 1 and had[0].is_in_joined else None


def _likely(connection: sqlite3.Connection, pattern: Pattern, raw: Condition, events: Sequence[int]) -> Sequence[int]:
    """Return events of which one may have a pattern; without those that have not, if that is all."""
    values = _JOINED, _JOINED, *raw.values, Numbers(sorted(events))
    joined, others = log_of(connection).execute(_JOIN.format(raw.sql), values).fetchone()
    if joined is not None and pattern.is_in(joined):
        return events
    left = frozenset(map(int, others.split(","))) if others else frozenset()
    return [event for event in events if event in left]


def _texts(connection: sqlite3.Connection, raw: Condition, events: Sequence[int]) -> Iterator[list[tuple[int, str]]]:
    """Yield the texts of those of events whose rows may have the letters that are needed."""
    found = _rows(connection, raw, events)
    likely = [event for event in events if event in found]
    at = 0
    while some := likely[at : at + _TOGETHER]:
        if any(found[event] is None for event in some):
            some = some[:_READ]
            found.update(_read(connection, [event for event in some if found[event] is None]))
        at += len(some)
        yield from _of_size((event, text) for event in some if (text := found.pop(event)) is not None)


def _of_size(texts: Iterable[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    """Yield events with their texts, as many at once as are looked at together."""
    some: list[tuple[int, str]] = []
    characters = 0
    for event, text in texts:
        characters += len(text)
        if some and characters > _CHARACTERS:
            yield some
            some, characters = [], len(text)
        some.append((event, text))
    if some:
        yield some


def _read(connection: sqlite3.Connection, events: Sequence[int]) -> dict[int, str]:
    """Return the texts of events that were not erased meanwhile."""
    rows = log_of(connection).execute(_TEXTS, (Numbers(events),))
    return {event: text_of(*row) for event, *row in rows}


def _rows(connection: sqlite3.Connection, raw: Condition, events: Sequence[int]) -> dict[int, str | None]:
    """Return those of events whose row has the letters that are needed, with the texts of short ones."""
    query = _ROWS.format(raw.sql)
    return dict(log_of(connection).execute(query, (_SHORT, Numbers(events), *raw.values)).fetchall())
