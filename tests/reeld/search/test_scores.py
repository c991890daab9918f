"""The best of many events are those that a look at all of them finds."""

from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reeld.search import scores
from reeld.search.lengths import rounded
from reeld.search.scores import Formula, Freshness, Ranked, Source, counted

NOW = 10**12
DAY = 86_400_000
# How often an event has each of two things sought, how long it is, how many days ago it was said, whether it is talk,
# and whether it may be found.
EVENTS = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.integers(0, 2),
        st.sampled_from((0, 1, 7, 40, 41, 5000)),
        st.integers(-1, 90),
        st.booleans(),
        st.booleans(),
    ),
    max_size=60,
)


class Log:
    """Events with their facts, in volumes of four; it counts the facts that are read."""

    def __init__(self, events: Sequence[tuple[int, int, int, int, bool, bool]]) -> None:
        self.events = events
        self.read = 0

    def counts(self) -> list[dict[int, int]]:
        """Return how often each event has what is sought, in two parts."""
        half = len(self.events) // 2
        return [self._counted(range(half)), self._counted(range(half, len(self.events)))]

    def _counted(self, some: Iterable[int]) -> dict[int, int]:
        ids = list(some)
        return counted([[event for event in ids for _ in range(self.events[event][bit])] for bit in (0, 1)])

    def source(self) -> Source:
        """Return what tells about the events."""
        return Source(
            bytes_of=lambda some: [rounded(self.events[event][2]) | self.is_talk(event) << 7 for event in some],
            facts=self._facts,
            newest=lambda event: max(
                NOW - days * DAY for _, _, _, days, _, _ in self.events[event // 4 * 4 : event // 4 * 4 + 4]
            ),
        )

    def _facts(self, some: Sequence[int]) -> Iterable[tuple[int, int, int]]:
        self.read += len(some)
        return [
            (event, self.events[event][2], NOW - self.events[event][3] * DAY) for event in some if self.events[event][5]
        ]

    def is_talk(self, event: int) -> bool:
        """Return whether an event is talk."""
        return self.events[event][4]


def all_ranked(formula: Formula, log: Log) -> list[Ranked]:
    """Return all events that may be found, the best first, from a look at each."""
    counts = {event: times for part in log.counts() for event, times in part.items()}
    facts = log.source().facts(list(counts))
    return scores.in_order(
        Ranked(
            formula.score(counts[event], length, said, is_talk=log.is_talk(event)), event, formula.found(counts[event])
        )
        for event, length, said in facts
    )


@settings(max_examples=200)
@given(
    events=EVENTS,
    limit=st.integers(1, 12),
    fresh=st.sampled_from((None, Freshness(NOW))),
    at_first=st.sampled_from((1, 3, 64)),
)
def test_the_best(
    events: Sequence[tuple[int, int, int, int, bool, bool]], limit: int, fresh: Freshness | None, at_first: int
) -> None:
    """They are the best of all in their order, however many are looked at together."""
    formula, log = Formula([2.5, 1.0], 40.0, fresh), Log(events)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scores, "_AT_FIRST", at_first)
        found = scores.best(formula, log.counts(), log.source(), limit)

    assert all_ranked(formula, log)[:limit] == found


@pytest.mark.parametrize("fresh", [None, Freshness(NOW)])
def test_few_facts_are_read(fresh: Freshness | None) -> None:
    """Of a thousand events, not many more facts are read than are returned: the others cannot be among the best."""
    log = Log([(1 + (event % 100 == 0), 1, 30 + event % 7, 10, event % 2 == 0, True) for event in range(1000)])
    found = scores.best(Formula([2.0, 1.0], 40.0, fresh), log.counts(), log.source(), 10)

    assert [900, 800, 700, 600, 500, 400, 300, 200, 100, 0] == sorted((each.event for each in found), reverse=True)
    assert log.read <= 2 * 64


def test_counts() -> None:
    """Each thing sought is counted by itself, and only of the events that are asked for."""
    assert {1: 2, 2: 1 + (1 << 32), 3: 1 << 32} == counted([[1, 1, 2], [2, 3]])
    assert {2: 1 + (1 << 32)} == counted([[1, 1, 2], [2, 3]], only={2})
    assert 0b10 == Formula([1.0, 1.0], 1.0, None).found(5 << 32)
