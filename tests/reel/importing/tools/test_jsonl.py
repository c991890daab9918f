"""Reading JSON lines of messages and of conversations."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.importing.steps import About, Kept, Said, Source
from reel.importing.tools.jsonl.tool import TOOL, Messages
from tests.reel.importing.transcripts import check_step


def read(tmp_path: Path, *records: Any) -> list[tuple[str, Any]]:
    """Return what the lines of a file say, and which conversation it belongs to."""
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    (source,) = TOOL.discover(path).sources
    told: list[tuple[str, Any]] = []
    for step in TOOL.open(source).steps():
        if isinstance(step, Said):
            told.append((step.role, [_short(block) for block in step.parts[0].blocks]))
        elif isinstance(step, About):
            told.append(("about", source.conversation + step.part))
    return told


def _short(block: Any) -> Any:
    if block["type"] == "tool_result":
        return ["result", block["tool_call_id"], block["content"]]
    if block["type"] == "tool_call":
        return ["call", block["id"], block["name"], block["arguments"]]
    return block.get("text", block["type"])


def test_a_message_on_each_line(tmp_path: Path) -> None:
    """Lines with a role are one conversation."""
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}

    assert [
        ("about", "jsonl/log"),
        ("system", ["Be brief."]),
        ("user", ["Hi", "media"]),
        ("assistant", ["Hm", ["call", "c1", "look", "{}"]]),
        ("tool", [["result", "c1", "seen"]]),
        ("user", ["Later"]),
    ] == read(
        tmp_path,
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [{"type": "text", "text": "Hi"}, {"type": "image_url", "image_url": {"url": "http://x"}}],
        },
        {"role": "assistant", "content": None, "reasoning_content": "Hm", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "seen"},
        {"role": "system", "content": "Later"},
    )


def test_a_byte_order_mark(tmp_path: Path) -> None:
    """A mark at the beginning of a file, as programs on Windows write it, is not a part of the first line."""
    path = tmp_path / "log.jsonl"
    path.write_text('{"role": "user", "content": "Hi"}', "utf-8-sig")
    (source,) = TOOL.discover(path).sources
    reading = TOOL.open(source)

    assert ["Hi"] == [step.parts[0].blocks[0]["text"] for step in reading.steps() if isinstance(step, Said)]
    assert [] == reading.counts.problems


@pytest.mark.parametrize(
    "record",
    [
        {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]},
        {"conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello"}]},
        {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}, {"role": "model", "parts": [{"text": "Hello"}]}]},
        {
            "input": [
                {"role": "user", "content": "Hi"},
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello"}]},
            ]
        },
    ],
)
def test_a_conversation_on_each_line(tmp_path: Path, record: Any) -> None:
    """Each line with a list of messages is a conversation, in the form of any of the APIs."""
    said = [("user", ["Hi"]), ("assistant", ["Hello"])]

    assert [
        *(("about", "jsonl/log/1"), *said),
        *(("about", "jsonl/log/named"), *said),
    ] == read(tmp_path, record, {**record, "id": "named"})


def test_requests_of_anthropic_and_gemini(tmp_path: Path) -> None:
    """Blocks and parts are kept as what they are, with the prompt."""
    blocks = [
        {"type": "thinking", "thinking": "Hm", "signature": "s"},
        {"type": "tool_use", "id": "c", "name": "f", "input": {}},
    ]
    answer = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "ok"}]}
    parts = [{"text": "Hm", "thought": True}, {"functionCall": {"name": "f", "args": {"a": 1}}}]
    response = {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"b": 2}}}]}

    told = read(
        tmp_path,
        {"system": [{"type": "text", "text": "P"}], "messages": [{"role": "assistant", "content": blocks}, answer]},
        {"systemInstruction": {"parts": [{"text": "P"}]}, "contents": [{"role": "model", "parts": parts}, response]},
    )

    assert [
        ("system", ["P"]),
        ("assistant", ["Hm", ["call", "c", "f", "{}"]]),
        ("tool", [["result", "c", "ok"]]),
    ] == told[1:4]
    assert [
        ("system", ["P"]),
        ("assistant", ["Hm", ["call", "call_0_1", "f", '{"a":1}']]),
        ("tool", [["result", "call_0_1", '{"b":2}']]),
    ] == told[5:]


def test_other_lines(tmp_path: Path) -> None:
    """A line that is neither is reported with its number."""
    path = tmp_path / "log.jsonl"
    path.write_text('{"role":"user","content":"Hi"}\n{"x":1}\n')
    (source,) = TOOL.discover(path).sources
    reading = TOOL.open(source)

    assert 1 == len([step for step in reading.steps() if isinstance(step, Said)])
    assert [2] == [problem.line for problem in reading.counts.problems]


def test_messages_in_envelopes(tmp_path: Path) -> None:
    """A message in an envelope is read as what it is, with the role and the time beside it."""
    path = tmp_path / "log.jsonl"
    records = [
        {"role": "user", "timestamp": "2026-01-01T00:00:00Z", "message": {"content": [{"type": "text", "text": "Hi"}]}},
        {
            "type": "message",
            "id": "1",
            "message": {"role": "assistant", "content": "Hello", "timestamp": 1767225600000},
        },
        {"type": "message", "message": "no map"},
        {"messages": [{"type": "message", "message": {"role": "user", "content": "In a list"}}]},
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    (source,) = TOOL.discover(path).sources

    said = [step for step in TOOL.open(source).steps() if isinstance(step, Said)]

    first, second, _, listed = said
    assert [("user", "Hi"), ("assistant", "Hello")] == [
        (step.role, step.parts[0].blocks[0]["text"]) for step in (first, second)
    ]
    assert [1767225600000] * 2 == [first.sent, second.sent]
    assert ("user", "In a list") == (listed.role, listed.parts[0].blocks[0]["text"])


def test_messages_of_agents(tmp_path: Path) -> None:
    """Calls and results in the forms of pi and of goose are calls and results."""
    text = {"type": "text", "text": "seen"}
    asked = {"status": "success", "value": {"name": "look", "arguments": {"at": 1}}}

    assert [
        ("about", "jsonl/log"),
        ("assistant", ["Hm", ["call", "c1", "look", '{"at":1}']]),
        ("tool", [["result", "c1", "seen"]]),
        ("assistant", [["call", "c2", "look", '{"at":1}']]),
        ("tool", [["result", "c2", "seen"]]),
    ] == read(
        tmp_path,
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm"},
                {"type": "toolCall", "id": "c1", "name": "look", "arguments": {"at": 1}},
            ],
        },
        {"role": "toolResult", "toolCallId": "c1", "content": [text]},
        {"role": "assistant", "content": [{"type": "toolRequest", "id": "c2", "toolCall": asked}]},
        {
            "role": "user",
            "content": [{"type": "toolResponse", "id": "c2", "toolResult": {"status": "success", "value": [text]}}],
        },
    )


def test_records_of_another_kind(tmp_path: Path) -> None:
    """A record that is neither a message nor an item is counted as unknown, by its type, and is a note."""
    path = tmp_path / "log.jsonl"
    kinds = ["session", "user.message", "function_call_output", "web_search_call", "hologram"]
    path.write_text("".join(json.dumps({"type": kind, "data": {"content": "Hi"}}) + "\n" for kind in kinds))
    (source,) = TOOL.discover(path).sources
    reading = TOOL.open(source)

    kept = [step.ref for step in reading.steps() if isinstance(step, Kept)]

    assert {"session": 1, "user.message": 1, "hologram": 1} == reading.counts.unknown
    assert ["line-1", "line-2", "line-5"] == kept
    assert 2 == reading.counts.mapped


@pytest.mark.parametrize(
    ("record", "tool"),
    [
        (
            {"uuid": "u", "parentUuid": None, "sessionId": "s", "type": "user", "message": {"role": "user"}},
            "claude-code",
        ),
        ({"type": "session_meta", "payload": {"id": "x"}}, "codex"),
        ({"sessionId": "s", "projectHash": "p"}, "gemini-cli"),
        ({"type": "session", "version": 3, "id": "s", "cwd": "/"}, "pi"),
    ],
)
def test_a_file_of_another_tool(tmp_path: Path, record: Any, tool: str) -> None:
    """A file of a tool that has a reader of its own is refused, and the error names the command for it."""
    (tmp_path / "a b").mkdir()
    with pytest.raises(OSError, match=f"reel import {tool} '{tmp_path}/a b/log.jsonl'"):
        read(tmp_path / "a b", record)


_JUNK: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers(-9, 9) | st.sampled_from(["", "x", "text", "image_url", "tool_use", "tool_result"]),
    lambda inside: (
        st.lists(inside, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "text", "content", "id", "name", "image_url", "url", "functionCall", "inlineData", "data"]
            ),
            inside,
            max_size=4,
        )
    ),
    max_leaves=10,
)
_MESSAGE = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(["user", "assistant", "tool", "system", "model", "x"]),
        **dict.fromkeys(("content", "parts", "tool_calls", "function_call", "type", "output", "call_id"), _JUNK),
    },
)


@pytest.mark.slow
@given(st.lists(_MESSAGE | st.fixed_dictionaries({"messages": st.lists(_MESSAGE | _JUNK)}), max_size=6))
def test_any_records(records: list[Any]) -> None:
    """Whatever the records are, what is said has valid blocks, and all of them are counted."""
    reading = Messages(Source("/none", "jsonl/x", 0, 0))
    for number, record in enumerate(records, 1):
        for step in reading.read_line(record, number):
            check_step(step, set())

    counts = reading.counts
    assert counts.read == len(records) == counts.mapped + counts.unknown.total()
