"""The index: filled in batches, removed from, and built again."""

import os
import sqlite3
from contextlib import closing

import pytest

from reel.base.errors import Storage
from reeld.search import finding, index, index_file, volumes
from reeld.search.criteria import Criteria
from reeld.search.finding import Look, OneSearch, Paths
from reeld.search.patterns import compiled
from reeld.search.query import parse_query
from tests.patience import PATIENCE
from tests.reeld.search.indexes import fill, opened
from tests.reeld.store.making import size
from tests.reeld.store.rows import Rows


@pytest.fixture(autouse=True)
def _in_one_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no job yield to others half-way, on a busy machine either, unless that is what the test is about."""
    monkeypatch.setattr(finding, "_SECONDS", PATIENCE)


def found(connection: sqlite3.Connection, text: str, limit: int = 100, **filters: object) -> list[int]:
    """Return the ids of the events that match, newest first."""
    wanted = Criteria(parse_query(text))._replace(**filters)  # type: ignore[arg-type]
    return finding.find(connection, OneSearch(wanted), 0, 1 << 40, limit).events


def test_batches(rows: Rows, connection: sqlite3.Connection) -> None:
    """An index is filled batch by batch, and goes on where it ended."""
    agent = rows.agent(1)
    rows.connection.execute("BEGIN")
    events = [rows.event(agent, content=f"word{number} all") for number in range(8500)]
    rows.connection.execute("COMMIT")

    assert index.fill(connection).more
    fill(connection)
    later = rows.event(agent, content="word7 again")
    fill(connection)

    assert found(connection, "word7") == [later, events[7]]
    assert found(connection, "all", limit=2) == events[:-3:-1]
    assert index.progress(connection) == later


def test_the_wal_of_the_log_can_be_begun_again(rows: Rows, connection: sqlite3.Connection) -> None:
    """Whatever an index writes meanwhile: its jobs read the log in statements, and in no transaction."""
    agent = rows.agent(1)
    for number in range(100):
        rows.event(agent, content=f"word{number} " * 1200)
    rows.connection.execute("PRAGMA busy_timeout = 0")
    kept_by: list[str] = []
    written: list[str] = []

    def begin_again(statement: str) -> None:
        if statement.startswith("INSERT"):
            written.append(statement)
            rows.event(agent)
            (is_kept, _, _) = rows.connection.execute("PRAGMA main.wal_checkpoint(TRUNCATE)").fetchone()
            kept_by.extend([statement] if is_kept else [])

    connection.set_trace_callback(begin_again)
    fill(connection)
    index.make_groups(connection)
    connection.set_trace_callback(None)

    assert [] == kept_by
    assert any("INSERT INTO volume_1" in statement for statement in written)
    assert any("INSERT INTO groups" in statement for statement in written)


def test_the_wal_of_the_index_is_copied_in_portions(connection: sqlite3.Connection, database: str) -> None:
    """What the disk has to write at once is little: commits of the log may wait for it."""
    connection.execute("CREATE TABLE pages (page BLOB)")
    for _ in range(750):
        connection.execute("INSERT INTO pages VALUES (zeroblob(4000))")

    assert size(f"{index_file.path_of(database)}-wal") < 400 * 4096


def test_a_batch_that_is_killed(rows: Rows, connection: sqlite3.Connection, database: str) -> None:
    """What is in the index and how far it is are written together."""
    event = rows.event(rows.agent(1), content="hello")
    connection.execute("CREATE TEMP TRIGGER fails BEFORE UPDATE ON main.progress BEGIN SELECT RAISE(ABORT, 'x'); END")

    with pytest.raises(sqlite3.Error):
        index.fill(connection)

    with closing(opened(database)) as again:
        assert [] == found(again, "hello")
        fill(again)
        assert [event] == found(again, "hello")


def test_bytes_that_are_not_text(rows: Rows, connection: sqlite3.Connection) -> None:
    """An event with damaged text is searched nevertheless, and stops nothing."""
    event = rows.event(rows.agent(1), content="hello")
    rows.unlock()
    rows.connection.execute("UPDATE events SET content = CAST(x'68656c6c6f20ff' AS TEXT)")

    fill(connection)

    assert [event] == found(connection, "hello")


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE progress SET checksum = 1",
        "UPDATE progress SET event = 99",
        "PRAGMA user_version = 99",
        f"PRAGMA user_version = {index.VERSION - 1}",
    ],
)
def test_index_of_something_else(rows: Rows, connection: sqlite3.Connection, database: str, change: str) -> None:
    """An index of another version, or of another database that was put in the place of this one, is outdated."""
    rows.event(rows.agent(1))
    fill(connection)
    connection.execute(change)

    with pytest.raises(index.Outdated):
        opened(database)


@pytest.mark.usefixtures("rows")
def test_file_of_somebody_else(database: str) -> None:
    """Another program's database is left alone."""
    with closing(sqlite3.connect(index_file.path_of(database))) as other:
        other.execute("CREATE TABLE mine (x)")

    with pytest.raises(Storage, match="move it away"):
        opened(database)


def test_forgotten_events(rows: Rows, connection: sqlite3.Connection, database: str, descriptor: int) -> None:
    """Deleted events are not found, and their words are not in the file."""
    agent = rows.agent(1)
    kept, gone = rows.event(agent, content="kept word"), rows.event(agent, content="xyzzyplugh word")
    fill(connection)

    path = index_file.path_of(database)
    index.replace(connection, [gone, 99], {}, path)
    index.settle(connection, path, descriptor)

    assert [kept] == found(connection, "word")
    assert [] == found(connection, "xyzzyplugh")
    assert b"xyzzyplugh" not in os.pread(descriptor, 1 << 30, 0)


def test_live(rows: Rows, connection: sqlite3.Connection) -> None:
    """What was rewound or cleared is not live, and what was restored is again."""
    agent = rows.agent(1, "demo")
    kept = rows.event(agent, content="word")
    rewound = rows.event(agent, content="word")
    rows.event(agent, "rewind", None, '{"target": 1}', parent=kept)
    last = rows.event(agent, content="word")
    fill(connection)
    assert [last, kept] == found(connection, "word", live=True)
    assert [rewound] == found(connection, "word", live=False)

    rows.event(agent, "clear", None, parent=None)
    rows.event(agent, "restore", None, '{"to": 2}', parent=rewound)
    fill(connection)

    assert [rewound, kept] == found(connection, "word", live=True)


def test_live_while_the_index_is_behind(rows: Rows, connection: sqlite3.Connection) -> None:
    """What was rewound, and what was brought back, is known at once; the index need not have read it."""
    agent = rows.agent(1)
    kept, rewound = (rows.event(agent, content="word") for _ in range(2))
    fill(connection)
    rows.event(agent, "rewind", None, '{"target": 1}', parent=kept)
    assert [rewound] == found(connection, "word", live=False)

    rows.event(agent, "restore", None, '{"to": 2}', parent=rewound)

    assert [rewound, kept] == found(connection, "word", live=True)


def test_hit_that_was_rewound_meanwhile(rows: Rows, connection: sqlite3.Connection) -> None:
    """What has been rewound since it was found is not shown as live."""
    agent = rows.agent(1)
    kept, rewound = (rows.event(agent, content="word") for _ in range(2))
    fill(connection)
    rows.event(agent, "rewind", None, '{"target": 1}', parent=kept)
    shown = [finding.shown(connection, Look([], live=live), Paths(), [rewound, kept]).hits for live in (None, True)]

    assert [[False, True], [True]] == [[hit["live"] for hit in hits] for hits in shown]


def test_walk_that_takes_long(rows: Rows, connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """A conversation that often went back is looked through bit by bit, and nothing is missed."""
    agent = rows.agent(1)
    kept = [rows.event(agent, content="word")]
    for number in range(20):
        rows.event(agent, content="word")
        rows.event(agent, "rewind", None, f'{{"target": {3 * number + 1}}}', parent=kept[-1])
        kept.append(rows.event(agent, content="word"))
    fill(connection)
    monkeypatch.setattr(finding, "_SECONDS", 0.0)
    search, high, events = OneSearch(Criteria(parse_query("word"), live=True)), 1 << 40, list[int]()
    while high:
        part = finding.find(connection, search, 0, high, 100)
        events, high = events + part.events, part.reached

    assert events == kept[::-1]


def test_walk_behind_rows_that_are_passed_over(
    rows: Rows, connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If time runs out in the walk to a text behind some that a pattern does not take, each text is found once."""
    agents = [rows.agent(number) for number in (1, 2, 3)]
    expected = []
    for number in range(12):
        expected.append(rows.event(agents[number % 3], content="word"))
        for _ in range(number % 4):
            rows.event(agents[0], content="other")
    fill(connection)
    monkeypatch.setattr(finding, "_SECONDS", -1.0)
    query = parse_query("has:word")
    search = OneSearch(Criteria(query, live=True, patterns=compiled(query.patterns)))
    high, events, calls = 1 << 40, list[int](), 0
    while high > expected[0]:
        part = finding.find(connection, search, 0, high, 100)
        events, high, calls = events + part.events, part.reached, calls + 1

    assert expected[::-1] == events
    assert calls <= 12 + 3


def test_volumes(rows: Rows, connection: sqlite3.Connection, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long index has several volumes; a search goes through all of them, and so does a purge."""
    monkeypatch.setattr(volumes, "_EVENTS", 3)
    agent, events = rows.agent(1), list[int]()
    for _ in range(4):
        events += [rows.event(agent, content="all") for _ in range(3)]
        fill(connection)
    assert [10, 7, 4, 1] == [volume.first for volume in volumes.down_from(connection, 1 << 40)]
    assert found(connection, "all") == events[::-1]

    index.replace(connection, [events[1], events[10]], {}, index_file.path_of(database))

    assert found(connection, "al*") == [event for event in events[::-1] if event not in {events[1], events[10]}]


def test_a_volume_counts_events(rows: Rows, connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids that were never used do not fill a volume."""
    monkeypatch.setattr(volumes, "_EVENTS", 3)
    agent = rows.agent(1)
    rows.unlock()
    for event in (1000, 2000, 3000, 4000):
        rows.connection.execute("UPDATE events SET id = ? WHERE id = ?", (event, rows.event(agent)))
        fill(connection)

    assert [3001, 1] == [volume.first for volume in volumes.down_from(connection, 1 << 40)]


def test_live_in_a_source(rows: Rows, connection: sqlite3.Connection) -> None:
    """A clone's past belongs to its source, and is live there or not."""
    source, clone = rows.agent(1), rows.agent(2, source=1, at=1)
    said = rows.event(source, content="word")
    rows.event(clone, "clone", None, f'{{"from": "{1:032x}", "at": 1}}', parent=said)
    own = rows.event(clone, content="word")
    rows.event(source, "clear", None, parent=None)
    fill(connection)

    assert [own] == found(connection, "word", live=True)


def test_times_and_agents(rows: Rows, connection: sqlite3.Connection) -> None:
    """A search is narrowed down to some agents and some time."""
    events = [rows.event(rows.agent(row), content="word") for row in (1, 2, 3)]
    second = rows.event(1, content="word")  # at 1002
    fill(connection)

    assert found(connection, "word", agents=frozenset({2, 3})) == events[:0:-1]
    assert [second] == found(connection, "word", since=1002)
    assert found(connection, "word", until=1002) == events[::-1]
    assert (second + 1, second + 1) == finding.bounds(connection, 1 << 40, None, second)


def test_original_times(rows: Rows, connection: sqlite3.Connection) -> None:
    """The original time of an event decides, wherever in the log the event is."""
    agent = rows.agent(1)
    new, old = rows.event(agent, content="word"), rows.event(agent, content="word", sent=5)
    fill(connection)

    assert [old] == found(connection, "word", until=6)
    assert [new] == found(connection, "word", since=6)
    assert (0, old + 1) == finding.bounds(connection, None, 6, old)
    assert finding.bounds(connection, None, 5, old)[1] <= old + 1
    (hit,) = finding.shown(connection, Look([]), Paths(), [old]).hits
    assert (5, 1002) == (hit["sent"], hit["time"])


def test_path_of_the_index() -> None:
    """The index is beside its database, and no two databases share one."""
    assert "/x/search.db" == index_file.path_of("/x/reel.db")
    assert "/x/other-search.db" == index_file.path_of("/x/other.db")


def test_what_a_server_has_lost(rows: Rows, connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the volumes, those stay that have only older events; the others are empty."""
    monkeypatch.setattr(volumes, "_EVENTS", 4)
    agent = rows.agent(1)
    events: list[int] = []
    for _ in range(10):
        events.append(rows.event(agent, content="word"))
        fill(connection)
    firsts = [volume.first for volume in volumes.down_from(connection, 1 << 40)]

    assert [9, 5, 1] == firsts
    assert 4 == volumes.cut(connection, volumes.from_event(connection, events[5]))
    assert events[3::-1] == found(connection, "word")
    assert [5, 1] == [volume.first for volume in volumes.down_from(connection, 1 << 40)]
    assert 0 == volumes.cut(connection, volumes.from_event(connection, 0))
    assert [] == found(connection, "word")
