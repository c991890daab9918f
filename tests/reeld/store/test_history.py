"""Pages of an agent's history, with what it inherited and without."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgpack import unpackb

from reel import requests
from reel.base.errors import NotFound
from reel.replies import HistoriesPage
from reel.requests import Call, next_page
from reel.wire.msgpack_codec import packer
from reeld.protocol.params import Histories, History
from reeld.store import history
from reeld.store.connection import Texts
from reeld.store.schema import MIGRATIONS, migrate
from tests.reeld.store.rows import Rows

pack = packer()


def page(rows: Rows, row: int = 1, head: int = 999, **more: Any) -> tuple[list[int], bool]:
    """Return the seqs of a page of history."""
    found = history.history(rows.connection, row, head, History(**{"limit": 99, "max_bytes": 9999, **more}), pack)
    return [unpackb(event)["seq"] for event in found.items], found.more


def test_an_event_on_the_wire(rows: Rows) -> None:
    """An event is returned with all its fields; its parent is named by agent and seq."""
    rows.agent(1)
    parent = rows.event(1)
    rows.agent(2, source=1, at=1)
    rows.event(2, "clone", None, '{"from": "x", "at": 1}', parent=parent)
    found = history.history(rows.connection, 2, 9, History(), pack)

    assert [
        {
            "id": 2, "agent": f"{2:032x}", "seq": 2, "command": 2, "kind": "clone", "content": None,
            "data_json": '{"from": "x", "at": 1}', "parent": {"agent": f"{1:032x}", "seq": 1}, "time": 1002,
            "client": None,
        }
    ] == [unpackb(event) for event in found.items]  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, ([1, 2, 3, 4], False)),
        ({"since": 2}, ([3, 4], False)),
        ({"since": 9}, ([], False)),
        ({"head": 3}, ([1, 2, 3], False)),
        ({"limit": 2}, ([1, 2], True)),
        ({"limit": 4}, ([1, 2, 3, 4], False)),
        ({"kinds": ["note", "clear"]}, ([2, 4], False)),
        ({"kinds": []}, ([], False)),
        ({"kinds": ["user"], "limit": 1}, ([1], True)),
        ({"max_bytes": 1}, ([1], True)),
        ({"max_bytes": 290}, ([1, 2], True)),
    ],
)
def test_pages_of_history(rows: Rows, asked: dict[str, Any], expected: tuple[list[int], bool]) -> None:
    """A page ends at its limit of events or bytes, and has at least one event."""
    rows.agent(1)
    for kind in ("user", "note", "user", "clear"):
        rows.event(1, kind)

    assert expected == page(rows, **asked)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, ([1, 2, 3, 4, 5], False)),
        ({"limit": 3}, ([1, 2, 3], True)),
        ({"since": 3}, ([4, 5], False)),
        ({"limit": 1, "since": 2}, ([3], True)),
    ],
)
def test_history_with_the_sources_past(rows: Rows, asked: dict[str, Any], expected: tuple[list[int], bool]) -> None:
    """The source's events come first, up to the seq it was cloned at, and its own source's before."""
    rows.agent(1)
    for _ in range(4):
        rows.event(1)
    rows.agent(2, source=1, at=2)
    for _ in range(3):
        rows.event(2)
    rows.agent(3, source=2, at=3)
    rows.event(3)
    rows.event(3)

    assert expected == page(rows, 3, inherited=True, **asked)
    assert ([4, 5], False) == page(rows, 3)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"refs": ["a", "c", "x"]}, ([4], False)),
        ({"refs": ["a", "c"], "inherited": True}, ([2, 4], False)),
        ({"refs": ["a", "c"], "inherited": True, "limit": 1}, ([2], True)),
        ({"refs": ["a", "c"], "inherited": True, "since": 2}, ([4], False)),
        ({"refs": ["b"], "inherited": True}, ([], False)),
        ({"refs": ["a", "c"], "inherited": True, "kinds": ["mark"]}, ([], False)),
        ({"refs": []}, ([], False)),
    ],
)
def test_history_by_references(rows: Rows, asked: dict[str, Any], expected: tuple[list[int], bool]) -> None:
    """Only the events with one of some references are read, in the order of their seqs, and found by an index."""
    rows.agent(1)
    for ref in (None, "a", "b"):
        rows.event(1, ref=ref)
    rows.agent(2, source=1, at=2)
    rows.event(2)
    rows.event(2, ref="c")

    assert expected == page(rows, 2, **asked)
    assert {"a": 2, "c": 4} == history.known(rows.connection, 2, ["a", "b", "c"])


def test_history_ends_where_a_source_is_not_older(rows: Rows) -> None:
    """With a cycle of sources in a damaged list of agents, the inherited past is that of the agents in it, once."""
    rows.agent(1)
    rows.agent(2, source=1, at=5)
    rows.event(1)
    rows.event(2)
    rows.connection.execute("UPDATE agents SET source = 2, source_at = 0 WHERE id = 1")

    assert ([1, 6], False) == page(rows, 2, inherited=True)


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 99), st.integers(1, 3)), max_size=5), st.integers(1, 4))
def test_inherited_history_is_the_past(clones: list[tuple[int, int, int]], limit: int) -> None:
    """Whatever was cloned wherever: an agent's history is what its source's was there, and its own, on any pages."""
    pasts = [[(1, seq) for seq in (1, 2, 3)]]
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, MIGRATIONS)
        rows = Rows(connection)
        fill(rows, rows.agent(1), 3)
        for number, place, own in clones:
            source = pasts[number % len(pasts)]
            at = place % (source[-1][1] + 1)
            row = rows.agent(len(pasts) + 1, source=number % len(pasts) + 1, at=at)
            fill(rows, row, own)
            shared = [event for event in source if event[1] <= at]
            pasts.append([*shared, *((row, at + count) for count in range(1, own + 1))])

        for row, past in enumerate(pasts, 1):
            assert past == list(pages(rows, row, limit))


def fill(rows: Rows, row: int, events: int) -> None:
    """Put events into an agent's log."""
    for _ in range(events):
        rows.event(row)


def pages(rows: Rows, row: int, limit: int) -> Iterator[tuple[int, int]]:
    """The agents and seqs of an inherited history, page by page."""
    since, more = 0, True
    while more:
        found = history.history(rows.connection, row, 99, History(since, limit, inherited=True), pack)
        for event in map(unpackb, found.items):
            yield int(event["agent"], 16), event["seq"]
            since = event["seq"]
        more = found.more


@pytest.mark.file
def test_an_index_has_references(rows: Rows) -> None:
    """The events with some references are found by an index."""
    (plan, *_) = rows.connection.execute(
        f"EXPLAIN QUERY PLAN {history._SHOWN} {history._BY_REF}", (1, 0, 9, Texts(["a"]))
    ).fetchall()

    assert "events_by_ref (agent=? AND ref=?)" in plan[3]


@pytest.mark.parametrize("inherited", [False, True])
def test_an_agent_that_is_gone(rows: Rows, inherited: bool) -> None:
    """The history of an agent that was purged, or that the server has lost, is not found."""
    with pytest.raises(NotFound, match="the agent is no longer in the database"):
        page(rows, inherited=inherited)


@given(
    lengths=st.lists(st.integers(0, 4), min_size=1, max_size=4),
    order=st.permutations([1, 2, 3, 4, 9]),
    limit=st.integers(1, 5),
)
def test_pages_of_several_logs(lengths: list[int], order: list[int], limit: int) -> None:
    """The pages that the client asks for have each event of each agent once, in the order in which they were named."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, MIGRATIONS)
        rows = Rows(connection)
        for row, length in enumerate(lengths, 1):
            rows.agent(row)
            for _ in range(length):
                rows.event(row, "usage")
                rows.event(row)
        found: list[tuple[int, int]] = []
        call: Call[HistoriesPage] | None = requests.histories(
            [f"{row:032x}" for row in order], limit=limit, kinds=["usage"]
        )
        while call is not None:
            asked = Histories(**call.params)
            page = history.histories(connection, asked, pack)
            reply = HistoriesPage([unpackb(event) for event in page.items], page.more)
            found += [(int(event["agent"], 16), event["seq"]) for event in reply.events]
            call = next_page(call, reply)

    expected = [(row, 2 * number + 1) for row in order if row <= len(lengths) for number in range(lengths[row - 1])]
    assert expected == found


def test_logs_of_agents_that_are_there(rows: Rows) -> None:
    """An id that nobody has, and that of an agent that was purged, are skipped; an inherited event is not repeated."""
    rows.agent(1)
    rows.event(1)
    rows.agent(2, source=1, at=1)
    rows.event(2)
    rows.agent(3)
    rows.event(3)
    rows.connection.execute("UPDATE agents SET name = '' WHERE id = 3")
    found = history.histories(rows.connection, Histories([f"{row:032x}" for row in (3, 2, 9, 1)]), pack)

    assert ([(2, 2), (1, 1)], False) == (
        [(int(event["agent"], 16), event["seq"]) for event in map(unpackb, found.items)],
        found.more,
    )
