"""A field that a newer version of a tool writes: it is in what is imported, or the report counts it."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from reel.importing import tool_named
from tests.reel.importing.tools import (
    test_cline,
    test_continue_dev,
    test_copilot_cli,
    test_crush,
    test_grok_build,
    test_kimi_code,
    test_kiro_cli,
    test_mistral_vibe,
    test_opencode,
    test_openhands,
    test_pi,
    test_qwen_code,
    test_vscode_chat,
    test_zed,
)

from . import chats
from .exported import Tree
from .exported import write as write_export
from .rollouts import Lines
from .samples import SAMPLES
from .transcripts import Transcript, call

FIELD, WORD = "zz_new", "a word of a newer version"
TEXTS = ["hi", "ho"]
# Records that a rule ignores as a whole; and fields that are left out as a whole, or are the sum of others.
IGNORED = ("step-start", "step-finish")
ACCOUNTED = {"toolUseResult", "total_token_usage"}
# What writes such a conversation, if it is beside the tool's own tests.
RICH: dict[str, Callable[[Path], object]] = {
    "mistral-vibe": test_mistral_vibe.rich,
    "kiro-cli": test_kiro_cli.rich,
    "grok-build": test_grok_build.rich,
    "vscode-chat": test_vscode_chat.rich,
    "openhands": test_openhands.rich,
    "kimi-code": test_kimi_code.rich,
}
# Where a tool keeps JSON, if not in its file: the tables, and the columns with it.
COLUMNS = {
    "llm": [("parts", "payload")],
    "openai-agents": [("agent_messages", "message_data")],
    "crush": [("messages", "parts")],
    "zed": [("threads", "data")],
    "opencode-1": [("message", "data"), ("part", "data")],
    "opencode-2": [("session_message", "data")],
}


def _rich(name: str, root: Path) -> None:
    """Write a conversation with what the plain sample of a tool has not: calls, results, thoughts and usage."""
    path = root / SAMPLES[name].file
    match name:
        case "claude-code":
            thought = {"type": "thinking", "thinking": "Hm", "signature": "s"}
            picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
            made = Transcript().user("u", [picture]).answer("a", thought, "m").answer("b", call("c"), "n")
            made.result("r", "c").write(path)
        case "codex":
            Lines(git={"branch": "b"}).line("turn_context", model="m").call("c").output("c").event(
                "token_count", info={"last_token_usage": {"input_tokens": 1}, "total_token_usage": {"input_tokens": 1}}
            ).line("compacted", message="short").write(path)
        case "gemini-cli":
            more = {"toolCalls": [chats.made_call("c", "out")], "thoughts": [{"subject": "s", "description": "d"}]}
            chats.Lines().user("u", "hi").answer("a", "ho", **more, tokens={"input": 1}).write(path)
        case "jsonl":
            tool = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
            records: list[Any] = [
                {"role": "assistant", "content": None, "tool_calls": [tool]},
                {"role": "tool", "tool_call_id": "c", "content": "seen"},
                {
                    "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
                    "tools": [],
                    "system": "s",
                },
                {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
                {"input": [{"type": "message", "role": "assistant", "content": "ho"}]},
                {"conversations": [{"from": "human", "value": "hi"}]},
            ]
            path.write_text("".join(json.dumps(record) + "\n" for record in records))
        case "chatgpt":
            thoughts = {"content_type": "thoughts", "thoughts": [{"summary": "s", "content": "c"}]}
            tree = Tree().said("u", "user", "hi").said("t", "assistant", thoughts)
            code = {"content_type": "code", "text": "1"}
            tree.said("c", "assistant", code, recipient="python")
            tree.said(
                "r",
                "tool",
                {"content_type": "execution_output", "text": "1"},
                author={"role": "tool", "name": "python"},
            )
            write_export(path, tree.exported())
        case "claude-ai":
            content = [{"type": "text", "text": "ho"}, {"type": "tool_use", "id": "c", "name": "n", "input": {}}]
            message = {"uuid": "m", "sender": "assistant", "content": content, "created_at": "2026-01-01T00:00:00Z"}
            write_export(path, {"uuid": "c", "name": "n", "chat_messages": [message]})
        case "pi" | "copilot-cli" | "qwen-code" | "crush" | "continue" | "cline" | "zed":
            _rich_agent(name, path)
        case "opencode-tree":
            test_opencode.tree(root, test_opencode.turn())
        case "opencode-export":
            test_opencode.exported(root, test_opencode.turn())
        case "opencode-1":
            test_opencode.first(root, test_opencode.turn())
        case _ if name in RICH:
            RICH[name](path)
        case _:
            SAMPLES[name].write(root, TEXTS, "ses")


def _rich_agent(name: str, path: Path) -> None:
    match name:
        case "pi":
            thought = {"type": "thinking", "thinking": "Hm", "thinkingSignature": "s"}
            call_part = {"type": "toolCall", "id": "c", "name": "n", "arguments": {}}
            pi = test_pi.Session().user("u", "hi").answer("a", thought, call_part, usage={"input": 1})
            result = {"role": "toolResult", "toolCallId": "c", "content": [{"type": "text", "text": "ho"}]}
            pi.entry("message", "r", message=result).entry("branch_summary", "b", summary="s", fromId="u")
            pi.entry("message", "x", message={"role": "bashExecution", "command": "ls", "output": ""})
            pi.entry("compaction", "k", summary="s", firstKeptEntryId="u").entry("session_info", "i", name="n")
            pi.entry("custom_message", "m", customType="c", content="x").write(path)
        case "qwen-code":
            qwen_call = {"functionCall": {"id": "c", "name": "n", "args": {}}}
            response = {"functionResponse": {"id": "c", "name": "n", "response": {"output": "o"}}}
            qwen = test_qwen_code.Session().user("u", "hi", systemPayload={"displayText": "hi"})
            qwen.answer("a", {"text": "Hm", "thought": True}, qwen_call, usageMetadata={"promptTokenCount": 1})
            qwen.entry("tool_result", "r", message={"role": "user", "parts": [response]})
            history = [{"role": "user", "parts": [{"text": "s"}]}]
            qwen.system("k", "chat_compression", compressedHistory=history).system("t", "custom_title", customTitle="t")
            qwen.write(path)
        case "crush":
            thought, made = test_crush.part("reasoning", thinking="Hm"), test_crush.part("tool_call", id="c", name="n")
            rows = [test_crush.message("a", "assistant", thought, made, "ho", test_crush.end())]
            rows.append(test_crush.message("r", "tool", test_crush.part("tool_result", tool_call_id="c", content="o")))
            test_crush.save(path, *rows)
        case "continue":
            asked = {"id": "c", "type": "function", "function": {"name": "n", "arguments": "{}"}}
            item = {"contextItems": [{"name": "a", "content": "x"}]}
            said = test_continue_dev.said
            answer = said("a", "assistant", [{"type": "text", "text": "ho"}], toolCalls=[asked])
            test_continue_dev.save(path, said("u", "user", "hi", item), answer, said("r", "tool", "o", toolCallId="c"))
        case "cline":
            asked = {"type": "tool_use", "id": "c", "name": "n", "input": {}}
            answered = {"type": "tool_result", "tool_use_id": "c", "content": "o"}
            test_cline.save(path.parent, test_cline.said("assistant", asked), test_cline.said("user", answered))
        case "zed":
            mention = {"Mention": {"uri": {"a": 1}, "content": "x"}}
            made = test_zed.answer({"Thinking": {"text": "Hm"}}, "ho", test_zed.call("c"), c="o")
            test_zed.save(path, test_zed.user("u", mention), made)
        case "copilot-cli":
            signed = {"provider": "anthropic-messages", "blocks": [{"type": "thinking", "thinking": "Hm"}]}
            copilot = test_copilot_cli.Session().user("u", "hi", attachments=[{"type": "file", "path": "x"}])
            copilot.answer("a", "ho", test_copilot_cli.call("look"), reasoningBlocks=signed)
            copilot.event("tool.execution_complete", toolCallId="look", success=False, error={"message": "no"})
            copilot.event("session.usage_record", usage={"inputTokens": 1, "apiCallId": "r"})
            copilot.event("session.compaction_complete", success=True, summaryContent="s")
            copilot.event("session.info", message="m").write(path)


def _maps(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the ways to the maps in a value."""
    if isinstance(value, dict) and value.get("type") not in IGNORED and not {*way} & ACCOUNTED:
        yield way
    if isinstance(value, dict | list):
        for key, below in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _maps(below, (*way, key))


def _with_field(value: Any, way: tuple[Any, ...]) -> str:
    """Return a value as JSON, with the new field in one of its maps."""
    changed = place = deepcopy(value)
    for key in way:
        place = place[key]
    place[FIELD] = WORD
    return json.dumps(changed)


def _newer(name: str, root: Path) -> Iterator[str]:
    """Add the field to each map in turn; yield the place after each."""
    if name in COLUMNS:
        yield from _newer_rows(root / SAMPLES[name].file, COLUMNS[name])
        return
    paths = sorted(root.rglob("*.json")) if name == "opencode-tree" else [root / SAMPLES[name].file]
    for path in (path for path in paths if path.parts[-3] != "session"):
        whole = path.read_text()
        lines = whole.splitlines() if path.suffix == ".jsonl" else [whole]
        for number, line in enumerate(lines):
            value = json.loads(line)
            for way in _maps(value):
                path.write_text("\n".join([*lines[:number], _with_field(value, way), *lines[number + 1 :]]) + "\n")
                yield f"{path.name}, line {number + 1}, {way}: {line}"
        path.write_text(whole)


def _newer_rows(path: Path, columns: list[tuple[str, str]]) -> Iterator[str]:
    with closing(sqlite3.connect(path)) as database:
        for table, column in columns:
            rows = database.execute(f"SELECT rowid, {column} FROM {table} WHERE {column} IS NOT NULL").fetchall()
            for row, text in rows:
                for way in _maps(json.loads(text)):
                    changed = _with_field(json.loads(text), way)
                    database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (changed, row))
                    database.commit()
                    yield f"{table}, row {row}, {way}: {text}"
                database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (text, row))
                database.commit()


def _read(tool_name: str, root: Path) -> tuple[str, int]:
    """Return what the steps have, and how many things the report says that they have not."""
    steps, told = "", 0
    tool = tool_named(tool_name)
    for source in tool.discover(root).sources:
        reading = tool.open(source)
        steps += "".join(map(repr, reading.steps()))
        counts = reading.counts
        told += counts.left_out.total() + counts.unknown.total() + counts.refused.total() + len(counts.problems)
    return steps, told


@pytest.mark.parametrize("name", [name for name in SAMPLES if name not in ("aider", "reel")])
@pytest.mark.parametrize("is_rich", [False, True])
def test_a_field_of_a_newer_version(name: str, is_rich: bool, tmp_path: Path) -> None:
    """Wherever it is, nothing is dropped without a word."""
    if is_rich:
        _rich(name, tmp_path)
    else:
        SAMPLES[name].write(tmp_path, TEXTS, "ses")
    tool = SAMPLES[name].tool
    _, told = _read(tool, tmp_path)

    for place in _newer(name, tmp_path):
        steps, now_told = _read(tool, tmp_path)

        assert WORD in steps or now_told > told, place
