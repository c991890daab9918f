"""Responses of Gemini, read."""

from typing import Any

import pytest

from reel.base.errors import InvalidMessage
from reeld.formats.gemini.read import read_response
from tests.reeld.formats.histories import text

GEMINI_3 = "gemini-3-pro-preview"


def answer(*parts: Any, **more: Any) -> dict[str, Any]:
    content = {"role": "model", "parts": list(parts)}
    return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0, **more}], "modelVersion": GEMINI_3}


def test_a_gemini_response_is_one_message() -> None:
    """It has thoughts, texts, all calls and their signatures; finish reason and usage are metadata."""
    body = answer(
        {"text": "hm", "thought": True},
        {"functionCall": {"name": "look", "args": {"a": 1}}, "thoughtSignature": "c2ln"},
        {"functionCall": {"name": "look", "id": "c2"}},
        groundingMetadata={"a": {"b": 1}},
    )
    found = read_response({**body, "responseId": "r1", "usageMetadata": {"totalTokenCount": 1}})
    thought, first, second = found.message["content"]

    assert [GEMINI_3, '{"a":1}', "c2"] == [thought["model"], first["arguments"], second["id"]]
    assert "c2ln" == first["provider_metadata"]["signature"]
    assert first["id"].startswith("call_")
    assert {
        "provider": "gemini",
        "model": GEMINI_3,
        "response_id": "r1",
        "finish_reason": "STOP",
        "usage": {"totalTokenCount": 1},
        "groundingMetadata_json": '{"a":{"b":1}}',
    } == found.message["provider_metadata"]
    assert {"totalTokenCount": 1} == found.usage


def test_a_function_response_in_an_answer_is_kept_whole() -> None:
    """It is no result of a client's tool, which an answer cannot contain."""
    (block,) = read_response(answer({"functionResponse": {"name": "look", "response": {"a": 1}}})).message["content"]

    assert ("opaque", "gemini") == (block["type"], block["provider"])


def test_calls_of_two_responses_have_different_ids() -> None:
    """The same response always gives the same ids."""
    call = {"functionCall": {"name": "look"}}
    one, other, again = (
        read_response({**answer(call), "responseId": name}).message["content"][0]["id"] for name in "aba"
    )

    assert one == again != other


def test_an_empty_gemini_response_has_an_empty_text() -> None:
    """The caller may name the model if the body does not."""
    found = read_response({"candidates": [{"finishReason": "SAFETY"}]}, GEMINI_3)

    assert [text("")] == found.message["content"]
    assert {"provider": "gemini", "model": GEMINI_3, "finish_reason": "SAFETY"} == found.message["provider_metadata"]
    assert found.usage is None


@pytest.mark.parametrize(
    ("field", "body"),
    [
        ("error", {"error": {"code": 429, "message": "Slow down"}}),
        ("candidates", {}),
        ("candidates", {"promptFeedback": {"blockReason": "SAFETY"}}),
        ("candidates", {"candidates": [{}, {}]}),
        ("candidates[0].content.parts[0].text", answer({"text": 1})),
    ],
)
def test_an_invalid_gemini_response_is_refused(field: str, body: dict[str, Any]) -> None:
    """The error names the place."""
    with pytest.raises(InvalidMessage) as refused:
        read_response(body)

    assert field == refused.value.data["field"]
