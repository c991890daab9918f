"""The best hits: events that have some of the words, ranked over the whole index.

The formula is BM25: the sum of the rarities of the words that an event has, each weighted by how often it has the word
for its length. An event may lack words; what is *exact*, a phrase, a ``+word`` or a choice with ``OR``, it must have.

FTS5's own ``bm25`` knows the rarity of a word in one table only, and the index has many (:mod:`reeld.search.volumes`).
So FTS5 finds the events, and this adds up: rarities are those of the whole index, and the order is the same whatever
the volumes are.

What makes a search quick is to read few events. The rarest words find the events. A more frequent one only says which
of these come first, and one in more than a twentieth of all events not even that: it would take most of the time, and
hardly change a page. If even the rarest one is frequent, those of its events come first that have another word too, and
only the newest are ranked. And what cannot be among the best, whatever its length is, is left out before its facts are
read, which takes longer than all else.
"""
# ruff: noqa: S608 - queries of numbers and conditions of ours

import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from math import log

from reel.base.light_typing import NamedTuple
from reeld.search import vocabulary
from reeld.search.marks import Form
from reeld.search.query import Query, Term, any_of
from reeld.search.snippets import Wanted
from reeld.search.stop_words import STOP_WORDS
from reeld.search.volumes import Condition, Volume, down_from, has_any
from reeld.search.words import is_single

# How quickly further occurrences of a word lose weight, and how much a long text counts against an event. Measured with
# 240 queries for 60 known answers in 7,852 real events: 1.2 and 0.75 found 207 among the first five, these 212.
_SATURATION = 0.9
_LENGTH = 0.6
# The most words of a query that are searched.
_MOST = 16
# Seconds after which a part of a search yields to other jobs.
_SECONDS = 0.03
# How many events are ranked: to rank one takes 2 us.
MOST_EVENTS = 1 << 12
# Beside the two rarest, a word that more than one in so many events has does not say which hits come first.
_COMMON = 20
_ALWAYS_RANKED = 2
# A word that fewer events have also stands for others with the same beginning, less so many letters: an inflection.
_RARE = 5
_ENDING = 2
_SHORTEST_BEGINNING = 4
# Only of so many words is it guessed what else they may be: to look for one in a large vocabulary takes 10 ms.
_GUESSED = 12
# How much more something counts that was just said, and after how many milliseconds half of that is left.
_FRESH = 0.1
_HALF = 30 * 86_400_000


class Sought(NamedTuple):
    """What makes an event a hit: any of several forms.

    Args:
        typed: which of the typed terms it is of.
        forms: its forms.
        events: how many events have it, or more.
        is_part: whether it is only a part of a typed word.
    """

    typed: int
    forms: tuple[Form, ...]
    events: int
    is_part: bool = False


class Plan(NamedTuple):
    """How the best hits are found.

    Args:
        finding: what finds events, the rarest first.
        ordering: what else counts for the events that are found.
        common: what so many events have that it does not count.
        rarities: of all three, in this order.
        typed: the terms as they were typed.
        unknown: the terms that no event has, nor anything like them.
        instead: what is searched for instead of typed words that no event has.
        required: an expression of FTS5 for what every hit has.
        excluded: one for what no hit has.
        usual: how many words an event has on average.
    """

    finding: Sequence[Sought]
    ordering: Sequence[Sought]
    common: Sequence[Sought]
    rarities: Sequence[float]
    typed: Sequence[str]
    unknown: frozenset[int]
    instead: dict[str, list[str]]
    required: str | None
    excluded: str | None
    usual: float

    @property
    def ranking(self) -> list[Sought]:
        """What counts for the score of an event."""
        return [*self.finding, *self.ordering]

    @property
    def sought(self) -> list[Sought]:
        """All that is sought; their numbers are those of the bits of a ranked event."""
        return [*self.finding, *self.ordering, *self.common]

    @property
    def parts(self) -> list[str | None]:
        """What is ranked, part after part, until there are enough hits, as expressions of FTS5; ``None`` for all.

        If even the rarest word is frequent, the events that have another one come first: they are the better ones.
        """
        if not self.is_frequent:
            return [None]
        rarest, others = (_any_of(some) for some in (self.finding, self.ordering))
        return [f"({rarest}) AND ({others})", f"({rarest}) NOT ({others})"] if others else [rarest]

    @property
    def is_frequent(self) -> bool:
        """Whether more events have the rarest word than are ranked."""
        return bool(self.finding) and self.finding[0].events > MOST_EVENTS

    @property
    def has_parts(self) -> bool:
        """Whether parts of words would find more events."""
        return any(sought.is_part for sought in self.ordering)

    @property
    def wanted(self) -> list[Wanted]:
        """What is marked in a snippet; rare words count most."""
        return [Wanted(sought.forms, rarity) for sought, rarity in zip(self.sought, self.rarities, strict=True)]

    def lacking(self, found: int) -> list[str]:
        """Return the typed terms that a ranked event lacks, though it may have parts of them."""
        asked = {sought.typed for sought in self.sought} | self.unknown
        wholes = [(number, sought) for number, sought in enumerate(self.sought) if not sought.is_part]
        had = {sought.typed for number, sought in wholes if found >> number & 1}
        return [self.typed[number] for number in sorted(asked - had)]


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


def plan(connection: sqlite3.Connection, query: Query, *, in_parts: bool = False) -> Plan:
    """Return how the best hits of a query are found.

    Args:
        connection: reads the index.
        query: the words.
        in_parts: whether parts of a typed word, such as ``parse_http_url``, find events by themselves, rather than say
            which of those that are found come first.
    """
    groups = _without_stop_words(query.groups)
    events, words = connection.execute("SELECT events, words FROM totals").fetchone()
    instead: dict[str, list[str]] = {}
    found: dict[tuple[Form, ...], Sought] = {}
    known: set[int] = set()
    for number, group in enumerate(groups):
        for forms, is_part in _forms(group):
            guessed = None if _is_exact(group) or number >= _GUESSED else instead
            sought = _sought(connection, number, forms, guessed, is_part=is_part)
            if sought is not None:
                known.add(number)
                found.setdefault(sought.forms, sought)
    by_rarity = sorted(found.values(), key=lambda sought: sought.events)[:_MOST]
    finding, ordering = _divided([each for each in by_rarity if in_parts or not each.is_part] or by_rarity)
    ordering += [each for each in by_rarity if each not in finding and each not in ordering]
    ordering, common = _counting(
        ordering, most=max(MOST_EVENTS, events // _COMMON), least=_ALWAYS_RANKED - len(finding)
    )
    required = [f"({any_of(group)})" for group in groups if _is_exact(group)]
    return Plan(
        finding=finding,
        ordering=ordering,
        common=common,
        rarities=[_rarity(min(sought.events, events), events) for sought in (*finding, *ordering, *common)],
        typed=[" OR ".join(term.typed for term in group) for group in groups],
        unknown=frozenset(range(len(groups))) - known,
        instead=instead,
        required=" AND ".join(required) or None,
        excluded=any_of(query.excluded) or None,
        usual=words / events if events else 1.0,
    )


def _is_exact(group: Sequence[Term]) -> bool:
    return len(group) > 1 or group[0].is_exact


def _without_stop_words(groups: Sequence[Sequence[Term]]) -> Sequence[Sequence[Term]]:
    """Return groups without those of a stop word, unless there are no others."""
    others = [group for group in groups if _is_exact(group) or not _is_stop_word(group[0])]
    return others or groups


def _is_stop_word(term: Term) -> bool:
    return not term.is_prefix and len(term.phrases[0]) == 1 and term.phrases[0][0] in STOP_WORDS


def _forms(group: Sequence[Term]) -> Iterator[tuple[tuple[Form, ...], bool]]:
    """Yield what makes an event a hit for a group, each as several forms, and whether it is only a part of a word.

    A word of several parts, such as ``parse_http_url`` or a path, is sought as a whole, in any spelling. In a script
    without spaces, nothing tells what is a word, so pairs of characters are sought.
    """
    if _is_exact(group):
        yield tuple(Form(phrase, term.is_prefix) for term in group for phrase in term.phrases), False
        return
    term = group[0]
    parts = list(dict.fromkeys(part for phrase in term.phrases for part in _parts(phrase)))
    has_words = len(parts) > 1 and not any(map(is_single, term.phrases[0]))
    if has_words:
        whole = dict.fromkeys((*term.phrases, ("".join(term.phrases[-1]),)))
        yield tuple(Form(phrase, term.is_prefix) for phrase in whole), False
        parts = [part for part in parts if part not in whole and len(part[0]) > 1 and part[0] not in STOP_WORDS]
    for part in parts:
        yield (Form(part, term.is_prefix and part == parts[-1]),), has_words


def _parts(phrase: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the words of a phrase; characters that are words by themselves in overlapping pairs."""
    if len(phrase) == 1:
        yield (phrase[0],)
        return
    last: str | None = None
    alone = False
    for word in phrase:
        if not is_single(word):
            if last is not None and alone:
                yield (last,)
            yield (word,)
            last = None
            continue
        if last is not None:
            yield (last, word)
        last, alone = word, last is None
    if last is not None and alone:
        yield (last,)


def _sought(
    connection: sqlite3.Connection,
    number: int,
    forms: Sequence[Form],
    instead: dict[str, list[str]] | None,
    *,
    is_part: bool,
) -> Sought | None:
    """Return what is sought for forms; ``None`` if no event has any.

    Args:
        connection: reads the index.
        number: which of the typed terms they are of.
        forms: the forms.
        instead: gets what is sought instead of an unknown word; ``None`` if nothing else may be.
        is_part: whether they are only a part of a typed word.
    """
    counts = {form: _events(connection, form) for form in forms}
    if instead is not None and len(forms) == 1:
        (form,) = forms
        counts |= {other: _events(connection, other) for other in _inflected(form, counts[form])}
        if not counts[form] and len(form.words) == 1 and (near := vocabulary.nearest(connection, form.words[0])):
            instead[form.words[0]] = near
            counts |= {Form((word,)): vocabulary.events_with(connection, word) for word in near}
    had = tuple(form for form, events in counts.items() if events)
    return Sought(number, had, sum(counts.values()), is_part) if had else None


def _events(connection: sqlite3.Connection, form: Form) -> int:
    """Return how many events have a form, or more: for a phrase, how many have its rarest word."""
    *whole, last = form.words
    counts = [vocabulary.events_with(connection, word) for word in whole]
    of_last = vocabulary.events_with_prefix if form.is_prefix else vocabulary.events_with
    return min([*counts, of_last(connection, last)])


def _inflected(form: Form, events: int) -> Iterator[Form]:
    """Yield the beginning of a rare word, which other forms of the same word have too."""
    (word, *rest), is_prefix = form
    if events < _RARE and not rest and not is_prefix and word.isalpha() and len(word) - _ENDING >= _SHORTEST_BEGINNING:
        yield Form((word[:-_ENDING],), is_prefix=True)


def _divided(by_rarity: list[Sought]) -> tuple[list[Sought], list[Sought]]:
    """Return the rarest, which find events, and the others."""
    events = 0
    for number, sought in enumerate(by_rarity):
        events += sought.events
        if number and events > MOST_EVENTS:
            return by_rarity[:number], by_rarity[number:]
    return by_rarity, []


def _counting(ordering: Sequence[Sought], most: int, least: int) -> tuple[list[Sought], list[Sought]]:
    """Return what counts for the order of hits, at least so many if there are, and what too many events have."""
    counts = [number < least or sought.events <= most for number, sought in enumerate(ordering)]
    parted = zip(ordering, counts, strict=True)
    return list(compress(ordering, counts)), [sought for sought, is_counted in parted if not is_counted]


def _rarity(events: int, total: int) -> float:
    return log(1 + (total - events + 0.5) / (events + 0.5))


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
        every: the volumes.
        wanted: what is sought.
        condition: what must be true of the facts of an event.
        stretch: which events are ranked.
        fresh: what counts as fresh; ``None`` if nothing does.
        limit: how many events at most.
        found: the best events of other volumes, which are among those that are returned.
    """
    best_yet = list(found)
    ends = time.monotonic() + _SECONDS
    for done, volume in enumerate(every, 1):
        least = best_yet[-1].score if len(best_yet) == limit else 0.0
        some = best(connection, volume, wanted, condition, stretch, fresh, limit, least)
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
            (has_it,) = connection.execute(query, (_expression(sought.forms), each.event)).fetchone()
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
    least: float = 0.0,
) -> list[Ranked]:
    """Return the best events of a stretch in a volume, the best first; those with less than a score may be left out."""
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
    # The score if the event were empty, and said just now: to read its facts takes longer than all else.
    most = " + ".join(f"? * t{bit} / (t{bit} + ?)" for bit in range(count))
    weights_of_most: list[object] = [value for rarity in rarities for value in (rarity, length[0])]
    if fresh is not None:
        score = f"({score}) * (1 + ? * {_HALF}.0 / ({_HALF} + max(0, ? - said)))"
        weights += [fresh.weight, fresh.now]
        most = f"({most}) * (1 + ?)"
        weights_of_most.append(fresh.weight)
    bits = " + ".join(f"(t{bit} > 0) * {1 << bit}" for bit in range(count))
    # Rounded, because the sum of fractions depends on their order.
    query = (
        f"SELECT round({score}, 6) AS score, event, {bits} FROM ({grouped}) CROSS JOIN facts ON event = -place"
        f" WHERE round({most}, 6) >= ? AND {condition.sql} ORDER BY score DESC, place LIMIT ?"
    )
    given = [*weights, *values, *weights_of_most, least, *condition.values, limit]
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
        return _matching_arm(number, _expression([form]), times)
    (word,) = form.words
    found = "term >= ? AND term <= ?" if form.is_prefix else "term = ?"
    values: list[object] = [word, word + vocabulary.LAST] if form.is_prefix else [word]
    return f"SELECT -doc AS place, {times} FROM terms_{number} WHERE {found}", values


def _ordering_arm(
    number: int, finding: Sequence[Sought], forms: Sequence[Form], times: str
) -> tuple[str, list[object]]:
    """Return a query for the events among those that are found that have one of several forms, once each."""
    return _matching_arm(number, f"({_any_of(finding)}) AND ({_expression(forms)})", times)


def _matching_arm(number: int, expression: str, times: str) -> tuple[str, list[object]]:
    return f"SELECT -rowid AS place, {times} FROM volume_{number} WHERE volume_{number} MATCH ?", [expression]


def _any_of(sought: Iterable[Sought]) -> str:
    return _expression(form for each in sought for form in each.forms)


def _expression(forms: Iterable[Form]) -> str:
    return " OR ".join(f'"{" ".join(form.words)}"{" *" if form.is_prefix else ""}' for form in forms)
