"""Reading the sessions of pi, and of the agents made from it."""

import json
from pathlib import Path
from typing import Any

import pytest

from reel.importing import tool_named
from reel.importing.steps import Compacted, Kept
from reel.importing.tools.pi.tool import TOOL
from tests.reel.importing.records import Read, Records
from tests.reel.importing.transcripts import outline

ANSWER: dict[str, Any] = {
    "role": "assistant",
    "api": "anthropic-messages",
    "provider": "anthropic",
    "model": "claude-x",
}


class Session(Records):
    """A session in which each record follows the one before it, unless it is told otherwise."""

    def __init__(self, session: str = "s", **header: Any) -> None:
        super().__init__({"type": "session", "version": 3, "id": session, "cwd": "/home/me", **header})
        self.last: str | None = None

    def entry(self, kind: str, key: str, after: str | None = "", **fields: Any) -> "Session":
        """Append a record of the tree."""
        self.add(type=kind, id=key, parentId=self.last if after == "" else after, **fields)
        self.last = key
        return self

    def user(self, name: str, content: Any, after: str | None = "") -> "Session":
        """Append a prompt."""
        return self.entry("message", name, after, message={"role": "user", "content": content})

    def answer(self, name: str, *content: Any, after: str | None = "", **fields: Any) -> "Session":
        """Append an answer; a string is a text."""
        blocks = [{"type": "text", "text": block} if isinstance(block, str) else block for block in content]
        return self.entry("message", name, after, message={**ANSWER, "content": blocks, **fields})


def read(made: Records, directory: Path, tool: str = "pi") -> Read:
    """Return what is read of a session."""
    return Read(tool_named(tool), made.write(directory / "2026-08-01T10-00-00-000Z_s.jsonl"))


def test_a_turn(tmp_path: Path) -> None:
    """An answer has thinking, calls and usage; a result is a message after it."""
    thought = {"type": "thinking", "thinking": "Hm", "thinkingSignature": "sig"}
    call = {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "x"}}
    made = Session().user("u1", "look").answer("a1", thought, "So", call, usage={"input": 3, "cacheRead": 7})
    result = {"role": "toolResult", "toolCallId": "c1", "toolName": "read", "isError": True}
    made.entry("message", "r1", message={**result, "content": [{"type": "text", "text": "none"}]})

    found = read(made, tmp_path)

    assert ["user:u1", "assistant:a1", "tool:r1"] == outline(found.steps)
    answer, result = found.said[1], found.said[2].parts[0].blocks[0]
    assert {"provider": "anthropic", "model": "claude-x"} == answer.metadata
    by = {"provider": "anthropic", "model": "claude-x"}
    assert {"type": "thinking", "text": "Hm", "signature": "sig", **by} == answer.parts[0].blocks[0]
    assert '{"path":"x"}' == answer.parts[0].blocks[2]["arguments"]
    assert ("c1", "none", True) == (result["tool_call_id"], result["content"], result["is_error"])
    (usage,) = [step for step in found.steps if isinstance(step, Kept)]
    assert {"input": 3, "cacheRead": 7} == usage.data["usage"]
    assert ("look", "/home/me", "claude-x") == (found.about.title, found.about.tags["cwd"], found.about.tags["model"])
    assert ("pi/s", 1785578401000) == (found.source.conversation, found.said[0].sent)


def test_an_id_with_that_of_its_item(tmp_path: Path) -> None:
    """Behind the id of a call, pi keeps that of the item of OpenAI's Responses; its model gets the first one."""
    call = {"type": "toolCall", "id": "call_1|fc_1", "name": "read", "arguments": {}}
    made = Session().user("u1", "look").answer("a1", call, api="openai-responses", provider="openai")
    made.entry("message", "r1", message={"role": "toolResult", "toolCallId": "call_1|fc_1", "content": "none"})

    _, answer, result = read(made, tmp_path).said

    assert ("call_1", "call_1") == (answer.parts[0].blocks[0]["id"], result.parts[0].blocks[0]["tool_call_id"])


def test_branches(tmp_path: Path) -> None:
    """A record after an earlier one is a step back; records that are no messages lead to the message before them."""
    made = Session().user("u1", "Hi").answer("a1", "Hello").entry("model_change", "m1", provider="p", modelId="m")
    made.user("u2", "Wrong").answer("a2", "Why").user("u3", "Right", after="m1").answer("a3", "Fine")

    found = read(made.user("u4", "Again", after=None), tmp_path)

    assert [
        *("user:u1", "assistant:a1", "user:u2", "assistant:a2", "back:a1"),
        *("user:u3", "assistant:a3"),
    ] == outline(found.steps)[:7]
    assert ["back:", "user:u4"] == outline(found.steps)[7:]


def test_a_compaction(tmp_path: Path) -> None:
    """A summary takes the place of the conversation, with the messages from the first kept one on after it."""
    made = Session().user("u1", "Hi").answer("a1", "Hello").user("u2", "More").answer("a2", "Yes")
    made.entry("compaction", "k", summary="Short", firstKeptEntryId="u2", tokensBefore=9).user("u3", "Then")

    found = read(made, tmp_path)

    assert ["compacted:k u2 a2", "user:u3"] == outline(found.steps)[4:]
    (compacted,) = [step for step in found.steps if isinstance(step, Compacted)]
    assert "<summary>\nShort\n</summary>" in compacted.summary.parts[0].blocks[0]["text"]


def system(**fields: Any) -> dict[str, Any]:
    """Return a system message."""
    return {"role": "system", "content": "", **fields}


def test_system_prompts(tmp_path: Path) -> None:
    """A later system message changes sections of the prompt on its branch, and only there."""
    first = system(sections={"preamble": "You help.", "skills": "<skills/>"}, toolsAdded=[{"name": "read"}])
    made = Session().entry("message", "s1", message=first).user("u1", "Hi").answer("a1", "Hello")
    made.entry("message", "s2", message=system(content="More.", sections={"skills": None, "cwd": "/"}))
    made.user("u2", "So").entry("message", "s3", after="a1", message=system(sections={"cwd": "/x"}))

    found = read(made, tmp_path)

    assert [
        "You help.\n\n<skills/>",
        "More.\n\nYou help.\n\n/",
        "You help.\n\n<skills/>\n\n/x",
    ] == [text for role, text in found.texts if role == "system"]
    steps = ["system:s1", "user:u1", "assistant:a1", "system:s2", "user:u2", "back:a1", "system:s3"]
    assert steps == outline(found.steps)
    assert {"system.toolsAdded": 1} == found.counts.left_out


@pytest.mark.parametrize(("text", "said"), [("Be brief", []), ("Be long", ["system:k/system"])])
def test_a_compaction_with_a_prompt(tmp_path: Path, text: str, said: list[str]) -> None:
    """System messages are not kept beside the summary: the prompt is that of the compaction, if it is another one."""
    made = Session().entry("message", "s1", message=system(content="Be brief")).user("u1", "Hi").answer("a1", "Hello")
    checkpoint, usage = system(content=text, toolsAdded=[]), {"input": 3}
    made.entry("compaction", "k", summary="S", firstKeptEntryId="s1", systemMessage=checkpoint, usage=usage)

    found = read(made.user("u2", "Then"), tmp_path)

    assert ["compacted:k u1 a1", *said, "user:u2"] == outline(found.steps)[3:]
    assert [usage] == [step.data["usage"] for step in found.steps if isinstance(step, Kept)]


def test_usage_beside_answers(tmp_path: Path) -> None:
    """What the tool used for itself counts, and an edit of what the model gets is a note."""
    made = Session().user("u1", "Hi").entry("usage", "w", model="m", usage={"cacheRead": 5})

    found = read(made.entry("context_edit", "e", targetId="u1", replacement=None), tmp_path)

    assert ["user:u1", "note:e"] == outline(found.steps)
    kept = [step for step in found.steps if isinstance(step, Kept) and step.kind == "usage"]
    assert [{"cacheRead": 5}] == [step.data["usage"] for step in kept]


def test_the_first_version(tmp_path: Path) -> None:
    """Records without ids follow one another, and a compaction names the first kept one by its number."""
    made = Session(version=None)
    records: list[dict[str, Any]] = [
        *({"type": "message", "message": {"role": "user", "content": text}} for text in ("Hi", "Bye")),
        {"type": "compaction", "summary": "Short", "firstKeptEntryIndex": 2, "tokensBefore": 9},
        {"type": "message", "message": {"role": "user", "content": "Then"}},
    ]
    for record in records:
        made.add(**record)

    found = read(made, tmp_path)

    (compacted,) = [step for step in found.steps if isinstance(step, Compacted)]
    assert (found.said[1].parts[0].ref,) == compacted.kept
    assert ["Hi", "Bye", "Then"] == [text for _, text in found.texts]
    assert 0 == found.counts.unknown.total()


def test_an_answer_that_broke_off(tmp_path: Path) -> None:
    """pi does not send it again, unless it has a call: what follows it comes after the message before it."""
    call = {"type": "toolCall", "id": "c1", "name": "read", "arguments": {}}
    made = Session().user("u1", "Hi").answer("a1", "Hel", stopReason="aborted", errorMessage="aborted by the user")
    made.user("u2", "Go on").answer("a2", call, stopReason="error").user("u3", "And?")

    steps = outline(read(made, tmp_path).steps)

    assert ["user:u1", "assistant:a1", "note:a1/error", "back:u1", "user:u2", "assistant:a2", "user:u3"] == steps


def test_what_the_model_gets_beside_prompts(tmp_path: Path) -> None:
    """Commands, messages of extensions and summaries of branches are the user's; hidden commands are notes."""
    ran = {"role": "bashExecution", "command": "ls", "output": "x", "exitCode": 2, "cancelled": False}
    made = Session().entry("message", "b1", message=ran)
    made.entry("message", "b2", message={**ran, "excludeFromContext": True})
    made.entry("custom_message", "c1", customType="ext", content="Injected", display=True)
    made.entry("branch_summary", "s1", summary="Tried", fromId="b1").entry("custom", "x1", customType="ext", data={})

    found = read(made.entry("label", "l1", targetId="b1", label="here").entry("hologram", "h1", at=3), tmp_path)

    assert ["user:b1", "note:b2", "user:c1", "user:s1", "note:l1", "note:h1"] == outline(found.steps)
    assert "Ran `ls`\n```\nx\n```\n\nCommand exited with code 2" == found.texts[0][1]
    assert ("user", "Injected") == found.texts[1]
    assert ({"state of an extension": 1}, {"hologram": 1}) == (found.counts.ignored, found.counts.unknown)


@pytest.mark.parametrize(
    ("api", "signature", "block"),
    [
        ("anthropic-messages", "s", {"type": "thinking", "text": "Hm", "provider": "anthropic", "signature": "s"}),
        (
            "openai-responses",
            '{"type":"reasoning","id":"r"}',
            {"type": "opaque", "provider": "openai", "data_json": '{"type":"reasoning","id":"r"}'},
        ),
        ("openai-completions", "reasoning_content", {"type": "thinking", "text": "Hm", "provider": "openai"}),
        ("mistral", "s", {"type": "thinking", "text": "Hm", "provider": "pi"}),
    ],
)
def test_signatures(tmp_path: Path, api: str, signature: str, block: dict[str, Any]) -> None:
    """What a provider signed goes back to it, in its form; other signatures are kept beside the text."""
    thought = {"type": "thinking", "thinking": "Hm", "thinkingSignature": signature}

    (said,) = read(Session().answer("a1", thought, api=api, provider=""), tmp_path).said

    found: dict[str, Any] = said.parts[0].blocks[0]
    kept = {"provider": "pi", "signature": "s"} if api == "mistral" else None
    assert {**block, "model": "claude-x"} == {key: found[key] for key in found if key != "provider_metadata"}
    assert kept == found.get("provider_metadata")


def test_forks(tmp_path: Path) -> None:
    """A session whose header names another file is a fork of that session; a file without a header is left out."""
    Session("a").user("u1", "Hi").write(tmp_path / "--x--/2026-08-02_a.jsonl")
    Session("b", parentSession=f"{tmp_path}/--x--/2026-08-02_a.jsonl").user("u1", "Hi").write(tmp_path / "1_b_c.jsonl")
    Session("c", parentSession="C:\\\\sessions\\\\1_b_c.jsonl").user("u1", "Hi").write(tmp_path / "2_c.jsonl")
    (tmp_path / "run-history.jsonl").write_text('{"type": "other"}\n')

    found = TOOL.discover(tmp_path).sources

    forks = [(source.conversation, source.fork_of) for source in found]
    assert [("pi/a", ""), ("pi/b", "pi/a"), ("pi/c", "pi/b")] == forks


def test_agents_made_from_pi(tmp_path: Path) -> None:
    """OpenClaw and Oh My Pi keep sessions in the same form; the latter has the title on the first line."""
    made = Session().user("u1", "Hi")
    made.records.insert(0, {"type": "title", "v": 1, "title": "Named", "pad": "   "})

    named = read(made, tmp_path, "omp")

    assert ("omp/s", "Named") == (named.source.conversation, named.about.title)
    assert "openclaw/s" == read(made, tmp_path, "openclaw").source.conversation
    home = {"HOME": "/home/me"}
    assert [Path("/home/me/.pi/agent/sessions")] == [*TOOL.places(home)]
    assert [Path("/x")] == [*TOOL.places({**home, "PI_CODING_AGENT_SESSION_DIR": "/x"})]
    assert Path("/home/me/.openclaw/agents") in tool_named("openclaw").places(home)


def test_records_that_are_repeated(tmp_path: Path) -> None:
    """A record that is there twice is read once."""
    made = Session().user("u1", "Hi")
    made.records.append(made.records[-1])

    found = read(made, tmp_path)

    assert ([("user", "Hi")], {"repeated": 1}) == (found.texts, found.counts.ignored)
    assert "s" == json.loads((tmp_path / "2026-08-01T10-00-00-000Z_s.jsonl").read_text().splitlines()[0])["id"]
