"""Which parts of Gemini's chunks are joined, and which are not."""

from typing import Any

import pytest

from reel.streams.gemini import Gemini
from tests.reel.streams.samples.google import candidate

_CALL = {"functionCall": {"name": "f", "args": {}}}


def fold(*chunks: dict[str, Any]) -> Gemini:
    assembler = Gemini()
    for each in chunks:
        assembler.feed("", each)
    assembler.done()
    return assembler


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([{"text": "a"}, {"text": "b"}], [{"text": "ab"}]),
        ([{"text": "a"}, {"text": "", "thoughtSignature": "s"}], [{"text": "a", "thoughtSignature": "s"}]),
        ([{"text": "a"}, {"thoughtSignature": "s"}], [{"text": "a", "thoughtSignature": "s"}]),
        (
            [{"text": "a", "thoughtSignature": "s"}, {"text": "b"}],
            [{"text": "a", "thoughtSignature": "s"}, {"text": "b"}],
        ),
        ([{"text": "a", "thought": True}, {"text": "b"}], [{"text": "a", "thought": True}, {"text": "b"}]),
        ([{"text": "a"}, _CALL, {"text": "b"}], [{"text": "a"}, _CALL, {"text": "b"}]),
        ([{"text": "a"}, {"text": "b", "videoMetadata": {}}], [{"text": "a"}, {"text": "b", "videoMetadata": {}}]),
        ([{"thoughtSignature": "s"}, {"text": "b"}], [{"thoughtSignature": "s"}, {"text": "b"}]),
        ([_CALL, _CALL], [_CALL, _CALL]),
        ([{"text": ""}, {"text": "a"}], [{"text": "a"}]),
        ([_CALL, {"text": ""}, {"text": "", "thought": True}], [_CALL]),
        ([_CALL, {"text": "", "thoughtSignature": "s"}], [_CALL, {"text": "", "thoughtSignature": "s"}]),
    ],
)
def test_parts_of_gemini_are_joined(given: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    """A text continues in the next part of its kind until it is signed; all other parts stay separate."""
    (found,) = fold(*map(candidate, given)).body()["candidates"]

    assert expected == found["content"]["parts"]


def test_citations_are_put_together() -> None:
    """Each chunk's metadata is kept under the name that the API gives it."""
    chunks = [{"candidates": [{"citationMetadata": {name: [uri]}}]} for name in ("citationSources",) for uri in "ab"]

    assert [{"citationMetadata": {"citationSources": ["a", "b"]}}] == fold(*chunks).body()["candidates"]


def test_several_candidates() -> None:
    """All candidates are kept; the first is shown and decides whether the answer is complete."""
    assembler = Gemini()
    given = [{"index": n, "content": {"parts": [{"text": text}]}} for n, text in ((1, "b"), (0, "a"))]
    shown = assembler.feed("", {"candidates": [{**given[0], "finishReason": "STOP"}, given[1]]})

    assert ("a", False, 2) == (shown, assembler.complete, len(assembler.body()["candidates"]))


def test_a_prompt_that_was_blocked() -> None:
    """A blocked prompt has no candidate, and the answer is complete."""
    assembler = fold({"promptFeedback": {"blockReason": "SAFETY"}, "error": None})

    assert ({"promptFeedback": {"blockReason": "SAFETY"}}, True) == (assembler.body(), assembler.complete)
