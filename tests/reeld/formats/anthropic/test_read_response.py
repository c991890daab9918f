"""Responses of Anthropic Messages, read."""

from typing import Any

import pytest

from reel.base.errors import InvalidMessage
from reel.providers.metadata import opaque_object
from reeld.formats.anthropic.read import read_response
from tests.reeld.formats.histories import call, text, thinking
from tests.reeld.formats.sending import sent

ANSWER = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-4-8",
    "stop_reason": "tool_use",
    "usage": {"input_tokens": 1},
    "content": [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "text", "text": "Look"},
        {"type": "tool_use", "id": "c1", "name": "look", "input": {}},
        {"type": "tool_use", "id": "c2", "name": "look", "input": {}},
    ],
}


def test_an_anthropic_response_is_one_message() -> None:
    """It has thinking with its signature, text and all calls; finish reason and usage are metadata."""
    found = read_response(ANSWER)

    assert {
        "role": "assistant",
        "content": [thinking(model="claude-opus-4-8"), text("Look"), call("c1"), call("c2")],
        "provider_metadata": {
            "provider": "anthropic",
            "model": "claude-opus-4-8",
            "response_id": "msg_1",
            "finish_reason": "tool_use",
            "usage": {"input_tokens": 1},
        },
    } == found.message
    assert {"input_tokens": 1} == found.usage


def test_an_empty_anthropic_response_has_an_empty_text() -> None:
    """The caller may name the model if the body does not."""
    found = read_response({"content": []}, "claude-opus-4-8")

    assert [text("")] == found.message["content"]
    assert {"provider": "anthropic", "model": "claude-opus-4-8"} == found.message["provider_metadata"]
    assert found.usage is None


@pytest.mark.parametrize(
    ("block", "back"),
    [
        ({"type": "connector_text", "connector_text": "Looking"}, 1),
        ({"type": "connector_text", "connector_text": "", "signature": "c2ln"}, 1),
        ({"type": "connector_text", "connector_text": ""}, 0),
        ({"type": "connector_text", "connector_text": None, "parts": []}, 0),
        ({"type": "news"}, 0),
        ({"type": "news", "of": 0, "at": "now"}, 1),
    ],
)
def test_an_empty_block_of_a_newer_type_does_not_go_back(block: dict[str, Any], back: int) -> None:
    """Its stream broke off before anything of it came; it is kept in the log."""
    message = read_response({**ANSWER, "content": [block, {"type": "text", "text": "A"}]}).message
    body, _ = sent("anthropic", ["Hi", message, "And?"], "claude-opus-4-8")

    assert block == opaque_object(message["content"][0])
    assert [block][:back] == body["messages"][1]["content"][:-1]


@pytest.mark.parametrize(
    ("field", "body"),
    [
        ("error", {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
        ("content", {}),
        ("content[0]", {"content": [{"type": "tool_result", "tool_use_id": "c1"}]}),
    ],
)
def test_an_invalid_anthropic_response_is_refused(field: str, body: dict[str, Any]) -> None:
    """The error names the place."""
    with pytest.raises(InvalidMessage) as refused:
        read_response(body)

    assert field == refused.value.data["field"]
