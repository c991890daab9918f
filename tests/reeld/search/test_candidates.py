"""Which of many events are looked at for a pattern that matches within a name only: never too few."""

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

from reeld.search import candidates, finding, grouping, vocabulary, volumes
from reeld.search.candidates import Candidates
from tests.patience import PATIENCE
from tests.reeld.search.test_ranking import ALL, Index
from tests.reeld.search.test_trigrams import criteria, filled, in_log_order, make_groups

pytestmark = pytest.mark.skipif(find_spec("re2") is None, reason="google-re2 is not installed")
OTHERS = ["the tape is on a deck"] * 5
# Those that are looked at for this pattern, if others are not.
PATTERN = r"/tape\w+deck/"
LIKELY = ["a tape_of_the_deck", "tapeAndDeck", "3f2a9c1b: tape, deck", "some tapenodecks"]


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Volumes have nine texts, all of which are in groups, and a candidate is one of many."""
    monkeypatch.setattr(volumes, "_EVENTS", 9)
    monkeypatch.setattr(grouping, "_CHARACTERS", 1)
    monkeypatch.setattr(finding, "_SECONDS", PATIENCE)
    monkeypatch.setattr(candidates, "_MANY", 0)


@pytest.fixture(name="said")
def _said(tmp_path: Path) -> Iterator[Index]:
    """Two full volumes, and one that is not."""
    with filled(tmp_path, *[*OTHERS, *LIKELY] * 2, *OTHERS, *LIKELY[:2]) as said:
        make_groups(said)
        yield said


def looked_at(said: Index, found: Candidates) -> Sequence[Sequence[int]]:
    """Return the places of the candidates of each volume, that of the newest volume first."""
    some = [found.of(said.connection, volume) for volume in volumes.down_from(said.connection, ALL)]
    return [[said.events.index(event) for event in each.events] for each in some if each is not None]


def candidates_of(query: str) -> Candidates:
    """Return the candidates for a query."""
    wanted = criteria(query)
    return Candidates(wanted.needed, wanted.in_names)


def test_names(said: Index) -> None:
    """In full volumes, events are looked at that have such a name, or one that the vocabulary lacks."""
    assert [[*range(18, 25)], [14, 15, 16, 17], [5, 6, 7, 8]] == looked_at(said, candidates_of(PATTERN))
    assert [24, 23, 17, 15, 14, 8, 6, 5] == in_log_order(said, PATTERN)
    assert [[14, 15, 16, 17], [5, 6, 7, 8]] == looked_at(said, candidates_of(f"has:tape {PATTERN} has:deck"))[1:]
    assert [[*range(9, 18)], [*range(9)]] == looked_at(said, candidates_of(f"has:tape -{PATTERN}"))[1:]


@pytest.mark.parametrize(("module", "name", "value"), [(candidates, "_NAMES", 2), (vocabulary, "_LOOKED_THROUGH", 10)])
def test_too_many_names(said: Index, monkeypatch: pytest.MonkeyPatch, module: object, name: str, value: int) -> None:
    """All are looked at if there are too many such names, or too many to look through."""
    monkeypatch.setattr(module, name, value)
    assert [[*range(9, 18)], [*range(9)]] == looked_at(said, candidates_of(PATTERN))[1:]


def test_too_many_events(said: Index) -> None:
    """All are looked at if most have such a name."""
    assert [[*range(9, 18)], [*range(9)]] == looked_at(said, candidates_of("has:tape"))[1:]


def test_few_candidates(said: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first ones are looked at without asking for names."""
    monkeypatch.setattr(candidates, "_MANY", 7 + 9)
    assert [[*range(9, 18)], [5, 6, 7, 8]] == looked_at(said, candidates_of(PATTERN))[1:]


def test_a_volume_that_is_full_meanwhile(said: Index) -> None:
    """The words of a volume that was not full when the names were looked for are not among them."""
    found = candidates_of(PATTERN)
    looked_at(said, found)
    for text in ("a tapeless_deck", "a tape", "a deck"):
        said.events.append(said.rows.event(said.agent, content=text))
        said.fill()
    make_groups(said)

    assert [[], [*range(18, 26)]] == looked_at(said, found)[:2]
    assert [[], [23, 24, 25]] == looked_at(said, candidates_of(PATTERN))[:2]
    assert [25, 24, 23] == in_log_order(said, PATTERN)[:3]
