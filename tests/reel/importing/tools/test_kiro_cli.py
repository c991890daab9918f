"""Reading the sessions of Kiro CLI."""

import json
from pathlib import Path
from typing import Any

from reel.importing.steps import Back, Said
from reel.importing.tools.kiro_cli import TOOL
from tests.reel.importing.records import Read, Records


def record(kind: str, ident: str, *content: Any, **more: Any) -> dict[str, Any]:
    """Return a record; a string is a text."""
    parts = [{"kind": "text", "data": part} if isinstance(part, str) else part for part in content]
    return {"version": "v1", "kind": kind, "data": {"message_id": ident, "content": parts, **more}}


def prompt(ident: str, *content: Any) -> dict[str, Any]:
    """Return a prompt, which has a time."""
    return record("Prompt", ident, *content, meta={"timestamp": 1_780_000_000})


def answer(ident: str, *content: Any) -> dict[str, Any]:
    """Return an answer."""
    return record("AssistantMessage", ident, *content)


def call(ident: str) -> dict[str, Any]:
    """Return a call."""
    return {"kind": "toolUse", "data": {"toolUseId": ident, "name": "shell", "input": {"command": "ls"}}}


def result(ident: str, *content: dict[str, Any], status: str = "success") -> dict[str, Any]:
    """Return the result of a call."""
    return {"kind": "toolResult", "data": {"toolUseId": ident, "content": list(content), "status": status}}


def save(path: Path, *records: dict[str, Any], **about: Any) -> Path:
    """Write a session, and beside it what is known of it."""
    Records(*records).write(path)
    path.with_suffix(".json").write_text(json.dumps({"session_id": path.stem, **about}, indent=2))
    return path


def rich(path: Path) -> None:
    """Write a session with what a plain one has not."""
    results = record("ToolResults", "r", result("c", {"kind": "json", "data": {"stdout": "o"}}))
    save(path, prompt("u", "hi"), answer("a", "ho", call("c")), results, {"version": "v1", "kind": "Clear"})


def test_a_turn(tmp_path: Path) -> None:
    """A call has its result as the model got it; an answer has the time of its prompt, and the model of the session."""
    out = {"kind": "json", "data": {"exit_status": "exit status: 0", "stdout": "two"}}
    path = save(
        tmp_path / "s1.jsonl",
        prompt("u1", "List it"),
        answer("a1", "", call("c1")),
        record("ToolResults", "r1", result("c1", out), results={"c1": {"tool": None, "result": "Success"}}),
        answer("a2", "Two"),
        cwd="/home/ada/deck",
        title="The list",
        session_state={"rts_model_state": {"model_info": {"model_id": "auto"}}},
    )
    found = Read(TOOL, path)

    assert [
        ("user", "List it"),
        ("assistant", "tool_call"),
        ("tool", "tool_result"),
        ("assistant", "Two"),
    ] == found.texts
    assert '{"exit_status":"exit status: 0","stdout":"two"}' == found.said[2].parts[0].blocks[0]["content"]
    assert {1_780_000_000_000} == {one.sent for one in found.said}
    tags = {"cwd": "/home/ada/deck", "model": "auto"}
    assert ("The list", tags) == (found.about.title, {key: found.about.tags[key] for key in tags})
    assert (4, {}, {}) == (found.counts.mapped, found.counts.unknown, found.counts.left_out)


def test_results_that_failed(tmp_path: Path) -> None:
    """A call that failed, or that the person cancelled, has failed."""
    cancelled = result("c1", {"kind": "text", "data": "cancelled by the user"}, status="error")
    found = Read(TOOL, save(tmp_path / "s1.jsonl", answer("a1", call("c1")), record("ToolResults", "r1", cancelled)))

    assert (True, "cancelled by the user") == (
        found.said[1].parts[0].blocks[0]["is_error"],
        found.said[1].parts[0].blocks[0]["content"],
    )


def test_a_conversation_that_was_cleared(tmp_path: Path) -> None:
    """What is said after it has nothing before it."""
    cleared = {"version": "v1", "kind": "Clear", "data": {}}
    found = Read(TOOL, save(tmp_path / "s1.jsonl", cleared, prompt("u1", "Hi"), cleared, prompt("u2", "New")))

    assert ["Hi", Back(""), "New"] == [
        step.parts[0].blocks[0]["text"] if isinstance(step, Said) else step
        for step in found.steps
        if isinstance(step, Said | Back)
    ]


def test_a_rewind(tmp_path: Path) -> None:
    """It makes another session, which is a fork of its origin; a sub-agent's session only names it."""
    save(tmp_path / "b.jsonl", prompt("u1", "Hi"), answer("a1", "Ho"))
    save(tmp_path / "a.jsonl", prompt("u1", "Hi"), prompt("u2", "No"), parent_session_id="b")
    save(tmp_path / "c.jsonl", prompt("u3", "Look"), parent_session_id="b")
    sources = TOOL.discover(tmp_path).sources

    assert [("kiro-cli/b", ""), ("kiro-cli/a", "kiro-cli/b"), ("kiro-cli/c", "")] == [
        (source.conversation, source.fork_of) for source in sources
    ]
    assert "kiro-cli/b" == sources[2].about["parent"]


def test_what_is_not_known(tmp_path: Path) -> None:
    """A part of another kind is kept in its place, and a record of another kind as a note; empty ones are ignored."""
    Records({"kind": "other"}).write(tmp_path / "other.jsonl")
    picture = {"kind": "image", "data": {"format": "png"}}
    records = [prompt("u1", picture), prompt("u1", picture), answer("a1", ""), {"version": "v2", "kind": "Summary"}]
    save(tmp_path / "s1.jsonl", *records)
    found = Read(TOOL, tmp_path)

    assert ["opaque"] == [block["type"] for block in found.said[0].parts[0].blocks]
    assert ({"repeated": 1, "empty": 1}, {"Summary": 1}) == (found.counts.ignored, found.counts.unknown)
    assert [tmp_path / "k/sessions/cli"] == list(TOOL.places({"KIRO_HOME": str(tmp_path / "k")}))
    assert [tmp_path / ".kiro/sessions/cli"] == list(TOOL.places({"HOME": str(tmp_path)}))
    assert [tmp_path / "s1.json"] == list(TOOL.beside(found.source))
