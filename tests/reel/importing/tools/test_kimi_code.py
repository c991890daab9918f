"""Reading the logs of Kimi Code."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from reel.importing.steps import About, Back, Compacted, Kept, Said, Step
from reel.importing.tools.kimi_code.tool import TOOL
from tests.reel.importing.records import Read

_TIME = 1_785_000_000_000


class Log:
    """The log of an agent, made for tests."""

    def __init__(self, session: str = "s1") -> None:
        self.session = session
        self.records: list[dict[str, Any]] = []

    def record(self, kind: str, /, **fields: Any) -> "Log":
        """Append a record."""
        self.records.append({"type": kind, **fields, "time": _TIME + len(self.records)})
        return self

    def user(self, key: str, *content: Any, **more: Any) -> "Log":
        """Append a prompt; a string is a text."""
        parts = [{"type": "text", "text": part} if isinstance(part, str) else part for part in content]
        message = {"role": "user", "content": parts, "toolCalls": [], "id": key, **more}
        return self.record("context.append_message", message=message)

    def event(self, kind: str, /, **fields: Any) -> "Log":
        """Append an event of a step."""
        return self.record("context.append_loop_event", event={"type": kind, **fields})

    def begin(self, step: str) -> "Log":
        """Begin a step."""
        return self.event("step.begin", uuid=step, turnId="0", step=1)

    def part(self, step: str, **part: Any) -> "Log":
        """Append a part of what the model says."""
        return self.event("content.part", uuid=f"{step}-p", stepUuid=step, part=part)

    def call(self, step: str, ident: str, **more: Any) -> "Log":
        """Append a call."""
        args = {"command": "ls"}
        return self.event("tool.call", uuid=ident, stepUuid=step, toolCallId=ident, name="Bash", args=args, **more)

    def result(self, ident: str, output: Any, **more: Any) -> "Log":
        """Append the result of a call."""
        return self.event("tool.result", parentUuid=ident, toolCallId=ident, result={"output": output, **more})

    def end(self, step: str, reason: str = "end_turn") -> "Log":
        """End a step."""
        return self.event("step.end", uuid=step, finishReason=reason)

    def answer(self, key: str, text: str) -> "Log":
        """Append a step that says a text."""
        return self.begin(key).part(key, type="text", text=text).end(key).record("turn.ended", reason="completed")

    def write(self, root: Path, agent: str = "main", **state: Any) -> Path:
        """Write the log, and what is known of the session; return the log."""
        place = root / f"session_{self.session}"
        path = place / "agents" / agent / "wire.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(record) + "\n" for record in self.records))
        if state or agent == "main":
            (place / "state.json").write_text(json.dumps(state))
        return path


def rich(path: Path) -> None:
    """Write a session with what a plain one has not."""
    picture = {"type": "image_url", "imageUrl": {"url": "https://example.com/a.png"}}
    log = Log().record("config.update", modelAlias="kimi").user("u", "hi", picture, origin={"kind": "user"})
    log.begin("a").part("a", type="think", think="Hm").call("a", "c").result("c", "o", note="n").end("a")
    called = {"role": "assistant", "content": [], "toolCalls": [{"id": "d", "name": "Bash", "arguments": "{}"}]}
    log.record("context.append_message", message=called).record("context.undo", count=1).record("context.clear")
    log.user("v", "so").record("context.apply_compaction", summary="s", compactedCount=1, keptUserMessageCount=1)
    log.record("usage.record", model="kimi", usage={"inputOther": 1}).write(path.parents[3])


def said(steps: list[Step]) -> list[tuple[str, Any]]:
    """Return the messages, each with its role and what is in it, and what else changes the conversation."""
    found: list[tuple[str, Any]] = []
    for step in steps:
        match step:
            case Said(role, parts):
                blocks = [block for part in parts for block in part.blocks]
                found.append((role, " ".join(block.get("text", block["type"]) for block in blocks)))
            case Back(to):
                found.append(("back", to))
            case Compacted(summary, kept, before):
                found.append((summary.parts[0].blocks[0]["text"], (before, kept)))
    return found


def test_a_turn(tmp_path: Path) -> None:
    """The events of a step become an answer and its results; a prompt is there once; the session names directory."""
    log = Log().record("metadata", protocol_version="1.4")
    log.record("config.update", modelAlias="kimi-k2", systemPrompt="You are Kimi.", cwd="/home/ada/deck")
    log.record("turn.prompt", input=[{"type": "text", "text": "List it"}], origin={"kind": "user"})
    log.user("u1", "List it").begin("a1").record("llm.request", kind="loop").part("a1", type="think", think="Hm")
    log.call("a1", "Bash_0", description="Running: ls").call("a1", "Bash_1").result("Bash_0", "two")
    log.result("Bash_1", "", isError=True, note="Failed").end("a1", "tool_use")
    log.record("usage.record", model="kimi-k2", usage={"inputOther": 9, "output": 2, "inputCacheRead": 7})
    found = Read(TOOL, log.answer("a2", "Two").write(tmp_path, title="The list"))

    assert [
        ("system", "You are Kimi."),
        ("user", "List it"),
        ("assistant", "Hm tool_call tool_call"),
        ("tool", "tool_result"),
        ("tool", "tool_result"),
        ("assistant", "Two"),
    ] == said(found.steps)
    failed = found.said[4].parts[0].blocks[0]
    assert (True, "Failed") == (failed["is_error"], failed["content"])
    tags = {"cwd": "/home/ada/deck", "model": "kimi-k2"}
    assert ("The list", tags) == (found.about.title, {key: found.about.tags[key] for key in tags})
    (usage,) = (step for step in found.steps if isinstance(step, Kept) and step.kind == "usage")
    assert {"input": 9, "output": 2, "cacheRead": 7} == usage.data["usage"]
    assert 1 == found.counts.ignored["prompt, which is a message as well"]
    assert ({}, {}) == (found.counts.unknown, found.counts.left_out)


def test_what_is_said_while_calls_run(tmp_path: Path) -> None:
    """It comes after their results, as the model gets it."""
    log = Log().user("u1", "Hi").begin("a1").call("a1", "c1").user("u2", "Hurry").result("c1", "o").end("a1")

    assert ["user", "assistant", "tool", "user"] == [role for role, _ in said(Read(TOOL, log.write(tmp_path)).steps)]


def test_an_undo(tmp_path: Path) -> None:
    """It takes back as many prompts as it says, with what Kimi put before each; one too many takes back nothing."""
    injected = {"kind": "injection", "variant": "plan_mode", "ownerPromptId": "u2"}
    log = Log().user("u1", "One").answer("a1", "1").user("i1", "<reminder>", origin=injected).user("u2", "Two")
    log.answer("a2", "2").record("context.undo", count=1).record("context.undo", count=5).user("u3", "Three")
    found = said(Read(TOOL, log.write(tmp_path)).steps)

    assert [("back", "a1"), ("user", "Three")] == found[-2:]


def test_a_conversation_that_was_cleared(tmp_path: Path) -> None:
    """What is said after it has nothing before it, nor can an undo bring anything back."""
    log = Log().user("u1", "One").record("context.clear").record("context.undo", count=1).user("u2", "Two")

    assert [("user", "One"), ("back", ""), ("user", "Two")] == said(Read(TOOL, log.write(tmp_path)).steps)


@pytest.mark.parametrize(
    ("fields", "before", "after"),
    [
        ({"keptUserMessageCount": 1, "compactedCount": 4}, ("u2",), ()),
        ({"keptUserMessageCount": 2, "keptHeadUserMessageCount": 1, "compactedCount": 4}, ("u1", "u2"), ()),
        ({"keptUserMessageCount": 0, "compactedCount": 4}, (), ()),
        ({"compactedCount": 3}, (), ("a2",)),
        ({"count": 9}, (), ()),
    ],
)
def test_a_compaction(tmp_path: Path, fields: dict[str, int], before: tuple[str, ...], after: tuple[str, ...]) -> None:
    """Newer versions keep prompts before the summary, older ones the end of the conversation after it."""
    log = Log().user("u1", "One").answer("a1", "1").user("u2", "Two").answer("a2", "2")
    log.record("context.apply_compaction", summary="short", contextSummary="In short", **fields)

    assert ("In short", (before, after)) == said(Read(TOOL, log.write(tmp_path)).steps)[-1]


def test_a_step_that_goes_on(tmp_path: Path) -> None:
    """It waits for its end; of a program that was killed long ago, it has none, and what was said is read."""
    log = Log().user("u1", "Hi").begin("a1").part("a1", type="text", text="Ho")
    path = log.write(tmp_path)
    (source,) = TOOL.discover(tmp_path).sources
    killed = list(TOOL.open(source).steps())
    newer = [{**record, "time": time.time_ns() // 1_000_000} for record in log.records]
    path.write_text("".join(json.dumps(record) + "\n" for record in newer))
    reading = TOOL.open(source)
    before, is_waiting = list(reading.steps()), reading.counts.unfinished
    with path.open("a") as file:
        file.write(json.dumps(log.end("a1").records[-1]) + "\n")
    after = list(reading.steps())

    assert [("user", "Hi"), ("assistant", "Ho")] == said(killed)
    assert ([("user", "Hi")], True) == (said(before), is_waiting)
    assert ([("assistant", "Ho")], False) == (said(after), reading.counts.unfinished)


def test_events_without_their_step(tmp_path: Path) -> None:
    """What is said is kept, whichever of the records around it are gone."""
    log = Log().result("c0", "old").part("a1", type="text", text="One").part("a2", type="text", text="Two")
    log.record("turn.cancel").event("step.retry", uuid="a3").record("hologram.begin")
    found = Read(TOOL, log.write(tmp_path))

    assert [("tool", "tool_result"), ("assistant", "One"), ("assistant", "Two")] == said(found.steps)
    assert {"event step.retry": 1, "hologram.begin": 1} == found.counts.unknown


def test_a_prompt_without_its_message(tmp_path: Path) -> None:
    """A program that was killed before it wrote the message leaves the prompt, which is kept."""
    log = Log().record("turn.prompt", input=[{"type": "text", "text": "Lost"}])
    (kept,) = (step for step in Read(TOOL, log.write(tmp_path)).steps if isinstance(step, Kept))

    assert ("note", True) == (kept.kind, "Lost" in kept.data["kimi-code"])


def test_a_prompt_whose_message_comes(tmp_path: Path) -> None:
    """A prompt that was just written waits for its message, and is not kept beside it."""
    log = Log().record("turn.prompt", input=[{"type": "text", "text": "Hi"}]).user("u1", "Hi")
    *begun, message = [{**record, "time": time.time_ns() // 1_000_000} for record in log.records]
    message["message"]["content"] = begun[-1]["input"]
    path = log.write(tmp_path)
    path.write_text("".join(json.dumps(record) + "\n" for record in begun))
    (source,) = TOOL.discover(tmp_path).sources
    reading = TOOL.open(source)
    before, is_waiting = list(reading.steps()), reading.counts.unfinished
    with path.open("a") as file:
        file.write(json.dumps(message) + "\n")
    after: list[Step] = [step for step in reading.steps() if not isinstance(step, About)]

    assert ([], True) == (before, is_waiting)
    assert ([("user", "Hi")], 1, False) == (said(after), len(after), reading.counts.unfinished)


def test_sub_agents_and_forks(tmp_path: Path) -> None:
    """The log of a sub-agent names its session, and a session that was forked comes after its origin."""
    Log("a").user("u1", "Hi").write(tmp_path, forkedFrom="b")
    Log("b").user("u1", "Hi").write(tmp_path)
    Log("b").user("u2", "Look").write(tmp_path, "agent-0")
    (tmp_path / "old").mkdir()
    (tmp_path / "old/wire.jsonl").write_text('{"timestamp": 1, "message": {"type": "TurnBegin"}}\n')
    sources = TOOL.discover(tmp_path).sources

    assert {"kimi-code/b": "", "kimi-code/b/agent-0": "", "kimi-code/a": "kimi-code/b"} == {
        source.conversation: source.fork_of for source in sources
    }
    assert ["kimi-code/b"] == [source.about["parent"] for source in sources if source.about]
    assert [tmp_path / "k/sessions"] == list(TOOL.places({"KIMI_CODE_HOME": str(tmp_path / "k")}))
    assert [tmp_path / ".kimi-code/sessions"] == list(TOOL.places({"HOME": str(tmp_path)}))


def test_media(tmp_path: Path) -> None:
    """A picture that is in the log is read, and one in a file of its own is named."""
    pictures = [{"type": "image_url", "imageUrl": {"url": url}} for url in ("data:image/png;base64,AAAA", "blobref:1")]
    found = Read(TOOL, Log().user("u1", *pictures).write(tmp_path))

    assert ["media", "opaque"] == [block["type"] for block in found.said[0].parts[0].blocks]
