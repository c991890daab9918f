"""What events score, and the best of many without a look at the facts of each.

The formula is BM25: the sum of the rarities of the words that an event has, each weighted by how often it has the word
for its length. What was just said counts a little more, and so does talk, which is messages of people and models
without calls: an answer has the words that somebody remembers once, the calls and files before it again and again.

How often an event has each word is known from the words alone. To read how long it is and when it was said takes longer
than all else in a search. So events that have the words as often are looked at together, those first that would score
most if they were short, new and talk; and of many, those first that are short, and those that are talk, of which a byte
tells (:mod:`reeld.search.lengths`). The rest cannot be among the best.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import chain, repeat

from reel.base.light_typing import NamedTuple
from reeld.search.lengths import is_talk, least

# How quickly further occurrences of a word lose weight, and how much a long text counts against an event. Measured with
# 240 queries for 60 known answers in 7,852 real events: 1.2 and 0.75 found 207 among the first five, these 212.
_SATURATION = 0.9
_LENGTH = 0.6
# How much more something counts that was just said, and after how many milliseconds half of that is left.
_FRESH = 0.1
_HALF = 30 * 86_400_000
# How much more talk counts. Measured with 60 questions each about two sets of conversations, 31,000 messages: the first
# query found the answer among five hits for 52 and 45 of them, and does for 57 and 57, as with 0.3. Four words of a
# call or a result, drawn at random, found it for 435 of 480, and do for 429.
_TALK = 0.25
# The last digits of a sum of fractions depend on their order.
_DIGITS = 6
# The bits of a number for how often an event has one of the things sought, and such a number with all of them.
_BITS = 32
_ONE = (1 << _BITS) - 1
# The facts of how many events are read at first, if not more are wanted; each further time, of twice as many.
_AT_FIRST = 16


class Freshness(NamedTuple):
    """How much more counts what was said lately: at most a tenth, and half of that after 30 days."""

    now: int
    weight: float = _FRESH

    def factor(self, said: int) -> float:
        """Return how much counts what was said at a time."""
        return 1 + self.weight * _HALF / (_HALF + max(0, self.now - said))


class Ranked(NamedTuple):
    """An event with its score, and a bit for each thing sought that it has, but for the common ones."""

    score: float
    event: int
    found: int


class Source(NamedTuple):
    """What tells about events.

    Args:
        bytes_of: returns the bytes that tell about how long events are, and which are talk.
        facts: returns those events that may be found, how many words they have, and when they were said.
        newest: returns a time before which an event was said.
    """

    bytes_of: Callable[[Sequence[int]], Iterable[int]]
    facts: Callable[[Sequence[int]], Iterable[tuple[int, int, int]]]
    newest: Callable[[int], int]


class Formula(NamedTuple):
    """How events are scored.

    Args:
        rarities: those of the things sought.
        usual: how many words an event has on average.
        fresh: what counts as fresh; ``None`` if nothing does.
    """

    rarities: Sequence[float]
    usual: float
    fresh: Freshness | None

    def score(self, times: int, length: int, said: int | None, *, is_talk: bool) -> float:
        """Return the score of an event, or the highest of several.

        Args:
            times: how often it has the things sought, as :func:`counted` says it.
            length: how many words it has, or the fewest that one of them has.
            said: when it was said, or the last of them; ``None`` for now.
            is_talk: whether it is talk, or one of them may be.
        """
        against = _SATURATION * (1 - _LENGTH + _LENGTH * length / self.usual)
        score = 0.0
        for rarity in self.rarities:
            each = times & _ONE
            score += rarity * each / (each + against)
            times >>= _BITS
        if is_talk:
            score *= 1 + _TALK
        if self.fresh is not None:
            score *= self.fresh.factor(self.fresh.now if said is None else said)
        return round(score, _DIGITS)

    def found(self, times: int) -> int:
        """Return a bit for each thing sought that an event has."""
        return sum((times >> bit * _BITS & _ONE > 0) << bit for bit in range(len(self.rarities)))


class _Alike(NamedTuple):
    """Events that have each thing sought as often.

    Args:
        minus_highest: the highest score that any of them may have, with a minus: a heap has the lowest first.
        minus_newest: the id of the newest of them, with a minus.
        times: how often they have the things sought.
        events: their ids; the newest first if they are about as long.
        is_talk: whether they are talk, or may be.
        are_as_long: whether they are about as long, were said at about the same time, and all are talk or none.
    """

    minus_highest: float
    minus_newest: int
    times: int
    events: Sequence[int]
    is_talk: bool
    are_as_long: bool


def counted(found: Iterable[Iterable[int]], only: Collection[int] | None = None) -> dict[int, int]:
    """Return how often each event has each thing sought, as a number with 32 bits for each.

    Args:
        found: for each thing sought, the events that have it, once for each time that they have it.
        only: which events are counted; ``None`` for all.
    """
    counts: dict[int, int] = {}
    for bit, events in enumerate(found):
        some = events if only is None else filter(only.__contains__, events)
        if not bit:
            counts = dict(Counter(some))
            continue
        once, had = 1 << bit * _BITS, counts.get
        for event in some:
            counts[event] = had(event, 0) + once
    return counts


def best(formula: Formula, counts: Iterable[Mapping[int, int]], source: Source, limit: int) -> list[Ranked]:
    """Return the best of some events, the best first.

    Args:
        formula: how they are scored.
        counts: how often each event has the things sought, in as many parts as there are.
        source: tells more about them.
        limit: how many at most.
    """
    heap = _by_times(formula, counts)
    heapify(heap)
    found: list[Ranked] = []
    at_once = max(_AT_FIRST, limit)
    while heap:
        some: dict[int, _Alike] = {}
        while heap and len(some) < at_once:
            first = heappop(heap)
            if len(found) == limit and first[:2] > (-found[-1].score, -found[-1].event):
                if first.minus_highest > -found[-1].score:
                    heap.clear()
            elif first.are_as_long:
                some.update(dict.fromkeys(first.events[:at_once], first))
                if later := first.events[at_once:]:
                    heappush(heap, first._replace(minus_newest=-later[0], events=later))
            else:
                for each in _by_length(formula, first, source):
                    heappush(heap, each)
        scored = [
            (formula.score(some[event].times, length, said, is_talk=some[event].is_talk), event)
            for event, length, said in source.facts(list(some))
        ]
        worst = found[-1].score if len(found) == limit else 0.0
        better = [Ranked(score, event, formula.found(some[event].times)) for score, event in scored if score >= worst]
        found = in_order([*found, *better])[:limit]
        at_once *= 2
    return found


def _by_times(formula: Formula, counts: Iterable[Mapping[int, int]]) -> list[_Alike]:
    """Return events by how often they have the things sought."""
    by_times = defaultdict[int, list[int]](list)
    for event, times in chain.from_iterable(each.items() for each in counts):
        by_times[times].append(event)
    return [
        _Alike(
            -formula.score(times, 0, None, is_talk=True), -max(events), times, events, is_talk=True, are_as_long=False
        )
        for times, events in by_times.items()
    ]


def _by_length(formula: Formula, alike: _Alike, source: Source) -> Iterator[_Alike]:
    """Yield events by how long they are and which are talk, and if something is fresh, also by when they were said."""
    by_length = defaultdict[tuple[int, int | None], list[int]](list)
    said = repeat(None) if formula.fresh is None else map(source.newest, alike.events)
    for event, key in zip(alike.events, zip(source.bytes_of(alike.events), said, strict=False), strict=True):
        by_length[key].append(event)
    for (byte, newest), events in by_length.items():
        events.sort(reverse=True)
        highest = formula.score(alike.times, least(byte), newest, is_talk=is_talk(byte))
        yield _Alike(-highest, -events[0], alike.times, events, is_talk=is_talk(byte), are_as_long=True)


def in_order(ranked: Iterable[Ranked]) -> list[Ranked]:
    """Return events with the best first; of two with the same score, the newer one."""
    return sorted(ranked, key=lambda each: (-each.score, -each.event))
