"""What the events of an interaction form."""

from typing import Any

import pytest

from reel.streams.gemini_interactions import GeminiInteractions
from tests.reel.streams.samples.google import INTERACTIONS, step

Json = dict[str, Any]
TEXT = {"type": "text", "text": "a"}
IMAGE = {"type": "image", "mime_type": "image/png", "data": "AAAA"}
SOUND = {"type": "audio", "mime_type": "audio/l16", "data": "YQ=="}
COMPLETED = {"event_type": "interaction.completed", "interaction": {"id": "1", "status": "completed"}}


def fold(*events: Json) -> tuple[GeminiInteractions, str]:
    assembler = GeminiInteractions()
    text = "".join(assembler.feed("", event) for event in events)
    assembler.done()
    return assembler, text


@pytest.mark.parametrize(
    ("deltas", "expected"),
    [
        ([TEXT, {"type": "text", "text": "b"}], [{"type": "text", "text": "ab"}]),
        ([TEXT, IMAGE, TEXT], [TEXT, IMAGE, TEXT]),
        ([IMAGE, IMAGE], [IMAGE, IMAGE]),
        ([SOUND, {**SOUND, "data": "Yg=="}], [{**SOUND, "data": "YWI="}]),
        ([SOUND, {**SOUND, "data": "!"}], [{**SOUND, "data": "YQ==!"}]),
        ([SOUND, {**SOUND, "mime_type": "audio/wav"}], [SOUND, {**SOUND, "mime_type": "audio/wav"}]),
        ([{"type": "audio", "uri": "u"}, {"type": "audio", "uri": "u"}], [{"type": "audio", "uri": "u"}] * 2),
        ([{"type": "text_annotation_delta", "annotations": [1]}], [{"type": "text", "text": "", "annotations": [1]}]),
    ],
)
def test_the_parts_of_an_output(deltas: list[Json], expected: list[Json]) -> None:
    """A text grows until something else comes, and so does a sound; other media are parts by themselves."""
    assembler, _ = fold(*step(0, {"type": "model_output"}, *deltas))

    assert [{"type": "model_output", "content": expected}] == assembler.body()["steps"]


@pytest.mark.parametrize(
    ("start", "delta", "expected"),
    [
        ({"result": "a"}, {"result": "b", "is_error": True}, {"result": "ab", "is_error": True}),
        ({"result": [1]}, {"result": [2]}, {"result": [1, 2]}),
        ({"signature": ""}, {"signature": "s"}, {"signature": "s"}),
        ({"signature": "s"}, {"signature": ""}, {"signature": "s"}),
        ({"arguments": {}}, {"arguments": {"a": 1}}, {"arguments": {"a": 1}}),
    ],
)
def test_the_members_of_a_servers_tool(start: Json, delta: Json, expected: Json) -> None:
    """Results grow, and everything else comes whole."""
    assembler, _ = fold(*step(0, {"type": "x_result", **start}, {"type": "x_result", **delta}))

    assert [{"type": "x_result", **expected}] == assembler.body()["steps"]


@pytest.mark.parametrize(
    ("deltas", "expected"), [(['{"a":', "1}"], {"a": 1}), (['{"a":'], '{"a":'), (["[]"], "[]"), ([""], {"b": 2})]
)
def test_the_arguments_of_a_call(deltas: list[str], expected: Any) -> None:
    """They are an object once they are complete, and the text that came before that."""
    start = {"type": "function_call", "arguments": {"b": 2}}
    pieces = [{"type": "arguments_delta", "arguments": piece} for piece in deltas]

    assert [{**start, "arguments": expected}] == fold(*step(0, start, *pieces))[0].body()["steps"]


def test_only_the_text_of_outputs_is_shown() -> None:
    """Thoughts are not, and an output may begin with text."""
    thought = step(0, {"type": "thought", "summary": [TEXT]}, {"type": "thought_summary", "content": TEXT})
    image = step(0, {"type": "thought"}, {"type": "thought_summary", "content": IMAGE})
    said = step(1, {"type": "model_output", "content": [TEXT]}, TEXT)

    assert ("", "aa") == (fold(*thought, *image)[1], fold(*said)[1])


def test_a_delta_of_a_step_that_did_not_begin() -> None:
    """It belongs to an output, so that no text is lost."""
    assembler, text = fold({"event_type": "step.delta", "index": 3, "delta": TEXT})

    assert ("a", [{"type": "model_output", "content": [TEXT]}]) == (text, assembler.body()["steps"])


def test_the_end_may_have_all_steps() -> None:
    """They count, and what comes after the end changes nothing of that."""
    whole = {**COMPLETED, "interaction": {"steps": [{"type": "thought"}], "usage": None}}
    update = {"event_type": "interaction.status_update", "status": "completed", "usage": {"total_tokens": 1}}
    assembler, _ = fold(*step(0, {"type": "model_output"}, TEXT), whole, update)

    assert assembler.complete
    assert {"steps": [{"type": "thought"}], "status": "completed", "usage": {"total_tokens": 1}} == assembler.body()


def test_a_whole_interaction_is_an_answer() -> None:
    """Google's SDK returns one that has nothing to tell it from an event but its steps."""
    assembler, text = fold({**INTERACTIONS.body, "object": None})

    assert (INTERACTIONS.text, True) == (text, assembler.complete)
    assert INTERACTIONS.body["steps"] == assembler.body()["steps"]


@pytest.mark.parametrize(
    ("then", "complete"), [("idle", True), ("in_progress", False), ("requires_continuation", False)]
)
def test_an_agent_that_is_idle_has_answered(then: str, complete: bool) -> None:
    """No event says that the interaction is completed; an agent that works again has not."""
    states = [{"event_type": "interaction.status_update", "status": status} for status in ("in_progress", "idle", then)]
    assembler, _ = fold(*step(0, {"type": "model_output"}, TEXT), *states)

    assert (complete, then) == (assembler.complete, assembler.body()["status"])


def test_no_piece_of_a_newer_kind_is_lost() -> None:
    """It is a part by itself, which grows until something else comes."""
    pieces: list[Json] = [
        {"type": "note", "words": "a"},
        {"type": "note", "words": "b", "at": 1},
        TEXT,
        {"type": "note"},
    ]
    assembler, text = fold(*step(0, {"type": "model_output"}, *pieces))

    parts = [{"type": "note", "words": "ab", "at": 1}, TEXT, {"type": "note"}]
    assert ("a", [{"type": "model_output", "content": parts}]) == (text, assembler.body()["steps"])


def test_an_event_that_is_not_known() -> None:
    """It changes nothing."""
    assembler, _ = fold({"event_type": "interaction.new"}, {"steps": []})

    assert {"steps": []} == assembler.body()
