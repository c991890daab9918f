"""Positions in the past of an agent: where a command ends, below the first seq, in a long log, in a damaged one."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from reeld.store import queries
from reeld.store.connection import DatabaseError
from reeld.store.positions import Position, position, tip_of
from reeld.store.schema import prepare
from tests.empty_database import empty_database
from tests.reeld.store.rows import Rows


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (0, Position(0, None)),
        (1, Position(1, None)),
        (2, Position(4, 4)),
        (3, Position(4, 4)),
        (4, Position(4, 4)),
        (5, Position(5, 4)),
        (6, Position(7, 7)),
        (7, Position(7, 7)),
        (9, Position(7, 7)),
    ],
)
def test_a_position_inside_a_command_means_its_end(rows: Rows, at: int, expected: Position) -> None:
    """Before the first event is position 0; after the last event is the last one."""
    rows.agent(1)
    rows.event(1, "created", None)
    for _ in range(3):
        rows.event(1, command=2)
    rows.event(1, "note")
    rows.event(1, "clear", None, command=6, parent=None)
    rows.event(1, "system", "be brief", command=6, parent=None)

    assert expected == position(rows.connection, 1, at)


@pytest.mark.parametrize(("at", "expected"), [(1, (1, None)), (2, (2, 2)), (3, (3, 3)), (4, (4, 2)), (5, (5, 5))])
def test_a_position_below_the_first_own_seq_is_the_sources(
    rows: Rows, at: int, expected: tuple[int, int | None]
) -> None:
    """Positions in a clone's past are its source's, up to the seq it was cloned at, through every generation."""
    rows.agent(1)
    rows.event(1, "created", None)
    tip = rows.event(1)
    rows.event(1)
    rows.agent(2, source=1, at=3)
    rows.event(2, "clone", None, parent=tip)
    rows.agent(3, source=2, at=4)
    rows.event(3, parent=tip)

    assert expected == position(rows.connection, 3, at)


def steps_of(connection: Any, question: Callable[[], Any]) -> int:
    """Return how many steps SQLite takes to answer a question."""
    steps: list[int] = []
    connection.set_progress_handler(lambda: steps.append(1), 1)
    question()
    connection.set_progress_handler(None, 1)
    return len(steps)


@pytest.mark.file
def test_a_long_log_costs_no_more(rows: Rows) -> None:
    """Neither a position in a command of many events nor what undo takes back is found by reading them all."""
    rows.agent(1)
    rows.event(1, "created", None)
    for _ in range(1000):
        rows.event(1, command=2)
    rows.event(1)

    assert Position(1001, 1001) == position(rows.connection, 1, 2)
    assert 2000 > steps_of(rows.connection, lambda: position(rows.connection, 1, 2))
    assert 1000 > steps_of(rows.connection, lambda: queries.undo_target(rows.connection, 1, 1002))


@pytest.mark.parametrize(("kind", "expected"), [("user", 2), ("mark", 2), ("note", 1), ("brand_new", 1)])
def test_the_tip(rows: Rows, kind: str, expected: int) -> None:
    """The tip after a node is the node, after any other event its parent, also if the kind is unknown."""
    rows.agent(1)
    assert None is tip_of(rows.connection, 1)

    rows.event(1)
    rows.event(1, kind)

    assert expected == tip_of(rows.connection, 1)


def test_a_position_that_is_erased_while_it_is_sought(tmp_path: Path) -> None:
    """An agent whose events are erased between two queries for a position cannot be read; that is no bug."""
    path = empty_database(f"{tmp_path}/reel.db")
    with (
        closing(sqlite3.connect(path, isolation_level=None)) as connection,
        closing(sqlite3.connect(path, isolation_level=None)) as other,
    ):
        prepare(connection, path)
        rows = Rows(connection)
        rows.agent(1)
        rows.event(1)
        other.execute("DROP TRIGGER events_are_never_deleted")

        def erase(statement: str) -> None:
            if "search" in statement:
                other.execute("DELETE FROM events")

        connection.set_trace_callback(erase)
        with pytest.raises(DatabaseError, match="events were erased while they were read; repeat the call"):
            position(connection, 1, 1)


def test_a_search_ends_where_a_source_is_not_older(rows: Rows) -> None:
    """With a cycle of sources in a damaged list of agents, a position before the logs is the empty one."""
    rows.agent(1)
    rows.agent(2, source=1, at=5)
    rows.event(2)
    rows.connection.execute("UPDATE agents SET source = 2, source_at = 0 WHERE id = 1")

    assert Position(0, None) == position(rows.connection, 2, 0)
