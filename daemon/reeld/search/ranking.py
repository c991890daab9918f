"""The best hits: events that have some of the words, ranked over the whole index.

An event may lack words; what is *exact*, a phrase, a ``+word`` or a choice with ``OR``, it must have.

FTS5's own ``bm25`` knows the rarity of a word in one table only, and the index has many (:mod:`reeld.search.volumes`).
So FTS5 finds the events, and :mod:`reeld.search.scores` adds up: rarities are those of the whole index, and the order
is the same whatever the volumes are.

What makes a search quick is to read few events: :mod:`reeld.search.planning` says which words find them, and which say
their order. If even the rarest word is frequent, those of its events come first that have another word too, and only
the newest are ranked. And the facts are read only of what may be among the best.

SQLite only looks up, in statements that are the same for every query, so that they are prepared once. One statement a
volume that also grouped, scored and sorted took 0.08 ms to prepare, and to group six times as long as to find. With a
million events, a search for two words took the daemon 17.6 ms with these, and 12.2 without.
"""
# ruff: noqa: S608 - numbers of ours, and conditions

import json
import sqlite3
import time
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import chain

from reel.base.light_typing import NamedTuple
from reeld.search import scores, vocabulary
from reeld.search.lengths import Known
from reeld.search.marks import Form
from reeld.search.planning import Part, Plan, to_match
from reeld.search.scores import Formula, Freshness, Ranked, Source, counted
from reeld.search.volumes import Condition, Volume, has_any

# If so many times more events have a word than are wanted, SQLite picks these, which spares their way to Python.
_MANY = 8
# Seconds after which a part of a search yields to other jobs.
_SECONDS = 0.03


class Asked(NamedTuple):
    """What is ranked, and how.

    Args:
        plan: what is sought.
        part: which of the events that are found are ranked.
        condition: what must be true of the facts of an event.
        below: only events with a smaller id.
        fresh: what counts as fresh; ``None`` if nothing does.
        limit: how many events at most.
        known: the lengths that are known.
    """

    plan: Plan
    part: Part
    condition: Condition
    below: int
    fresh: Freshness | None
    limit: int
    known: Known

    @property
    def formula(self) -> Formula:
        """How events are scored."""
        return Formula(self.plan.rarities[: len(self.plan.ranking)], self.plan.usual, self.fresh)


class Found(NamedTuple):
    """The events of a part in the volumes that were looked through.

    Args:
        room: how many more are ranked if they are frequent; negative if there are more than that.
        volumes: how many volumes.
        counts: how often each event has what is sought, as :func:`~reeld.search.scores.counted` says it, by volume.
    """

    room: int
    volumes: int = 0
    counts: Sequence[Mapping[int, int]] = ()


def best_of(
    connection: sqlite3.Connection, every: Sequence[Volume], asked: Asked, newer: Found, ends: float
) -> tuple[Found, list[Ranked] | None]:
    """Return the events of a part in some more volumes, and the best if no more volumes are to be looked through.

    Args:
        connection: reads the index.
        every: the volumes, the newest first.
        asked: what is ranked.
        newer: what was found in newer volumes.
        ends: the time after which no more volumes are looked through.
    """
    found, pause = newer, time.monotonic() + _SECONDS
    while found.volumes < len(every) and found.room >= 0:
        found = _find(connection, every[found.volumes], asked, found)
        now = time.monotonic()
        if now > ends:
            break
        if now > pause:
            return found, None
    return found, _best(connection, every, asked, found)


def _find(connection: sqlite3.Connection, volume: Volume, asked: Asked, newer: Found) -> Found:
    """Return the events of a part in a volume and in the newer ones."""
    newer = newer._replace(volumes=newer.volumes + 1)
    if asked.part.is_frequent:
        return _find_frequent(connection, volume, asked, newer)
    only: Collection[int] | None = None
    if asked.part.only is not None and not (only := set(_matching(connection, volume, asked, asked.part.only))):
        return newer
    finding = _finding(connection, volume, asked, only)
    if not any(finding):
        return newer
    ordering = [_matching(connection, volume, asked, expression) for expression in asked.part.ordering]
    return newer._replace(counts=[*newer.counts, counted([*finding, *ordering], only)])


def _find_frequent(connection: sqlite3.Connection, volume: Volume, asked: Asked, newer: Found) -> Found:
    """Return the events of a frequent part in a volume and in the newer ones, as many as there is room for."""
    part, room = asked.part, newer.room
    # Looks at facts, not at each match.
    if not asked.condition.is_nothing and not has_any(connection, volume, asked.condition):
        return newer
    ordering = [_matching(connection, volume, asked, expression, room) for expression in part.ordering]
    only = set(
        chain.from_iterable(ordering) if part.only is None else _matching(connection, volume, asked, part.only, room)
    )
    room -= len(only)
    if room < 0:
        only = set(sorted(only, reverse=True)[:room])
    if not only:
        return newer._replace(room=room)
    finding = _finding(connection, volume, asked, only)
    return newer._replace(counts=[*newer.counts, counted([*finding, *ordering], only)], room=room)


def _finding(
    connection: sqlite3.Connection, volume: Volume, asked: Asked, only: Collection[int] | None
) -> list[list[int]]:
    """Return the events of a volume that have what finds events, for each such thing once for each time.

    Others than those that are asked for may be among them.
    """
    low = volume.first if only is None else min(only)
    found: list[list[int]] = []
    for sought in asked.plan.finding:
        are_few = only is not None and len(only) * _MANY * asked.plan.events < sought.events * volume.events
        few = only if are_few else None
        found.append(
            [event for form in sought.forms for event in _having(connection, volume, form, low, asked.below, few)]
        )
    return found


def _best(connection: sqlite3.Connection, every: Sequence[Volume], asked: Asked, found: Found) -> list[Ranked]:
    """Return the best of the events that were found in volumes, the best first."""
    newest = {volume.first: volume.newest for volume in every}
    firsts = sorted(newest)
    source = Source(
        bytes_of=partial(asked.known.bytes_of, connection),
        facts=partial(_facts, connection, asked.condition),
        newest=lambda event: newest[firsts[bisect_right(firsts, event) - 1]],
    )
    return scores.best(asked.formula, found.counts, source, asked.limit)


def _facts(connection: sqlite3.Connection, condition: Condition, events: Sequence[int]) -> sqlite3.Cursor:
    """Return those events of whose facts a condition is true, how many words they have, and when they were said."""
    query = f"SELECT event, length, said FROM facts WHERE event IN (SELECT value FROM json_each(?)) AND {condition.sql}"
    return connection.execute(query, (json.dumps(events), *condition.values))


def _matching(
    connection: sqlite3.Connection, volume: Volume, asked: Asked, expression: str, room: int | None = None
) -> list[int]:
    """Return the events of a volume that an expression finds.

    If there is only room for some, they are those of which the condition is true; and older ones may be left out, but
    for one more than there is room for.
    """
    table = f"volume_{volume.number}"
    source, where = table, f"{table} MATCH ? AND {table}.rowid < ?"
    values: list[object] = [expression, asked.below]
    if room is None:
        return _events(connection, f"SELECT rowid AS event FROM {source} WHERE {where}", values)
    if not asked.condition.is_nothing:
        source = f"{table} CROSS JOIN facts ON event = {table}.rowid"
        where, values = f"{where} AND {asked.condition.sql}", [*values, *asked.condition.values]
    query = f"SELECT {table}.rowid AS event FROM {source} WHERE {where}"
    # From the newest to the oldest, FTS5 takes twice as long for each. So it is asked to only if that spares many.
    if asked.plan.finding[0].events * volume.events <= 2 * room * asked.plan.events:
        return _events(connection, query, values)
    return _events(connection, f"{query} ORDER BY {table}.rowid DESC LIMIT ?", [*values, room + 1])


def _having(
    connection: sqlite3.Connection, volume: Volume, form: Form, low: int, below: int, few: Collection[int] | None
) -> list[int]:
    """Return the events of a volume that have a form, once for each time that they have it; but once for a phrase.

    Args:
        connection: reads the index.
        volume: the volume.
        form: the form.
        low: the id from which on they are wanted.
        below: the id below which they are.
        few: which of them are wanted, if these are few of the events with the form.
    """
    table, terms = f"volume_{volume.number}", f"terms_{volume.number}"
    word, *rest = form.words
    within: tuple[object, ...] = (low, below)
    if rest:  # how often there is a phrase, FTS5 does not tell
        query = f"SELECT rowid AS event FROM {table} WHERE {table} MATCH ? AND rowid >= ? AND rowid < ?"
        return _events(connection, query, (to_match([form]), *within))
    doc = f"SELECT doc AS event FROM {terms} WHERE doc >= ? AND doc < ?"
    if few is not None:
        doc, within = f"{doc} AND doc IN (SELECT value FROM json_each(?))", (*within, json.dumps([*few]))
    if form.is_prefix:
        return _events(connection, f"{doc} AND term >= ? AND term <= ?", (*within, word, word + vocabulary.LAST))
    return _events(connection, f"{doc} AND term = ?", (*within, word))


def _events(connection: sqlite3.Connection, query: str, values: Sequence[object]) -> list[int]:
    """Return the events of a query at once: row by row takes twice as long."""
    (events,) = connection.execute(f"SELECT json_group_array(event) FROM ({query})", values).fetchone()
    found: list[int] = json.loads(events)
    return found
