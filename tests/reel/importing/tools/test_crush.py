"""Reading the databases of Crush, and of the first opencode."""

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from reel.importing.steps import About, Compacted, Kept
from reel.importing.tools.crush import TOOL
from reel.touches.reading import touches
from tests.reel.importing.records import Read
from tests.reel.importing.transcripts import outline

_SESSIONS = "id, parent_session_id, title, summary_message_id"
_MESSAGES = "id, session_id, role, parts, model, created_at, updated_at, finished_at, provider, is_summary_message"


def part(kind: str, **data: Any) -> dict[str, Any]:
    """Return a part of a message."""
    return {"type": kind, "data": data}


def end(reason: str = "end_turn", **data: Any) -> dict[str, Any]:
    """Return the part at the end of a message."""
    return part("finish", reason=reason, time=0, **data)


def message(key: str, role: str, *parts: Any, session: str = "s", **fields: Any) -> dict[str, Any]:
    """Return the row of a message; a string is a text."""
    given = [part("text", text=each) if isinstance(each, str) else each for each in parts]
    made = {"id": key, "session_id": session, "role": role, "parts": json.dumps(given), "created_at": 1785578400000}
    return {**made, "updated_at": 1785578400000, **fields}


def save(path: Path, *messages: dict[str, Any], **session: Any) -> Path:
    """Write a database with a session and its messages."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(f"CREATE TABLE IF NOT EXISTS sessions ({_SESSIONS})")
        database.execute(f"CREATE TABLE IF NOT EXISTS messages ({_MESSAGES})")
        made = {"id": "s", "title": "A title", **session}
        _insert(database, "sessions", made)
        for row in messages:
            _insert(database, "messages", row)
    return path


def _insert(database: sqlite3.Connection, table: str, row: dict[str, Any]) -> None:
    marks = ", ".join("?" * len(row))
    database.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", list(row.values()))


def read(directory: Path, *messages: dict[str, Any], **session: Any) -> Read:
    """Return what is read of a session."""
    return Read(TOOL, save(directory / "deck/.crush/crush.db", *messages, **session))


@pytest.mark.parametrize(
    ("output", "status"),
    [
        ("x\n\n<cwd>/deck</cwd>", 0),
        ("\nExit code 2\n\n<cwd>/deck</cwd>", 2),
        ("x\ny\nExit code 2", 2),  # of the first opencode
        ("x", None),
        ("x\nCommand was aborted before completion\n\n<cwd>/deck</cwd>", None),
        ("Background shell started with ID: 1", None),
        ("no Exit code 2", None),
    ],
)
def test_exit_status(tmp_path: Path, output: str, status: int | None) -> None:
    """A command's exit status is what the shell tool says behind its output."""
    call = part("tool_call", id="c", name="bash", input='{"command":"x","description":"X"}', finished=True)
    result = part("tool_result", tool_call_id="c", name="bash", content=output, is_error=False)
    messages = message("a", "assistant", call, end("tool_use")), message("r", "tool", result, end())
    answer, results = read(tmp_path, message("u", "user", "x", end()), *messages).said[1:]

    (ran,) = touches(answer.parts[0].blocks[0], results.parts[0].blocks[0])
    assert (output, status) == (results.parts[0].blocks[0]["content"], ran.status)


def test_a_turn(tmp_path: Path) -> None:
    """Parts are blocks; a result is a message after the answer, and ends of messages are no blocks."""
    call = part("tool_call", id="c", name="view", input='{"path":"x"}', finished=True)
    thought = part("reasoning", thinking="Hm", signature="sig")
    result = part("tool_result", tool_call_id="c", name="view", content="none", is_error=True)

    found = read(
        tmp_path,
        message("u", "user", "look", end()),
        message("a", "assistant", thought, "So", call, end("tool_use"), model="m", provider="anthropic"),
        message("r", "tool", result, end()),
    )

    assert ["part:/s", "user:u", "assistant:a", "tool:r"] == outline(found.steps)[:4]
    assert [("user", "look"), ("assistant", "Hm So tool_call"), ("tool", "tool_result")] == found.texts
    by = {"provider": "anthropic", "model": "m"}
    thinking, answered = found.said[1].parts[0].blocks[0], found.said[2].parts[0].blocks[0]
    assert (by, {"type": "thinking", "text": "Hm", "signature": "sig", **by}) == (found.said[1].metadata, thinking)
    assert ("c", "none", True) == (answered["tool_call_id"], answered["content"], answered["is_error"])
    first, last = [step for step in found.steps if isinstance(step, About)]
    assert ("A title", str(tmp_path / "deck"), "m") == (first.title, first.tags["cwd"], last.tags["model"])
    assert 1 == found.source.conversations
    assert (11, 8, {"end of a message": 3}) == (found.counts.read, found.counts.mapped, found.counts.ignored)


@pytest.mark.parametrize("fields", [{"is_summary_message": 1}, {}])
def test_a_summary(tmp_path: Path, fields: dict[str, Any]) -> None:
    """A summary takes the place of the conversation, whichever of the two says that it is one."""
    rows = [message("u", "user", "Hi"), message("a", "assistant", "Short", end(), **fields), message("v", "user", "So")]

    found = read(tmp_path, *rows, **({} if fields else {"summary_message_id": "a"}))

    assert ["user:u", "compacted:a", "user:v"] == outline(found.steps)[1:]
    assert ["user"] == [step.summary.role for step in found.steps if isinstance(step, Compacted)]


def test_an_answer_without_an_end(tmp_path: Path) -> None:
    """One that somebody wrote to a moment ago waits for the next import; an older one is all that there will be."""
    now = int(time.time() * 1000)
    rows = [message("u", "user", "Hi", end()), message("a", "assistant", "Hel")]

    old = read(tmp_path / "old", *rows)
    assert ([("user", "Hi"), ("assistant", "Hel")], False) == (old.texts, old.counts.unfinished)
    found = read(tmp_path / "new", rows[0], {**rows[1], "updated_at": now})
    assert ([("user", "Hi")], 1) == (found.texts, found.counts.ignored["answer that is being written"])
    assert found.counts.unfinished  # so the file is read again, although it may not change any more
    more = read(tmp_path / "more", rows[0], {**rows[1], "updated_at": now}, message("v", "user", "So"))
    assert ["user", "assistant", "user"] == [role for role, _ in more.texts]


def test_damage_and_other_parts(tmp_path: Path) -> None:
    """A damaged row is reported with its number; errors and unknown roles are notes, unknown parts are kept whole."""
    picture = part("binary", Path="a.png", MIMEType="image/png", Data="AAAA")
    damaged = {**message("d", "user"), "parts": "{{"}

    found = read(
        tmp_path,
        damaged,
        message("u", "user", "Hi", picture, part("hologram", at=1)),
        message("a", "assistant", end("error", message="Provider Error")),
        message("g", "ghost", "Boo"),
    )

    assert ["user:u", "note:a/0", "note:g"] == outline(found.steps)[1:]
    assert [("user", "Hi media opaque")] == found.texts
    assert [
        "messages, row 1: not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"
    ] == [problem.what for problem in found.counts.problems]
    assert ["Provider Error", None] == [step.content for step in found.steps if isinstance(step, Kept)]


def test_sub_agents_and_places(tmp_path: Path) -> None:
    """A session below another one names it; databases are found in projects, and in those that Crush lists."""
    save(tmp_path / "deck/.opencode/opencode.db", message("u", "user", "Hi"), parent_session_id="p")
    (tmp_path / "data/crush").mkdir(parents=True)
    listed = {"projects": [{"path": "/x", "data_dir": "d"}, {"path": "/y"}, 5]}
    (tmp_path / "data/crush/projects.json").write_text(json.dumps(listed))
    environment = {"PWD": str(tmp_path / "deck"), "XDG_DATA_HOME": str(tmp_path / "data")}

    found = Read(TOOL, tmp_path / "deck/.opencode")

    assert "crush/p" == found.about.tags["parent"]
    assert [tmp_path / "deck/.opencode", Path("/x/d"), Path("/y/.crush")] == [*TOOL.places(environment)]
    assert [tmp_path / "deck/.opencode"] == [*TOOL.places({**environment, "CRUSH_GLOBAL_DATA": "/none"})]
