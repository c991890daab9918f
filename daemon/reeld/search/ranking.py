"""The best hits: events that have some of the words, ranked over the whole index.

The formula is BM25: the sum of the rarities of the words that an event has, each weighted by how often it has the word
for its length. An event may lack words; what is *exact*, a phrase, a ``+word`` or a choice with ``OR``, it must have.

FTS5's own ``bm25`` knows the rarity of a word in one table only, and the index has many (:mod:`reeld.search.volumes`).
So FTS5 finds the events, and this adds up: rarities are those of the whole index, and the order is the same whatever
the volumes are.

What makes a search quick is to read few events: :mod:`reeld.search.planning` says which words find them, and which say
their order. If even the rarest word is frequent, those of its events come first that have another word too, and only
the newest are ranked. And what cannot be among the best, whatever its length is, is left out before its facts are read,
which takes longer than all else.
"""
# ruff: noqa: S608 - queries of numbers and conditions of ours

import sqlite3
import time
from collections.abc import Iterable, Sequence

from reel.base.light_typing import NamedTuple
from reeld.search import lengths, vocabulary
from reeld.search.marks import Form
from reeld.search.planning import Plan, Sought, any_sought, to_match
from reeld.search.volumes import Condition, Volume, down_from, has_any

# How quickly further occurrences of a word lose weight, and how much a long text counts against an event. Measured with
# 240 queries for 60 known answers in 7,852 real events: 1.2 and 0.75 found 207 among the first five, these 212.
_SATURATION = 0.9
_LENGTH = 0.6
# Seconds after which a part of a search yields to other jobs.
_SECONDS = 0.03
# How much more something counts that was just said, and after how many milliseconds half of that is left.
_FRESH = 0.1
_HALF = 30 * 86_400_000


class Ranked(NamedTuple):
    """An event with its score, and a bit for each thing sought that it has, but for the common ones."""

    score: float
    event: int
    found: int


class Stretch(NamedTuple):
    """Which events are ranked: those from an id up to another one, excluded, that an expression of FTS5 finds."""

    low: int
    high: int
    match: str | None = None


class Freshness(NamedTuple):
    """How much more counts what was said lately: at most a tenth, and half of that after 30 days."""

    now: int
    weight: float = _FRESH


class Counted(NamedTuple):
    """How many volumes were counted in, how many more events there is room for, and below which there is none."""

    volumes: int
    room: int
    low: int | None = None


def newest(
    connection: sqlite3.Connection, every: Sequence[Volume], stretch: Stretch, condition: Condition, room: int
) -> Counted:
    """Count events of a stretch, the newest first, in as many volumes as there is time for, until there is no room."""
    ends = time.monotonic() + _SECONDS
    for done, volume in enumerate(every, 1):
        count, oldest = _newest(connection, volume, stretch, condition, room)
        if count > room:
            return Counted(done, 0, oldest + 1)
        room -= count
        if time.monotonic() > ends:
            return Counted(done, room)
    return Counted(len(every), room)


def _newest(
    connection: sqlite3.Connection, volume: Volume, stretch: Stretch, condition: Condition, room: int
) -> tuple[int, int]:
    """Return how many events of a volume are in a stretch, at most one more than there is room for, and the oldest."""
    if not has_any(connection, volume, condition):  # looks at facts alone, and not at each match
        return 0, 0
    table = f"volume_{volume.number}"
    facts = "" if condition.is_nothing else f"CROSS JOIN facts ON event = {table}.rowid"
    matching = (
        f"SELECT {table}.rowid AS id FROM {table} {facts} WHERE {table} MATCH ? AND {table}.rowid >= ?"
        f" AND {table}.rowid < ? AND {condition.sql} ORDER BY {table}.rowid DESC LIMIT ?"
    )
    query = f"SELECT count(*), coalesce(min(id), 0) FROM ({matching})"
    found = connection.execute(
        query, (stretch.match, stretch.low, stretch.high, *condition.values, room + 1)
    ).fetchone()
    return int(found[0]), int(found[1])


def best_of(
    connection: sqlite3.Connection,
    every: Sequence[Volume],
    wanted: Plan,
    condition: Condition,
    stretch: Stretch,
    fresh: Freshness | None,
    limit: int,
    found: Sequence[Ranked] = (),
) -> tuple[list[Ranked], int]:
    """Return the best events of a stretch, the best first, and in how many of these volumes there was time for it.

    Args:
        connection: reads the index.
        every: the volumes, the newest first.
        wanted: what is sought.
        condition: what must be true of the facts of an event.
        stretch: which events are ranked.
        fresh: what counts as fresh; ``None`` if nothing does.
        limit: how many events at most.
        found: the best events of newer volumes, which are among those that are returned.
    """
    best_yet = list(found)
    ends = time.monotonic() + _SECONDS
    for done, volume in enumerate(every, 1):
        # Of two with the same score the newer one comes first.
        above = best_yet[-1].score if len(best_yet) == limit else None
        some = best(connection, volume, wanted, condition, stretch, fresh, limit, above)
        best_yet = in_order(best_yet + some)[:limit]
        if time.monotonic() > ends:
            return best_yet, done
    return best_yet, len(every)


def with_common(connection: sqlite3.Connection, wanted: Plan, ranked: Sequence[Ranked]) -> list[Ranked]:
    """Return ranked events with bits also for what is common, as many as there is time for."""
    ends = time.monotonic() + _SECONDS
    found: list[Ranked] = []
    every = down_from(connection, 1 << 62)
    for each in ranked:
        (volume,) = (volume for volume in every if volume.first <= each.event < volume.end)
        table, bits = f"volume_{volume.number}", each.found
        for bit, sought in enumerate(wanted.common, len(wanted.ranking)):
            query = f"SELECT EXISTS (SELECT 1 FROM {table} WHERE {table} MATCH ? AND rowid = ?)"
            (has_it,) = connection.execute(query, (to_match(sought.forms), each.event)).fetchone()
            bits |= has_it << bit
        found.append(each._replace(found=bits))
        if time.monotonic() > ends:
            break
    return found


def in_order(ranked: Iterable[Ranked]) -> list[Ranked]:
    """Return events with the best first; of two with the same score, the newer one."""
    return sorted(ranked, key=lambda each: (-each.score, -each.event))


def best(
    connection: sqlite3.Connection,
    volume: Volume,
    wanted: Plan,
    condition: Condition,
    stretch: Stretch,
    fresh: Freshness | None,
    limit: int,
    above: float | None = None,
) -> list[Ranked]:
    """Return the best events of a stretch in a volume, the best first; those not above a score may be left out."""
    if not wanted.finding or (wanted.is_frequent and not has_any(connection, volume, condition)):
        return []
    number, count = volume.number, len(wanted.ranking)
    rarities = wanted.rarities[:count]
    found, in_arms = _arms(number, wanted)
    # Negative ids, in whose order the newest comes first: of many events with the same score, it is the one that stays,
    # and the others are not sorted.
    conditions, values = ["place <= ? AND place > ?"], [*in_arms, -stretch.low, -stretch.high]
    for word, expression in (("IN", stretch.match), ("IN", wanted.required), ("NOT IN", wanted.excluded)):
        if expression is not None:
            conditions.append(
                f"place {word} (SELECT -rowid FROM volume_{number} WHERE volume_{number} MATCH ?"
                " AND rowid >= ? AND rowid < ?)"
            )
            values += [expression, stretch.low, stretch.high]
    times = ", ".join(f"sum(t{bit}) AS t{bit}" for bit in range(count))
    grouped = f"SELECT place, {times} FROM ({found}) WHERE {' AND '.join(conditions)} GROUP BY place"
    score = " + ".join(f"? * t{bit} / (t{bit} + ? + ? * length)" for bit in range(count))
    length = _SATURATION * (1 - _LENGTH), _SATURATION * _LENGTH / wanted.usual
    weights: list[object] = [value for rarity in rarities for value in (rarity, *length)]
    # The highest that it may be: with the shortest length, and said when the newest event of the volume was.
    most = " + ".join(f"? * t{bit} / (t{bit} + ? + ? * least)" for bit in range(count))
    weights_of_most = weights.copy()
    if fresh is not None:
        score = f"({score}) * (1 + ? * {_HALF}.0 / ({_HALF} + max(0, ? - said)))"
        weights += [fresh.weight, fresh.now]
        most = f"({most}) * (1 + ?)"
        weights_of_most.append(fresh.weight * _HALF / (_HALF + max(0, fresh.now - volume.newest)))
    bits = " + ".join(f"(t{bit} > 0) * {1 << bit}" for bit in range(count))
    is_possible, limits = "TRUE", list[object]()
    if above is not None:
        grouped = lengths.with_least(grouped)
        is_possible, limits = f"round({most}, 6) > ?", [*weights_of_most, above]
    # Rounded, because the sum of fractions depends on their order.
    query = (
        f"SELECT round({score}, 6) AS score, event, {bits} FROM ({grouped}) CROSS JOIN facts ON event = -place"
        f" WHERE {is_possible} AND {condition.sql} ORDER BY score DESC, place LIMIT ?"
    )
    given = [*weights, *values, *limits, *condition.values, limit]
    return [Ranked(*row) for row in connection.execute(query, given)]


def _arms(number: int, wanted: Plan) -> tuple[str, list[object]]:
    """Return a query for the places of events and what each has of what is sought, in as many rows as it has it."""
    arms: list[str] = []
    values: list[object] = []
    for bit, sought in enumerate(wanted.ranking):
        times = ", ".join(f"{int(bit == other)} AS t{other}" for other in range(len(wanted.ranking)))
        if bit < len(wanted.finding):
            some = [_finding_arm(number, form, times) for form in sought.forms]
        else:
            some = [_ordering_arm(number, wanted.finding, sought.forms, times)]
        arms += [arm for arm, _ in some]
        values += [value for _, given in some for value in given]
    return " UNION ALL ".join(arms), values


def _finding_arm(number: int, form: Form, times: str) -> tuple[str, list[object]]:
    """Return a query for the events with a form, once for each time that they have it."""
    if len(form.words) > 1:  # how often there is a phrase, FTS5 does not tell
        return _matching_arm(number, to_match([form]), times)
    (word,) = form.words
    found = "term >= ? AND term <= ?" if form.is_prefix else "term = ?"
    values: list[object] = [word, word + vocabulary.LAST] if form.is_prefix else [word]
    return f"SELECT -doc AS place, {times} FROM terms_{number} WHERE {found}", values


def _ordering_arm(
    number: int, finding: Sequence[Sought], forms: Sequence[Form], times: str
) -> tuple[str, list[object]]:
    """Return a query for the events among those that are found that have one of several forms, once each."""
    return _matching_arm(number, f"({any_sought(finding)}) AND ({to_match(forms)})", times)


def _matching_arm(number: int, expression: str, times: str) -> tuple[str, list[object]]:
    return f"SELECT -rowid AS place, {times} FROM volume_{number} WHERE volume_{number} MATCH ?", [expression]
