"""Reading the sessions of Qwen Code."""

from pathlib import Path
from typing import Any

from reel.importing.steps import Compacted, Kept
from reel.importing.tools.qwen_code.tool import TOOL
from tests.reel.importing.records import Read, Records
from tests.reel.importing.transcripts import outline


class Session(Records):
    """A session in which each record follows the one before it, unless it is told otherwise."""

    def __init__(self, session: str = "s") -> None:
        super().__init__()
        self.session = session
        self.last: str | None = None

    def entry(self, kind: str, key: str, after: str | None = "", **fields: Any) -> "Session":
        """Append a record."""
        parent = self.last if after == "" else after
        self.add(uuid=key, parentUuid=parent, sessionId=self.session, type=kind, cwd="/w", version="0.23.4", **fields)
        self.last = key
        return self

    def user(self, key: str, *parts: Any, after: str | None = "", **fields: Any) -> "Session":
        """Append a prompt; a string is a text."""
        return self.entry("user", key, after, message={"role": "user", "parts": _parts(parts)}, **fields)

    def answer(self, key: str, *parts: Any, **fields: Any) -> "Session":
        """Append an answer."""
        return self.entry("assistant", key, message={"role": "model", "parts": _parts(parts)}, model="qwen3", **fields)

    def system(self, key: str, subtype: str, **payload: Any) -> "Session":
        """Append a record of the tool."""
        return self.entry("system", key, subtype=subtype, systemPayload=payload)


def _parts(parts: tuple[Any, ...]) -> list[Any]:
    return [{"text": part} if isinstance(part, str) else part for part in parts]


def read(made: Records, directory: Path) -> Read:
    """Return what is read of a session."""
    return Read(TOOL, made.write(directory / "projects/-w/chats/s.jsonl"))


def test_a_turn(tmp_path: Path) -> None:
    """An answer has thoughts, calls and usage; a result is a message after it."""
    call = {"functionCall": {"id": "c1", "name": "look", "args": {"at": 1}}}
    made = Session().user("u", "Look", "<context>", provenance="real_user", gitBranch="main")
    made.answer("a", {"text": "Hm", "thought": True}, "So", call, usageMetadata={"promptTokenCount": 5})
    response = {"functionResponse": {"id": "c1", "name": "look", "response": {"output": "seen"}}}
    made.entry("tool_result", "r", message={"role": "user", "parts": [response]}, toolCallResult={"callId": "c1"})

    found = read(made.system("t", "ui_telemetry"), tmp_path)

    assert ["user:u", "assistant:a", "tool:r"] == outline(found.steps)
    assert [("user", "Look <context>"), ("assistant", "Hm So tool_call")] == found.texts[:2]
    result = found.said[2].parts[0].blocks[0]
    assert ("c1", "seen") == (result["tool_call_id"], result["content"])
    (usage,) = [step for step in found.steps if isinstance(step, Kept)]
    assert ({"promptTokenCount": 5}, "qwen3") == (usage.data["usage"], usage.data["model"])
    assert ("Look", "main", "0.23.4") == (found.about.title, found.about.tags["branch"], found.about.tags["version"])
    assert ({"telemetry": 1}, {"toolCallResult": 1}) == (found.counts.ignored, found.counts.left_out)


def test_a_step_back(tmp_path: Path) -> None:
    """A record after an earlier one leaves what came between; the record of the step itself says nothing more."""
    made = Session().user("u", "Hi").answer("a", "Hello").user("v", "Wrong").answer("b", "Why")
    made.entry("system", "x", "a", subtype="rewind", systemPayload={"truncatedCount": 2}).user("w", "Right")

    found = read(made, tmp_path)

    assert ["user:u", "assistant:a", "user:v", "assistant:b", "back:a", "user:w"] == outline(found.steps)


def test_a_compression(tmp_path: Path) -> None:
    """The list of messages takes the place of the conversation."""
    history = [{"role": "user", "parts": [{"text": "Short"}]}, {"role": "model", "parts": [{"text": "Got it"}]}]
    made = Session().user("u", "Hi").answer("a", "Hello")
    made.system("k", "chat_compression", info={"newTokenCount": 3}, compressedHistory=history).user("v", "Then")

    found = read(made, tmp_path)

    assert ["user:u", "assistant:a", "compacted:k/0", "assistant:k/1", "note:k/note", "user:v"] == outline(found.steps)
    assert 1 == sum(isinstance(step, Compacted) for step in found.steps)


def test_titles(tmp_path: Path) -> None:
    """The title is the one that was given, else the first prompt of the person as it was typed."""
    made = Session().user("n", "Done: x", subtype="notification", provenance="system")
    made.user("u", "Hi <expanded>", systemPayload={"displayText": "Hi @file"})

    assert "Hi @file" == read(made, tmp_path).about.title
    assert "Named" == read(made.system("t", "custom_title", customTitle="Named"), tmp_path).about.title


def test_other_records(tmp_path: Path) -> None:
    """Commands are notes; what is unknown is counted by its type."""
    made = Session().user("u", "Hi").system("c", "slash_command", rawCommand="/about").system("h", "hologram", at=1)
    made.entry("user", "e", message={"role": "user", "parts": []}).entry("ghost", "g")

    found = read(made, tmp_path)

    assert ["user:u", "note:c", "note:h", "note:e", "note:g"] == outline(found.steps)
    assert {"system/hologram": 1, "user without content": 1, "ghost without content": 1} == found.counts.unknown


def test_places(tmp_path: Path) -> None:
    """A sub-agent's file is a conversation that names the session; a damaged file is reported, others are not read."""
    Session().user("u", "Hi").write(tmp_path / "projects/-w/chats/s.jsonl")
    Session().user("u", "Hi").write(tmp_path / "projects/-w/subagents/s/agent-1.jsonl")
    Records({"x": 1}).write(tmp_path / "projects/-w/other.jsonl")
    (tmp_path / "projects/-w/chats/torn.jsonl").write_text("{{{\n")

    found = {source.conversation: source.about for source in TOOL.discover(tmp_path).sources}

    assert {
        "qwen-code/s": {},
        "qwen-code/torn": {},
        "qwen-code/s/agent-1": {"parent": "qwen-code/s"},
    } == found
    assert [Path("/h/.qwen/projects")] == [*TOOL.places({"HOME": "/h"})]
    assert [Path("/q/projects")] == [*TOOL.places({"HOME": "/h", "QWEN_HOME": "/q"})]
