"""Responses of Ollama's own API."""

import json
from typing import Any

import pytest

from reel.base.errors import InvalidMessage
from reeld.formats.ingest import read_response
from tests.reel.streams.samples.ollama import OLLAMA, OLLAMA_WHOLE, said
from tests.reel.streams.samples.sample import ndjson


def read(*chunks: Any) -> list[Any]:
    return read_response("ollama", ndjson(chunks).decode())


@pytest.mark.parametrize("sample", [OLLAMA, OLLAMA_WHOLE])
def test_an_answer(sample: Any) -> None:
    """Whole or streamed, it is thinking, text and calls, and what it used."""
    message, usage = read_response("ollama", sample.data.decode())
    thought, words, first, second = message["content"]

    assert ("Hm, rain?", "qwen3:8b") == (thought["text"], thought["model"])
    assert OLLAMA.text == words["text"]
    assert ("call_1", '{"city":"Oslo"}') == (first["id"], first["arguments"])
    assert second["id"].startswith("call_")
    assert {"eval_count": 8} == json.loads(usage["data_json"])["usage"]
    assert ("stop", "ollama") == tuple(message["provider_metadata"][key] for key in ("finish_reason", "provider"))
    assert "created_at" in message["provider_metadata"]


def test_ids_are_the_same_each_time() -> None:
    """A call without an id gets one that depends on the answer alone."""
    one, other = (read(said(done=True, tool_calls=[{"function": {"name": "look"}}]))[0] for _ in range(2))

    assert one == other


def test_an_answer_without_the_last_chunk() -> None:
    """It broke off, and is kept."""
    message, interrupted = read(said(content="Let"))

    assert ("Let", "interrupted") == (message["content"][0]["text"], interrupted["kind"])


def test_an_error_in_the_middle() -> None:
    """What came is kept, with the server's words."""
    message, interrupted = read(said(content="Let"), {"error": "out of memory", "status": 500})

    assert "out of memory" == interrupted["content"]
    assert "error" not in message["provider_metadata"]


@pytest.mark.parametrize(
    ("chunk", "why"),
    [
        ({"error": "model 'x' not found"}, "body: the answer has no content: model 'x' not found"),
        ({"done": True}, "message: is missing; a response of Ollama has one"),
        ({"done": False}, "body: the answer has no content: the answer broke off"),
    ],
)
def test_what_is_not_an_answer(chunk: Any, why: str) -> None:
    """It is refused with the reason."""
    with pytest.raises(InvalidMessage) as error:
        read(chunk)

    assert f"invalid_message: {why}" == str(error.value)


def test_an_answer_of_nothing() -> None:
    """It is an empty text."""
    (message,) = read({"message": {"role": "assistant", "content": ""}, "done": True})

    assert [{"type": "text", "text": ""}] == message["content"]


def test_log_probabilities_are_joined() -> None:
    """Each chunk has its own."""
    message, _ = read(said(content="a", done=False) | {"logprobs": [1]}, said(done=True) | {"logprobs": [2]})

    assert [1, 2] == message["provider_metadata"]["logprobs"]
