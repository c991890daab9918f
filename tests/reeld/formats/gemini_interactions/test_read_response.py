"""Responses of Google's Interactions API, read."""

from typing import Any

import pytest

from reel.base.errors import InvalidMessage
from reeld.formats.gemini_interactions.read import read_response
from tests.reeld.formats.histories import opaque, text

Json = dict[str, Any]
MODEL = "gemini-3-pro-preview"
TEXT: Json = {"type": "text", "text": "Hi"}
SAID: Json = {"type": "model_output", "content": [TEXT]}


def answer(*steps: Any, **more: Any) -> Json:
    return {"id": "1", "object": "interaction", "model": MODEL, "status": "completed", "steps": list(steps), **more}


def test_a_response_is_one_message() -> None:
    """It has thoughts, texts, all calls and the steps of the server's tools; status and usage are metadata."""
    search = {"type": "google_search_call", "id": "s1", "arguments": {}, "signature": "c2ln"}
    found = read_response(
        answer(
            {"type": "thought", "signature": "c2ln", "summary": [{"type": "text", "text": "hm"}]},
            search,
            SAID,
            {"type": "function_call", "id": "c1", "name": "look", "arguments": {"a": 1}},
            usage={"total_tokens": 1},
            created="2026-11-22T00:00:00Z",
        )
    )
    thought, searched, said, call = found.message["content"]

    assert {"type": "thinking", "text": "hm", "provider": "gemini", "model": MODEL, "signature": "c2ln"} == thought
    assert (MODEL, "opaque") == (searched["model"], searched["type"])
    assert (text("Hi"), '{"a":1}', "c1") == (said, call["arguments"], call["id"])
    assert {
        "provider": "gemini",
        "model": MODEL,
        "response_id": "1",
        "finish_reason": "completed",
        "usage": {"total_tokens": 1},
        "created": "2026-11-22T00:00:00Z",
    } == found.message["provider_metadata"]
    assert ({"total_tokens": 1}, None) == (found.usage, found.broke_off)


def test_what_a_response_repeats_is_not_kept() -> None:
    """It may begin with the user's steps, and have the keys of the request (rule I10)."""
    user = {"type": "user_input", "content": [TEXT]}
    result = {"type": "function_result", "call_id": "c1", "result": "x"}
    found = read_response(answer(result, user, SAID, input="Hi", tools=[{}], output_text="Hi", id=""))

    assert [text("Hi")] == found.message["content"]
    assert {"provider": "gemini", "model": MODEL, "finish_reason": "completed"} == found.message["provider_metadata"]


def test_a_later_step_of_the_users_is_kept() -> None:
    """Only the steps that a response begins with repeat the request."""
    result = {"type": "function_result", "call_id": "c1", "result": "x"}
    found = read_response(answer(SAID, result))

    assert ["text", "opaque"] == [block["type"] for block in found.message["content"]]


def test_the_annotations_of_a_text_are_kept() -> None:
    """They are metadata of the text."""
    cited = {**TEXT, "annotations": [{"type": "url_citation"}]}
    (block,) = read_response(answer({**SAID, "content": [cited]})).message["content"]

    assert {"provider": "gemini", "annotations_json": '[{"type":"url_citation"}]'} == block["provider_metadata"]


@pytest.mark.parametrize(
    ("summary", "words", "kept"),
    [
        (None, "", False),
        ([TEXT], "Hi", False),
        ([TEXT, TEXT], "HiHi", True),
        ([{"type": "image", "data": "AAAA"}, TEXT], "Hi", True),
    ],
)
def test_the_summary_of_a_thought(summary: Any, words: str, kept: bool) -> None:
    """Its texts are the text; a summary that is more than one text is kept beside it."""
    (block,) = read_response(answer({"type": "thought", "summary": summary, "signature": ""})).message["content"]

    assert (words, kept) == (block["text"], "provider_metadata" in block)
    assert "signature" not in block


def test_calls_without_an_id_get_different_ones() -> None:
    """The same response always gives the same ids, and another response others."""
    call = {"type": "function_call", "name": "look"}
    one, again, other = (
        [block["id"] for block in read_response(answer(call, call, id=of)).message["content"]] for of in ("a", "a", "b")
    )

    assert one == again
    assert 4 == len({*one, *other})


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (
            {"type": "image", "mime_type": "image/png", "data": "AAAA"},
            {"type": "media", "mime_type": "image/png", "data_base64": "AAAA"},
        ),
        (
            {"type": "image", "uri": "https://a.example"},
            {"type": "media", "mime_type": "image/*", "url": "https://a.example"},
        ),
        (
            {"type": "video", "mime_type": "video/mp4", "uri": "https://a.example"},
            {"type": "media", "mime_type": "video/mp4", "url": "https://a.example"},
        ),
    ],
)
def test_media(part: Json, expected: Json) -> None:
    """They are media of Gemini's, with their MIME type."""
    (block,) = read_response(answer({**SAID, "content": [part]})).message["content"]

    assert {**expected, "provider_metadata": {"provider": "gemini"}} == block


@pytest.mark.parametrize(
    "part",
    [
        {"type": "video", "uri": "https://a.example"},
        {"type": "image", "data": "AAAA"},
        {"type": "image"},
        {"type": "x"},
    ],
)
def test_a_content_without_a_neutral_form(part: Json) -> None:
    """It is kept whole: media whose type nothing says, and contents that are not known."""
    (block,) = read_response(answer({**SAID, "content": [part]})).message["content"]

    assert "opaque" == block["type"]


def test_an_uploaded_file_is_kept_as_generate_content_has_it() -> None:
    """So both of Google's APIs can be sent it (rule G10)."""
    part = {"type": "document", "mime_type": "application/pdf", "uri": "gs://a", "resolution": "low"}
    (block,) = read_response(answer({**SAID, "content": [part]})).message["content"]

    kept = {"provider_metadata": {"provider": "gemini", "resolution": "low"}}
    assert opaque('{"fileData":{"fileUri":"gs://a","mimeType":"application/pdf"}}', "gemini", **kept) == block


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (answer(SAID, status="requires_action"), None),
        (answer(SAID, status="incomplete"), None),
        (answer(SAID, status="in_progress"), "the interaction is in_progress"),
        (
            answer(SAID, status="failed", errors=[{"code": "x", "message": "full"}, {"message": "late"}]),
            "the interaction is failed: full; late",
        ),
        (answer({**SAID, "error": {"code": 3, "message": "no"}}), "the answer has an error: no"),
        (answer(SAID, error={"message": "no"}), "the answer has an error: no"),
    ],
)
def test_an_interaction_that_is_incomplete(body: Json, expected: str | None) -> None:
    """What it contains is kept, and why it broke off is said (rule I9)."""
    found = read_response(body)

    assert (expected, [text("Hi")]) == (found.broke_off, found.message["content"])


@pytest.mark.parametrize(
    ("body", "field", "why"),
    [
        ({"error": {"message": "no"}}, "error", "the provider refused: no"),
        ({}, "steps", "is missing"),
        (
            answer(status="failed", errors=[{"message": "full"}]),
            "steps",
            "is empty, and the interaction is failed: full",
        ),
        (answer(steps={"type": "thought"}), "steps", "expected an array"),
        (answer("x"), "steps[0]", "expected an object"),
        (answer({"type": "function_call"}), "steps[0].name", "expected a string"),
        (answer({**SAID, "content": [{"type": "text"}]}), "steps[0].content[0].text", "expected a string"),
        (answer({"type": "thought", "summary": [{}]}), "steps[0].summary[0].text", "expected a string"),
        (answer({"type": "thought", "signature": 1}), "steps[0].signature", "expected a string"),
        (answer({**SAID, "content": [{"type": "image", "data": 1}]}), "steps[0].content[0].data", "expected a string"),
    ],
)
def test_what_is_not_a_response(body: Json, field: str, why: str) -> None:
    """It is refused, with its place."""
    with pytest.raises(InvalidMessage, match=why) as raised:
        read_response(body)

    assert field == raised.value.data["field"]


def test_an_empty_response_has_an_empty_text() -> None:
    """The caller may name the model if the body does not."""
    found = read_response(answer(model=None), MODEL)

    assert [text("")] == found.message["content"]
    assert MODEL == found.message["provider_metadata"]["model"]
