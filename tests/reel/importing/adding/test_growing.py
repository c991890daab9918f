"""What an import says that looks again and again while a tool writes is what an import of the whole history says."""

import json
import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from reel import requests
from reel.importing import tool_named
from reel.importing.adding.importer import Importer
from reel.importing.adding.pipeline import Pipeline
from reel.importing.adding.seen import Seen
from reel.importing.adding.target import CLIENT
from reel.importing.sources import unfinished
from reel.said.kinds import NODE_KINDS
from reel.sync.client import Client
from tests.reel.importing.chats import Lines as GeminiLines
from tests.reel.importing.chats import made_call, part
from tests.reel.importing.claude_samples import every_entry
from tests.reel.importing.rollouts import Lines as CodexLines
from tests.reel.importing.samples import SAMPLES
from tests.reel.importing.tools import (
    test_copilot_cli,
    test_crush,
    test_grok_build,
    test_kimi_code,
    test_opencode,
    test_openhands,
    test_pi,
    test_qwen_code,
    test_vscode_chat,
)
from tests.reel.importing.transcripts import Transcript, call

# A record that no reader knows.
_LATER = '{"type": "later", "timestamp": "2026-08-01T10:00:00.000Z", "payload": {"type": "later"}, "id": "later%d"}'
# Writes a history into a directory; each step is one that an import may see.
Story = Callable[[Path, str], Iterator[object]]


def _line_by_line(name: str, write: Callable[[Path, str], object]) -> Story:
    """Return the story of a file that grows by one line after the other."""

    def story(root: Path, ident: str) -> Iterator[object]:
        write(root, ident)
        path = next(iter(root.glob(name)))
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"")
        for line in lines:
            with path.open("ab") as file:
                file.write(line)
            os.utime(path, (1_785_000_000, 1_785_000_000))  # the time of a message, for a tool without any other
            yield line

    return story


def _claude_code(root: Path, ident: str, prompts: tuple[str, ...] = ("You are bri\ufffdf.", "You are brief.")) -> None:
    thought = {"type": "thinking", "thinking": "Hm", "signature": "c2ln"}
    made = Transcript(ident).user("u1", "List").user("u0", "<context/>", isMeta=True)
    for number, text in enumerate(prompts):  # only the last one was sent
        made.record("attachment", f"s{number}", attachment={"type": "prompt_snapshot", "systemPrompt": [text]})
    made.answer("a1", thought, "m1").answer("a2", "I look.", "m1")
    made.answer("a3", call("c1"), "m1").answer("a4", call("c2"), "m1").result("r1", "c1", after="a3")
    made.result("r2", "c2", after="a4").answer("b1", thought, "m2", after="r2").answer("b2", "Two.", "m2")
    # Claude Code runs a call while the model writes the next one.
    made.user("u2", "Again").answer("d1", "So be it.", "m3").answer("d2", call("c3"), "m3").result("r3", "c3")
    made.answer("d3", call("c4"), "m3", after="d2").result("r4", "c4").answer("d4", call("c5"), "m3", after="d3")
    made.result("r5", "c5").answer("e1", "Done.", "m4").user("u3", "Thanks").answer("f1", "Bye", "m5")
    made.write(root / "s.jsonl")


def _claude_samples(root: Path, ident: str) -> None:
    made = Transcript(ident)
    made.records = [{**record, "sessionId": ident} if "sessionId" in record else record for record in every_entry()]
    made.write(root / "s.jsonl")


def _codex(root: Path, ident: str) -> None:
    def think(text: str) -> None:
        made.line("response_item", type="reasoning", summary=[{"type": "summary_text", "text": text}])

    def count(total: int) -> None:
        used = {"input_tokens": total, "output_tokens": 1}
        made.event("token_count", info={"last_token_usage": used, "total_token_usage": used})

    made = CodexLines(ident).line("turn_context", model="gpt-x", cwd="/w").said("user", "List")
    think("First")
    made.said("assistant", "I look.").call("c1").call("c2")
    count(1)
    made.output("c1").output("c2")
    think("So")
    made.said("assistant", "Two.")
    count(2)
    made.event("task_complete").said("user", "Wrong")
    think("Oh")
    made.said("assistant", "Sorry.").event("thread_rolled_back", num_turns=1).said("user", "Right")
    think("Ah")
    made.said("assistant", "Three.")
    count(3)
    made.write(root / "rollout-s.jsonl")


def _gemini_cli(root: Path, ident: str) -> None:
    thought, made = {"subject": "A look", "description": "at it"}, GeminiLines(ident).user("u1", "List")
    made.answer("a1", "I look.", thoughts=[thought])
    for calls in ([made_call("c1")], [made_call("c1"), made_call("c2")], [made_call("c1", "x"), made_call("c2", "y")]):
        made.answer("a1", "I look.", thoughts=[thought], toolCalls=calls)
    made.user("u2", [part("ls", "c1", output="x"), part("ls", "c2", output="y")])
    made.answer("a2", "Two.").answer("a2", "Two.", tokens={"input": 1, "output": 2, "total": 3})
    made.user("u3", "Again").answer("a3", "", toolCalls=[made_call("c3")])
    made.answer("a3", "", toolCalls=[made_call("c3", "z")]).answer("a4", "Done.")
    # What is written again keeps its time; a result that was seen in its answer keeps that of the answer.
    times: dict[str, str] = {}
    for record in made.records:
        record["timestamp"] = times.setdefault(record["id"].replace("u2", "a1"), record["timestamp"])
    made.write(root / "session-s.jsonl")


def _gemini_cli_early(root: Path, ident: str) -> Iterator[object]:
    """Write a session that is resumed, and gets a prompt before it is loaded: it goes on in two files."""
    first, later = GeminiLines(ident).user("x1", "<session_context>").user("u1", "List"), GeminiLines(ident)
    first.answer("a1", "One.").user("u2", "Again").message("error", "n1", "Slow").answer("a2", "So")
    later.user("x1", "<session_context>").user("u3", "Early").answer("a3", "I look.")
    end = GeminiLines(ident).message("gemini", "a2", "So", toolCalls=[made_call("c1", "x")])
    end.user("r1", [part("ls", "c1", output="x")]).answer("a4", "Two.")
    for record in (first.records[-1], *end.records[:2]):  # a result that was seen in its answer keeps the time of that
        record["timestamp"] = "2026-08-01T10:00:10.000Z"
    parts = [(first, first.lines()), (later, later.lines()), (first, end.lines()[1:])]
    for number, (made, line) in enumerate((made, line) for made, lines in parts for line in lines):
        path = root / f"session-{'first' if made is first else 'later'}.jsonl"
        with path.open("a") as file:
            file.write(line)
        os.utime(path, (1_785_000_000 + number, 1_785_000_000 + number))
        yield line


def _pi(root: Path, ident: str) -> None:
    thought = {"type": "thinking", "thinking": "Hm", "thinkingSignature": "sig"}
    calls = [{"type": "toolCall", "id": f"c{number}", "name": "read", "arguments": {}} for number in range(2)]
    made = test_pi.Session(ident).user("u1", "List").answer("a1", thought, "I look.", *calls)
    for number in range(2):
        said = {"role": "toolResult", "toolCallId": f"c{number}", "content": [{"type": "text", "text": "x"}]}
        made.entry("message", f"r{number}", message=said)
    made.answer("a2", "Two.").user("u2", "Wrong", after="a1").answer("a3", "Yes").write(root / "s.jsonl")


def _qwen_code(root: Path, ident: str) -> None:
    calls = [{"functionCall": {"id": f"c{number}", "name": "ls", "args": {}}} for number in range(2)]
    made = test_qwen_code.Session(ident).user("u1", "List")
    made.answer("a1", {"text": "Hm", "thought": True}, "I look.", *calls, usageMetadata={"promptTokenCount": 5})
    for number in range(2):
        response = {"functionResponse": {"id": f"c{number}", "name": "ls", "response": {"output": "x"}}}
        made.entry("tool_result", f"r{number}", message={"role": "user", "parts": [response]})
    made.answer("a2", {"text": "So", "thought": True}).answer("a3", "Two.").write(root / "projects/-w/chats/s.jsonl")


def _copilot_cli(root: Path, ident: str) -> None:
    made = test_copilot_cli.Session(ident).user("u1", "List").event("assistant.turn_start")
    made.answer("a1", "I look.", test_copilot_cli.call("c1"), test_copilot_cli.call("c2"), outputTokens=5)
    for number in (1, 2):
        made.event("tool.execution_start", toolCallId=f"c{number}")
        result = {"content": "x"}
        made.event("tool.execution_complete", f"r{number}", toolCallId=f"c{number}", success=True, result=result)
    made.answer("a2", "Two.").event("assistant.turn_end").write(root / "s/events.jsonl")


def _kimi_code(root: Path, ident: str) -> None:
    log = test_kimi_code.Log(ident).record("config.update", modelAlias="kimi", systemPrompt="Be Kimi.", cwd="/w")
    log.user("u1", "List").begin("a1").part("a1", type="think", think="Hm").part("a1", type="text", text="I look.")
    log.call("a1", "c1").call("a1", "c2").result("c1", "x").result("c2", "y").end("a1", "tool_use")
    log.answer("a2", "Two.").user("u2", "Again").answer("a3", "Done.")
    log.records = [{**record, "time": time.time_ns() // 1_000_000} for record in log.records]
    log.write(root)


def _grok_build(root: Path, _ident: str) -> None:
    grok = test_grok_build
    looked = [grok.reasoning("Hm"), grok.search(), grok.answer("I look.", "c1", "c2")]
    rows = [grok.user("List"), *looked, grok.result("c1", "x"), grok.result("c2", "y"), grok.reasoning("So")]
    grok.save(root / "s", *rows, grok.answer("Two."))


def _openhands(root: Path, ident: str) -> Iterator[object]:
    hands, place = test_openhands, root / ident
    events = [hands.said("user", "List", "u1"), hands.call("a1", "r1", "I look.", reasoning_content="Hm")]
    events += [hands.call("a2", "r1"), hands.result("o1", "a1", "x"), hands.result("o2", "a2", "y")]
    # An action is written while the one before it has its result.
    events += [hands.call("a3", "r2"), hands.result("o3", "a3", "z"), hands.call("a4", "r2")]
    events += [hands.result("o4", "a4", "w"), hands.said("assistant", "Done.", "m1", llm_response_id="r3")]
    for number in range(1, len(events) + 1):
        yield hands.save(place, *events[:number], agent={"llm": {"model": "m"}})


def _shell(call: str, **result: str) -> Any:
    """Return a call of opencode, with its result if it has ended."""
    state = {"status": "completed" if result else "running", "input": {"command": "ls"}, **result}
    return {"type": "tool", "callID": call, "tool": "bash", "state": state}


def _opencode(root: Path, ident: str) -> Iterator[object]:
    """Write the messages of a server, and their parts, into its database, as it does."""
    now, place = time.time_ns() // 1_000_000, root / "opencode.db"
    signed = {"anthropic": {"signature": "sig"}}
    test_opencode.first(root, [])
    with closing(sqlite3.connect(place)) as database:

        def put(table: str, key: str, above: str, value: Any) -> str:
            columns = "id, session_id, data" if table == "message" else "id, message_id, session_id, data"
            database.execute(f"DELETE FROM {table} WHERE id = ?", (key,))
            row = (key, ident, json.dumps(value)) if table == "message" else (key, above, ident, json.dumps(value))
            marks = ", ".join("?" * len(row))
            database.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})", row)
            database.execute("UPDATE session SET id = ?, time_updated = ?", (ident, now + database.total_changes))
            database.commit()
            return key

        made = {"role": "assistant", "modelID": "m", "providerID": "anthropic", "time": {"created": now}}
        for number in range(2):
            yield put("message", f"m{number}0", "", {"role": "user", "time": {"created": now}})
            yield put("part", f"p{number}0", f"m{number}0", {"type": "text", "text": "List"})
            yield put("message", f"m{number}1", "", made)
            parts: list[tuple[str, Any]] = [("1", {"type": "step-start"})]
            parts += [("2", {"type": "reasoning", "text": "Hm", "metadata": signed})]
            parts += [("3", {"type": "text", "text": ""}), ("4", _shell(f"c{number}4"))]
            parts += [
                ("3", {"type": "text", "text": f"{number} One"}),
                *((key, _shell(f"c{number}{key}")) for key in "56"),
            ]
            parts += [(key, _shell(f"c{number}{key}", output="x")) for key in "645"]  # they end in any order
            parts += [("7", {"type": "step-finish"}), ("8", {"type": "step-start"})]
            parts += [("9", {"type": "text", "text": text}) for text in (f"{number} Tw", f"{number} Two")]
            for key, found in [*parts, ("99", {"type": "step-finish"})]:
                yield put("part", f"p{number}1{key}", f"m{number}1", found)
            ended = {"time": {"created": now, "completed": now + 9}, "finish": "stop"}
            yield put("message", f"m{number}1", "", {**made, **ended})


def _crush(root: Path, ident: str) -> Iterator[object]:
    """Write the row of an answer again with each part."""
    calls = [test_crush.part("tool_call", id=f"c{n}", name="ls", input="{}", finished=True) for n in range(2)]
    thoughts = [test_crush.part("reasoning", thinking=text) for text in ("H", "Hm")]
    now, place, rows = time.time_ns() // 1_000_000, root / "deck/.crush/crush.db", list[Any]()

    def put(key: str, role: str, *parts: Any) -> Path:
        row = test_crush.message(key, role, *parts, session=ident, updated_at=now + len(rows), model="m")
        rows[:] = [*(one for one in rows if one["id"] != key), row]
        place.unlink(missing_ok=True)
        return test_crush.save(place, *rows, id=ident)

    whole: list[Any] = [thoughts[1], "I look.", *calls, test_crush.end("tool_use")]
    results = [test_crush.part("tool_result", tool_call_id=f"c{n}", name="ls", content="x") for n in range(2)]
    yield put("u1", "user", "List", test_crush.end())
    for parts in [[], thoughts[:1], *(whole[:number] for number in range(1, len(whole) + 1))]:
        yield put("a1", "assistant", *parts)
    yield put("t1", "tool", *results, test_crush.end())
    for answer in ("Tw", "Two."):
        yield put("a2", "assistant", answer)
    yield put("a2", "assistant", "Two.", test_crush.end())


def _vscode_chat(root: Path, ident: str) -> Iterator[object]:
    """Write the whole session again with each part of an answer."""
    asked = [test_vscode_chat.request("r1", "List", result=test_vscode_chat.rounds({"id": "a", "response": "One."}))]
    begun = {**test_vscode_chat.request("r2", "Again"), "result": None}
    for shown in ([], ["Tw"], ["Two."], ["Two.", "And so on."]):
        response = [{"value": text, "supportHtml": False} for text in shown]
        path = test_vscode_chat.save(
            root / "chatSessions/s.json", *asked, {**begun, "response": response}, sessionId=ident
        )
        os.utime(path)
        yield path
    last = {"id": "b", "response": "Two. And so on."}
    whole = test_vscode_chat.request("r2", "Again", "Two.", "And so on.", result=test_vscode_chat.rounds(last))
    yield test_vscode_chat.save(root / "chatSessions/s.json", *asked, whole, sessionId=ident)


def _sample(name: str) -> Story:
    """Return the story of a sample with one record for each message."""
    sample = SAMPLES[name]
    return _line_by_line(sample.file, lambda root, ident: sample.write(root, ["One", "Two", "Three", "Four"], ident))


# The tool, and what is written.
STORIES: dict[str, tuple[str, Story]] = {
    "claude-code": ("claude-code", _line_by_line("s.jsonl", _claude_code)),
    "claude-code-again": ("claude-code", _line_by_line("s.jsonl", partial(_claude_code, prompts=("Be brief.",) * 2))),
    "claude-code-every": ("claude-code", _line_by_line("s.jsonl", _claude_samples)),
    "codex": ("codex", _line_by_line("*.jsonl", _codex)),
    "gemini-cli": ("gemini-cli", _line_by_line("*.jsonl", _gemini_cli)),
    "gemini-cli-early": ("gemini-cli", _gemini_cli_early),
    "pi": ("pi", _line_by_line("s.jsonl", _pi)),
    "qwen-code": ("qwen-code", _line_by_line("projects/*/chats/s.jsonl", _qwen_code)),
    "copilot-cli": ("copilot-cli", _line_by_line("s/events.jsonl", _copilot_cli)),
    "kimi-code": ("kimi-code", _line_by_line("*/agents/main/wire.jsonl", _kimi_code)),
    "grok-build": ("grok-build", _line_by_line("s/chat_history.jsonl", _grok_build)),
    "openhands": ("openhands", _openhands),
    "opencode": ("opencode", _opencode),
    "crush": ("crush", _crush),
    "vscode-chat": ("vscode-chat", _vscode_chat),
    **{name: (SAMPLES[name].tool, _sample(name)) for name in ("cursor", "mistral-vibe", "kiro-cli", "jsonl")},
}


class Import:
    """Looks again and again, as ``reel import --watch`` does.

    Args:
        client: a client of the daemon.
        tool: the name of the tool.
        root: where it writes.
        seen: the file of what was imported.
    """

    def __init__(self, client: Client, tool: str, root: Path, seen: Path) -> None:
        self._client = client
        self._tool = tool_named(tool)
        self._root = root
        self._seen = Seen(str(seen))

    def look(self, *, damaged: bool = False) -> None:
        """Import what is there; unless it is damaged, there is no problem."""
        sources = self._tool.discover(self._root).sources
        with Pipeline(Client(self._client.path, name=CLIENT)) as pipeline:
            importer = Importer(pipeline, self._seen)
            importer.look()
            *_, totals = importer.run(self._tool, sources)
        assert damaged == bool(totals.counts.problems)

    def said(self, name: str) -> dict[str, Any]:
        """Return the conversations whose names begin so, with all that is told of them."""
        return {
            row.name: [row.title, row.tags, *map(_told, self._client.iter_conversation(row.name))]
            for row in self._client.iter_agents(prefix=name)
        }

    def purge(self, name: str) -> None:
        """Purge the conversations whose names begin so."""
        for row in [*self._client.iter_agents(prefix=name)]:
            self._client.call(requests.purge(row.name))


def _told(record: Any) -> tuple[Any, ...]:
    """Return who says something, what, when, and what is known of it."""
    return record["kind"], record["content"], json.loads(record["data_json"] or "{}"), record.get("sent")


@pytest.mark.parametrize("name", STORIES)
def test_a_history_that_grows(name: str, client: Client, tmp_path: Path) -> None:
    """However often it is looked at while it is written, its conversations are those of a single look at the end."""
    watched, fresh = _grown(name, client, tmp_path)

    assert fresh == watched
    assert {} != watched


def test_a_session_in_two_files(client: Client, tmp_path: Path) -> None:
    """What is in either file is in the log; the conversation is that of the file that was written last."""
    watch = Import(client, "gemini-cli", tmp_path, tmp_path / "seen")
    for number, _ in enumerate(_gemini_cli_early(tmp_path, "twice")):
        if number == 3:  # the first file has a conversation, and the other one is not there yet
            watch.look()
    watch.look()

    (row,) = client.iter_agents(prefix="gemini-cli/twice")
    events = [*client.iter_history("gemini-cli/twice")]
    refs = [record["ref"] for record in client.iter_conversation("gemini-cli/twice")]
    watch.purge("gemini-cli/twice")
    assert ("List", str(tmp_path / "session-first.jsonl")) == (row.title, row.tags["source"])
    assert {"List", "Again", "Early", "I look.", "Two."} <= {event["content"] for event in events}
    assert ["x1", "u1", "a1", "u2", "a2/c1", "result/c1", "a4"] == refs


@pytest.mark.parametrize("after", ["a1", "t1"])
def test_a_step_back_into_another_file(client: Client, tmp_path: Path, after: str) -> None:
    """A session of Claude Code that went on in another directory goes on after a message of its first file."""
    ident = "aaaaaaaa-0000-4000-8000-000000000001"
    first = Transcript(ident).user("u1", "List").answer("a1", "One.", "m1").record("progress", "t1")
    first.user("u2", "Again").answer("a2", "Two.", "m2").write(tmp_path / "root/a" / f"{ident}.jsonl")
    second = Transcript(ident).user("u3", "On", after="a2").answer("a3", "Three.", "m3").user("u4", "No", after=after)
    second.answer("a4", "Four.", "m4").write(tmp_path / "root/b" / f"{ident}.jsonl")
    watch = Import(client, "claude-code", tmp_path / "root", tmp_path / "seen")
    watch.look()

    refs = [record["ref"] for record in client.iter_conversation(f"claude-code/{ident}")]
    watch.purge("claude-code/")
    assert ["u1", "a1", "u4", "a4"] == refs


def test_an_older_file_that_is_found_later(client: Client, tmp_path: Path) -> None:
    """What only an older file of a session has is in the log; the conversation and its title stay as they are."""
    newer, older = (GeminiLines("found").user("x1", "<session_context>") for _ in range(2))
    newer.user("u1", "List").answer("a1", "One.").write(tmp_path / "session-newer.jsonl")
    watch = Import(client, "gemini-cli", tmp_path, tmp_path / "seen")
    watch.look()
    os.utime(older.user("u2", "Early").answer("a2", "So.").write(tmp_path / "session-older.jsonl"), (9, 9))
    watch.look()

    (row,) = client.iter_agents(prefix="gemini-cli/found")
    texts = [event["content"] for event in client.iter_history("gemini-cli/found")]
    said = [record["content"] for record in client.iter_conversation("gemini-cli/found")]
    watch.purge("gemini-cli/found")
    assert ["Early", "So."] == [text for text in texts if text in ("Early", "So.")]
    assert ("List", ["<session_context>", "List", "One."]) == (row.title, said)


@pytest.mark.parametrize("name", ["opencode", "crush", "vscode-chat", "kimi-code"])
def test_an_answer_that_is_not_waited_for(
    name: str, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was imported of an answer because nobody seemed to write it gives way to the whole one."""
    _, expected = _grown(name, client, tmp_path / "waited")
    monkeypatch.setattr(unfinished, "LEFT", -unfinished.LEFT)
    watched, _ = _grown(name, client, tmp_path)

    assert _words(expected) == _words(watched)


@pytest.mark.parametrize("name", sorted(STORIES.keys() - {"openhands", "opencode", "crush", "vscode-chat"}))
def test_records_of_a_later_version(name: str, client: Client, tmp_path: Path) -> None:
    """Whatever a later version writes between the records of an answer, it stays one, and all else stays as it is."""
    tool, story = STORIES[name]
    found, root = list[list[Any]](), tmp_path / "root"
    root.mkdir()
    assert [*story(root, f"later-{name}")]
    for look in ("now", "later"):
        imported = Import(client, tool, root, tmp_path / look)
        imported.look()
        found.append(_words(imported.said(f"{tool}/")))
        imported.purge(f"{tool}/")
        for path in root.rglob("*.jsonl"):
            lines = path.read_text().splitlines(keepends=True)
            path.write_text("".join(f"{line}{_LATER % number}\n" for number, line in enumerate(lines)))

    assert found[0] == found[1]


@pytest.mark.parametrize("by_text", [True, False])
def test_what_was_redacted_before_an_answer_was_whole(client: Client, tmp_path: Path, *, by_text: bool) -> None:
    """It stays redacted in the whole answer, and in what is said again after that and after the prompt."""
    made = Transcript("redacted").user("u1", "It is hunter2.").answer("a1", "So it is hunter2.", "m1")
    made.answer("a2", call("c1"), "m1").result("r1", "c1", "hunter2")
    early = [*made.records]
    made.answer("a3", call("c2"), "m1", after="a2").result("r2", "c2").answer("b1", "Done.", "m2")
    watch, path = (Import(client, "claude-code", tmp_path, tmp_path / "seen"), tmp_path / "redacted.jsonl")
    for records in (early, made.records):
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        watch.look()
        if records is early:
            events = [*client.iter_history("claude-code/redacted")]
            seqs = [event["seq"] for event in events if "hunter2" in json.dumps(event)]
            found = {"text": "hunter2"} if by_text else {"seqs": seqs}
            client.call(requests.redact("claude-code/redacted", **found))

    events = [*client.iter_history("claude-code/redacted")]
    said = [record["kind"] for record in client.iter_conversation("claude-code/redacted")]
    client.call(requests.purge("claude-code/redacted"))
    assert ["user", "assistant", "tool_result", "tool_result", "assistant"] == said
    assert "hunter2" not in json.dumps(events)


def test_results_that_are_seen_before_their_call(client: Client, tmp_path: Path) -> None:
    """They come after it, once it is there, and so does what followed them; that stays so."""
    made = Transcript("early").user("u1", "List").result("r1", "c1", after="a1").result("r2", "c2", after="a2")
    made.answer("a1", call("c1"), "m1", after="u1").answer("a2", call("c2"), "m1").answer(
        "b1", "Done.", "m2", after="r2"
    )
    watch, path = Import(client, "claude-code", tmp_path, tmp_path / "seen"), tmp_path / "early.jsonl"
    for line in made.lines():
        with path.open("a") as file:
            file.write(line)
        watch.look()

    said = [
        (record["kind"], record["ref"].partition("@")[0]) for record in client.iter_conversation("claude-code/early")
    ]
    watch.purge("claude-code/early")
    assert [
        ("user", "u1"),
        ("assistant", "a2"),
        ("tool_result", "r1"),
        ("tool_result", "r2"),
        ("assistant", "b1"),
    ] == said


def test_a_fork_of_a_log_with_a_result_before_its_call(client: Client, tmp_path: Path) -> None:
    """The result follows its call there as well, although the import sees the two one after the other."""
    made = Transcript("origin").user("u1", "List").answer("a1", call("c1"), "m1").result("r1", "c1")
    made.result("r2", "c2", after="a2").answer("a2", call("c2"), "m2", after="r1").answer(
        "b1", "Done.", "m3", after="r2"
    )
    watch = Import(client, "claude-code", tmp_path, tmp_path / "seen")
    for number in (4, 5, 6):
        (tmp_path / "origin.jsonl").write_text("".join(made.lines()[:number]))
        watch.look()
    by_id = {record["uuid"]: record for record in made.records}
    for ident in ("u1", "a1", "r1", "a2", "r2", "b1"):
        fork = {"sessionId": "fork", "forkedFrom": {"sessionId": "origin", "messageUuid": ident}}
        with (tmp_path / "fork.jsonl").open("a") as file:
            file.write(json.dumps({**by_id[ident], **fork}) + "\n")
        watch.look()

    said = [record["kind"] for record in client.iter_conversation("claude-code/fork")]
    watch.purge("claude-code/")
    assert ["user", "assistant", "tool_result", "assistant", "tool_result", "assistant"] == said


def test_a_prompt_that_is_written_again(client: Client, tmp_path: Path) -> None:
    """One that an import saw before it was written again, under another id, is the same one."""
    watch, path = Import(client, "claude-code", tmp_path, tmp_path / "seen"), tmp_path / "again.jsonl"
    for texts in (["X"], ["X", "Y", "X"], ["X", "Y", "X", "X"]):
        made = Transcript("again").user("u1", "List")
        for number, text in enumerate(texts):
            made.record("attachment", f"s{number}", attachment={"type": "prompt_snapshot", "systemPrompt": [text]})
        if len(texts) > 1:
            made.answer("a1", "Yes.", "m1")
        made.write(path)
        watch.look()

    events = [(event["kind"], event.get("ref")) for event in client.iter_history("claude-code/again")]
    watch.purge("claude-code/again")
    assert [("system", "s0"), ("user", "u1"), ("assistant", "a1")] == [one for one in events if one[0] in NODE_KINDS]
    assert not {"rewind", "restore", "clear"} & {kind for kind, _ in events}


@pytest.mark.parametrize("noted", [["s0"], ["h1"], ["s0", "h1"], ["u0", "a1", "r1"]])
def test_what_an_earlier_version_noted(client: Client, tmp_path: Path, noted: list[str]) -> None:
    """A message that is in the log as a note stays one, and nothing else is said again or moved for it."""
    made = Transcript("noted").user("u1", "List").user("u0", "<context/>")
    made.record("attachment", "s0", attachment={"type": "prompt_snapshot", "systemPrompt": ["Be brief."]})
    made.answer("a1", "I look.", "m1").answer("a2", call("c1"), "m1").result("r1", "c1").user("h1", "<hook/>")
    made.answer("b1", "Two.", "m2").user("u2", "Wrong").user("u3", "Again", after="h1").answer("d1", "Three.", "m4")
    rows = {"u1": "user", "u0": "user", "s0": "system", "a1": "", "a2": "assistant", "r1": "user", "h1": "user"}
    name, told = "claude-code/noted", [(ref, "note" if ref in noted else kind) for ref, kind in rows.items()]
    with Client(client.path, name=CLIENT) as importer:
        importer.call(requests.create(name, tags={"import": name}))
        for ref, kind in told:
            if kind:
                importer.call(requests.append(name, [{"kind": kind, "content": ref, "ref": ref}]))
    made.write(tmp_path / "noted.jsonl")
    for seen in ("one", "two"):
        Import(client, "claude-code", tmp_path, tmp_path / seen).look()

    refs = [event["ref"] for event in client.iter_history(name) if event.get("ref") and event["kind"] != "usage"]
    said = [record.get("ref") for record in client.iter_conversation(name)]
    Import(client, "claude-code", tmp_path, tmp_path / "end").purge(name)
    assert [ref for ref, kind in told if kind] + ["b1", "u2", "u3", "d1"] == refs
    assert [ref for ref, kind in told if kind not in ("", "note")] + ["u3", "d1"] == said


@pytest.mark.parametrize("name", ["grok-build", "cline", "continue", "kimi-code", "mistral-vibe"])
def test_what_an_earlier_version_numbered(client: Client, tmp_path: Path, name: str) -> None:
    """A message without an id is known again if the log does not count what is damaged before it, or counts more."""
    sample, texts = SAMPLES[name], [f"text-{number}-said" for number in range(8)]
    sample.write(tmp_path, texts, "ses")
    path = tmp_path / sample.file
    whole = re.sub(rb', "(message_)?id": "ses\d*"|"id": "ses\d*", ', b"", path.read_bytes())
    damage = partial(re.compile(b"text-2").sub, b"\0ext-2")
    heads = list[int]()
    for content in (_without(whole, {2, 6, 7}), damage(_without(whole, {7})), damage(whole), _without(whole, {2})):
        path.write_bytes(content)
        seen = tmp_path / f"seen{len(heads)}"
        Import(client, sample.tool, tmp_path, seen).look(damaged=b"\0" in content)
        (row,) = client.iter_agents(prefix=f"{sample.tool}/")
        heads.append(row.head)

    said = "\n".join(str(record["content"]) for record in client.iter_conversation(row.name))
    Import(client, sample.tool, tmp_path, tmp_path / "end").purge(row.name)
    assert [text for text in texts if "2" not in text] == said.split("\n")
    assert [1, 1, 0] == [after - before for before, after in pairwise(heads)]


def _without(content: bytes, numbers: set[int]) -> bytes:
    """Return a file without some of its messages: the lines, or the elements of a list, that have their texts."""
    texts = [f"ext-{number}-said" for number in numbers]
    if content.count(b"\n") > len(numbers):
        return b"".join(
            line for line in content.splitlines(keepends=True) if not any(text.encode() in line for text in texts)
        )
    return json.dumps(_left(json.loads(content), texts)).encode()


def _left(value: Any, texts: list[str]) -> Any:
    if isinstance(value, list):
        return [_left(each, texts) for each in value if not any(text in json.dumps(each) for text in texts)]
    return {key: _left(each, texts) for key, each in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize("after", ["a1", "u2"])
@pytest.mark.parametrize("is_changed", [False, True])
def test_a_branch_that_was_pruned(client: Client, tmp_path: Path, after: str, *, is_changed: bool) -> None:
    """What comes beside it or goes on from it is imported; what was pruned stays away, also if others have written."""
    made = Transcript("pruned").user("u1", "List").answer("a1", "One", "m1").user("u2", "Wrong")
    made.user("u3", "Right", after="a1").answer("a3", "Two", "m3")
    early = len(made.records)
    made.user("u4", "Better", after=after).answer("a4", "Three", "m4")
    watch, path = (Import(client, "claude-code", tmp_path, tmp_path / "seen"), tmp_path / "pruned.jsonl")
    name = "claude-code/pruned"
    for number in (early, len(made.records)):
        path.write_text("".join(made.lines()[:number]))
        watch.look()
        if number == early:
            if is_changed:
                client.add(name, "Thanks")
            assert 1 == client.call(requests.prune(name, before=client.agent(name).head)).pruned

    said = [record["content"] for record in client.iter_conversation(f"{name}@2" if is_changed else name)]
    watch.purge(name)
    assert ["List", "One", "Better", "Three"] == said


def test_an_answer_that_never_goes_on(client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was imported of it stays where it is once the session goes on without it."""
    monkeypatch.setattr(unfinished, "LEFT", -unfinished.LEFT)
    watch, place = Import(client, "crush", tmp_path, tmp_path / "seen"), tmp_path / "deck/.crush/crush.db"
    rows = [test_crush.message("u1", "user", "List", test_crush.end(), session="killed", model="m")]
    rows.append(test_crush.message("a1", "assistant", "I lo", session="killed", model="m"))
    rows.append(test_crush.message("u2", "user", "Again", test_crush.end(), session="killed", model="m"))
    for number in (2, 3):
        place.unlink(missing_ok=True)
        test_crush.save(place, *rows[:number], id="killed")
        watch.look()

    (name,) = watch.said("crush/")
    kinds = [event["kind"] for event in client.iter_history(name)]
    watch.purge("crush/")
    assert ["created", "user", "assistant", "user"] == kinds


def _grown(name: str, client: Client, directory: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what a story becomes if it is looked at after each of its steps, and what if it is at the end."""
    tool, story = STORIES[name]
    root, found = directory / "root", list[dict[str, Any]]()
    root.mkdir(parents=True)
    watch, fresh = (Import(client, tool, root, directory / seen) for seen in ("watched", "fresh"))
    for _ in story(root, f"grown-{name}"):
        watch.look()
    for one in (watch, fresh):
        if one is fresh:
            one.look()
        found.append(one.said(f"{tool}/"))
        one.purge(f"{tool}/")
    return found[0], found[1]


def _words(conversations: dict[str, Any]) -> list[Any]:
    """Return what was said, without names and times."""
    return [[record[:2] for record in said[2:]] for said in conversations.values()]
