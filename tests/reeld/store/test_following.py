"""Reading the log forward, in sound logs and in others."""

from typing import Any

import pytest
from msgpack import unpackb

from reel.wire.msgpack_codec import packer
from reeld.store import history, positions
from reeld.store.history import Logged
from tests.reeld.store.rows import Rows

pack = packer()


def after(rows: Rows, row: int | None, place: int, limit: int = 99, max_bytes: int = 9999) -> list[Logged]:
    """Return the events after a position."""
    return history.after(rows.connection, row, place, limit, max_bytes, pack)


@pytest.fixture
def two(rows: Rows) -> Rows:
    """Two agents whose events alternate."""
    rows.agent(1)
    rows.agent(2, source=1, at=2)
    for _ in range(3):
        rows.event(1)
        rows.event(2)
    return rows


@pytest.mark.parametrize(
    ("row", "place", "found"),
    [
        (1, 0, [(1, 1, 1), (1, 2, 3), (1, 3, 5)]),
        (1, 2, [(1, 3, 5)]),
        (1, 3, []),
        (1, 99, []),
        (2, 0, [(2, 3, 2), (2, 4, 4), (2, 5, 6)]),
        (None, 3, [(2, 4, 4), (1, 3, 5), (2, 5, 6)]),
        (None, 6, []),
        (7, 0, []),
    ],
)
def test_what_is_later(two: Rows, row: int | None, place: int, found: list[tuple[int, int, int]]) -> None:
    """Events of one agent come by seq, events of all agents by id."""
    assert found == [(each.profile.row, each.event.seq, each.event_id) for each in after(two, row, place)]


@pytest.mark.parametrize(("limit", "max_bytes", "count"), [(1, 99, 1), (2, 99, 2), (9, 4, 2), (9, 5, 2), (9, 0, 1)])
def test_a_page_has_its_limits(two: Rows, limit: int, max_bytes: int, count: int) -> None:
    """A page has a limit of events and of characters of text, and at least one event."""
    assert count == len(after(two, 1, 0, limit, max_bytes))


def test_an_event_with_its_message_and_tools(rows: Rows) -> None:
    """A conversation event has its message and its tool calls; a mark and a state event have none."""
    rows.agent(1)
    rows.event(1, "created", None)
    rows.event(1, "system", "be brief")
    rows.event(1, "tool_call", None, '{"tool_call_id":"c","name":"n","arguments":""}')
    rows.event(1, "mark", None, '{"label":"x"}')
    events = [each.event for each in after(rows, 1, 0)]

    assert [None, None, "assistant", None] == [event.message and unpackb(event.message)["role"] for event in events]
    assert events[2].tools is not None
    assert (("c", "n"),) == events[2].tools.calls


@pytest.mark.parametrize(
    ("kind", "content", "data_json"),
    [("user", None, None), ("tool_call", "x", "no json"), ("gossip", "x", None), ("fork", None, None)],
)
def test_rows_that_mean_nothing(rows: Rows, kind: str, content: Any, data_json: Any) -> None:
    """A row that is not a valid message is an event without one."""
    rows.agent(1)
    rows.event(1, kind, content, data_json)
    (found,) = after(rows, 1, 0)

    assert (kind, content, data_json, None, None) == (
        found.event.kind,
        found.event.content,
        found.event.data_json,
        found.event.message,
        found.event.tools,
    )


def test_the_newest_node_before(rows: Rows) -> None:
    """The newest node of the state before an event; none before a clone's first event."""
    rows.agent(1)
    first = rows.event(1)
    mark = rows.event(1, "mark", None)
    rows.event(1, "note")
    rows.event(1)
    rows.event(1, "rewind", None, "{}", parent=mark)
    rows.event(1, "clear", None, parent=None)
    rows.event(1)
    rows.agent(2, source=1, at=1)
    rows.event(2, "clone", None, parent=first)
    rows.event(2)
    tips = [positions.tip_before(rows.connection, 1, seq) for seq in range(1, 8)]

    assert [None, first, mark, mark, first + 3, mark, None] == tips
    assert [None, first] == [positions.tip_before(rows.connection, 2, seq) for seq in (2, 3)]
