"""Reading the sessions of Continue."""

import json
from pathlib import Path
from typing import Any

from reel.importing.steps import Kept
from reel.importing.tools.continue_dev import TOOL
from tests.reel.importing.records import Read
from tests.reel.importing.transcripts import outline


def said(key: str, role: str, content: Any, item: Any = None, **message: Any) -> dict[str, Any]:
    """Return an item of the history."""
    return {"message": {"id": key, "role": role, "content": content, **message}, "contextItems": [], **(item or {})}


def save(path: Path, *items: Any, **session: Any) -> Path:
    """Write a session."""
    path.parent.mkdir(parents=True, exist_ok=True)
    about = {"sessionId": path.stem, "title": "A title", "workspaceDirectory": "file:///home/my%20deck"}
    path.write_text(json.dumps({**about, "history": list(items), **session}))
    return path


def read(directory: Path, *items: Any, **session: Any) -> Read:
    """Return what is read of a session."""
    return Read(TOOL, save(directory / "sessions/s.json", *items, **session))


def test_a_session(tmp_path: Path) -> None:
    """Messages have what was given with them, calls and results; the model is that of the logged request."""
    given = {"contextItems": [{"name": "a.py", "content": "code", "id": {}}]}
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": '{"at":1}'}}
    logs = {"promptLogs": [["junk"], {"modelTitle": "Mine", "completionOptions": {"model": "m"}, "prompt": "all"}]}
    items = [
        said("u", "user", [{"type": "text", "text": "Look"}], given),
        said("t", "thinking", "Hm", signature="sig"),
        said("a", "assistant", "So", logs, toolCalls=[call], usage={"promptTokens": 5, "completionTokens": 2}),
        said("r", "tool", "seen", toolCallId="c"),
    ]

    found = read(tmp_path, *items)

    assert ["user:u", "assistant:t", "assistant:a", "tool:r"] == outline(found.steps)
    assert [("user", "code Look"), ("assistant", "Hm"), ("assistant", "So tool_call")] == found.texts[:3]
    answered = found.said[3].parts[0].blocks[0]
    assert ("c", "seen") == (answered["tool_call_id"], answered["content"])
    assert {"provider": "continue", "model": "m"} == found.said[2].metadata
    (usage,) = [step for step in found.steps if isinstance(step, Kept)]
    assert (5, 2) == (usage.data["usage"]["prompt_tokens"], usage.data["usage"]["completion_tokens"])
    assert ("A title", "/home/my deck", "m") == (found.about.title, found.about.tags["cwd"], found.about.tags["model"])
    assert ("continue/s", 4) == (found.source.conversation, found.counts.mapped)


def test_prompts_pictures_and_the_rest(tmp_path: Path) -> None:
    """A system message at the beginning is the prompt; what has no form here is kept, and what says nothing counts."""
    picture = {"type": "imageUrl", "imageUrl": {"url": "data:image/png;base64,AAAA"}}
    web, other = {"type": "imageUrl", "imageUrl": {"url": "https://x.example/a"}}, {"type": "hologram", "at": 1}
    items = [
        said("s", "system", "Be brief"),
        said("u", "user", [picture, web, other]),
        said("l", "system", "Later"),
        said("e", "assistant", ""),
        {"message": {"role": "ghost", "content": "Boo"}},
        {"message": {"role": "user"}},
        5,
    ]

    found = read(tmp_path, *items)

    assert [("system", "Be brief"), ("user", "media media opaque"), ("user", "Later")] == found.texts
    assert "system" == found.said[2].metadata["role"]
    assert 3 == sum(isinstance(step, Kept) for step in found.steps)
    assert {"role ghost": 1, "user without content": 1, "role missing": 1} == found.counts.unknown
    assert {"empty": 1} == found.counts.ignored


def test_messages_without_ids(tmp_path: Path) -> None:
    """They are identified by their number and what they say: a changed one is another message."""
    items = [{"message": {"role": "user", "content": text}} for text in ("Hi", "Hi")]
    first = [each.parts[0].ref for each in read(tmp_path, *items).said]

    items[1] = {"message": {"role": "user", "content": "Ho"}}
    changed = [each.parts[0].ref for each in read(tmp_path, *items).said]

    assert 2 == len({*first})
    assert first[0] == changed[0]
    assert first[1] != changed[1]


def test_the_list_of_sessions(tmp_path: Path) -> None:
    """The list beside the sessions is not a session; it says when each of them began."""
    listed = [{"sessionId": "s", "dateCreated": "1734518111194"}, {"sessionId": "x", "dateCreated": "never"}, 5]
    (tmp_path / "sessions").mkdir()
    (tmp_path / "sessions/sessions.json").write_text(json.dumps(listed))
    save(tmp_path / "sessions/x.json", said("u", "user", "Hi"))
    save(tmp_path / "config.json", said("u", "user", "Hi"))

    found = read(tmp_path, said("u", "user", "Hi"))

    assert 1734518111194 == found.said[0].sent
    assert ["continue/s", "continue/x"] == [source.conversation for source in TOOL.discover(tmp_path).sources]
    assert None is Read(TOOL, tmp_path / "sessions/x.json").said[0].sent
    assert [Path("/h/.continue/sessions")] == [*TOOL.places({"HOME": "/h"})]
    assert [Path("/c/sessions")] == [*TOOL.places({"HOME": "/h", "CONTINUE_GLOBAL_DIR": "/c"})]


def test_a_damaged_session(tmp_path: Path) -> None:
    """Its undamaged messages are read, and the damage is reported."""
    path = save(tmp_path / "sessions/s.json", *(said(key, "user", f"text {key}") for key in "abc"))
    path.write_text(path.read_text().replace('"content": "text b"', '"content: "text b"'))

    found = Read(TOOL, path)

    assert ["text a", "text c"] == [text for _, text in found.texts]
    assert found.counts.problems[0].what.startswith("not JSON: ")


def test_what_is_no_session(tmp_path: Path) -> None:
    """Another object, and a damaged one, are reported."""
    path = save(tmp_path / "sessions/s.json")
    problems = []
    for text in ('{"history": 5}', "[]", "{"):
        path.write_text(text)
        problems += [problem.what[:30] for problem in Read(TOOL, path).counts.problems]

    assert ["has no history of messages"] * 2 == problems[:2]
    assert problems[2].startswith("not JSON: ")
