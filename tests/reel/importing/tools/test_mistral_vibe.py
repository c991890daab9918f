"""Reading the sessions of Mistral Vibe."""

import json
from pathlib import Path
from typing import Any

from reel.importing.steps import Kept, Said
from reel.importing.tools.mistral_vibe import TOOL
from tests.reel.importing.records import Read, Records


def said(role: str, content: str | None, ident: str = "", **more: Any) -> dict[str, Any]:
    """Return a message; results of tools have the id of their call instead of their own."""
    return {"role": role, "content": content, "injected": False, **({"message_id": ident} if ident else {}), **more}


def call(ident: str, name: str = "bash", arguments: str = '{"command": "ls"}') -> dict[str, Any]:
    """Return a call."""
    return {"id": ident, "index": 0, "type": "function", "function": {"name": name, "arguments": arguments}}


def save(root: Path, *messages: dict[str, Any], **about: Any) -> Path:
    """Write a session into a directory, with what is known of it."""
    path = Records(*messages).write(root / "messages.jsonl")
    known = {"session_id": root.name, "parent_session_id": None, "start_time": "2026-08-01T10:00:00+00:00", **about}
    (root / "meta.json").write_text(json.dumps(known, indent=2))
    return path


def rich(path: Path) -> None:
    """Write a session with what a plain one has not."""
    picture = {"source": {"kind": "inline", "data": "AAAA"}, "mime_type": "image/png"}
    asked = said("assistant", None, "a", reasoning_content="Hm", tool_calls=[call("c")])
    answered = said("tool", "o", name="bash", tool_call_id="c")
    save(path.parent, said("user", "hi", "u", images=[picture]), asked, answered)


def test_a_turn(tmp_path: Path) -> None:
    """An answer has its reasoning and its calls; the session says where it was, what it is called, and what it used."""
    path = save(
        tmp_path / "s1",
        said("user", "List it", "u1"),
        said("assistant", None, "a1", reasoning_content="Hm", reasoning_message_id="r1", tool_calls=[call("c1")]),
        said("tool", "two files", name="bash", tool_call_id="c1"),
        said("assistant", "Two", "a2"),
        environment={"working_directory": "/home/ada/deck"},
        git_branch="main",
        config={"active_model": "devstral"},
        system_prompt={"role": "system", "content": "You are Vibe."},
        stats={"session_prompt_tokens": 9, "session_completion_tokens": 2},
        title=None,
    )
    found = Read(TOOL, path)

    assert [
        ("system", "You are Vibe."),
        ("user", "List it"),
        ("assistant", "Hm tool_call"),
        ("tool", "tool_result"),
        ("assistant", "Two"),
    ] == found.texts
    assert ["u1", "a1", "c1", "a2"] == [one.parts[-1].ref for one in found.said[1:]]
    tags = {"cwd": "/home/ada/deck", "branch": "main", "model": "devstral"}
    assert ("List it", tags) == (found.about.title, {key: found.about.tags[key] for key in tags})
    (usage,) = (step for step in found.steps if isinstance(step, Kept))
    assert {"prompt_tokens": 9, "completion_tokens": 2} == usage.data["usage"]
    assert (5, {}, {}) == (found.counts.mapped, found.counts.unknown, found.counts.left_out)


def test_what_the_tool_said_for_the_person(tmp_path: Path) -> None:
    """A prompt that the tool wrote is marked, and is no title; an image is kept, and one in a file is named."""
    picture = {"source": {"kind": "inline", "data": "AAAA"}, "alias": "a.png", "mime_type": "image/png"}
    elsewhere = {"source": {"kind": "file", "path": "/tmp/b.png"}, "alias": "b.png", "mime_type": "image/png"}
    found = Read(
        TOOL,
        save(
            tmp_path / "s1",
            {**said("user", "Go on with the plan", "u1"), "injected": True},
            said("user", "Look", "u2", images=[picture, elsewhere]),
        ),
    )

    assert [True, None] == [one.metadata.get("injected") for one in found.said]
    assert "Look" == found.about.title
    assert ["text", "media", "opaque"] == [block["type"] for block in found.said[1].parts[0].blocks]


def test_a_rewind_is_a_fork_and_a_compaction_is_not(tmp_path: Path) -> None:
    """A session that begins as another one did is its fork; one that begins with a summary only names it."""
    first = said("user", "Hi", "u1")
    save(tmp_path / "a", first, said("assistant", "Ho", "a1"))
    save(tmp_path / "b", first, said("user", "No", "u2"), parent_session_id="a")
    save(tmp_path / "c", {**said("user", "In short", "u3"), "injected": True}, parent_session_id="a")
    sources = {source.conversation: source for source in TOOL.discover(tmp_path).sources}

    assert ["", "mistral-vibe/a", ""] == [sources[f"mistral-vibe/{name}"].fork_of for name in "abc"]
    assert "mistral-vibe/a" == sources["mistral-vibe/c"].about["parent"]


def test_tokens_that_were_counted_before(tmp_path: Path) -> None:
    """A session that goes on with another one's count is not counted, and that of a sub-agent is."""
    used = {"session_prompt_tokens": 9, "session_completion_tokens": 2}
    save(tmp_path / "b", said("user", "Hi", "u1"), parent_session_id="a", stats=used)
    save(tmp_path / "a/agents/explore_1", said("user", "Hi", "u2"), parent_session_id="a", stats=used)
    kept = [
        [type(step) for step in TOOL.open(source).steps() if isinstance(step, Kept)]
        for source in sorted(TOOL.discover(tmp_path).sources)
    ]

    assert [[Kept], []] == kept


def test_a_session_that_grows(tmp_path: Path) -> None:
    """The next reading yields what was written since, and the prompt once; a damaged file beside it is reported."""
    path = save(tmp_path / "s1", said("user", "Hi", "u1"), system_prompt={"role": "system", "content": "Be brief."})
    (source,) = TOOL.discover(tmp_path).sources
    reading = TOOL.open(source)
    before = list(reading.steps())
    with path.open("a") as file:
        file.write(json.dumps(said("user", "Hi", "u1")) + "\n" + json.dumps(said("assistant", "Ho", "a1")) + "\n")
    (tmp_path / "s1/meta.json").write_text("{")
    after = list(reading.steps())

    assert (["system", "user"], ["assistant"]) == (
        [step.role for step in before if isinstance(step, Said)],
        [step.role for step in after if isinstance(step, Said)],
    )
    assert ({"repeated": 1}, 1) == (reading.counts.ignored, len(reading.counts.problems))


def test_other_files(tmp_path: Path) -> None:
    """What is not a session is passed over; a message that says nothing is ignored, and what is no message is kept."""
    Records({"kind": "message"}).write(tmp_path / "other/messages.jsonl")
    found = Read(TOOL, save(tmp_path / "s1", said("assistant", "", "a1"), {"role": "user", "text": "x"}).parent.parent)

    assert ({"empty": 1}, {"user without content": 1}) == (found.counts.ignored, found.counts.unknown)
    assert [tmp_path / "v/logs/session"] == list(TOOL.places({"VIBE_HOME": str(tmp_path / "v")}))
    assert [tmp_path / ".vibe/logs/session"] == list(TOOL.places({"HOME": str(tmp_path)}))
    assert [tmp_path / "s1/meta.json"] == list(TOOL.beside(found.source))
