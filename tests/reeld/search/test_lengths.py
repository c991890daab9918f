"""About how long events are, a byte for each: never above the length, and at most an eighth below."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeld.search import lengths
from reeld.search.lengths import Known, Length


@contextmanager
def empty() -> Iterator[sqlite3.Connection]:
    """Open a database with an empty table of lengths."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        lengths.create(connection)
        yield connection


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    """Return a database with an empty table of lengths."""
    with empty() as connection:
        yield connection


def least_of(connection: sqlite3.Connection, *events: int) -> list[int]:
    """Return what is said of the lengths of events, in the order of their ids."""
    return [lengths.least(byte) for byte in Known().bytes_of(connection, events)]


@given(words=st.integers(0, 1 << 40))
def test_a_bound(words: int) -> None:
    """What is said of a length is not above it, and an eighth below it at most, but for very long ones."""
    with empty() as connection:
        lengths.note(connection, [Length(1, words)])
        (least,) = least_of(connection, 1)

    assert min(words, 1 << 18) * 7 // 8 <= least <= words


def test_short_ones_are_exact(connection: sqlite3.Connection) -> None:
    """Up to seven words, and at each power of two, nothing is lost."""
    exact = [*range(8), 8, 24, 56, 120, 248]
    lengths.note(connection, [Length(event, words) for event, words in enumerate(exact)])

    assert exact[1:] == least_of(connection, *range(1, len(exact)))


def test_blocks(connection: sqlite3.Connection) -> None:
    """Events at both sides of a block's end have their own lengths; of one of which nothing is known it is zero."""
    lengths.note(connection, [Length(1023, 3), Length(1024, 5)])
    lengths.note(connection, [Length(1022, 2), Length(1025, 6)])

    assert [2, 3, 5, 6] == least_of(connection, 1022, 1023, 1024, 1025)
    assert [0] == least_of(connection, 2048)


def test_nothing_is_left(connection: sqlite3.Connection) -> None:
    """What is forgotten has the length of an event without words, alone or all from an event on."""
    lengths.note(connection, [Length(event, 7) for event in (1, 2, 1030, 1031, 5000)])
    lengths.forget(connection, [2])
    lengths.cut(connection, 1031)

    assert [7, 0, 7, 0] == least_of(connection, 1, 2, 1030, 1031)
    assert [0] == least_of(connection, 5000)
    (first, second) = connection.execute("SELECT lengths FROM lengths WHERE block >= 0 ORDER BY block").fetchall()
    assert (b"\0\7" + bytes(1022), bytes(6) + b"\7" + bytes(1017)) == (first[0], second[0])


# What changes a table in which the events 1, 1030 and 5000 have seven words.
CHANGES: Sequence[Callable[[sqlite3.Connection], None]] = [
    lambda connection: lengths.note(connection, [Length(5001, 8)]),
    lambda connection: lengths.note(connection, [Length(9000, 8)]),
    lambda connection: lengths.note(connection, [Length(1030, 8)]),
    lambda connection: lengths.forget(connection, [1, 5000]),
    lambda connection: lengths.cut(connection, 1030),
]


@pytest.mark.parametrize("kept", [1, 1 << 12])
@pytest.mark.parametrize("second", CHANGES)
@pytest.mark.parametrize("first", CHANGES)
def test_what_searches_know(
    connection: sqlite3.Connection,
    monkeypatch: pytest.MonkeyPatch,
    first: Callable[[sqlite3.Connection], None],
    second: Callable[[sqlite3.Connection], None],
    kept: int,
) -> None:
    """It is what the table says, after each change of it."""
    monkeypatch.setattr(lengths, "_KEPT", kept)
    lengths.note(connection, [Length(event, 7) for event in (1, 1030, 5000)])
    known, events = Known(), (1, 1030, 5000, 5001)
    assert [7, 7, 7, 0] == [lengths.least(byte) for byte in known.bytes_of(connection, events)]
    for change in (first, second):
        change(connection)
        assert Known().bytes_of(connection, events) == known.bytes_of(connection, events)


def test_known_blocks_are_not_read_again(connection: sqlite3.Connection) -> None:
    """Only the last block is, which may have changed, and what tells whether another one has."""
    lengths.note(connection, [Length(event, 7) for event in (1, 1030, 5000)])
    known, statements = Known(), list[str]()
    first = known.bytes_of(connection, [1, 1030])
    connection.set_trace_callback(statements.append)

    assert first == known.bytes_of(connection, [1, 1030])
    assert 2 == len(statements)


def test_another_file(connection: sqlite3.Connection) -> None:
    """What is known of a table is not taken for another one, as when the index is built again."""
    known = Known()
    lengths.note(connection, [Length(1, 7), Length(5000, 7)])
    with empty() as other:
        lengths.note(other, [Length(1, 5), Length(5000, 5)])

        assert [[7], [5]] == [
            [lengths.least(byte) for byte in known.bytes_of(each, [1])] for each in (connection, other)
        ]


def test_talk(connection: sqlite3.Connection) -> None:
    """An event is known to be talk beside its length, until it is forgotten."""
    lengths.note(connection, [Length(1, 1 << 40, is_talk=True), Length(2, 5, is_talk=True), Length(3, 5)])
    lengths.forget(connection, [1])

    assert [0, 5, 5] == least_of(connection, 1, 2, 3)
    assert [False, True, False] == [lengths.is_talk(byte) for byte in Known().bytes_of(connection, [1, 2, 3])]
