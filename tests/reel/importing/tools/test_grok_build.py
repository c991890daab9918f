"""Reading the sessions of Grok Build."""

import json
from pathlib import Path
from typing import Any

from reel.importing.steps import Kept
from reel.importing.tools.grok_build import TOOL
from tests.reel.importing.records import Read, Records


def user(*content: Any, **more: Any) -> dict[str, Any]:
    """Return a prompt; a string is a text."""
    parts = [{"type": "text", "text": part} if isinstance(part, str) else part for part in content]
    return {"type": "user", "content": parts, **more}


def answer(text: str, *calls: str, **more: Any) -> dict[str, Any]:
    """Return an answer with calls of these ids."""
    asked = [{"id": ident, "name": "read_file", "arguments": '{"path": "a"}'} for ident in calls]
    return {"type": "assistant", "content": text, "tool_calls": asked, "model_id": "grok-4.5", **more}


def reasoning(text: str) -> dict[str, Any]:
    """Return what the model thought."""
    return {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": text}]}


def search() -> dict[str, Any]:
    """Return a search that the provider made."""
    return {"type": "backend_tool_call", "kind": {"tool_type": "web_search", "id": "ws_1", "action": {"query": "x"}}}


def result(call: str, text: str, *images: Any) -> dict[str, Any]:
    """Return the result of a call."""
    shown = {"images": list(images)} if images else {}
    return {"type": "tool_result", "tool_call_id": call, "content": text, **shown}


def save(root: Path, *rows: dict[str, Any], **about: Any) -> Path:
    """Write a session into a directory, with what is known of it."""
    path = Records(*rows).write(root / "chat_history.jsonl")
    (root / "summary.json").write_text(json.dumps({"created_at": "2026-08-01T10:00:00Z", **about}, indent=2))
    return path


def rich(path: Path) -> None:
    """Write a session with what a plain one has not."""
    picture = {"type": "image", "url": "https://example.com/a.png"}
    rows = ({"type": "system", "content": "Be brief."}, user("hi", picture), reasoning("Hm"), search())
    save(path.parent, *rows, answer("ho", "c"), result("c", "o", picture))


def test_a_turn(tmp_path: Path) -> None:
    """Reasoning, searches and the answer are one message; what Grok Build said is marked, and is no title."""
    path = save(
        tmp_path / "s1",
        {"type": "system", "content": "You are Grok."},
        user("<user_info/>", synthetic_reason="environment_context"),
        user("List it", prompt_index=0),
        reasoning("Hm"),
        search(),
        answer("Looking", "c1"),
        result("c1", "two"),
        answer("Two"),
        info={"id": "s1", "cwd": "/home/ada/deck"},
        current_model_id="grok-4.5",
        head_branch="main",
    )
    found = Read(TOOL, path)

    assert [
        ("system", "You are Grok."),
        ("user", "<user_info/>"),
        ("user", "List it"),
        ("assistant", "opaque opaque Looking tool_call"),
        ("tool", "tool_result"),
        ("assistant", "Two"),
    ] == found.texts
    assert ["environment_context", None] == [one.metadata.get("synthetic_reason") for one in found.said[1:3]]
    tags = {"cwd": "/home/ada/deck", "branch": "main", "model": "grok-4.5"}
    assert ("List it", tags) == (found.about.title, {key: found.about.tags[key] for key in tags})
    assert {1_785_578_400_000} == {one.sent for one in found.said}
    assert (8, {}, {}) == (found.counts.mapped, found.counts.unknown, found.counts.left_out)


def test_the_older_form(tmp_path: Path) -> None:
    """It is that of Chat Completions."""
    called = {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}
    rows: list[dict[str, Any]] = [
        {"role": "system", "content": "You are Grok."},
        {"role": "user", "content": "List it"},
        {"role": "assistant", "content": "", "reasoning_content": "Hm", "tool_calls": [called], "model_id": "grok-4"},
        {"role": "tool", "content": "two", "tool_call_id": "c1"},
    ]
    found = Read(TOOL, save(tmp_path / "s1", *rows))

    assert [
        ("system", "You are Grok."),
        ("user", "List it"),
        ("assistant", "Hm tool_call"),
        ("tool", "tool_result"),
    ] == found.texts
    assert (4, {}, {}) == (found.counts.mapped, found.counts.unknown, found.counts.left_out)


def test_a_fork(tmp_path: Path) -> None:
    """It begins with a copy of its origin; a session that only names another one is not a fork."""
    first = user("Hi", prompt_index=0)
    save(tmp_path / "b", first, answer("Ho"))
    save(tmp_path / "a", first, user("No"), parent_session_id="b")
    save(tmp_path / "c", user("Go on", prompt_index=0), parent_session_id="b")
    Records({"type": "other"}).write(tmp_path / "d/chat_history.jsonl")
    sources = TOOL.discover(tmp_path).sources

    assert {"grok-build/b": "", "grok-build/a": "grok-build/b", "grok-build/c": ""} == {
        source.conversation: source.fork_of for source in sources
    }
    assert [tmp_path / "g/sessions"] == list(TOOL.places({"GROK_HOME": str(tmp_path / "g")}))
    assert [tmp_path / ".grok/sessions"] == list(TOOL.places({"HOME": str(tmp_path)}))
    assert {"summary.json"} == {path.name for source in sources for path in TOOL.beside(source)}


def test_what_is_not_known(tmp_path: Path) -> None:
    """A part of another kind is kept whole, and a row of another type as a note; empty ones are ignored."""
    odd = {"type": "video", "url": "x"}
    rows = [user(odd), answer(""), {"type": "reasoning"}, {"type": "hologram"}, {"type": "system", "content": "Late"}]
    found = Read(TOOL, save(tmp_path / "s1", *rows))

    assert ["opaque", "Late"] == [text for _, text in found.texts]
    assert {"empty": 1} == found.counts.ignored
    assert {"reasoning without content": 1, "hologram": 1} == found.counts.unknown
    assert 2 == sum(isinstance(step, Kept) for step in found.steps)
