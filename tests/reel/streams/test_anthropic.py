"""Events of a message stream that breaks off, and rare events."""

from typing import Any

import pytest

from reel.streams.anthropic import Anthropic
from tests.reel.streams.samples.anthropic import block, partial


def fold(*events: dict[str, Any]) -> dict[str, Any]:
    assembler = Anthropic()
    for event in events:
        assembler.feed("", event)
    return assembler.body()


@pytest.mark.parametrize("pieces", [['{"city": "Os'], ["{", '"a": NaN}'], ["[1]"], ["7"], ["[" * 100_000]])
def test_input_that_is_no_object(pieces: list[str]) -> None:
    """Incomplete or invalid arguments are kept as the text that arrived."""
    events = block(0, {"type": "tool_use", "id": "t", "name": "f", "input": {}}, *map(partial, pieces))

    assert ["".join(pieces)] == [each["input"] for each in fold(*events)["content"]]


def test_a_servers_tool_whose_input_broke_off() -> None:
    """A call without a name is dropped."""
    broken = block(1, {"type": "server_tool_use", "id": "s", "name": "f", "input": {}}, partial('{"a'))
    said = block(0, {"type": "text", "text": "a"})

    assert [{"type": "text", "text": "a"}] == fold(*said, *broken)["content"]


def test_a_compaction_comes_whole() -> None:
    """A block with one delta has the content of that delta."""
    delta = {"type": "compaction_delta", "content": "Summary", "encrypted_content": "xx"}

    assert [{"type": "compaction", "content": "Summary", "encrypted_content": "xx"}] == fold(
        *block(0, {"type": "compaction", "content": None}, delta)
    )["content"]


def test_another_model_takes_over() -> None:
    """The message has the name of the model that answered in the end."""
    start = {"type": "message_start", "message": {"model": "claude-a", "content": []}}
    fallback = {"type": "fallback", "from": {"model": "claude-a"}, "to": {"model": "claude-b"}}

    assert "claude-b" == fold(start, *block(0, fallback))["model"]


def test_usage_is_a_total() -> None:
    """Later counts replace earlier ones; absent or null ones stay; other fields of the end are kept."""
    start = {"type": "message_start", "message": {"usage": {"input_tokens": 5, "output_tokens": 1}}}
    first = {"type": "message_delta", "delta": {"stop_reason": None}, "usage": {"output_tokens": 7}}
    last = {"type": "message_delta", "delta": {"stop_reason": "refusal"}, "usage": {"output_tokens": 9}}

    assert {
        "usage": {"input_tokens": 5, "output_tokens": 9},
        "stop_reason": "refusal",
        "content": [],
        "context_management": {"applied_edits": []},
    } == fold(start, first, {**last, "context_management": {"applied_edits": []}})


def test_text_at_the_start_of_a_block() -> None:
    """Text at the start of a block counts, and is shown."""
    assembler = Anthropic()
    events = block(0, {"type": "text", "text": "a"}, {"type": "text_delta", "text": "b"})

    assert ["a", "b", ""] == [assembler.feed("", event) for event in events]
    assert [{"type": "text", "text": "ab"}] == assembler.body()["content"]


def test_the_name_of_an_event_will_do() -> None:
    """An event whose data has no type has its name as the type."""
    assembler = Anthropic()
    assembler.feed("message_start", {"message": {"id": "m"}})
    assembler.feed("message_stop", {})
    assembler.done()

    assert ({"id": "m", "content": []}, True) == (assembler.body(), assembler.complete)


def test_unknown_events_of_anthropic_are_ignored() -> None:
    """An unknown event, and a piece of a block that did not begin, add nothing."""
    events = block(0, {"type": "text", "text": "a"})
    stray = {"type": "content_block_delta", "index": 4, "delta": {"type": "text_delta", "text": "b"}}

    assert [{"type": "text", "text": "a"}] == fold({"type": "new"}, *events, stray)["content"]


@pytest.mark.parametrize(
    ("start", "deltas", "expected"),
    [
        ({"words": ""}, [{"words": "Looking "}, {"words": "now."}], {"words": "Looking now."}),
        ({}, [{"words": "a"}, {"words": "b", "seal": "s"}], {"words": "ab", "seal": "s"}),
        ({"found": None}, [{"found": [1]}, {"found": [2]}], {"found": [1, 2]}),
        ({"at": 1, "of": {"a": 1}}, [{"at": 2, "of": {"b": 2}, "done": True}], {"at": 2, "of": {"b": 2}, "done": True}),
        ({"words": "a", "found": [1]}, [{"words": 5, "found": "b"}, {"words": None}], {"words": "a", "found": [1]}),
    ],
)
@pytest.mark.parametrize("kind", ["connector_text", "text", "tool_use", "fallback"])
def test_no_piece_of_an_unknown_kind_is_lost(
    kind: str, start: dict[str, Any], deltas: list[dict[str, Any]], expected: dict[str, Any]
) -> None:
    """Whatever the block, texts and lists grow, and what is neither comes whole; a wrong type counts as nothing."""
    pieces = [{"type": f"{kind}_news_delta", **delta} for delta in deltas]

    assert [{"type": kind, **expected}] == fold(*block(0, {"type": kind, **start}, *pieces))["content"]


def test_a_text_of_an_unknown_kind_is_shown() -> None:
    """It is text of the answer if the block is a text."""
    assembler = Anthropic()
    piece = {"type": "new_delta", "text": "b"}
    texts = [
        [assembler.feed("", event) for event in block(index, {"type": kind}, piece)]
        for index, kind in enumerate(("text", "new"))
    ]

    assert [["", "b", ""], ["", "", ""]] == texts
