"""Reading the sessions of GitHub Copilot CLI."""

from pathlib import Path
from typing import Any

import pytest

from reel.importing.steps import Kept
from reel.importing.tools.copilot_cli.tool import TOOL
from reel.touches.reading import touches
from tests.reel.importing.records import Read, Records
from tests.reel.importing.transcripts import outline


class Session(Records):
    """A session in which each event follows the one before it."""

    def __init__(self, session: str = "s", **context: Any) -> None:
        super().__init__()
        self.event("session.start", sessionId=session, copilotVersion="1.0.95", context={"cwd": "/w", **context})

    def event(self, kind: str, key: str = "", agentId: str = "", **data: Any) -> "Session":  # noqa: N803 - as there
        """Append an event."""
        last = self.records[-1]["id"] if self.records else None
        agent = {"agentId": agentId} if agentId else {}
        self.add(type=kind, data=data, id=key or f"e{len(self.records)}", parentId=last, **agent)
        return self

    def user(self, key: str, text: str, **data: Any) -> "Session":
        """Append a prompt."""
        return self.event("user.message", key, content=text, **data)

    def answer(self, key: str, text: str, *calls: Any, **data: Any) -> "Session":
        """Append an answer."""
        return self.event("assistant.message", key, content=text, toolRequests=list(calls), model="m", **data)


def call(name: str, **arguments: Any) -> dict[str, Any]:
    """Return the request of a call, whose id is its name."""
    return {"toolCallId": name, "name": name, "arguments": arguments, "type": "function"}


def read(made: Records, directory: Path) -> Read:
    """Return what is read of a session."""
    return Read(TOOL, made.write(directory / "s/events.jsonl"))


def test_a_turn(tmp_path: Path) -> None:
    """The prompt is what the model got; calls have their results, and requests their usage."""
    signed = {"provider": "anthropic-messages", "blocks": [{"type": "thinking", "thinking": "Hm", "signature": "x"}]}
    made = Session(branch="main").user("u", "look", transformedContent="<time/>look").event("assistant.turn_start")
    counts = {"inputTokens": 10, "outputTokens": 5, "cacheReadTokens": 7, "cacheWriteTokens": 2, "reasoningTokens": 1}
    made.event("session.usage_record", usage={**counts, "model": "m", "apiCallId": "r1"})
    made.answer("a", "So", call("view", path="x"), reasoningBlocks=signed, apiCallId="r1", outputTokens=5)
    made.event("tool.execution_start", toolCallId="view").event(
        "tool.execution_complete", "r", toolCallId="view", success=False, error={"message": "no such file"}
    )

    found = read(made.answer("b", "Done"), tmp_path)

    assert ["user:u", "assistant:a", "tool:r", "assistant:b"] == outline(found.steps)
    assert [("user", "<time/>look"), ("assistant", "Hm So tool_call")] == found.texts[:2]
    thinking, result = found.said[1].parts[0].blocks[0], found.said[2].parts[0].blocks[0]
    assert ("anthropic", "x") == (thinking["provider"], thinking["signature"])
    assert ("view", "no such file", True) == (result["tool_call_id"], result["content"], result["is_error"])
    (usage,) = [step for step in found.steps if isinstance(step, Kept)]
    assert {"cached_tokens": 7, "cache_write_tokens": 2} == usage.data["usage"]["input_tokens_details"]
    assert ("look", "/w", "main", "m") == (
        found.about.title,
        *(found.about.tags[k] for k in ("cwd", "branch", "model")),
    )
    assert ("copilot-cli/s", {"progress of a turn": 2}) == (found.source.conversation, found.counts.ignored)


@pytest.mark.parametrize(
    ("output", "status"),
    [
        ("x\n<exited with exit code 2>", 2),
        ("<exited with exit code 0>", 0),
        ("x", None),
        ("say <exited with exit code 0>", None),
    ],
)
def test_exit_status(tmp_path: Path, output: str, status: int | None) -> None:
    """A command's exit status is what the shell says behind its output."""
    made = Session().user("u", "look").answer("a", "So", call("bash", command="x", description="X"))
    made.event("tool.execution_complete", "r", toolCallId="bash", success=True, result={"content": output})
    _, answer, results = read(made, tmp_path).said

    (ran,) = touches(answer.parts[0].blocks[-1], results.parts[0].blocks[0])
    assert (output, status) == (results.parts[0].blocks[0]["content"], ran.status)


def test_output_of_earlier_versions(tmp_path: Path) -> None:
    """Without the usage of a request, the output of its answer is counted."""
    found = read(Session().user("u", "Hi").answer("a", "Hello", outputTokens=9), tmp_path)

    assert [{"output_tokens": 9}] == [step.data["usage"] for step in found.steps if isinstance(step, Kept)]


def test_a_sub_agent(tmp_path: Path) -> None:
    """What a sub-agent says is a conversation of its own, which names the session; the session goes on without it."""
    made = Session().user("u", "Hi").answer("a", "", call("task"))
    made.event("assistant.message", "s1", content="I look", toolRequests=[], model="m2", parentToolCallId="task")
    made.event("assistant.message", "s2", agentId="task", content="Found", toolRequests=[])
    made.event("tool.execution_complete", "r", toolCallId="task", success=True, result={"content": "Found"})

    found = read(made.answer("b", "Done"), tmp_path)

    steps = outline(found.steps)
    assert ["user:u", "assistant:a", "part:/task", "assistant:s1", "assistant:s2", "tool:r", "assistant:b"] == steps[:7]
    parts = [step for step in found.steps if getattr(step, "part", None) == "/task"]
    tags = parts[-1].tags  # type: ignore[union-attr]  # a description
    assert ("copilot-cli/s", "/w", "m2") == (tags["parent"], tags["cwd"], tags["model"])


def test_system_prompts_and_compactions(tmp_path: Path) -> None:
    """The system prompt is written with each turn; only another one is a note. A summary replaces the conversation."""
    made = Session().event("system.message", "y", content="Be brief").user("u", "Hi")
    made.event("system.message", content="Be brief").event("system.message", "z", content="Be long")
    made.event("session.compaction_complete", "k", success=True, summaryContent="Short").user("v", "Then")

    found = read(made.event("session.compaction_complete", "f", success=False), tmp_path)

    assert ["system:y", "user:u", "note:z", "compacted:k", "note:k/note", "user:v", "note:f/note"] == outline(
        found.steps
    )
    assert {"repeated": 1} == found.counts.ignored


def test_other_events(tmp_path: Path) -> None:
    """A command of the person is a call; what is known is a note or ignored, and what is not is counted."""
    made = Session().event("tool.user_requested", "c", toolCallId="x", toolName="bash", arguments={"command": "ls"})
    made.event("tool.execution_complete", "r", toolCallId="x", success=True, result={"content": "y"})
    made.event("session.info", "i", message="Trusted").event("hook.start").event("hologram", "h", at=1)
    made.records.append(made.records[-1])
    made.records.append({**made.records[-1], "data": {"at": 2}})

    found = read(made, tmp_path)

    assert ["assistant:c", "tool:r", "note:i", "note:h"] == outline(found.steps)[:4]
    assert 2 == found.counts.unknown["hologram"]
    assert {"question or hook": 1, "repeated": 1} == found.counts.ignored
    assert 8 == found.counts.read == found.counts.mapped + 2 + 2


def test_places(tmp_path: Path) -> None:
    """Sessions are in directories, or in files of earlier versions; other files of a directory are left out."""
    Session("a").user("u", "Hi").write(tmp_path / "session-state/a/events.jsonl")
    Session("b").user("u", "Hi").write(tmp_path / "session-state/b.jsonl")
    Records({"x": 1}).write(tmp_path / "session-state/a/files/log.jsonl")

    assert {"copilot-cli/a", "copilot-cli/b"} == {one.conversation for one in TOOL.discover(tmp_path).sources}
    assert Path("/h/.copilot/session-state") in TOOL.places({"HOME": "/h"})
    assert Path("/c/session-state") in TOOL.places({"HOME": "/h", "COPILOT_HOME": "/c"})
