"""Reading the sessions of OpenAI's Agents SDK."""

import json
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.importing.steps import About, Said
from reel.importing.tools.openai_agents import TOOL
from tests.reel.importing.exported import reading_of


def saved(path: Path, **sessions: list[Any]) -> Path:
    """Write a database of sessions, in which a string is not JSON."""
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as database:
        database.execute("create table agent_sessions (session_id text primary key, created_at timestamp)")
        database.execute(
            "create table agent_messages (id integer primary key autoincrement, session_id text, message_data text,"
            " created_at timestamp default '2026-01-01 00:00:00')"
        )
        for session, items in sessions.items():
            rows = [(session, item if isinstance(item, str) else json.dumps(item)) for item in items]
            database.executemany("insert into agent_messages (session_id, message_data) values (?, ?)", rows)
        database.commit()
    return path


USER = {"role": "user", "content": "Hi"}
CALL = {"type": "function_call", "name": "add", "arguments": "{}", "call_id": "c"}
OUTPUT = {"type": "function_call_output", "call_id": "c", "output": "2"}
ANSWER = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Two"}]}


def test_sessions(tmp_path: Path) -> None:
    """Each session is a conversation; items that the assistant made in a row are one message."""
    path = saved(tmp_path / "a.db", one=[USER, ANSWER, CALL, OUTPUT, ANSWER], two=[USER])

    steps = list(reading_of(TOOL, path).steps())

    said = [(step.role, len(step.parts), step.sent) for step in steps if isinstance(step, Said)]
    time = 1767225600000
    assert [
        ("user", 1, time),
        ("assistant", 2, time),
        ("tool", 1, time),
        ("assistant", 1, time),
        ("user", 1, time),
    ] == said
    assert [
        ("/one", "Hi"),
        ("/two", "Hi"),
    ] == [(step.part, step.title) for step in steps if isinstance(step, About)][1::2]


def test_items_that_are_not_json(tmp_path: Path) -> None:
    """An item that cannot be read is reported with its row, and the others are read."""
    reading = reading_of(TOOL, saved(tmp_path / "a.db", one=["{", "5", USER]))

    assert ["user"] == [step.role for step in reading.steps() if isinstance(step, Said)]
    assert "agent_messages, row 1: not JSON" in str(reading.counts.problems[0])
    assert (3, 1) == (reading.counts.read, reading.counts.mapped)


def test_what_is_no_database(tmp_path: Path) -> None:
    """A file that is named and is something else is a problem; in a directory it is not one."""
    (tmp_path / "a.db").write_text("nothing")
    sqlite3.connect(tmp_path / "b.db").execute("create table x (y)").connection.close()

    reasons = [problem.what for name in "ab" for problem in TOOL.discover(tmp_path / f"{name}.db").problems]

    assert ["is not an SQLite database", "has none of the tables agent_messages"] == reasons
    assert ([], []) == TOOL.discover(tmp_path)


@pytest.mark.slow
@given(st.data())
def test_damaged_databases(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """A database that is cut, or of which bytes are others, is an error of reading or loses records, and no more."""
    path = saved(tmp_path_factory.getbasetemp() / "damaged.db", one=[USER, ANSWER] * 40, two=[USER])
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(16, len(content) - 1))
    if data.draw(st.booleans()):
        del content[place:]
    else:
        content[place] = data.draw(st.integers(0, 255))
    path.write_bytes(content)

    for source in TOOL.discover(path).sources:
        reading = TOOL.open(source)
        with suppress(OSError):
            list(reading.steps())
        assert reading.counts.read == reading.counts.mapped + reading.counts.unknown.total()
