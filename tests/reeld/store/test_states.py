"""States that are read from the log, sound or damaged."""

import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from msgpack import unpackb

from reel.wire.msgpack_codec import packer
from reeld.core.conversation import Conversation, Replacement
from reeld.core.events import Entry, Mark, Node
from reeld.core.milestones import Extent
from reeld.core.reading import LEAST_READ, Reader
from reeld.store import queries, states
from reeld.store.checksums import DAMAGED
from reeld.store.connection import Connection
from reeld.store.states import Skip, SqlLog
from tests.few_variables import MOST
from tests.reeld.store.making import seal
from tests.reeld.store.rows import Rows

pack = packer()

ONE = {"tool_call_id": "c1", "name": "grep", "arguments": "{}"}
TWO = {"id": "c1", "type": "function", "function": {"name": "grep", "arguments": "{}"}}
THREE = {"tool_call_id": "c1", "tool_name": "grep", "tool_args": "{}"}
RESULT = {"tool_call_id": "c1", "output": "found"}


class Walked(NamedTuple):
    """A state, and what could not be read of it."""

    nodes: list[Node]
    skipped: list[Skip]


def walk(connection: Connection, tip: int | None) -> Walked:
    """Return the state with this tip, walked from the tip to the root; the other way to read it gives the same."""
    log, again = SqlLog(connection, pack), SqlLog(connection, pack)
    nodes = [] if tip is None else [node for node, _ in log.path(tip)][::-1]
    assert nodes == list(Reader(again).whole(tip))
    assert sorted(log.skipped) == sorted(again.skipped)
    return Walked(nodes, log.skipped[::-1])


def contents(rows: Rows, tip: int | None) -> list[Any]:
    """Return the state of a tip: contents of records, labels of marks."""
    past = walk(rows.connection, tip)
    return [node.label if isinstance(node, Mark) else node.content for node in past.nodes]


@pytest.mark.parametrize("parent", [2, 3])
def test_a_walk_ends_where_a_parent_is_not_older(rows: Rows, parent: int) -> None:
    """A cycle of parents in a damaged log ends the walk."""
    rows.agent(1)
    for text in ("one", "two", "three"):
        rows.event(1, content=text)
    rows.unlock()
    rows.connection.execute("UPDATE events SET parent = ? WHERE id = 2", (parent,))
    seal(rows.connection)

    assert ["two", "three"] == contents(rows, 3)


def test_a_damaged_prompt_and_mark(rows: Rows) -> None:
    """A damaged prompt is no prompt, not even the one before it, and a damaged mark has no label."""
    rows.agent(1)
    rows.event(1, "system", "be brief")
    rows.event(1, "system", "be long")
    rows.event(1, "mark", None, '{"label": "m"}')
    rows.unlock()
    rows.connection.execute("UPDATE events SET time = 1 WHERE id > 1")
    past = walk(rows.connection, 3)
    conversation = Conversation(past.nodes)

    assert (None, [None]) == (conversation.system, [mark.label for mark in conversation.marks])
    assert [2, 3] == [skip.seq for skip in past.skipped]


@pytest.fixture
def two(rows: Rows) -> Rows:
    """The agents 1 and 2 with four messages each, and a log that can be changed."""
    for agent in (1, 2):
        rows.agent(agent)
        for text in "abcd":
            rows.event(agent, content=f"{agent}{text}")
    rows.unlock()
    return rows


@pytest.mark.parametrize(
    ("change", "expected", "reason"),
    [
        ("content = 'x'", ["2a", "2b", None, "2d"], DAMAGED),
        ("parent = 5", ["2a", "2b", None, "2d"], DAMAGED),
        ("parent = 3", ["2a", "2b", None, "2d"], DAMAGED),
        ("parent = NULL", ["2a", "2b", None, "2d"], DAMAGED),
        ("agent = 1, seq = 9", ["2a", "2b", None, "2d"], DAMAGED),
        ("parent = 5, content = 'x'", ["2a", None, "2d"], DAMAGED),
        ("parent = 3, content = 'x'", [None, "2d"], states._CUT),
        ("parent = NULL, content = 'x'", [None, "2d"], states._CUT),
    ],
)
def test_the_parent_of_a_damaged_event(two: Rows, change: str, expected: list[str | None], reason: str) -> None:
    """A parent that changed is found again; if more changed, nothing of another conversation is read."""
    two.connection.execute(f"UPDATE events SET {change} WHERE id = 7")
    past = walk(two.connection, 8)

    assert expected == [node.content for node in past.nodes if not isinstance(node, Mark)]
    assert [reason] == [skip.reason for skip in past.skipped]


@pytest.mark.parametrize(
    ("missing", "tip", "expected"),
    [
        ([7], 8, [("2a", "2b", "2d"), (3, "id")]),
        ([6, 7], 8, [("2a", "2d"), (2, "id")]),
        ([5, 6], 8, [("2c", "2d"), (3, "parent")]),
    ],
    ids=["one", "two in a row", "all that were before"],
)
def test_missing_events(two: Rows, missing: list[int], tip: int, expected: list[tuple[Any, ...]]) -> None:
    """What was said before a missing event is found again by the agent's log, and the event is noted as skipped."""
    two.connection.executemany("DELETE FROM events WHERE id = ?", [(each,) for each in missing])
    past = walk(two.connection, tip)

    found = tuple(node.content for node in past.nodes if not isinstance(node, Mark))
    assert expected == [found, *((skip.seq, skip.field) for skip in past.skipped)]


def test_a_missing_event_of_the_source(two: Rows) -> None:
    """It is found in the log of the agent that was cloned, too."""
    two.agent(3, source=2, at=4)
    two.event(3, "clone", None, parent=8)
    two.event(3, content="3f", parent=8)
    two.connection.execute("DELETE FROM events WHERE id = 8")
    past = walk(two.connection, 10)

    assert ["2a", "2b", "2c", "3f"] == [node.content for node in past.nodes if not isinstance(node, Mark)]
    assert [Skip(4, "id", "it is missing from the file")] == past.skipped


def test_a_missing_event_of_another_agent(two: Rows) -> None:
    """After a clone into an agent, nothing of the agent's own earlier conversation is taken for what is missing."""
    two.event(1, "restore", None, parent=8)
    two.event(1, content="1e", parent=8)
    two.connection.execute("DELETE FROM events WHERE id = 8")
    past = walk(two.connection, 10)

    assert ["1e"] == [node.content for node in past.nodes if not isinstance(node, Mark)]
    assert [(6, "parent")] == [(skip.seq, skip.field) for skip in past.skipped]


@pytest.mark.slow
def test_many_parents_that_changed(rows: Rows) -> None:
    """However many parents have changed, each is found again: more than Python calls may be nested."""
    many = sys.getrecursionlimit() + 100
    rows.agent(1)
    for _ in range(many):
        rows.event(1)
    rows.unlock()
    rows.connection.execute("UPDATE events SET parent = 1")

    assert many == len(walk(rows.connection, many).nodes)


@pytest.mark.file
def test_an_index_with_an_event_of_another_agent(two: Rows, path: str) -> None:
    """If the index says that an event is an agent's and the table does not, that agent cannot be read."""
    two.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    file, entry = Path(path), b"\x04\x01\x01\x01" + bytes([2, 4])  # types, agent and seq; then the id
    file.write_bytes(file.read_bytes().replace(entry + b"\x08", entry + b"\x04"))
    with (
        closing(sqlite3.connect(path)) as connection,
        pytest.raises(sqlite3.DatabaseError, match="the index has an event of the agent 1 among those of the agent 2"),
    ):
        states.sound_tip_of(connection, 2, pack)


def test_a_damaged_event_that_is_no_node(two: Rows) -> None:
    """An agent's last event is listed if it is damaged, although the conversation has no place for it."""
    two.event(2, "rewind", None, '{"target":6}', parent=6)
    two.connection.execute("UPDATE events SET time = 0 WHERE id = 9")
    tip, skipped = states.sound_tip_of(two.connection, 2, pack)

    assert ["2a", "2b"] == [node.content for node in walk(two.connection, tip).nodes if not isinstance(node, Mark)]
    assert [Skip(5, "checksum", DAMAGED)] == skipped


def test_a_walk_goes_by_parents_alone(rows: Rows) -> None:
    """The walk skips what was rewound, cleared or belongs to other agents; marks are included, with their labels."""
    rows.agent(1)
    rows.event(1, content="one")
    mark = rows.event(1, "mark", None, '{"label": "m"}')
    rows.event(1, content="gone")
    rows.event(1, "rewind", None, '{"target": 2}', parent=mark)
    rows.agent(2, source=1, at=4)
    rows.event(2, "clone", None, parent=mark)
    tip = rows.event(2, content="two")

    assert ["one", "m", "two"] == contents(rows, tip)
    assert ["one", "m"] == contents(rows, mark)
    assert [] == contents(rows, None)


@pytest.mark.parametrize("data", [ONE, TWO, THREE], ids=["neutral", "function", "tool_name"])
def test_every_shape_of_a_call_is_read(rows: Rows, data: dict[str, Any]) -> None:
    """A call is one message in every stored shape, and is open until its result."""
    rows.agent(1)
    tip = rows.event(1, "tool_call", None, json.dumps(data))
    past = walk(rows.connection, tip)

    assert [] == past.skipped
    assert [("c1", "grep", 1)] == [(call.id, call.name, call.seq) for call in Conversation(past.nodes).open_calls]


@pytest.mark.parametrize("kind", ["tool", "tool_result"])
def test_a_legacy_result_closes_its_call(rows: Rows, kind: str) -> None:
    """The older kind of result is read as the current one; without a success it is an error."""
    rows.agent(1)
    rows.event(1, "tool_call", None, json.dumps(ONE))
    tip = rows.event(1, kind, None, json.dumps(RESULT))
    past = walk(rows.connection, tip)
    (entry,) = [node for node in past.nodes if isinstance(node, Entry) and node.kind == kind]
    message = unpackb(entry.message or b"")

    assert ("tool", True) == (message["role"], message["content"][0]["is_error"])
    assert [] == list(Conversation(past.nodes).open_calls)


BAD_ROWS = [
    ("user", None, None, "content"),
    ("assistant", None, None, "content"),
    ("user", "hi", "not json", "data_json"),
    ("assistant", "hi", "[1]", "data_json"),
    ("assistant", "hi", '{"a": NaN}', "data_json"),
    ("user", "hi", '{"a":' * 11 + "1" + "}" * 11, "data_json"),
    ("user", "hi", "[" * 100_000, "data_json"),
    ("tool_call", "f()", None, "data_json"),
    ("tool_call", "f()", "", "data_json"),
    ("tool_call", None, '{"tool_call_id": "c"}', "data_json.name"),
    ("tool_call", None, '{"tool_call_id": 5, "name": "f", "arguments": ""}', "data_json.tool_call_id"),
    ("tool_call", None, '{"id": "c", "function": "f"}', "data_json.function"),
    ("tool_result", None, '{"tool_call_id": "c"}', "data_json.output"),
    ("tool", None, '{"output": "x"}', "data_json.tool_call_id"),
    ("user", "hi", '{"blocks": []}', "data_json.blocks"),
]


@pytest.mark.parametrize(("kind", "content", "data_json", "field"), BAD_ROWS, ids=lambda value: str(value)[:20])
def test_a_bad_row_is_tolerated(rows: Rows, kind: str, content: str | None, data_json: str | None, field: str) -> None:
    """A row that is not a valid message stays a record, verbatim, and is listed with its field."""
    rows.agent(1)
    rows.event(1, content="before")
    rows.event(1, kind, content, data_json)
    tip = rows.event(1, content="after")
    past = walk(rows.connection, tip)
    entry = past.nodes[1]

    assert [(2, field)] == [(skip.seq, skip.field) for skip in past.skipped]
    assert isinstance(entry, Entry)
    assert (kind, content, data_json, None) == (entry.kind, entry.content, entry.data_json, entry.message)
    assert (3, 2) == (len(Conversation(past.nodes).entries), Conversation(past.nodes).message_count)


@pytest.mark.parametrize("kind", ["clear", "rewind", "agent_killed", "fork", "usage", "changed", "restore"])
def test_what_is_no_node_is_never_met(rows: Rows, kind: str) -> None:
    """State and inert events without content are skipped, and are not records."""
    rows.agent(1)
    first = rows.event(1, content="one")
    rows.event(1, kind, None, None, parent=first)
    tip = rows.event(1, content="two", parent=first)

    assert ["one", "two"] == contents(rows, tip)
    assert [] == queries.unknown_kinds(rows.connection, 1, 99)


@pytest.mark.file
def test_a_long_past_that_two_branches_share(rows: Rows) -> None:
    """A state takes over another one, whatever the number of nodes before both, also if no milestone sums them up."""
    rows.agent(1)
    calls = [{"type": "tool_call", "id": f"c{number}", "name": "f", "arguments": "{}"} for number in range(257)]
    rows.event(1, "assistant", "", json.dumps({"blocks": calls}))
    trunk = [rows.event(1) for _ in range(MOST)][-1]
    left = [rows.event(1) for _ in range(2 * LEAST_READ)][-1]
    right = rows.event(1, parent=trunk)
    reader = Reader(SqlLog(rows.connection, pack))

    past = reader.takeover(left, reader.state(right)[0])

    assert isinstance(past, Replacement)
    assert Extent(MOST + 1, MOST + 1) == past.kept


@pytest.mark.file
@pytest.mark.parametrize("least", [1, 7, 10])
def test_a_long_past_is_followed_by_several_queries(rows: Rows, monkeypatch: pytest.MonkeyPatch, least: int) -> None:
    """No query is open for more than so many nodes: commits wait for one as soon as the WAL is large."""
    monkeypatch.setattr(states, "_FOLLOWED", least)
    rows.agent(1)
    ids = [rows.event(1) for _ in range(30)]
    queried: list[str] = []
    rows.connection.set_trace_callback(queried.append)  # type: ignore[attr-defined]  # it is SQLite's

    found = list(SqlLog(rows.connection, pack).ids(ids[-1]))

    rows.connection.set_trace_callback(None)  # type: ignore[attr-defined]  # as above
    assert ids[::-1] == found
    assert -(-30 // least) == len(queried)
