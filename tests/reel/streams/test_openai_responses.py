"""Events of a response stream that breaks off, and differences of servers."""

from typing import Any

import pytest

from reel.streams.openai_responses import OpenAIResponses
from tests.reel.streams.samples.openai_responses import RESPONSES, RESPONSES_EVENTS, of_item, response


def fold(*events: dict[str, Any]) -> OpenAIResponses:
    assembler = OpenAIResponses()
    for event in events:
        assembler.feed("", event)
    assembler.done()
    return assembler


def test_a_last_event_without_output() -> None:
    """The items that came before stand in for it."""
    last = {"type": "response.completed", "response": response("completed", [])}

    assert RESPONSES.body["output"] == fold(*RESPONSES_EVENTS[:-1], last).body()["output"]


@pytest.mark.parametrize(
    ("end", "index", "expected"),
    [
        (5, 0, {"summary": [{"type": "summary_text", "text": "Look it "}], "encrypted_content": ""}),
        (10, 1, {"content": [{"type": "output_text", "text": "A ", "annotations": []}], "status": "in_progress"}),
        (15, 2, {"arguments": '{"city":', "status": "in_progress"}),
    ],
)
def test_items_that_break_off(end: int, index: int, expected: dict[str, Any]) -> None:
    """Items that break off have what arrived of them."""
    assembler = fold(*RESPONSES_EVENTS[:end])
    item = assembler.body()["output"][index]

    assert not assembler.complete
    assert expected == {key: item[key] for key in expected}


@pytest.mark.parametrize(
    ("kind", "complete"), [("completed", True), ("incomplete", True), ("failed", False), ("queued", False)]
)
def test_how_a_response_ends(kind: str, complete: bool) -> None:
    """An answer that a limit cut short is one; a failure is none."""
    assembler = fold({"type": f"response.{kind}", "response": response(kind, [])})

    assert (complete, response(kind, [])) == (assembler.complete, assembler.body())


@pytest.mark.parametrize(
    ("event", "field"),
    [
        ("function_call_arguments", "arguments"),
        ("mcp_call_arguments", "arguments"),
        ("custom_tool_call_input", "input"),
        ("code_interpreter_call_code", "code"),
    ],
)
def test_texts_of_items(event: str, field: str) -> None:
    """Texts of items grow piece by piece."""
    added = of_item("output_item.added", 3, item={"type": "x", field: "a"})
    pieces = [of_item(f"{event}.delta", 3, delta=text) for text in ("b", "c")]

    assert [{"type": "x", field: "abc"}] == fold(added, *pieces).body()["output"]


@pytest.mark.parametrize(
    ("event", "counter", "part"),
    [
        ("output_text", "content_index", {"content": [{"type": "output_text", "text": "ab"}]}),
        ("refusal", "content_index", {"content": [{"type": "refusal", "refusal": "ab"}]}),
        ("reasoning_text", "content_index", {"content": [{"type": "reasoning_text", "text": "ab"}]}),
        ("reasoning_summary_text", "summary_index", {"summary": [{"type": "summary_text", "text": "ab"}]}),
    ],
)
def test_texts_of_parts(event: str, counter: str, part: dict[str, Any]) -> None:
    """Texts of parts grow piece by piece, whether their part was announced or not."""
    pieces = [of_item(f"{event}.delta", 0, delta=text, **{counter: 0}) for text in ("a", "b")]

    assert [{"type": "x", **part}] == fold(of_item("output_item.added", 0, item={"type": "x"}), *pieces).body()[
        "output"
    ]


def test_annotations_are_put_together() -> None:
    """Annotations are added to the part that they belong to."""
    added = of_item("output_item.added", 0, item={"type": "message", "content": [{"type": "output_text", "text": "a"}]})
    notes = [of_item("output_text.annotation.added", 0, content_index=0, annotation=n) for n in (1, 2)]

    assert [{"type": "output_text", "text": "a", "annotations": [1, 2]}] == fold(added, *notes).body()["output"][0][
        "content"
    ]


def test_refusals_are_shown() -> None:
    """The text of a refusal is text; the reasoning is not."""
    assembler = fold(of_item("output_item.added", 0, item={}))
    kinds = ("refusal", "output_text", "reasoning_text", "reasoning_summary_text")

    assert ["x", "x", "", ""] == [assembler.feed("", of_item(f"{kind}.delta", 0, delta="x")) for kind in kinds]


def test_unknown_events_of_responses_are_ignored() -> None:
    """An unknown event, and a delta of an unknown item, add nothing."""
    assembler = fold({"type": "response.new"}, of_item("function_call_arguments.delta", 4, delta="x"))

    assert {"output": []} == assembler.body()
