"""Whatever is in the files of an agent, each record is counted, and what is made of it can be added."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reel.importing.sources.files import JsonLines
from reel.importing.steps import Reading, Source
from reel.importing.tools import cline, continue_dev, crush, zed
from reel.importing.tools.copilot_cli.session import Session as CopilotCli
from reel.importing.tools.cursor import Session as Cursor
from reel.importing.tools.grok_build import Session as GrokBuild
from reel.importing.tools.kimi_code.session import Session as KimiCode
from reel.importing.tools.kiro_cli import Session as KiroCli
from reel.importing.tools.mistral_vibe import Session as MistralVibe
from reel.importing.tools.openhands.conversation import Conversation as OpenHands
from reel.importing.tools.openhands.events import FIELDS
from reel.importing.tools.pi.session import Session as Pi
from reel.importing.tools.qwen_code.session import Session as QwenCode
from reel.importing.tools.vscode_chat.session import Session as VsCodeChat
from tests.reel.importing.tools import (
    test_cline,
    test_continue_dev,
    test_crush,
    test_openhands,
    test_vscode_chat,
    test_zed,
)
from tests.reel.importing.transcripts import check_step
from tests.thoroughness import SHARED

_WORDS = [
    *("", "x", "text", "thinking", "toolCall", "image", "user", "assistant", "toolResult", "system", "message", "tool"),
    *("compaction", "custom_message", "bashExecution", "session.start", "user.message", "assistant.message", "finish"),
    *("tool.execution_complete", "session.compaction_complete", "session.usage_record", "tool_result"),
    "chat_compression",
    *("tool_call", "reasoning", "binary", "api_req_started", "anthropic-messages", "model", "system.message", "zstd"),
    *("Prompt", "AssistantMessage", "ToolResults", "Clear", "toolUse", "toolResult", "json"),
    *("context.append_message", "context.append_loop_event", "context.apply_compaction", "context.undo", "turn.prompt"),
    *("step.begin", "content.part", "tool.call", "tool.result", "step.end", "think"),
    *("tool_result", "backend_tool_call", "summary_text", "output_text"),
]
_KEYS = [
    *("type", "id", "parentId", "uuid", "parentUuid", "message", "role", "content", "text", "thinking", "data"),
    "parts",
    *("summary", "usage", "sections", "toolCallId", "toolRequests", "result", "error", "reasoningBlocks", "blocks"),
    "name",
    *("arguments", "functionCall", "functionResponse", "systemPayload", "compressedHistory", "subtype", "apiCallId"),
    *("timestamp", "command", "output", "User", "Agent", "ToolUse", "tool_results", "Text", "Image", "source"),
    "Mention",
    *("promptLogs", "contextItems", "toolCalls", "function", "imageUrl", "url", "metrics", "tokens", "modelInfo"),
    "say",
    *("isSummary", "segments", "tool_uses", "Data", "MIMEType", "tool_call_id", "input", "signature", "provider", "ts"),
    *("tool_calls", "reasoning_content", "refusal", "images", "message_id", "kind", "toolUseId"),
    *("event", "part", "think", "stepUuid", "result", "toolCallId", "count", "origin", "keptUserMessageCount", "time"),
    *("llm_message", "tool_call", "observation", "thought", "thinking_blocks", "summary_offset", "system_prompt"),
    *("response", "requestId", "toolCallResults", "value", "node", "children", "inlineReference", "errorDetails"),
    *("encrypted_content", "synthetic_reason", "tool_type", "model_id"),
]
JUNK: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(_WORDS),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.sampled_from(_KEYS), inside, max_size=5),
    max_leaves=20,
)
RECORDS = st.lists(st.dictionaries(st.sampled_from(_KEYS), JUNK, max_size=7), max_size=6)
LINES: dict[str, Callable[[Source], JsonLines]] = {
    "pi": partial(Pi, tool="pi"),
    "copilot-cli": CopilotCli,
    "qwen-code": QwenCode,
    "cursor": Cursor,
    "mistral-vibe": MistralVibe,
    "kiro-cli": KiroCli,
    "kimi-code": KimiCode,
    "grok-build": GrokBuild,
}


def check(reading: Reading, steps: Any) -> None:
    """Check that all steps can be added, and that the records are accounted for."""
    said = {""}
    for step in steps:
        said |= check_step(step, said)
    counts = reading.counts
    assert counts.read == counts.mapped + counts.ignored.total() + counts.unknown.total()


@pytest.mark.slow
@pytest.mark.parametrize("name", LINES)
@given(records=RECORDS)
def test_any_lines(name: str, records: list[Any]) -> None:
    """Each line is counted once or more: as used, ignored or unknown."""
    reading = LINES[name](Source("/none", f"{name}/x", 0, 0))

    steps = [step for line, record in enumerate(records, 1) for step in reading.read_line(record, line)]

    check(reading, [*steps, *reading.end()])
    assert reading.counts.read == len(records)


def _crush(root: Path, parts: list[Any]) -> Reading:
    made = {"parts": json.dumps(parts), "provider": "anthropic"}
    path = root / "crush.db"
    path.unlink(missing_ok=True)
    test_crush.save(path, {**test_crush.message("a", "assistant"), **made}, {**test_crush.message("u", "user"), **made})
    return crush.Sessions(Source(str(path), "crush", 0, 0))


def _zed(root: Path, messages: list[Any]) -> Reading:
    path = root / "threads.db"
    path.unlink(missing_ok=True)
    return zed.Threads(Source(str(test_zed.save(path, *messages, test_zed.answer(*messages))), "zed", 0, 0))


def _continue(root: Path, items: list[Any]) -> Reading:
    made = [{"message": {"role": "user", "content": item}, "contextItems": items} for item in items]
    return continue_dev.Session(Source(str(test_continue_dev.save(root / "s.json", *items, *made)), "continue/s", 0, 0))


def _cline(root: Path, messages: list[Any]) -> Reading:
    made = [{"role": "assistant", "content": message, **message} for message in messages]
    path = test_cline.save(root / "task", *messages, *made, shown=messages) / "api_conversation_history.json"
    return cline.Task(Source(str(path), "cline/task", 0, 0))


def _openhands(root: Path, events: list[Any]) -> Reading:
    kinds = (*FIELDS, "Condensation")
    made = [{"kind": kind, "llm_message": event, **event} for event in events for kind in kinds]
    return OpenHands(Source(str(test_openhands.save(root / "c", *events, *made)), "openhands/c", 0, 0))


def _vscode_chat(root: Path, requests: list[Any]) -> Reading:
    made = [
        {
            "requestId": str(number),
            "message": one,
            "response": requests,
            **one,
            "result": {"metadata": {"toolCallRounds": [one]}},
        }
        for number, one in enumerate(requests)
    ]
    return VsCodeChat(Source(str(test_vscode_chat.save(root / "s.json", *requests, *made)), "vscode-chat/s", 0, 0))


OTHERS = {
    "vscode-chat": _vscode_chat,
    "openhands": _openhands,
    "crush": _crush,
    "zed": _zed,
    "continue": _continue,
    "cline": _cline,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
@settings(suppress_health_check=SHARED)
@given(records=RECORDS)
def test_any_objects(name: str, records: list[Any], tmp_path: Path) -> None:
    """Each message and each part is counted, and nothing is raised."""
    reading = OTHERS[name](tmp_path, records)

    check(reading, reading.steps())
