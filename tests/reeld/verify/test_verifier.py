"""A check of the database finds and names each kind of damage, and finds nothing in a sound one."""

import random
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from functools import cache
from pathlib import Path
from typing import Any

import anyio
import pytest

from reeld.core.conversation import Conversation
from reeld.core.milestones import STEP
from reeld.store.checksums import COLUMNS
from reeld.store.store import Store, open_store
from reeld.verify import logs, sqlite
from reeld.verify.rows import LISTED, Report
from reeld.verify.verifier import Verifier, open_verifier
from tests.daemon import short_directory
from tests.empty_database import empty_database
from tests.patience import PATIENCE
from tests.reeld.store.making import event as made_event
from tests.reeld.store.making import made, query, seal, spoil, write
from tests.reeld.verify.damage import damage, lose_from_index

pytestmark = pytest.mark.slow

_INSERT = f"INSERT INTO events ({', '.join(COLUMNS)}, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL, ?, -1)"
_ERASURE = (
    "INSERT INTO erasures (method, agent, time, events, newest, state, backups, checksum)"
    " VALUES ('purge', 'a', 1, 1, 1, '{}', '[]', {})"
)
# A conversation with everything in it: the seqs of the agent alice are 1 to 18.
_ALICE = (
    # seq, command, kind, content, data_json, parent (as a seq of hers)
    (1, 1, "created", None, '{"name":"alice","title":"A","tags":{"a":"b"}}', None),
    (2, 1, "system", "be brief", None, None),
    (3, 3, "user", "hi", None, 2),
    (4, 3, "assistant", "hello", None, 3),
    (5, 5, "mark", None, '{"label":"one"}', 4),
    (6, 6, "tool_call", None, '{"tool_call_id":"c","name":"n","arguments":"{}"}', 5),
    (7, 7, "tool_result", None, '{"tool_call_id":"c","output":"out","success":true}', 6),
    (8, 8, "rewind", None, '{"label":"one","target":5}', 5),
    (9, 9, "usage", None, '{"input":1}', 5),
    (10, 10, "user", "again", None, 5),
    (11, 11, "restore", None, '{"to":9,"undoes":10}', 5),
    (12, 12, "restore", None, '{"to":10,"redoes":10}', 10),
    (13, 13, "clear", None, None, None),
    (14, 13, "system", "be brief", None, None),
    (15, 15, "restore", None, '{"to":4}', 4),
    (16, 16, "changed", None, '{"title":"B"}', 4),
    (17, 17, "agent_killed", None, '{"reason":"done"}', 4),
    (18, 18, "revived", None, None, 4),
)
_TWIN = (
    (11, 11, "clone", None, '{"from":"%s","at":10}', 10),
    (12, 12, "note", None, None, 10),
)


def fill(path: str) -> None:
    """Write alice (1), her clone (2) and bob (3), who is dead."""
    uids = {row: f"{row:032x}" for row in (1, 2, 3)}
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        agents = "INSERT INTO agents VALUES (?, ?, ?, ?, ?, ?, ?, 1, 1, ?, ?)"
        connection.execute(agents, (1, uids[1], "alice", "B", '{"a":"b"}', None, None, None, 18))
        connection.execute(agents, (2, uids[2], "twin", "A", '{"a":"b"}', 1, 10, None, 12))
        connection.execute(agents, (3, uids[3], "bob", None, "{}", None, None, 22, 3))
        ids: dict[int, int] = {}
        for seq, command, kind, content, data, parent in _ALICE:
            ids[seq] = len(ids) + 1
            values = (ids[seq], 1, seq, command, kind, content, data, ids.get(parent or 0), seq)
            connection.execute(_INSERT, values)
        for event_id, (seq, command, kind, content, data, parent) in enumerate(_TWIN, 19):
            text = data and data % uids[1]
            values = (event_id, 2, seq, command, kind, content, text, ids[parent], seq)
            connection.execute(_INSERT, values)
        bob = ((21, 1, "created", '{"name":"bob"}'), (22, 2, "user", None), (23, 3, "agent_killed", None))
        for event_id, seq, kind, data in bob:
            parent = 22 if seq == 3 else None
            content = "hi" if kind == "user" else None
            values = (event_id, 3, seq, seq, kind, content, data, parent, 22)
            connection.execute(_INSERT, values)
        seal(connection)
        reply = b"\x81\xa7command\x03"
        connection.execute("INSERT INTO keys VALUES (1, 'k', 1, 3, zeroblob(16), ?, 'alice', 1, NULL)", (reply,))


@cache
def _content() -> bytes:
    """Return the content of a file with a few agents, which is made once."""
    with short_directory() as directory:
        fill(empty_database(directory / "reel.db"))
        return (directory / "reel.db").read_bytes()


@pytest.fixture
def filled(path: str) -> str:
    """The file of a database with a few agents, which nobody has open."""
    Path(path).write_bytes(_content())
    return path


@asynccontextmanager
async def verifying(path: str) -> AsyncIterator[tuple[Store, Verifier]]:
    """Open a database to check it; each use has a time limit."""
    with anyio.fail_after(PATIENCE):
        async with open_store(path) as store, open_verifier(store) as verifier:
            yield store, verifier


async def check(path: str, row: int | None = None) -> Report:
    """Check a file."""
    async with verifying(path) as (_, verifier):
        if row is None:
            await verifier.check_file()
        await verifier.check_logs(row)
        return verifier.report


def found(report: Report) -> list[tuple[Any, ...]]:
    """Return the problems and their places."""
    return [(found.problem.what, found.name, found.problem.seq) for found in report.listed]


def event(agent: int, seq: int, change: str) -> str:
    """Return a statement that changes an event."""
    return f"UPDATE events SET {change} WHERE agent = {agent} AND seq = {seq}"


async def test_a_sound_database_has_no_problems(filled: str) -> None:
    """A sound database has no problems, and everything was checked."""
    report = await check(filled)

    assert ([], 0, 3, 23) == (report.listed, report.omitted, report.agents, report.events)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        # the list of agents
        ("UPDATE agents SET uid = 'x' WHERE id = 3", ("id", "bob", None)),
        ("UPDATE agents SET name = '.bob' WHERE id = 3", ("name", ".bob", None)),
        (f"UPDATE agents SET name = '{'a' * 32}' WHERE id = 3", ("name", "a" * 32, None)),
        ("UPDATE agents SET name = 'rob' WHERE id = 3", ("name", "rob", None)),
        ("UPDATE agents SET tags = '[]' WHERE id = 3", ("tags", "bob", None)),
        ("UPDATE agents SET tags = '{\"a\":1}' WHERE id = 1", ("tags", "alice", None)),
        ("UPDATE agents SET title = 'other' WHERE id = 1", ("title", "alice", None)),
        ("UPDATE agents SET killed = 5 WHERE id = 1", ("killed", "alice", None)),
        ("UPDATE agents SET killed = NULL WHERE id = 3", ("killed", "bob", None)),
        ("UPDATE agents SET head = 17 WHERE id = 1", ("head", "alice", None)),
        ("UPDATE agents SET head = 99 WHERE id = 1", ("head", "alice", None)),
        ("DELETE FROM events WHERE agent = 3", ("head", "bob", None)),
        ("UPDATE agents SET source_at = NULL WHERE id = 2", ("source", "twin", None)),
        ("UPDATE agents SET source_at = 99 WHERE id = 2", ("source", "twin", None)),
        ("UPDATE agents SET source = 2 WHERE id = 2", ("source", "twin", None)),
        ("UPDATE agents SET source = 99 WHERE id = 2", ("source", "twin", None)),
        ("UPDATE agents SET source = 3, source_at = 3 WHERE id = 2", ("first", "twin", 11)),
        # order
        (event(1, 3, "id = 99"), ("order", "alice", 4)),
        ("DELETE FROM events WHERE agent = 1 AND seq = 9", ("gap", "alice", 10)),
        ("DELETE FROM events WHERE agent = 1 AND seq = 1", ("first", "alice", 2)),
        (event(3, 1, "seq = -1, command = -1"), ("gap", "bob", -1)),
        (event(2, 11, "kind = 'created', data_json = '{\"name\":\"twin\"}'"), ("first", "twin", 11)),
        # commands
        (event(1, 4, "command = 2"), ("command", "alice", 4)),
        (event(1, 10, "command = 9"), ("data", "alice", 11)),
        (event(1, 6, "command = 5"), ("command", "alice", 6)),
        (event(1, 5, "command = 3"), ("command", "alice", 5)),
        (event(1, 14, "content = 'be long'"), ("command", "alice", 14)),
        (event(1, 14, "command = 14"), ("command", "alice", 14)),
        (event(1, 15, "command = 13, kind = 'system', content = 'x', data_json = NULL"), ("command", "alice", 15)),
        # the tree
        (event(1, 10, "parent = 12345"), ("parent_missing", "alice", 10)),
        (event(1, 10, "parent = 15"), ("parent_later", "alice", 10)),
        (event(1, 10, "parent = 10"), ("parent_later", "alice", 10)),
        (event(1, 10, "parent = 8"), ("parent_no_node", "alice", 10)),
        (event(1, 10, "parent = 4"), ("parent", "alice", 10)),
        (event(1, 10, "parent = NULL"), ("parent", "alice", 10)),
        (event(1, 9, "parent = 4"), ("parent", "alice", 9)),
        (event(1, 8, "parent = 4"), ("parent", "alice", 8)),
        (event(1, 13, "parent = 2"), ("parent", "alice", 13)),
        (event(1, 12, "parent = 4"), ("parent", "alice", 12)),
        (event(1, 16, "parent = 2"), ("parent", "alice", 16)),
        (event(1, 17, "parent = 3"), ("parent", "alice", 17)),
        (event(2, 11, "parent = 4"), ("parent", "twin", 11)),
        # what events say
        (event(1, 4, "content = NULL"), ("record", "alice", 4)),
        (event(1, 4, "content = CAST(x'ff' AS TEXT)"), ("checksum", "alice", 4)),
        (event(1, 4, "data_json = CAST(x'7b2261223a22ff227d' AS TEXT)"), ("checksum", "alice", 4)),
        (event(1, 2, "content = NULL"), ("record", "alice", 2)),
        (event(1, 7, "data_json = '{'"), ("record", "alice", 7)),
        (event(1, 7, "data_json = '{}'"), ("record", "alice", 7)),
        (event(1, 9, "data_json = '[]'"), ("data", "alice", 9)),
        (event(1, 5, "data_json = NULL"), ("data", "alice", 5)),
        (event(1, 1, "data_json = '{\"name\":7}'"), ("data", "alice", 1)),
        (event(1, 8, "data_json = '{\"target\":4}'"), ("data", "alice", 8)),
        (event(1, 8, 'data_json = \'{"target":5,"label":"two"}\''), ("data", "alice", 8)),
        (event(1, 12, "data_json = '{\"to\":12}'"), ("data", "alice", 12)),
        (event(1, 12, 'data_json = \'{"to":10,"redoes":14}\''), ("data", "alice", 12)),
        (event(1, 11, 'data_json = \'{"to":9,"undoes":9}\''), ("data", "alice", 11)),
        (event(1, 15, "data_json = '{\"to\":3}'"), ("data", "alice", 15)),
        (event(2, 11, 'data_json = \'{"from":"nobody","at":10}\''), ("data", "twin", 11)),
        (event(2, 11, f'data_json = \'{{"from":"{1:032x}","at":1}}\''), ("data", "twin", 11)),
        (event(1, 9, "kind = 'whatever'"), ("kind", "alice", 9)),
        (event(1, 9, "kind = CAST(x'ff' AS TEXT)"), ("checksum", "alice", 9)),
        # life and death
        (event(1, 18, "kind = 'note'"), ("dead", "alice", 18)),
        (event(1, 17, "kind = 'note', data_json = NULL"), ("dead", "alice", 18)),
        # keys
        ("UPDATE keys SET command = 4", ("key", "alice", None)),
        ("UPDATE keys SET agent = 99", ("key", None, None)),
        ("UPDATE keys SET digest = x'00'", ("key", "alice", None)),
        ("UPDATE keys SET reply = x'c1'", ("key", "alice", None)),
        ("UPDATE keys SET reply = x'8100'", ("key", "alice", None)),
        ("UPDATE keys SET key = CAST(x'ff' AS TEXT), digest = x'00'", ("key", "alice", None)),
        ("UPDATE keys SET about = 99", ("reference", None, None)),
        ("UPDATE keys SET checksum = 1", ("key", "alice", None)),
        # erasures
        (_ERASURE.format("done", 1), ("erasure", None, None)),
        (_ERASURE.format("dome", "NULL"), ("erasure", None, None)),
        # the file
        ("UPDATE events SET agent = 99 WHERE agent = 3 AND seq = 3", ("reference", None, None)),
        (event(1, 9, "parent = 9999"), ("reference", None, None)),
        ("DROP INDEX agents_by_name", ("schema", None, None)),
        ("CREATE TABLE more (id INTEGER)", ("schema", None, None)),
        ("DROP INDEX agents_by_name; CREATE INDEX agents_by_name ON agents (uid)", ("schema", None, None)),
    ],
)
async def test_each_kind_of_damage(filled: str, statement: str, expected: tuple[Any, ...]) -> None:
    """Each kind of damage is found at its place, and has its word."""
    damage(filled, *statement.split("; "))

    assert expected in found(await check(filled))


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (event(1, 10, "parent = 4"), [("parent", "alice", 10)]),
        (event(1, 4, "content = NULL"), [("record", "alice", 4)]),
        (event(1, 9, "kind = 'whatever'"), [("kind", "alice", 9)]),
        (event(1, 8, "data_json = '{'"), [("data", "alice", 8)]),
        ("UPDATE agents SET head = 17 WHERE id = 1", [("head", "alice", None)]),
        ("DELETE FROM events WHERE agent = 1 AND seq = 9", [("gap", "alice", 10)]),
    ],
)
async def test_damage_is_told_once(filled: str, statement: str, expected: list[Any]) -> None:
    """One fault does not make everything after it a problem."""
    damage(filled, statement)

    assert expected == [each for each in found(await check(filled, 1)) if each[0] != "data" or each in expected]


def flip_bits(path: str, marks: list[bytes], chance: random.Random) -> None:
    """Flip one bit in the text that follows each mark in a file."""
    file = Path(path)
    stored = bytearray(file.read_bytes())
    for mark in marks:
        place = stored.index(mark) + len(mark) + chance.randrange(40)
        stored[place] ^= 1 << chance.randrange(8)
    file.write_bytes(stored)


@pytest.mark.parametrize("seed", range(3))
async def test_flipped_bits(path: str, seed: int) -> None:
    """Of bits that flipped in the file, each message that they changed is named, and no other."""
    chance = random.Random(seed)
    texts = {seq: f"<{seq:04}>" + "".join(chance.choices("abc ü\n\U0001f600", k=60)) for seq in range(2, 302)}
    async with open_store(path) as store:
        await write(store, made(1, *(made_event(seq, content=text) for seq, text in texts.items())))
    query(path, "PRAGMA wal_checkpoint(TRUNCATE)")
    changed = sorted(chance.sample(sorted(texts), 80))
    flip_bits(path, [f"<{seq:04}>".encode() for seq in changed], chance)

    assert changed == [seq for what, _, seq in found(await check(path, 1)) if what == "checksum"]


async def test_two_of_one_name(filled: str) -> None:
    """Two live agents of one name are found, although the index that forbids it exists again."""
    lose_from_index(filled, "agents_by_living_name", "UPDATE agents SET name = 'alice' WHERE id = 2")

    problems = found(await check(filled))
    assert {("name", "alice", None), ("sqlite", None, None)} <= set(problems)


async def test_missing_trigger(filled: str) -> None:
    """A log that is no longer append-only is reported."""
    with closing(sqlite3.connect(filled, isolation_level=None)) as connection:
        connection.execute("DROP TRIGGER events_are_never_deleted")

    (problem,) = (await check(filled)).listed
    assert ("schema", "trigger events_are_never_deleted is missing") == problem.problem[:2]


@pytest.mark.parametrize(
    ("table", "expected", "events"), [("keys", [None], 23), ("events", ["alice", "twin", "bob", None], 0)]
)
async def test_page_that_is_rubbish(filled: str, table: str, expected: list[str | None], events: int) -> None:
    """If a page cannot be read, it is reported, and everything readable is checked."""
    with closing(sqlite3.connect(filled, isolation_level=None)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (page,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).fetchone()
    report = Report()
    async with verifying(filled) as (_, verifier):
        spoil(filled, page)
        await verifier.check_file()
        await verifier.check_logs(None)
        report = verifier.report

    assert "sqlite" in {what for what, *_ in found(report)}
    assert expected == [name for what, name, _ in found(report) if what == "unreadable"]
    assert events == report.events


async def test_only_one_agent(filled: str) -> None:
    """A check of one agent reads its log and its keys only."""
    damage(filled, event(3, 2, "content = NULL"), "UPDATE keys SET digest = x'00'", "DROP INDEX agents_by_name")

    report = await check(filled, 3)
    assert ([("record", "bob", 2)], 1, 3) == (found(report), report.agents, report.events)
    assert [("key", "alice", None)] == found(await check(filled, 1))


async def test_many_problems(filled: str) -> None:
    """Of very many problems some are listed, and the others counted."""
    more = [
        f"INSERT INTO agents SELECT {row}, '{row}', 'x{row}', NULL, '{{}}', NULL, NULL, 1, 1, NULL, 0"
        for row in range(10, 10 + LISTED)
    ]
    damage(filled, *more)

    report = await check(filled)
    assert (LISTED, LISTED) == (len(report.listed), report.omitted)


async def test_a_wrong_live_state_is_found_and_kept(filled: str) -> None:
    """A live state that differs from the log is reported, and stays as it is."""
    async with verifying(filled) as (store, verifier):
        state = await store.load(1)
        await verifier.compare(state.profile, state.conversation.copy())
        assert [] == verifier.report.listed

        spoilt = state.conversation.copy()
        del spoilt.entries[0]
        await verifier.compare(state.profile, spoilt)
        await verifier.compare(state.profile, Conversation())
        await verifier.compare(state.profile._replace(name="other"), state.conversation)
        await verifier.compare(state.profile._replace(head=99), state.conversation)

        assert [("living", "alice", None)] * 2 == found(verifier.report)[:2]
        assert ["other", "alice"] == [name for _, name, _ in found(verifier.report)[2:]]
        assert {"living"} == {what for what, *_ in found(verifier.report)}


async def test_live_state_of_a_damaged_log(filled: str) -> None:
    """A live agent that was loaded before its log was damaged differs from it."""
    async with verifying(filled) as (store, verifier):
        state = await store.load(1)
        damage(filled, event(1, 4, "content = CAST(x'ff' AS TEXT)"))
        await verifier.compare(state.profile, state.conversation)

        assert [("living", "alice", None)] == found(verifier.report)


async def test_the_shortest_slices(filled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However short a slice is, the check advances, and the slices together find everything."""
    monkeypatch.setattr(logs, "SLICE", 0)
    damage(filled, event(1, 4, "content = NULL"), "UPDATE agents SET head = 99 WHERE id = 3")
    report = await check(filled)

    assert [("record", "alice", 4), ("head", "bob", None)] == found(report)
    assert (3, 23) == (report.agents, report.events)


async def test_much_is_written_meanwhile(filled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite's own check, during which the WAL grows, is stopped when the WAL becomes too large."""
    monkeypatch.setattr(sqlite, "GROWTH", -1)
    monkeypatch.setattr(sqlite, "_STEPS", 1)

    report = await check(filled)
    assert [("unchecked", None, None)] == found(report)
    assert 23 == report.events


async def test_cancelled_check(filled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A caller that leaves during SQLite's own check ends it."""
    monkeypatch.setattr(sqlite, "_STEPS", 1)
    async with verifying(filled) as (_, verifier):
        verifier.cancelled = True
        await verifier.check_file()

        assert [("sqlite", "interrupted")] == [found.problem[:2] for found in verifier.report.listed]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("records = 7", "the milestone is not what was written; reel replay makes it again"),
        ("open_calls = CAST(x'ff' AS BLOB)", "the milestone is not what was written; reel replay makes it again"),
        (None, "the milestone is not what the events say; reel replay makes it again"),
    ],
)
async def test_a_milestone_that_is_wrong(path: str, change: str | None, expected: str) -> None:
    """A milestone that is damaged, or says something else than the events before it, is named."""
    async with open_store(path) as store:
        await write(store, made(1, *(made_event(seq) for seq in range(2, 3 * STEP))))
        first, second, *_ = (await store.whole(3 * STEP - 1)).milestones
        wrong = second._replace(speaker="assistant") if change is None else second
        store.writer.note([first, wrong])
    if change is not None:
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(f"UPDATE milestones SET {change} WHERE id = ?", (second.id,))
    async with open_store(path) as store, open_verifier(store) as verifier:
        await verifier.check_logs(None)

    found = [each.problem for each in verifier.report.listed if each.problem.what == "milestone"]
    assert [(expected, second.id)] == [(problem.reason, problem.event_id) for problem in found]
