"""Ids in little memory: they are what a dict makes of them."""

import tracemalloc
from collections import Counter
from collections.abc import Callable
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reel.importing.adding.usages import Usages
from reel.importing.id_tables import IdMap, Ids, NamedIds

IDS = st.one_of(
    st.text(st.characters(codec=None), max_size=3),
    st.integers(0, 40).map(lambda number: str(UUID(int=number << 70 | number))),
    st.integers(0, 3).map(lambda number: str(UUID(int=number)).upper()),
)
# How many ids are in a dict: the others, which may be all, are in arrays.
RECENT = st.integers(1, 7)


@settings(max_examples=50)
@given(RECENT, st.lists(st.tuples(IDS, st.integers(-(2**63), 2**63 - 1)), max_size=80))
def test_a_map_is_what_a_dict_is(recent: int, pairs: list[tuple[str, int]]) -> None:
    """A map has the last number that was set for each id, and no other ids."""
    made, expected = IdMap(recent), dict(pairs)
    for name, value in pairs:
        made[name] = value

    assert list(expected.values()) == [made.get(name) for name in expected]
    assert None is made.get("none of these")


@settings(max_examples=50)
@given(RECENT, st.lists(IDS, max_size=80))
def test_a_number_has_its_id_again(recent: int, names: list[str]) -> None:
    """Numbers ascend from 0 on in the order of the first ids, and lead back to them, whatever their form is."""
    made = NamedIds(recent)
    numbers = [made.add(name) for name in names]

    assert list(range(len(made))) == sorted(set(numbers))
    assert names == [made.name(number) for number in numbers]


@pytest.mark.parametrize("table", [Ids, NamedIds])
def test_an_id_that_was_not_added(table: type[Ids]) -> None:
    """An id is found after it was added, not before."""
    made = table()

    assert None is made.find("one")
    assert made.add("one") == made.find("one")


@pytest.mark.parametrize("table", [Ids, NamedIds])
def test_many_ids(table: type[Ids]) -> None:
    """Ids that begin at the same slot are kept apart, and all are found in a table that has grown."""
    made, names = table(500), [str(number) for number in range(2000)]
    for number, name in enumerate(names):
        assert [number, number] == [made.add(name), made.add(name)]

    assert list(range(2000)) == [made.find(name) for name in names]


class _Counted(Ids):
    """Counts how often an id is looked for among the earlier ones, which takes ten times as long."""

    looks = 0

    def _find_earlier(self, given: str) -> int | None:
        self.looks += 1
        return super()._find_earlier(given)


def test_how_often_earlier_ids_are_looked_at() -> None:
    """A new id is looked for once among the earlier ones, however often it is asked for before it is added."""
    made = _Counted(10)
    for number in range(50):
        name = str(number)
        assert [None, None, number] == [made.find(name), made.find(name), made.add(name)]

    assert 40 == made.looks


def _bytes_of_one(add: Callable[[int], object], number: int = 3 << 12) -> float:
    """Return how many bytes one of so many takes: of as many ids, none is in a dict."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for one in range(number):
            add(one)
        return (tracemalloc.get_traced_memory()[0] - before) / number
    finally:
        tracemalloc.stop()


def test_memory_of_an_id() -> None:
    """An id takes 12 or 16 bytes and a slot of up to 8; the count of an answer is two numbers."""
    ids, named, usages = Ids(), NamedIds(), Usages()

    assert 22 > _bytes_of_one(lambda one: ids.add(str(UUID(int=one))))
    assert 27 > _bytes_of_one(lambda one: named.add(str(UUID(int=one))))
    assert 10 > _bytes_of_one(lambda one: usages.add(one, one, {"usage": {"input_tokens": 5}}))


@pytest.mark.parametrize("name", ["{:08x}-0001-4000-8000-000000000000", "00000000-0001-4000-8000-{:012x}"])
def test_ids_that_are_numbered(name: str) -> None:
    """Ids that differ by a few digits are spread over the slots as random ones are: no region is full early."""
    many, slots, region = 557_056, 753_665, 2000
    table = NamedIds()
    # To add them would take seconds.
    keys = (table._key_of(name.format(number)) for number in range(many))
    regions = Counter(table._hash_of(*key) % slots // region for key in keys)

    assert max(regions.values()) < 0.9 * region  # 1,478 on average, with a standard deviation of 20
