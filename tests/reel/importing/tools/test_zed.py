"""Reading the database of Zed."""

import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from reel.importing.steps import Kept
from reel.importing.tools.zed import TOOL
from tests.reel.importing.records import Read
from tests.reel.importing.transcripts import outline

_MODEL = {"provider": "anthropic", "model": "claude-x"}
_TIME = "2026-08-01T10:00:00.123456789+00:00"


def user(key: str, *content: Any) -> dict[str, Any]:
    """Return a prompt; a string is a text."""
    return {"User": {"id": key, "content": [{"Text": part} if isinstance(part, str) else part for part in content]}}


def answer(*content: Any, **results: Any) -> dict[str, Any]:
    """Return an answer, and the results of its calls by their ids."""
    found: dict[str, Any] = {
        key: {"tool_use_id": key, "tool_name": "n", "is_error": False, "content": {"Text": text}, "output": None}
        for key, text in results.items()
    }
    parts = [{"Text": part} if isinstance(part, str) else part for part in content]
    return {"Agent": {"content": parts, "tool_results": found, "reasoning_details": None}}


def call(key: str, **fields: Any) -> dict[str, Any]:
    """Return a call."""
    made: dict[str, Any] = {"id": key, "name": "n", "raw_input": '{"a":', "input": {"a": 1}, "is_input_complete": True}
    return {"ToolUse": {**made, **fields}}


def save(path: Path, *messages: Any, thread: str = "t", columns: Any = None, **fields: Any) -> Path:
    """Write a database with a thread."""
    path.parent.mkdir(parents=True, exist_ok=True)
    made = {"title": "A title", "messages": messages, "model": _MODEL, "version": "0.3.0", "request_token_usage": {}}
    row: dict[str, Any] = {
        "id": thread,
        "summary": "",
        "updated_at": _TIME,
        "data_type": "json",
        "data": json.dumps({**made, **fields}),
    }
    row |= {"parent_id": None, "folder_paths": "/home/deck\n/home/other", **(columns or {})}
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(f"CREATE TABLE IF NOT EXISTS threads ({', '.join(row)})")
        database.execute(f"INSERT INTO threads VALUES ({', '.join('?' * len(row))})", list(row.values()))
    return path


def read(directory: Path, *messages: Any, **fields: Any) -> Read:
    """Return what is read of a thread."""
    return Read(TOOL, save(directory / "threads.db", *messages, **fields))


def test_a_thread(tmp_path: Path) -> None:
    """An answer has thinking, calls and results; what a prompt mentions is said before it."""
    thought = {"Thinking": {"text": "Hm", "signature": "sig"}}
    mention = {"Mention": {"uri": {"File": "a.py"}, "content": "code"}}
    usage = {"u": {"input_tokens": 5, "output_tokens": 2}}

    found = read(
        tmp_path,
        user("u", mention, "look"),
        answer(thought, "So", call("c"), c="seen"),
        answer("Done"),
        request_token_usage=usage,
        columns={"parent_id": "p"},
    )

    assert ["part:/t", "user:u", "assistant:u/1", "tool:u/1/results", "assistant:u/2"] == outline(found.steps)
    assert [("user", "code look"), ("assistant", "Hm So tool_call"), ("tool", "tool_result")] == found.texts[:3]
    by = {"provider": "anthropic", "model": "claude-x"}
    thinking, made = found.said[1].parts[0].blocks[0], found.said[1].parts[0].blocks[2]
    assert (by, {"type": "thinking", "text": "Hm", "signature": "sig", **by}) == (found.said[1].metadata, thinking)
    assert '{"a":1}' == made["arguments"]
    assert [usage["u"]] == [step.data["usage"] for step in found.steps if isinstance(step, Kept)]
    tags = found.about.tags
    assert ("A title", "/home/deck", "zed/p") == (found.about.title, tags["cwd"], tags["parent"])
    assert 1785578400123 == found.said[0].sent


@pytest.mark.parametrize(
    ("model", "kept"),
    [
        (
            {"provider": "google", "model": "Gemini 2.5"},
            {"provider": "gemini", "model": "Gemini 2.5", "signature": "s"},
        ),
        (_MODEL, None),
    ],
)
def test_signatures_of_calls(tmp_path: Path, model: Any, kept: Any) -> None:
    """What Gemini signed goes back to it; a call that was cut keeps what there is of it."""
    found = read(tmp_path, answer(call("c", thought_signature="s", is_input_complete=False)), model=model)

    (block,) = found.said[0].parts[0].blocks
    assert (kept, '{"a":') == (block.get("provider_metadata"), block["arguments"])


def test_an_older_thread(tmp_path: Path) -> None:
    """Before version 0.3, messages had segments, and calls and results beside them."""
    segments = [{"type": "thinking", "text": "Hm", "signature": None}, {"type": "text", "text": "So"}, {"type": "x"}]
    uses = [{"id": "c", "name": "n", "input": {"a": 1}}]
    results = [{"tool_use_id": "c", "is_error": True, "content": "none", "output": None}]
    prompt = {"id": 0, "role": "user", "segments": [{"type": "text", "text": "look"}], "context": "code"}

    found = read(
        tmp_path,
        {**prompt, "tool_uses": [], "tool_results": []},
        {"id": 1, "role": "assistant", "segments": segments, "tool_uses": uses, "tool_results": results},
        version="0.2.0",
    )

    said = ["user:message-0", "assistant:message-1", "tool:message-1/results"]
    assert said == outline(found.steps)[1:]
    assert [("user", "code look"), ("assistant", "Hm So opaque tool_call")] == found.texts[:2]
    assert ("none", True) == tuple(found.said[2].parts[0].blocks[0][key] for key in ("content", "is_error"))


def test_other_messages_and_parts(tmp_path: Path) -> None:
    """An unknown message is a note, and an unknown part is kept whole."""
    parts = [{"RedactedThinking": "x"}, {"Hologram": {"at": 1}}, {"Image": {"source": "AAAA"}}]

    found = read(tmp_path, "Resume", user("u", {"Image": {"source": "AAAA"}}), answer(*parts), {"Compaction": {}})

    assert [("user", "media"), ("assistant", "redacted_thinking opaque media")] == found.texts
    assert {"Resume": 1, "Compaction": 1} == found.counts.unknown


@pytest.mark.parametrize(("data", "what"), [("{", "not JSON: "), ("[]", "not a JSON object"), (None, "not JSON: ")])
def test_damage(tmp_path: Path, data: Any, what: str) -> None:
    """A damaged thread is reported, and the others are read."""
    save(tmp_path / "threads.db", thread="bad", columns={"data": data})

    found = read(tmp_path, user("u", "Hi"))

    assert [("user", "Hi")] == found.texts
    assert found.counts.problems[0].what.startswith(f"thread bad: {what}")


def test_compressed_without_the_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If what reads a compressed thread is missing, the error says what to install: the next import reads it."""
    for module in ("compression.zstd", "backports.zstd"):
        monkeypatch.setitem(sys.modules, module, None)
    save(tmp_path / "threads.db", columns={"data_type": "zstd", "data": b"\x28\xb5\x2f\xfd"})
    (source,) = TOOL.discover(tmp_path).sources

    with pytest.raises(OSError, match=r"pip install .*\[zstd\]"):
        list(TOOL.open(source).steps())


def test_places() -> None:
    """The database is where the system keeps data."""
    assert Path("/h/.local/share/zed/threads/threads.db") in [*TOOL.places({"HOME": "/h"})]
    assert Path("/d/zed/threads/threads.db") in [*TOOL.places({"HOME": "/h", "XDG_DATA_HOME": "/d"})]
