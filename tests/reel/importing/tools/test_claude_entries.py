"""Entries of Claude Code's transcripts as messages and notes, and the same entries again."""

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.base.strict_json import encode
from reel.importing.steps import Back, Compacted, Kept, Said, Step
from reel.importing.tools.claude_code.entries import entry_from, entry_in_note, entry_of, json_of, parts_of, steps_of
from reel.importing.tools.claude_code.thread import Thread
from reel.said.messages import Message
from reel.said.records import message_from_record
from reeld.core.validation import rows_from
from tests.reel.importing.claude_samples import every_entry

Json = dict[str, Any]
ENTRIES = every_entry()


def stored(steps: list[Step]) -> tuple[list[Message], list[str]]:
    """Return the messages and the data of notes that steps become when the daemon stores them."""
    elements: list[Json] = []
    for step in steps:
        said = step.said if isinstance(step, Compacted) else step
        if isinstance(said, Said):
            (part,) = said.parts
            elements.append({"role": said.role, "content": part.blocks, "provider_metadata": said.metadata})
        elif isinstance(said, Kept) and said.kind == "note":
            data = encode(said.data, ascii_only=True)
            elements.append({"kind": said.kind, "content": said.content, "data_json": data})
    rows = [checked.row for checked in rows_from(elements)[0]]
    messages = [message_from_record(row._asdict()) for row in rows]
    return [found for found in messages if found], [cast("str", row.data_json) for row in rows if row.kind == "note"]


def entry_again(entry: Json) -> Json | None:
    messages, notes = stored(list(steps_of(entry, "the-ref", Thread())))
    assert bool(messages) != bool(notes)
    if notes:
        return entry_in_note(notes[0])
    assert parts_of(messages[0]) == len(messages)
    return entry_of(messages)


def test_every_entry() -> None:
    """An entry comes back deeply equal from what is stored."""
    for entry in ENTRIES:
        assert encode(entry_again(entry), ascii_only=True) == encode(entry, ascii_only=True)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(), inside, max_size=3),
    max_leaves=8,
)
FIELDS = ("text", "thinking", "signature", "id", "name", "input", "tool_use_id", "content", "source")
BLOCK = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "thinking", "tool_use", "tool_result", "image", "else"])},
    optional=dict.fromkeys(FIELDS, JSON),
)
ENTRY = st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "assistant", "system", "attachment", "else"])},
    optional={
        "uuid": JSON,
        "parentUuid": JSON,
        "timestamp": JSON,
        "message": JSON | st.fixed_dictionaries({"content": JSON | st.lists(BLOCK, max_size=4)}),
        "attachment": JSON,
        "isCompactSummary": st.booleans(),
        "subtype": st.sampled_from(["compact_boundary", "turn_duration", "else"]),
    },
)


@given(ENTRY)
def test_any_entry(entry: Json) -> None:
    """Whatever an entry has, it comes back deeply equal."""
    assert json_of(entry_again(entry)) == json_of(entry)


def test_what_it_says_is_stored_once() -> None:
    """A text that a message has is not stored again, although an entry has it twice."""
    text = "The text of the whole file. " * 99
    result = {"type": "tool_result", "tool_use_id": "c1", "content": text}
    entry = {"type": "user", "uuid": "u1", "message": {"content": [result]}, "toolUseResult": {"stdout": text}}

    (message,), _ = stored(list(steps_of(entry, "u1", Thread())))

    assert len(encode(dict(message))) < 1.2 * len(text)


def test_a_changed_message() -> None:
    """A message that was changed since is no longer the entry."""
    entry = {"type": "user", "uuid": "u1", "message": {"content": "What is a tape deck?"}}
    (message,), _ = stored(list(steps_of(entry, "u1", Thread())))
    message["content"] = [{"type": "text", "text": "What is a reel?"}]

    assert entry_of([message]) is None
    message["provider_metadata"]["item"] = {"format": "x-claude-agent-sdk"}
    assert entry_of([message]) is None


def test_other_notes() -> None:
    """Notes of others are no entries."""
    assert [None] * 5 == [entry_in_note(text) for text in (None, "", "[]", '{"a": 1}', '{"claude_code": "[]"}')]


def test_going_back() -> None:
    """A prompt that follows an earlier message goes back to it; a result that follows its call does not."""
    thread = Thread()
    steps = [
        step
        for uuid, parent in (("u1", None), ("u2", "u1"), ("u3", "u1"))
        for step in steps_of(
            {"type": "user", "uuid": uuid, "parentUuid": parent, "message": {"content": "Hi"}}, uuid, thread
        )
    ]

    assert ["u1"] == [step.to for step in steps if isinstance(step, Back)]


@pytest.mark.parametrize("content", ["Words.", [{"type": "text", "text": "Words."}]])
def test_a_message_of_somebody_else(content: Any) -> None:
    """It becomes an entry beside the others, with blocks if it is the assistant's."""
    like = {"sessionId": "s", "cwd": "/deck", "uuid": "u1", "requestId": "r"}

    made = entry_from({"role": "assistant", "content": content}, "x1", "u1", like, 1_785_578_400_000)

    assert {
        "isSidechain": False,
        "userType": "external",
        "sessionId": "s",
        "cwd": "/deck",
        "parentUuid": "u1",
        "type": "assistant",
        "message": {
            "id": "msg_x1",
            "type": "message",
            "role": "assistant",
            "content": [{"type": "text", "text": "Words."}],
        },
        "uuid": "x1",
        "timestamp": "2026-08-01T10:00:00.000Z",
    } == made
