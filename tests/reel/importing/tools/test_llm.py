"""Reading the database of llm."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reel.importing.steps import About, Said
from reel.importing.tools.llm.tool import TOOL
from tests.reel.importing.exported import reading_of
from tests.reel.importing.transcripts import check_step, outline

_TABLES = {
    "conversations": "id, name, model",
    "responses": "id, model, prompt, system, response, reasoning, conversation_id, datetime_utc, input_tokens",
    "attachments": "id, type, path, url, content",
    "prompt_attachments": 'response_id, attachment_id, "order"',
    "fragments": "id integer primary key, content",
    "prompt_fragments": 'response_id, fragment_id, "order"',
    "tool_calls": "id integer primary key, response_id, name, arguments, tool_call_id",
    "tool_results": "id integer primary key, response_id, name, output, tool_call_id, exception",
    "messages": "hash, parent_hash, role, provider_metadata",
    "parts": "id integer primary key, message_hash, position, type, text, payload",
    "threads": "id, name, tip_message_hash, forked_from",
    "turns": "id, thread_id, parent_message_hash, tip_message_hash, model, input_tokens, output_tokens, datetime_utc",
}


def saved(path: Path, **tables: list[dict[str, Any]]) -> Path:
    """Write a database with these rows."""
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as database:
        for name, columns in _TABLES.items():
            database.execute(f"create table {name} ({columns})")
            for row in tables.get(name, []):
                keys = ", ".join(f'"{key}"' for key in row)
                database.execute(f"insert into {name} ({keys}) values ({', '.join('?' * len(row))})", [*row.values()])
        database.commit()
    return path


def message(name: str, parent: str | None, role: str, *parts: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the rows of a message; a string is a text."""
    rows = []
    for position, part in enumerate(parts):
        given = {"type": "text", "text": part} if isinstance(part, str) else part
        payload = json.dumps(given["payload"]) if "payload" in given else None
        rows.append({"message_hash": name, "position": position, **given, "payload": payload})
    return {"hash": name, "parent_hash": parent, "role": role}, rows


def turn(name: str, parent: str, tip: str) -> dict[str, Any]:
    """Return a turn of the thread."""
    about = {"model": "m", "input_tokens": 3, "datetime_utc": "2026-01-01T00:00:00"}
    return {"id": name, "thread_id": "t", "parent_message_hash": parent, "tip_message_hash": tip, **about}


def tree(path: Path, messages: list[Any], turns: list[Any], **tables: list[Any]) -> Path:
    """Write a database of one thread."""
    parts = [part for _, parts in messages for part in parts]
    thread = {"id": "t", "name": "A title", "tip_message_hash": turns[-1]["tip_message_hash"]}
    return saved(path, messages=[row for row, _ in messages], parts=parts, turns=turns, threads=[thread], **tables)


def test_a_thread(tmp_path: Path) -> None:
    """A thread is its chain of messages, with reasoning, calls, results, attachments and fragments."""
    call = {"type": "tool_call", "payload": {"name": "add", "arguments": {"a": 1}, "tool_call_id": "c"}}
    result = {"type": "tool_result", "payload": {"name": "add", "output": "2", "tool_call_id": "c"}}
    file = {"type": "attachment", "payload": {"attachment": {"id": "f"}}}
    quoted = {"type": "text", "payload": {"text_ref": [{"literal": "Read "}, {"fragment": 1}]}}
    messages = [
        message("s", None, "system", "Be brief."),
        message("u", "s", "user", quoted, file),
        message("a", "u", "assistant", {"type": "reasoning", "text": "Hm"}, call),
        message("r", "a", "user", result),
        message("b", "r", "assistant", "Two"),
    ]
    path = tree(
        tmp_path / "logs.db",
        messages,
        [turn("1", "u", "a"), turn("2", "r", "b")],
        attachments=[{"id": "f", "type": "image/png", "content": b"x"}],
        fragments=[{"id": 1, "content": "this"}],
    )

    steps = list(reading_of(TOOL, path).steps())

    assert ["system:s", "user:u", "assistant:a", "tool:r", "assistant:b"] == outline(steps)[1:]
    said = {step.parts[0].ref: step for step in steps if isinstance(step, Said)}
    assert [
        {"type": "text", "text": "Read this"},
        {"type": "media", "mime_type": "image/png", "data_base64": "eA=="},
    ] == said["u"].parts[0].blocks
    assert ["thinking", "tool_call"] == [block["type"] for block in said["a"].parts[0].blocks]
    assert "c" == said["r"].parts[0].blocks[0]["tool_call_id"]
    assert {"provider": "llm", "model": "m"} == said["b"].metadata
    assert 1767225600000 == said["b"].sent


def test_another_answer(tmp_path: Path) -> None:
    """A turn that goes on from an earlier message is a step back."""
    messages = [
        message("u", None, "user", "Hi"),
        message("a", "u", "assistant", "1"),
        message("b", "u", "assistant", "2"),
    ]
    path = tree(tmp_path / "logs.db", messages, [turn("1", "u", "a"), turn("2", "u", "b")])

    steps = [word for word in outline(list(reading_of(TOOL, path).steps())) if not word.startswith("part")]

    assert ["user:u", "assistant:a", "back:u", "assistant:b"] == steps


def test_forks_come_after_their_origins(tmp_path: Path) -> None:
    """A thread that was forked names the one that it begins with a copy of, which is read before it."""
    messages = [message("u", None, "user", "Hi"), message("a", "u", "assistant", "1"), message("v", "a", "user", "2")]
    threads = [
        {"id": "grandchild", "tip_message_hash": "a", "forked_from": "child"},
        {"id": "child", "tip_message_hash": "v", "forked_from": "t"},
        {"id": "t", "tip_message_hash": "a"},
        {"id": "lost", "tip_message_hash": "u", "forked_from": "gone"},
    ]
    path = saved(tmp_path / "logs.db", messages=[row for row, _ in messages], threads=threads)

    steps = list(reading_of(TOOL, path).steps())

    found = [(step.part, step.fork_of) for step in steps if isinstance(step, About)]
    assert [("/t", ""), ("/child", "/t"), ("/grandchild", "/child"), ("/lost", "/gone")] == found


def test_older_tables(tmp_path: Path) -> None:
    """A response is what was sent, and the answer; one without a conversation is a conversation."""
    first = {"id": "1", "conversation_id": "c", "system": "Be brief.", "prompt": "Sum", "response": "", "model": "m"}
    second = {
        "id": "2",
        "conversation_id": "c",
        "system": "Be brief.",
        "prompt": "",
        "response": "Two",
        "reasoning": "Hm",
    }
    path = saved(
        tmp_path / "logs.db",
        conversations=[{"id": "c", "name": "A title"}],
        responses=[first, second, {"id": "3", "prompt": "Hi", "response": "Hello"}],
        tool_calls=[{"response_id": "1", "name": "add", "arguments": "{}", "tool_call_id": "x"}],
        tool_results=[{"response_id": "2", "name": "add", "output": "2", "tool_call_id": "x"}],
    )
    reading = reading_of(TOOL, path)

    steps = list(reading.steps())

    assert [
        *("part:/c", "system:1/system", "user:1/prompt", "assistant:1", "tool:2/results", "assistant:2"),
        *("part:/3", "user:3/prompt", "assistant:3"),
    ] == outline(steps)
    assert ["A title", ""] == [step.title for step in steps if isinstance(step, About)]
    assert (3, 3) == (reading.counts.read, reading.counts.mapped)


def test_what_is_being_written(tmp_path: Path) -> None:
    """What is in the write-ahead log only is read."""
    path = saved(tmp_path / "logs.db")
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("pragma journal_mode = wal")
        writer.execute("insert into responses (id, prompt, response) values ('1', 'Hi', 'Hello')")
        writer.commit()

        steps = list(reading_of(TOOL, path).steps())

    assert ["part:/1", "user:1/prompt", "assistant:1"] == outline(steps)


def test_places() -> None:
    """The database is where the environment says, else below the home directory."""
    assert ["/l/logs.db"] == [str(path) for path in TOOL.places({"LLM_USER_PATH": "/l"})]
    assert [
        "/h/.config/io.datasette.llm/logs.db",
        "/h/Library/Application Support/io.datasette.llm/logs.db",
    ] == [str(path) for path in TOOL.places({"HOME": "/h"})]


_JSON = st.sampled_from(
    [None, "{", "{}", "[]", '{"text_ref": [{"fragment": 9}, 1]}', '{"attachment": {"id": "x"}}', "5"]
)
_HASHES = st.sampled_from(["a", "b", "c", None])
_PARTS = st.fixed_dictionaries(
    {
        "message_hash": _HASHES,
        "position": st.integers(0, 2) | st.none(),
        "type": st.sampled_from(["text", "reasoning", "tool_call", "tool_result", "attachment", "x", None]),
        "text": st.sampled_from([None, "x", 5, b"\xff"]),
    }
)


@pytest.mark.slow
@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(_HASHES, _HASHES, st.sampled_from(["user", "assistant", "system", "tool", "x", None])), max_size=4
    ),
    st.lists(st.tuples(_PARTS, _JSON), max_size=4),
    st.lists(_HASHES, min_size=1, max_size=3),
)
def test_any_rows(
    tmp_path_factory: pytest.TempPathFactory, messages: list[Any], parts: list[Any], tips: list[Any]
) -> None:
    """Whatever the rows are, every record is counted, and every step can be added."""
    path = saved(
        tmp_path_factory.getbasetemp() / "logs.db",
        messages=[{"hash": name, "parent_hash": parent, "role": role} for name, parent, role in messages],
        parts=[{**part, "payload": payload} for part, payload in parts],
        turns=[turn(str(number), "", tip) for number, tip in enumerate(tips)],
        responses=[{"id": "1", "conversation_id": "t", "prompt": tips[0]}],
    )
    reading, known = reading_of(TOOL, path), {""}

    for step in reading.steps():
        known |= check_step(step, known)

    counts = reading.counts
    assert counts.read == counts.mapped + counts.unknown.total()
