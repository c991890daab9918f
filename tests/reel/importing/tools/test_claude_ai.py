"""Reading exports of Claude.ai."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reel.importing.steps import About, Counts, Said, Source
from reel.importing.tools.claude_ai import TOOL, steps_of
from reel.importing.values import ref_of
from tests.reel.importing.exported import read, reading_of, write
from tests.reel.importing.transcripts import check_step, outline


def message(uuid: str, sender: str, *content: Any, **fields: Any) -> dict[str, Any]:
    """Return a message; a string is a text."""
    blocks = [{"type": "text", "text": block} if isinstance(block, str) else block for block in content]
    return {"uuid": uuid, "sender": sender, "content": blocks, "created_at": "2026-01-01T00:00:00Z", **fields}


def conversation(*messages: Any, **fields: Any) -> dict[str, Any]:
    """Return a conversation."""
    return {"uuid": "c1", "name": "A title", "chat_messages": list(messages), **fields}


def test_a_conversation(tmp_path: Path) -> None:
    """Messages follow one another, with title and times."""
    made = conversation(message("u", "human", "Hi"), message("a", "assistant", "Hello"))

    about, user, answer = read(TOOL, tmp_path, made)

    assert isinstance(about, About)
    assert ("/c1", "A title") == (about.part, about.title)
    assert ["user:u", "assistant:a"] == outline([user, answer])
    assert isinstance(user, Said)
    assert 1767225600000 == user.sent


@pytest.mark.parametrize("ids", [({"id": "t"}, {"tool_use_id": "t"}), ({}, {})])
def test_calls(tmp_path: Path, ids: tuple[dict[str, str], dict[str, str]]) -> None:
    """An answer with calls and results in it is several messages; in older exports neither has an id."""
    call = {"type": "tool_use", "name": "search", "input": {"q": 1}, "integration_name": "Web", **ids[0]}
    result = {
        "type": "tool_result",
        "name": "search",
        "content": [{"type": "text", "text": "x", "uuid": "y"}],
        **ids[1],
    }
    thinking = {"type": "thinking", "thinking": "Hm", "summaries": []}

    steps = read(TOOL, tmp_path, conversation(message("a", "assistant", thinking, call, result, "Done")))

    assert ["assistant:a/0", "tool:a/1", "assistant:a"] == outline(steps)[1:]
    said = [block for step in steps if isinstance(step, Said) for block in step.parts[0].blocks]
    assert said[1]["id"] == said[2]["tool_call_id"] == ids[0].get("id", "a-1")
    assert "x" == said[2]["content"]
    assert {"integration_name": "Web"} == json.loads(said[1]["provider_metadata"]["block_json"])


def test_blocks_of_another_shape(tmp_path: Path) -> None:
    """What is not as Anthropic's API has it keeps its words: as thinking if it is that, else whole."""
    content = [
        {"type": "thinking", "text": "xylophone"},
        {"type": "thinking", "thinking": None, "summaries": [{"summary": "marimba"}, {"summary": "gong"}]},
        {"type": "text", "value": "tuba"},
        {"type": "redacted_thinking", "text": "harp"},
        {"type": "hologram", "text": "lute"},
    ]

    _, said = read(TOOL, tmp_path, conversation(message("a", "assistant", *content)))

    assert isinstance(said, Said)
    blocks = said.parts[0].blocks
    assert ["xylophone", "marimba\n\ngong"] == [block["text"] for block in blocks[:2]]
    assert content[2:] == [json.loads(block["data_json"]) for block in blocks[2:]]


def test_messages_of_another_shape(tmp_path: Path) -> None:
    """A content that is a text is said; a message without anything is counted as empty, and nothing follows it."""
    made = conversation(message("u", "human", text="", content="Hi"), message("a", "assistant"))
    reading = reading_of(TOOL, write(tmp_path / "x.zip", made))

    _, said = reading.steps()

    assert isinstance(said, Said)
    assert "Hi" == said.parts[0].blocks[0]["text"]
    assert (1, {"empty": 1}) == (reading.counts.mapped, reading.counts.ignored)


def test_attachments(tmp_path: Path) -> None:
    """The text of an attachment is before the message; of other files there is the name."""
    files = {"attachments": [{"file_name": "a.txt", "extracted_content": "A"}], "files": [{"file_name": "b.png"}]}

    (said,) = [
        step
        for step in read(TOOL, tmp_path, conversation(message("u", "human", "Hi", **files)))
        if isinstance(step, Said)
    ]

    assert ["a.txt:\n\nA", "[file: b.png]", "Hi"] == [block["text"] for block in said.parts[0].blocks]


def test_branches(tmp_path: Path) -> None:
    """If messages name the one that they follow, another answer is a step back."""
    made = [message("u", "human", "Hi"), message("a", "assistant", "1"), message("b", "assistant", "2")]
    for one in made[1:]:
        one["parent_message_uuid"] = "u"

    assert ["user:u", "assistant:a", "back:u", "assistant:b"] == outline(read(TOOL, tmp_path, conversation(*made)))[1:]


def test_unknown_senders(tmp_path: Path) -> None:
    """A message of an unknown sender is a note; old messages have a text only."""
    made = conversation(message("x", "ghost", "Boo"), message("u", "human", text="Hi"), 5)
    reading = reading_of(TOOL, write(tmp_path / "x.zip", made))

    assert ["note:x", "user:u", f"note:{ref_of({'message': 5})}"] == outline(list(reading.steps()))[1:]
    assert (3, {"sender ghost": 1, "not an object": 1}) == (reading.counts.read, reading.counts.unknown)


@pytest.mark.slow
@example(place=301, byte=0)  # the brace that ends the first conversation
@given(place=st.integers(0, 1211), byte=st.integers(0, 255))
def test_damaged_exports(tmp_path_factory: pytest.TempPathFactory, place: int, byte: int) -> None:
    """If a byte of an export is another one, at most the conversation at this place is lost."""
    made = [
        conversation(message("u", "human", f"[{name}"), message("a", "assistant", "ok"), end=name) for name in "pqrs"
    ]
    path = write(tmp_path_factory.getbasetemp() / "claude.json", *[{**one, "uuid": one["end"]} for one in made])
    text = bytearray(path.read_bytes())
    assert 1212 == len(text)
    text[place] = byte
    path.write_bytes(text)

    parts = {step.part[1:] for step in reading_of(TOOL, path).steps() if isinstance(step, About)}

    assert len({*"pqrs"} - parts) <= 1


_JUNK: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers(-9, 9) | st.sampled_from(["", "x", "text", "tool_use", "tool_result", "thinking"]),
    lambda inside: (
        st.lists(inside, max_size=2)
        | st.dictionaries(
            st.sampled_from(["type", "text", "content", "id", "tool_use_id", "name", "input"]), inside, max_size=3
        )
    ),
    max_leaves=5,
)


@pytest.mark.slow
@given(
    st.lists(
        _JUNK
        | st.fixed_dictionaries(
            {"sender": st.sampled_from(["human", "assistant", "x"])},
            optional=dict.fromkeys(("uuid", "content", "text", "attachments", "files", "parent_message_uuid"), _JUNK),
        ),
        max_size=4,
    )
)
def test_any_messages(messages: list[Any]) -> None:
    """Whatever the messages are, each is counted and can be added."""
    counts, known = Counts(), {""}

    for step in steps_of({"chat_messages": messages}, Source("/x", "claude-ai", 0, 0), counts):
        known |= check_step(step, known)

    assert counts.read == len(messages) == counts.mapped + counts.ignored.total() + counts.unknown.total()
