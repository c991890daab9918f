"""Vertex and AI Studio: neither reads what the other signed (rules G13 and G14)."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeld.formats.body import Rendered, RenderRequest
from reeld.formats.gemini.write import UNSIGNED
from reeld.formats.ingest import read_response
from reeld.formats.render import render
from tests.formats.checker import check
from tests.formats.checker.clouds import signed_elsewhere
from tests.reeld.formats.histories import Json, entries_of, result, tool, user

MODEL = "gemini-3-pro"
SIGNED = "U0lHTkVE"
PARTS: list[Json] = [
    {"text": "hm", "thought": True, "thoughtSignature": SIGNED},
    {"text": "unsigned", "thought": True},
    {"text": "Hi", "thoughtSignature": SIGNED},
    {"executableCode": {"code": "1", "language": "PYTHON"}, "thoughtSignature": SIGNED},
    {"thoughtSignature": SIGNED},
    {"functionCall": {"name": "look", "args": {}, "id": "c1"}, "thoughtSignature": SIGNED},
]
SAID = json.dumps({"modelVersion": MODEL, "candidates": [{"content": {"role": "model", "parts": PARTS}}]})


def rendered(history: list[Any], dialect: str | None, **extra: Any) -> Rendered:
    """Render a history; the rules of Gemini and of the dialect permit it."""
    found = render(RenderRequest("gemini", MODEL, extra, dialect=dialect), entries_of(history))[0]
    assert [] == check(f"gemini/{dialect}" if dialect and not extra else "gemini", json.loads(found.body), MODEL)
    return found


def talk(dialect: str | None, *, knows: bool = True) -> list[Any]:
    """Return a history with an answer of a dialect, and the result of its call."""
    prefix = rendered([user("Hi")], dialect).prefix.body
    message = read_response("gemini", SAID, MODEL, prefix=prefix if knows else None)[0]
    return [user("Hi"), message, tool(result())]


@pytest.mark.parametrize(
    ("made_in", "target"),
    [("vertex", "vertex"), ("ai-studio", "ai-studio"), (None, "vertex"), ("vertex", None), (None, None)],
)
def test_what_was_signed_goes_back_to_the_same_server(made_in: str | None, target: str | None) -> None:
    """So it does if either is not known: as before there were dialects."""
    found = rendered(talk(made_in), target)

    assert 5 == found.body.count(SIGNED)
    assert [] == found.report


@pytest.mark.parametrize(("made_in", "target"), [("vertex", "ai-studio"), ("ai-studio", "vertex")])
def test_what_the_other_server_signed_goes_without_its_signature(made_in: str, target: str) -> None:
    """A call has Google's dummy, and each signature that is lost is reported."""
    found = rendered(talk(made_in), target)
    parts = json.loads(found.body)["contents"][1]["parts"]

    assert SIGNED not in found.body
    assert [
        {"text": "unsigned", "thought": True},
        {"text": "Hi"},
        {"executableCode": {"code": "1", "language": "PYTHON"}},
        {"functionCall": {"name": "look", "args": {}, "id": "c1"}, "thoughtSignature": UNSIGNED},
    ] == parts
    lost = {0: "thinking", 2: "the signature", 3: "the signature", 4: "a signature", 5: "the signature"}
    assert {block: f"{what} of {made_in}" for block, what in lost.items()} == {
        change.block: change.why for change in found.report
    }


@given(st.lists(st.tuples(st.sampled_from(["vertex", "ai-studio"]), st.booleans()), min_size=1, max_size=6))
def test_no_cloud_is_sent_what_the_other_one_signed(answers: list[tuple[str, bool]]) -> None:
    """Whoever answers in whatever order, with calls or words, and each gets back everything of its own."""
    history: list[Any] = [user("Hi")]
    made_by: dict[str, str] = {}
    for number, (cloud, calls) in enumerate(answers):
        signature = base64.b64encode(f"signature {number}".encode()).decode()
        made_by[signature] = cloud
        part: Json = {"functionCall": {"name": "look", "args": {}, "id": f"c{number}"}} if calls else {"text": "OK"}
        content = {"role": "model", "parts": [{**part, "thoughtSignature": signature}]}
        said = json.dumps({"modelVersion": MODEL, "candidates": [{"content": content}]})
        prefix = rendered(history, cloud).prefix.body
        history.append(read_response("gemini", said, MODEL, prefix=prefix)[0])
        history.append(tool(result(f"c{number}")) if calls else user("Go on"))
        for target in ("vertex", "ai-studio"):
            body = json.loads(rendered(history, target).body)
            assert [] == signed_elsewhere(body, made_by, target)
            assert all(text in json.dumps(body) for text, maker in made_by.items() if maker == target)


def test_an_answer_whose_rendering_is_not_known_was_signed_anywhere() -> None:
    """As one that was stored before; so is one with a prefix that no render made."""
    unknown = read_response("gemini", SAID, MODEL, prefix="01@elsewhere")[0]

    assert 5 == rendered(talk("vertex", knows=False), "ai-studio").body.count(SIGNED)
    assert 5 == rendered([user("Hi"), unknown, tool(result())], "vertex").body.count(SIGNED)


def test_a_request_to_ai_studio_is_not_stored() -> None:
    """Unless extra says so; Vertex does not know the key."""
    history = [user("Hi")]
    stored = [json.loads(rendered(history, name).body).get("store") for name in ("ai-studio", "vertex", None)]

    assert [False, None, None] == stored
    assert json.loads(rendered(history, "ai-studio", store=True).body)["store"] is True
