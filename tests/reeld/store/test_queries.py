"""Queries about agents and their commands."""

import sqlite3
from contextlib import closing

import pytest

from reeld.store import queries
from reeld.store.states import Skip
from tests.reeld.store.rows import Rows
from tests.reeld.verify.damage import lose_from_index

# --- agents


@pytest.mark.parametrize(
    ("address", "expected"),
    [("same", 3), (f"{1:032x}", 1), ("other", 5), ("nobody", None), ("SAME", None), ("", None)],
)
def test_who_an_address_means(rows: Rows, address: str, expected: int | None) -> None:
    """A live agent's name comes first, then an id, then the dead one with the newest event, whatever the clock said."""
    rows.agent(1, "same", killed=50)
    rows.agent(2, "same", killed=60)
    rows.agent(3, "same")
    rows.agent(4, "other", killed=60)
    rows.agent(5, "other", killed=65)
    rows.agent(6, "other", killed=70)
    for row in (6, 6, 4, 5):
        rows.event(row)
    found = queries.find(rows.connection, address)

    assert expected == (None if found is None else found.row)


@pytest.mark.file
def test_an_index_that_leads_to_another_agent(rows: Rows, path: str) -> None:
    """If an index names an agent that has neither this name nor this id, nothing is read of that agent."""
    rows.agent(1, "one")
    lose_from_index(path, "agents_by_living_name", "UPDATE agents SET name = 'another' WHERE id = 1")
    with (
        closing(sqlite3.connect(path)) as connection,
        pytest.raises(sqlite3.DatabaseError, match="an index of the agents leads from one to another agent"),
    ):
        queries.find(connection, "one")


def test_a_profile_is_read_as_it_was_written(rows: Rows) -> None:
    """A clone's profile names its source by row and by id."""
    rows.agent(1)
    rows.agent(2, "clone", source=1, at=4)
    profile = queries.profile_of(rows.connection, 2)

    assert (2, "clone", {}, (1, f"{1:032x}", 4), True) == (
        profile.row, profile.name, profile.tags, profile.source, profile.alive
    )  # fmt: skip


def test_descendants_through_dead_agents(rows: Rows) -> None:
    """Clones of clones are found through dead ones; the agent itself is not among them."""
    rows.agent(1)
    rows.agent(2, source=1, killed=9)
    rows.agent(3, source=2)
    rows.agent(4, source=3)
    rows.agent(5)

    assert {2: False, 3: True, 4: True} == queries.descendants(rows.connection, 1)
    assert {} == queries.descendants(rows.connection, 5)


def test_totals_of_the_database(rows: Rows) -> None:
    """Agents are counted, and the newest event's id is returned."""
    assert {"newest_event": 0, "agents": 0, "living_agents": 0} == queries.totals(rows.connection)

    rows.agent(1, killed=5)
    rows.agent(2)
    rows.event(2)

    assert {"newest_event": 1, "agents": 2, "living_agents": 1} == queries.totals(rows.connection)


# --- unknown kinds


def test_unknown_kinds_are_listed(rows: Rows) -> None:
    """Invalid events are found up to a seq, and only this agent's."""
    rows.agent(1)
    rows.agent(2)
    for kind in ("user", "brand_new", "note", "newer", "newest"):
        rows.event(1, kind)
    rows.event(2, "brand_new")

    assert [
        Skip(2, "kind", "the kind 'brand_new' is unknown"),
        Skip(4, "kind", "the kind 'newer' is unknown"),
    ] == queries.unknown_kinds(rows.connection, 1, 4)


@pytest.mark.file
def test_unknown_kinds_are_found_by_their_index(rows: Rows) -> None:
    """Looking for invalid events does not read the whole log."""
    statements: list[str] = []
    assert isinstance(rows.connection, sqlite3.Connection)
    rows.connection.set_trace_callback(statements.append)
    queries.unknown_kinds(rows.connection, 1, 99)
    rows.connection.set_trace_callback(None)
    plan = rows.connection.execute(f"EXPLAIN QUERY PLAN {statements[0]}").fetchall()

    assert "SEARCH events USING INDEX events_of_unknown_kind (agent=? AND seq<?)" == plan[0][3]


# --- undo


def test_nobody_has_nothing_to_undo(rows: Rows) -> None:
    """An agent without events has no command."""
    rows.agent(1)

    assert (None, None) == (
        queries.undo_target(rows.connection, 1, 0),
        queries.redo_target(rows.connection, 1, 0),
    )


def test_a_log_that_begins_with_a_message(rows: Rows) -> None:
    """If an older log does not say how its agent was made, its first command can be undone too."""
    rows.agent(1)
    rows.event(1)

    assert 1 == queries.undo_target(rows.connection, 1, 1)


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        (["created"], None),
        (["created", "system"], None),
        (["created", "user"], 1),
        (["created", "system", "user"], 1),
        (["clone"], None),
    ],
)
def test_the_first_state(rows: Rows, kinds: list[str], expected: int | None) -> None:
    """A prompt that came with create belongs to it; messages that made the agent can be undone."""
    rows.agent(1)
    for kind in kinds:
        rows.event(1, kind, command=1)

    assert expected == queries.undo_target(rows.connection, 1, 9)


@pytest.mark.parametrize(
    ("kind", "counts"),
    [("mark", True), ("rewind", True), ("clear", True), ("clone", True), ("tool", True), ("restore", True)]
    + [(kind, False) for kind in ("note", "usage", "changed", "agent_killed", "revived", "fork", "brand_new")],
)
def test_which_kinds_count(rows: Rows, kind: str, counts: bool) -> None:
    """Only events that change a conversation are undoable commands."""
    rows.agent(1)
    rows.event(1, "created", None)
    rows.event(1)
    rows.event(1, kind, None, '{"to": 1}')

    assert (3 if counts else 2) == queries.undo_target(rows.connection, 1, 3)
