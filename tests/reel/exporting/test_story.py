"""What was said, in its order, and what is no longer in the conversation."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.exporting.story import Happened, Part, Said, pretty_json, story, told
from reel.said.messages import Event
from tests.reel.exporting.conversation import event, message


def in_short(parts: list[Part]) -> list[str]:
    """Return each part as its seq; a message that is gone in brackets, and what happened with its kind."""
    return [
        f"{part.event['kind']} {part.event['seq']}"
        if isinstance(part, Happened)
        else f"{part.message['seq']}"
        if part.is_live
        else f"({part.message['seq']})"
        for part in parts
    ]


def test_what_was_taken_back_is_at_its_place() -> None:
    """Messages that are in the log only are gone, and what took them back follows them."""
    log = [event(1, "user"), event(2, "user"), event(3, "rewind", {"before": 2}), event(4, "user")]

    assert ["1", "(2)", "rewind 3", "4"] == in_short(list(story([message(1), message(4)], log)))


def test_a_conversation_that_was_taken_over() -> None:
    """A message of another agent is in the conversation, and the agent's own one with its seq is gone."""
    log = [event(1, "user", content="mine"), event(2, "clone")]

    parts = list(story([message(1, "theirs"), message(9, "later")], log))

    assert ["(1)", "1", "clone 2", "9"] == in_short(parts)
    assert isinstance(parts[1], Said)
    assert [{"type": "text", "text": "theirs"}] == parts[1].message["content"]


def test_what_tells_nothing_is_left_out() -> None:
    """Usage, changes of the name, and rows that are no message are not a part of the story."""
    log = [event(1, "created"), event(2, "usage"), event(3, "tool_result", {"tool_call_id": 7}), event(4, "user")]
    log.append(event(5, "note", {"of": "a program"}))

    assert ["4"] == in_short(list(story([message(4)], log)))


def test_a_question_that_is_written_before_its_step() -> None:
    """What a graph asks follows the messages that led to it, wherever the record is."""

    def record(seq: int, **data: Any) -> Event:
        return event(seq, "command", {"langgraph": data})

    def asked(seq: int, to: str) -> Event:
        text = json.dumps(["msgpack", [{"$ext": [5, ["m", "Interrupt", {"value": "go on?"}]]}]])
        return record(seq, to=to, writes=[[-3, "__interrupt__", text]])

    log = [record(1, put="1"), asked(2, "2"), event(3, "mark"), event(4, "user"), record(5, put="2"), event(6, "user")]
    log += [asked(7, "2"), asked(8, "9")]
    parts = list(story([message(4), message(6)], log))

    assert ["mark 3", "4", "command 2", "6", "command 7", "command 8"] == in_short(parts)
    assert ["asks: go on?"] * 3 == [
        told(part.event) for part in parts if isinstance(part, Happened) and part.event["kind"] == "command"
    ]


@pytest.mark.parametrize(
    ("kind", "data", "content", "words"),
    [
        ("mark", {"label": "here"}, None, "mark here"),
        ("mark", None, None, "mark"),
        ("rewind", {"target": 3}, None, "back to #3"),
        ("rewind", {"before": 3}, None, "back to before #3"),
        ("restore", {"to": 2, "undoes": 3}, None, "#3 undone"),
        ("restore", {"to": 2, "redoes": 3}, None, "#3 redone"),
        ("restore", {"to": 2}, None, "back to #2"),
        ("clear", None, None, "cleared"),
        ("clone", {"from": "x", "at": 3}, None, "cloned from another conversation"),
        ("note", None, "remember", "note: remember"),
        ("interrupted", None, None, "interrupted"),
    ],
)
def test_what_happened(kind: str, data: Any, content: str | None, words: str) -> None:
    """An event is told in a few words."""
    assert told(event(7, kind, data, content)) == words


@pytest.mark.parametrize("data", ["[1]", "{", "[" * 100_000])
def test_a_damaged_event(data: str) -> None:
    """Data that is no map counts as none."""
    damaged: Event = {**event(7, "mark"), "data_json": data}

    assert "mark" == told(damaged)
    assert json.dumps(damaged)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(VALUES)
def test_json_is_indented(value: Any) -> None:
    """JSON is indented as usual, from a form with escapes and without blanks as well."""
    compact = json.dumps(value, separators=(",", ":"))

    assert json.dumps(value, indent=2, ensure_ascii=False) == pretty_json(compact)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1, "a": 2}', '{\n  "a": 1,\n  "a": 2\n}'),
        ("[1.10, 1E400, 12345678901234567890.0]", "[\n  1.10,\n  1E400,\n  12345678901234567890.0\n]"),
        (r'{"half": "\ud83d"}', '{\n  "half": "\\ud83d"\n}'),
        ('{"a": ', '{"a": '),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_json_keeps_its_values(text: str, expected: str) -> None:
    """No number is rounded, no field is dropped, and what is no JSON or no character stays as it is."""
    assert expected == pretty_json(text)
