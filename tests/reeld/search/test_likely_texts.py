"""The texts that patterns are looked for in: of all events that match, and few others."""

import json
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import chain

import pytest

from reeld.search.criteria import Criteria
from reeld.search.likely_texts import AT_ONCE, likely_texts
from reeld.search.patterns import Pattern, having
from reeld.search.query import Query
from reeld.search.texts import MAX_BLOCK
from tests.reeld.search.indexes import opened
from tests.reeld.search.test_trigrams import criteria
from tests.reeld.store.rows import Rows

CALL = {"type": "tool_call", "id": "1", "name": "sh", "arguments": '{"command": "tape deck"}'}


@pytest.fixture
def events(rows: Rows) -> list[int]:
    """Events with short texts, a long one, a call, an empty one, a name, and one with a sign that ends C's texts."""
    agent = rows.agent(1)
    return [
        rows.event(agent, content="a tape"),
        rows.event(agent, content="a deck"),
        rows.event(agent, content=f"a tape {'x' * 2000}"),
        rows.event(agent, kind="assistant", content="", data_json=json.dumps({"blocks": [CALL]})),
        rows.event(agent, content=None),
        rows.event(agent, kind="changed", content=None, data_json='{"title": "tapes"}'),
        rows.event(agent, content="a \0 reel"),
    ]


@pytest.fixture
def reader(rows: Rows, database: str) -> Iterator[sqlite3.Connection]:
    """A connection to the index and the log."""
    assert not rows.connection.in_transaction
    with closing(opened(database)) as connection:
        yield connection


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("/t.pe/", [0, 2, 3, 5, 6]),
        ("/ta.e d/", [3]),
        ("/ree./", [6]),
        ("/tap.x/", [2, 3, 5]),
        ("/[st][.x]/", [2, 3, 4, 5]),
        ("has:reel", [6]),
        ("has:nowhere", []),
        ("/t.pe$/", [0, 2, 3, 5, 6]),
        ("-/t.pe/", [0, 1, 2, 3, 4, 5, 6]),
        ("/t.pe/ has:dec", [3, 6]),
        ("/t.pe/ -has:dec", [0, 2, 3, 5, 6]),
        ("tape", [0, 1, 2, 3, 4, 5, 6]),
    ],
)
def test_which_texts_are_read(reader: sqlite3.Connection, events: list[int], query: str, expected: list[int]) -> None:
    """Short texts are looked at together first, and others if their rows may match; their order stays as it was."""
    for some in (events, events[::-1]):
        found = [event for event, _ in chain.from_iterable(likely_texts(reader, criteria(query), some))]
        assert [event for event in some if events.index(event) in expected] == found


LETTERS = "ab AB\n\0ß修"


@pytest.mark.parametrize("seed", range(20))
def test_no_text_is_passed_over(reader: sqlite3.Connection, rows: Rows, seed: int) -> None:
    """Whatever texts there are, those with a match are read."""
    chance = random.Random(seed)
    agent = rows.agent(1)
    texts = ["".join(chance.choices(LETTERS, k=chance.randrange(9))) for _ in range(40)]
    said = {rows.event(agent, content=text): text for text in texts}
    for query in ("/a.b/", "/^a/", "/b\\s+a/", "/[ab]{4}/", "has:ab", 'has:"a b"', "/(a|b)ß/", "/a$/", "/b*/"):
        wanted = criteria(query)
        some = chance.sample([*said], 20)
        found = list(chain.from_iterable(likely_texts(reader, wanted, some)))
        assert having(wanted.patterns, [(event, said[event]) for event in some]) == having(wanted.patterns, found)


def test_how_many_are_looked_at_together(reader: sqlite3.Connection, rows: Rows) -> None:
    """Many short texts are, and long ones are by themselves: what is looked for takes a time that grows with them."""
    agent = rows.agent(1)
    some = [rows.event(agent, content=f"tape {'x' * size}") for size in (9, 9, 20_000, 20_000, 9)]
    together = likely_texts(reader, criteria("/t.pe/"), some)

    assert [some[:3], some[3:]] == [[event for event, _ in texts] for texts in together]


def test_how_much_is_looked_through_at_once(reader: sqlite3.Connection, rows: Rows) -> None:
    """However long rows are, an expression has little to look through before others are answered."""
    sizes: list[int] = []

    def matches(text: str) -> Iterator[tuple[int, int]]:
        sizes.append(len(text))
        return iter(())

    agent, wanted = rows.agent(1), Criteria(Query(), patterns=(Pattern(matches),))
    some = [rows.event(agent, content="x" * (900 + number)) for number in range(AT_ONCE)]
    for texts in likely_texts(reader, wanted, some):
        assert [] == having(wanted.patterns, texts)

    assert sum(sizes) >= sum(range(900, 900 + AT_ONCE))
    assert max(sizes) < MAX_BLOCK


def test_what_is_erased_meanwhile(reader: sqlite3.Connection, rows: Rows) -> None:
    """Texts that are gone when they are to be read are passed over."""
    agent = rows.agent(1)
    some = [rows.event(agent, content="tape " * 500) for _ in range(20)]
    together = likely_texts(reader, criteria("/t.pe/"), some)
    first = next(together)
    rows.unlock()
    rows.connection.execute("DELETE FROM events")

    assert some[:16] == [event for event, _ in chain(first, *together)]
