"""The table of what calls did: filled with the words, and erased with them."""

import json
import os
import random
import sqlite3
from contextlib import closing
from typing import Any

import pytest

from reel.touches.describing import described
from reeld.search import edits, entering, index, index_file, next_events, touched
from reeld.search.edits import END, WantedEdits
from reeld.search.finding import Paths
from reeld.search.shown_edits import Spot
from tests.patience import PATIENCE
from tests.reeld.search.indexes import fill, opened
from tests.reeld.store.rows import Rows


@pytest.fixture(autouse=True)
def _in_one_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no job yield to others half-way, on a busy machine either."""
    monkeypatch.setattr(edits, "_SECONDS", PATIENCE)


def called(rows: Rows, agent: int, name: str, arguments: dict[str, Any], call: str = "c1", **more: Any) -> int:
    """Insert a message with a call."""
    block = {"type": "tool_call", "id": call, "name": name, "arguments": json.dumps(arguments)}
    return rows.event(agent, "assistant", "", json.dumps({"blocks": [block]}), **more)


def answered(rows: Rows, agent: int, output: str = "done", call: str = "c1", *, success: bool = True) -> int:
    """Insert a result."""
    data = {"tool_call_id": call, "output": output, "success": success}
    return rows.event(agent, "tool_result", None, json.dumps(data))


def wrote(rows: Rows, agent: int, path: str, text: str = "x", call: str = "c1", **more: Any) -> int:
    """Insert a message with a call that writes a file."""
    return called(rows, agent, "Write", {"file_path": path, "content": text}, call, **more)


def found(connection: sqlite3.Connection, path: str | None = None, limit: int = 100, **wanted: Any) -> list[Any]:
    """Return the edits of a file."""
    return edits.find(connection, WantedEdits(path, **wanted), Paths(), END, limit).edits


def ids(connection: sqlite3.Connection, path: str | None = None, **wanted: Any) -> list[int]:
    """Return the events of the edits of a file."""
    return [each["id"] for each in found(connection, path, **wanted)]


def begun_in(rows: Rows, agent: int, directory: str) -> None:
    """Say where an agent was begun."""
    rows.connection.execute("UPDATE agents SET tags = ? WHERE id = ?", (json.dumps({"cwd": directory}), agent))


def test_an_edit(rows: Rows, connection: sqlite3.Connection) -> None:
    """An edit has its texts, and the message that made it."""
    agent = rows.agent(1, "demo")
    arguments = {"file_path": "/p/src/a.py", "old_string": "1", "new_string": "2"}
    event = called(rows, agent, "Edit", arguments, sent=500)
    answered(rows, agent)
    fill(connection)

    assert [
        {
            "id": event,
            "agent": f"{1:032x}",
            "name": "demo",
            "title": None,
            "seq": 1,
            "time": 1001,
            "sent": 500,
            "live": True,
            "call": "c1",
            "deed": "wrote",
            "path": "/p/src/a.py",
            "whole": False,
            "before": "1",
            "after": "2",
            "command": None,
            "status": None,
            "answered": True,
        }
    ] == found(connection)


@pytest.mark.parametrize("path", ["/p/src/a.py", "src/a.py", "a.py", "/p/src/./b/../a.py", "./a.py"])
def test_paths_of_a_file(rows: Rows, connection: sqlite3.Connection, path: str) -> None:
    """A file is found by its whole path, and by the last parts of it."""
    event = wrote(rows, rows.agent(1), "/p/src/a.py")
    fill(connection)

    assert [event] == ids(connection, path)


@pytest.mark.parametrize("path", ["/src/a.py", "rc/a.py", "/a.py", "b/a.py", "A.py", "p/src", "py", "/"])
def test_paths_of_no_file(rows: Rows, connection: sqlite3.Connection, path: str) -> None:
    """A path ends where a part of the file's path begins, and an absolute one is the whole."""
    wrote(rows, rows.agent(1), "/p/src/a.py")
    fill(connection)

    assert [] == ids(connection, path)


def test_relative_paths(rows: Rows, connection: sqlite3.Connection) -> None:
    """A relative path is below the directory in which the conversation was begun, if that is known."""
    known, unknown = rows.agent(1), rows.agent(2)
    begun_in(rows, known, "/p")
    first, second = wrote(rows, known, "src/../a.py"), wrote(rows, unknown, "a.py")
    fill(connection)

    assert [first] == ids(connection, "/p/a.py")
    assert [second, first] == ids(connection, "a.py")
    assert ["a.py", "/p/a.py"] == [each["path"] for each in found(connection)]


def test_paths_of_windows(rows: Rows, connection: sqlite3.Connection) -> None:
    """The parts of a path with a drive are those between its backslashes."""
    event = wrote(rows, rows.agent(1), "C:\\p\\src\\a.py")
    fill(connection)

    assert [event] == ids(connection, "src/a.py")


def test_a_file_that_was_removed(rows: Rows, connection: sqlite3.Connection) -> None:
    """A file that was removed is told from one that was written, also without texts."""
    patch = "*** Begin Patch\n*** Delete File: a.py\n*** Add File: b.py\n+x\n*** End Patch"
    called(rows, rows.agent(1), "apply_patch", {"input": patch})
    fill(connection)

    told = {each["path"]: each.get("removed") for each in found(connection, texts=False)}
    assert {"a.py": True, "b.py": None} == told


def test_a_result_comes_later(rows: Rows, connection: sqlite3.Connection) -> None:
    """A call counts as carried out until its result says otherwise, however late that comes."""
    agent = rows.agent(1)
    event = wrote(rows, agent, "a.py")
    fill(connection)
    assert [False] == [each["answered"] for each in found(connection)]

    for _ in range(3):
        rows.event(agent, content="meanwhile")
    answered(rows, agent, "no such directory", success=False)
    fill(connection)
    assert [] == found(connection)

    answered(rows, agent, "done")  # a second result of the same call counts
    fill(connection)
    assert [event] == ids(connection)


def test_calls_with_one_id(rows: Rows, connection: sqlite3.Connection) -> None:
    """A result is of the newest call with its id in its agent; of several in one message, of the first without one."""
    one, other = rows.agent(1), rows.agent(2)
    kept, failed, elsewhere = wrote(rows, one, "a"), wrote(rows, one, "b"), wrote(rows, other, "c")
    answered(rows, one, success=False)
    calls = [
        {"type": "tool_call", "id": "c1", "name": "Read", "arguments": json.dumps({"path": path})}
        for path in ("d", "e")
    ]
    rows.event(one, "assistant", "", json.dumps({"blocks": calls}))
    answered(rows, one, success=False)
    answered(rows, one)
    fill(connection)

    assert failed not in ids(connection)
    assert ["e", "c", "a"] == [each["path"] for each in found(connection)]
    assert {kept, elsewhere} < {*ids(connection)}


@pytest.mark.parametrize("seed", range(8))
def test_calls_and_results_in_batches(rows: Rows, connection: sqlite3.Connection, database: str, seed: int) -> None:
    """What became of calls does not depend on which calls and results are read together."""
    chance = random.Random(seed)
    agents = rows.agent(1), rows.agent(2)
    for _ in range(60):
        agent, call = chance.choice(agents), chance.choice(("c1", "c2", "c3"))
        rows.event(agent, content="meanwhile")
        if chance.random() < 0.5:
            answered(rows, agent, call=call, success=chance.random() < 0.5)
        else:
            blocks = [
                {"type": "tool_call", "id": chance.choice(("c1", "c2")), "name": "Read", "arguments": '{"path": "a"}'}
                for _ in range(chance.randrange(1, 4))
            ]
            rows.event(agent, "assistant", "", json.dumps({"blocks": blocks}))
        if chance.random() < 0.3:
            fill(connection)
    fill(connection)
    one_by_one = connection.execute("SELECT * FROM touches").fetchall()
    connection.execute("UPDATE touched SET version = version - 1")

    with closing(opened(database)) as again:
        index.fill_touches(again)
        assert one_by_one == again.execute("SELECT * FROM touches").fetchall()
    assert len({row[11:14] for row in one_by_one}) > 10


def test_commands(rows: Rows, connection: sqlite3.Connection) -> None:
    """A command has its exit status and its directory, and is found by words that follow one another in it."""
    agent = rows.agent(1)
    begun_in(rows, agent, "/p")
    first = called(rows, agent, "shell", {"command": "cd x && .venv/bin/pytest  -q tests", "workdir": "sub"}, "c1")
    answered(rows, agent, "Exit code: 4\nWall time: 1 seconds\nOutput:\n", "c1")
    second = called(rows, agent, "Bash", {"command": "pytest-watch"}, "c2")
    fill(connection)

    assert [first] == ids(connection, command="pytest -q")
    assert [second] == ids(connection, command="pytest-watch")
    assert [] == ids(connection, command="pytest tests")
    assert [] == ids(connection, command="test")
    (run,) = found(connection, command="pytest")
    assert ("ran", "/p/sub", 4) == (run["deed"], run["path"], run["status"])
    assert [] == ids(connection, "/p/sub")


def test_what_is_wanted(rows: Rows, connection: sqlite3.Connection) -> None:
    """Edits are chosen by agent and deed, and those of hidden agents are left out."""
    one, other = rows.agent(1), rows.agent(2)
    first = wrote(rows, one, "a", "long text")
    second = called(rows, other, "Read", {"file_path": "a"}, "c2")
    fill(connection)

    assert [first] == ids(connection, agents=frozenset({one}))
    assert [second] == ids(connection, "a", agents=frozenset({other}))
    assert [first] == ids(connection, agents=frozenset({one, *range(10, 30)}))
    assert [second] == ids(connection, hidden=frozenset({one}))
    assert [second] == ids(connection, deed="read")
    assert [(None, None)] == [(each["before"], each["after"]) for each in found(connection, deed="wrote", texts=False)]
    assert {one, other} == edits.agents_with(connection, "a")
    assert set() == edits.agents_with(connection, "b")


def test_the_newest_first(rows: Rows, connection: sqlite3.Connection) -> None:
    """Edits come in the order in which they were said, and a page begins where the last one ended."""
    agent = rows.agent(1)
    said = [wrote(rows, agent, "a", call=f"c{time}", sent=time) for time in (30, 10, 20, 20)]
    fill(connection)
    spot, pages = END, []
    for _ in range(4):
        part = edits.find(connection, WantedEdits("a"), Paths(), spot, 1)
        pages += [each["id"] for each in part.edits]
        assert part.reached is not None
        spot = part.reached

    assert [said[0], said[3], said[2], said[1]] == pages == ids(connection, "a")
    assert ([], None) == edits.find(connection, WantedEdits("a"), Paths(), spot, 1)[:2]


def test_many_calls_of_other_files(rows: Rows, connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job ends after some rows, or some time, and says how far it came."""
    agent = rows.agent(1)
    wanted = wrote(rows, agent, "/p/a", call="c")
    for number in range(300):
        wrote(rows, agent, "/q/a", call=f"c{number}")
    fill(connection)

    part = edits.find(connection, WantedEdits("/p/a"), Paths(), END, 10)
    assert [] == part.edits
    assert part.reached is not None
    assert [wanted] == [
        each["id"] for each in edits.find(connection, WantedEdits("/p/a"), Paths(), part.reached, 1).edits
    ]

    monkeypatch.setattr(edits, "_SECONDS", -1.0)
    assert Spot(1301, 301, 0, 0) == edits.find(connection, WantedEdits("/p/a"), Paths(), END, 10).reached


def test_many_calls_of_others(rows: Rows, connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing but time orders calls, a job looks through some of them, and says how far it came."""
    agent = rows.agent(1)
    wanted = called(rows, agent, "Bash", {"command": "make"}, "c")
    for number in range(30):
        called(rows, agent, "Bash", {"command": "ls"}, f"c{number}")
    fill(connection)
    monkeypatch.setattr(edits, "LOOKED_AT", 10)
    spot, parts = END, list[Any]()
    while True:
        part = edits.find(connection, WantedEdits(command="make"), Paths(), spot, 10)
        parts.append([each["id"] for each in part.edits])
        if part.reached is None:
            break
        spot = part.reached

    assert [[], [], [wanted]] == parts


def test_a_call_of_many_hunks(rows: Rows, connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each change of a call is an edit, the first ones up to a limit; the last of them comes first."""
    monkeypatch.setattr(entering, "MOST", 3)
    changes = [{"oldText": f"{number}", "newText": "x"} for number in range(5)]
    called(rows, rows.agent(1), "edit", {"path": "a", "edits": changes})
    fill(connection)

    assert ["2", "1", "0"] == [each["before"] for each in found(connection)]
    monkeypatch.setattr(edits, "_SECONDS", -1.0)
    paths = Paths()
    parts = [edits.find(connection, WantedEdits(), paths, END, 9) for _ in range(3)]  # the first ones find what is live
    assert ["2", "1", "0"] == [each["before"] for each in parts[-1].edits]


def test_long_texts(rows: Rows, connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text ends after 64 kB, and says so; a page ends after some characters."""
    agent = rows.agent(1)
    wrote(rows, agent, "a", "é" * 40_000)
    wrote(rows, agent, "a", "é" * 30_000, call="c2")
    fill(connection)

    assert [(30_000, False), (32_768, True)] == [(len(each["after"]), "cut" in each) for each in found(connection)]
    monkeypatch.setattr(edits, "MAX_PAGE", 1000)
    assert 1 == len(found(connection))


def test_live(rows: Rows, connection: sqlite3.Connection) -> None:
    """An edit that was rewound says so."""
    agent = rows.agent(1)
    kept = wrote(rows, agent, "a")
    gone = wrote(rows, agent, "a", call="c2")
    rows.event(agent, "rewind", None, '{"target": 1}', parent=kept)
    fill(connection)

    assert {gone: False, kept: True} == {each["id"]: each["live"] for each in found(connection)}


def test_forgotten_edits(rows: Rows, connection: sqlite3.Connection, database: str, descriptor: int) -> None:
    """What is erased is in no row, and its words are not in the file; what became of a redacted call stays known."""
    agent = rows.agent(1)
    gone = wrote(rows, agent, "/p/xyzzyplugh.py", "xyzzyplugh")
    run = called(rows, agent, "Bash", {"command": "echo xyzzyplugh"}, "c2")
    answered(rows, agent, "Exit code 3\n", "c2", success=False)
    fill(connection)
    assert 2 == len(found(connection))

    call = {"type": "tool_call", "id": "c2", "name": "Bash", "arguments": '{"command": "echo [redacted]"}'}
    instead = ("assistant", "", json.dumps({"blocks": [call]}))
    path = index_file.path_of(database)
    index.replace(connection, [gone], {run: instead}, path)
    rows.unlock()
    rows.connection.execute("UPDATE events SET data_json = ? WHERE id = ?", (instead[2], run))
    index.settle(connection, path, descriptor)

    assert [(run, "echo [redacted]", 3)] == [
        (each["id"], each["command"], each["status"]) for each in found(connection)
    ]
    assert b"xyzzyplugh" not in os.pread(descriptor, 1 << 30, 0)


def test_an_index_without_the_table(rows: Rows, connection: sqlite3.Connection, database: str) -> None:
    """An index without the table keeps its words, and the table is filled in batches beside new events."""
    agent = rows.agent(1)
    events = [wrote(rows, agent, "a", call=f"c{number}") for number in range(3)]
    answered(rows, agent, call="c0", success=False)
    fill(connection)
    connection.executescript("DROP TABLE touched; DROP TABLE touches")

    with closing(opened(database)) as again:
        assert index.progress(connection) == index.progress(again)
        assert index.Filled(4, more=False, touched=0, without_trigrams=4) == index.fill(again)
        events.append(wrote(rows, agent, "a", call="new"))
        assert index.Filled(5, more=False, touched=0, without_trigrams=5) == index.fill(again)
        assert [] == found(again)
        assert 5 == index.fill_touches(again)
        assert [*reversed(events[1:])] == ids(again)
        events.append(wrote(rows, agent, "a", call="newer"))
        assert index.Filled(6, more=False, touched=6, without_trigrams=6) == index.fill(again)
        assert [*reversed(events[1:])] == ids(again)


def test_a_table_of_another_version(rows: Rows, connection: sqlite3.Connection, database: str) -> None:
    """A table of another version is emptied, and filled again."""
    event = wrote(rows, rows.agent(1), "a")
    fill(connection)
    connection.execute("UPDATE touched SET version = version - 1")

    with closing(opened(database)) as again:
        assert [] == found(again)
        assert 1 == index.fill_touches(again)
        assert [event] == ids(again)


def test_tools_that_were_described(rows: Rows, connection: sqlite3.Connection, database: str) -> None:
    """The calls of tools that were described later are known, those of before too, and of no other connection."""

    class Knowing(sqlite3.Connection):
        pass

    event = called(rows, rows.agent(1), "save", {"target": "a", "body": "x"})
    fill(connection)
    assert [] == found(connection)
    path = index_file.path_of(database)
    tools = described({"save": {"wrote": "target", "after": "body"}})

    with closing(sqlite3.connect(path, factory=Knowing, isolation_level=None)) as knowing:
        index.prepare(knowing, database, tools)
        assert event == index.fill_touches(knowing)
        assert [(event, "a", "x")] == [(each["id"], each["path"], each["after"]) for each in found(knowing)]
    with closing(opened(database)) as again:
        assert 0 == touched.position(again)


def test_a_part_of_the_missing_events(
    rows: Rows, connection: sqlite3.Connection, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table is filled for a moment at a time."""
    agent = rows.agent(1)
    events = [wrote(rows, agent, "a", call=f"c{number}") for number in range(20)]
    fill(connection)
    connection.execute("UPDATE touched SET version = version - 1")
    monkeypatch.setattr(next_events, "_SECONDS", -1.0)

    with closing(opened(database)) as again:
        assert 16 == index.fill_touches(again)
        assert 16 == touched.position(again)
        assert 20 == index.fill_touches(again)
        assert [*reversed(events)] == ids(again)


def test_what_a_server_lost(rows: Rows, connection: sqlite3.Connection) -> None:
    """Rows of lost events go, and what a lost result said is no longer known."""
    agent = rows.agent(1)
    kept = called(rows, agent, "Bash", {"command": "x"})
    answered(rows, agent)
    wrote(rows, agent, "a", call="c2")
    fill(connection)
    touched.cut(connection, kept)

    assert kept == touched.position(connection)
    assert [(kept, None, False)] == [(each["id"], each["status"], each["answered"]) for each in found(connection)]


def test_a_damaged_message(rows: Rows, connection: sqlite3.Connection) -> None:
    """A message that is none has no calls, and holds up nothing."""
    agent = rows.agent(1)
    rows.event(agent, "assistant", "", '{"blocks": [{"type": "tool_call"}]}')
    rows.event(agent, "tool_result", None, "{")
    event = wrote(rows, agent, "a" * 5000)
    last = wrote(rows, agent, "a", call="c2")
    fill(connection)

    assert event < last
    assert [last] == ids(connection)
