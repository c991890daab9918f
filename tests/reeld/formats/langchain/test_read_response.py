"""Answers in LangChain's form, ingested."""

import json
from typing import Any

import pytest

from reel.base.errors import InvalidMessage
from reeld.formats.ingest import read_response

AI: dict[str, Any] = {
    "type": "ai",
    "content": "OK",
    "id": "run-1",
    "tool_calls": [{"name": "look", "args": {}, "id": None}],
    "response_metadata": {"model_provider": "openai", "model_name": "gpt-5", "finish_reason": "stop"},
    "usage_metadata": {"input_tokens": 1},
}


def read(body: Any, model: str | None = None) -> list[Any]:
    """Return what is added."""
    return read_response("langchain", json.dumps(body), model)


def test_an_answer_has_its_model_and_usage() -> None:
    """So are its id and why it ended; a call without an id gets one (rule L5)."""
    message, usage = read(AI)
    known = {"provider": "langchain", "model": "gpt-5", "response_id": "run-1", "finish_reason": "stop"}

    assert known == {key: message["provider_metadata"].get(key) for key in known}
    assert message["content"][1]["id"].startswith("call_")
    assert {"input_tokens": 1} == json.loads(usage["data_json"])["usage"]


def test_an_answer_that_names_nothing() -> None:
    """The caller's model counts."""
    (message,) = read({"lc": 1, "id": ["AIMessage"], "kwargs": {"content": "x"}}, "some")

    assert {"provider": "langchain", "model": "some"} == message["provider_metadata"]


@pytest.mark.parametrize("body", [{"type": "human", "content": "x"}, {"error": "no"}, {"type": "ai", "content": 5}])
def test_what_is_no_answer_is_refused(body: Any) -> None:
    """Only the assistant answers."""
    with pytest.raises(InvalidMessage):
        read(body)


def test_an_empty_answer_is_an_empty_text() -> None:
    """A message needs a block."""
    assert [{"type": "text", "text": ""}] == read({"type": "ai", "content": []})[0]["content"]


def test_a_call_of_a_model_that_declined_is_not_to_be_answered() -> None:
    """It is kept as the block that it was; the call of the model that took over is one (rule A17)."""
    calls: list[Any] = [{"type": "tool_use", "id": of, "name": "look", "input": {}} for of in ("c1", "c2")]
    takeover = {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}}
    maker = {"model_provider": "anthropic", "model_name": "claude-opus-5"}
    beside: list[Any] = [{"id": of, "name": "look", "args": {}} for of in ("c1", "c2")]
    content = [calls[0], takeover, calls[1]]
    (message,) = read({"type": "ai", "content": content, "tool_calls": beside, "response_metadata": maker})

    assert ["opaque", "opaque", "tool_call"] == [block["type"] for block in message["content"]]
    assert calls[0] == json.loads(message["content"][0]["data_json"])
    assert "c2" == message["content"][2]["id"]
