"""Vertex and AI Studio: neither reads what the other signed (rule G13)."""

import json
from typing import Any

import pytest

from reeld.formats.body import Rendered, RenderRequest
from reeld.formats.gemini.write import UNSIGNED
from reeld.formats.ingest import read_response
from reeld.formats.render import render
from tests.formats.checker import check
from tests.reeld.formats.histories import Json, entries_of, result, tool, user

MODEL = "gemini-3-pro"
SIGNED = "U0lHTkVE"
STEPS: list[Json] = [
    {"type": "thought", "signature": SIGNED, "summary": [{"type": "text", "text": "hm"}]},
    {"type": "google_search_call", "id": "s1", "arguments": {"queries": ["x"]}, "signature": SIGNED},
    {"type": "google_search_result", "call_id": "s1", "result": [{"title": "x"}], "signature": SIGNED},
    {"type": "model_output", "content": [{"type": "text", "text": "Found"}]},
    {"type": "function_call", "id": "c1", "name": "look", "arguments": {}},
]
SAID = json.dumps({"id": "i1", "model": MODEL, "status": "requires_action", "steps": STEPS})
# What generateContent signed, which this API reads too (rule I3).
PARTS: list[Json] = [
    {"text": "Found", "thoughtSignature": SIGNED},
    {"thoughtSignature": SIGNED},
    {"functionCall": {"name": "look", "args": {}, "id": "c1"}, "thoughtSignature": SIGNED},
]
GENERATED = json.dumps({"modelVersion": MODEL, "candidates": [{"content": {"role": "model", "parts": PARTS}}]})


def rendered(history: list[Any], dialect: str | None, name: str = "gemini-interactions") -> Rendered:
    """Render a history; the rules of the API and of the dialect permit it."""
    found = render(RenderRequest(name, MODEL, dialect=dialect), entries_of(history))[0]
    assert [] == check(f"{name}/{dialect}" if dialect else name.replace("-", "_"), json.loads(found.body), MODEL)
    return found


def talk(dialect: str | None, name: str = "gemini-interactions") -> list[Any]:
    """Return a history with an answer of a dialect, and the result of its call."""
    prefix = rendered([user("Hi")], dialect, name).prefix.body
    message = read_response(name, SAID if name != "gemini" else GENERATED, MODEL, prefix=prefix)[0]
    return [user("Hi"), message, tool(result())]


@pytest.mark.parametrize("name", ["gemini-interactions", "gemini"])
@pytest.mark.parametrize(
    ("made_in", "target"), [("vertex", "vertex"), ("ai-studio", "ai-studio"), (None, "vertex"), ("vertex", None)]
)
def test_what_was_signed_goes_back_to_the_same_server(made_in: str | None, target: str | None, name: str) -> None:
    """So it does if either is not known, and if the other API of this server answered."""
    found = rendered(talk(made_in, name), target)

    assert 3 == found.body.count(SIGNED)
    assert [] == found.report


@pytest.mark.parametrize(("made_in", "target"), [("vertex", "ai-studio"), ("ai-studio", "vertex")])
def test_what_the_other_server_signed_goes_without_its_signature(made_in: str, target: str) -> None:
    """The turn begins with Google's dummy, and each signature that is lost is reported."""
    found = rendered(talk(made_in), target)
    steps = json.loads(found.body)["input"][1:-1]

    assert SIGNED not in found.body
    assert [{"type": "thought", "signature": UNSIGNED}, *map(without_signature, STEPS[1:])] == steps
    assert {0: f"thinking of {made_in}", 1: f"the signature of {made_in}", 2: f"the signature of {made_in}"} == {
        change.block: change.why for change in found.report
    }


def test_what_the_other_api_signed_elsewhere_goes_without_its_signature() -> None:
    """On a text, on a call, and alone."""
    found = rendered(talk("vertex", "gemini"), "ai-studio")

    assert SIGNED not in found.body
    assert [UNSIGNED] == [step["signature"] for step in json.loads(found.body)["input"] if step["type"] == "thought"]
    assert {0: "the signature of vertex", 1: "a signature of vertex", 2: "the signature of vertex"} == {
        change.block: change.why for change in found.report
    }


def without_signature(step: Json) -> Json:
    return {key: value for key, value in step.items() if key != "signature"}
