"""A response while it comes: whole or as a stream, as bytes, text or events of an SDK."""

import json
from typing import Any, cast

import pytest

from reel.base.strict_json import parse_answer
from reel.said.formats import Format
from reel.streams.response import IncomingResponse
from tests.reel.streams.samples.bedrock_converse import BEDROCK_WHOLE
from tests.reel.streams.samples.ollama import OLLAMA, OLLAMA_WHOLE
from tests.reel.streams.samples.sample import Sample

_WHOLE = json.dumps(
    {"object": "chat.completion", "choices": [{"message": {"role": "assistant", "content": "Grüße"}}]},
    ensure_ascii=False,
)
_CHUNK: dict[str, Any] = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "Hi"}}]}
_STREAM = f"data: {json.dumps(_CHUNK)}\n\n"


def _fed(*pieces: str | bytes | dict[str, Any]) -> IncomingResponse:
    response = IncomingResponse("openai-chat")
    for piece in pieces:
        response.feed(piece)
    response.end()
    return response


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_a_whole_response_in_pieces(size: int) -> None:
    """A response that is cut anywhere, inside a character as well, is the same response."""
    data = _WHOLE.encode()

    response = _fed(*(data[start : start + size] for start in range(0, len(data), size)))

    assert (_WHOLE, True, None) == (response.body(), response.complete, response.problem)
    assert not response.is_stream


@pytest.mark.parametrize("kind", ["response", "response.compaction"])
def test_a_whole_response_of_an_sdk_is_no_event(kind: str) -> None:
    """So is what compacts a conversation."""
    response = IncomingResponse("openai-responses")
    response.feed({"object": kind, "output": []})
    response.end()

    assert ({"object": kind, "output": []}, True) == (json.loads(response.body()), response.complete)


def test_a_completion_that_does_not_say_what_it_is() -> None:
    """Servers other than OpenAI's leave out ``object``; the answer of an SDK is not empty because of that."""
    given = {key: value for key, value in json.loads(_WHOLE).items() if key != "object"}

    response = _fed({"choices": [{**given["choices"][0], "finish_reason": "stop"}]})

    assert (True, "Grüße") == (response.complete, response.text)
    assert given["choices"][0]["message"] == json.loads(response.body())["choices"][0]["message"]


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_a_byte_order_mark_in_two_pieces(size: int) -> None:
    """What follows it is a whole response, however much of it comes with the first bytes."""
    data = b"\xef\xbb\xbf" + _WHOLE.encode()

    response = _fed(data[:size], data[size:])

    assert (json.loads(_WHOLE), None) == (json.loads(response.body().lstrip("\ufeff")), response.problem)


@pytest.mark.parametrize("text", [_WHOLE[:-1], "{" * 5000, '{"a": nonsense}'])
def test_a_whole_response_that_is_not_json(text: str) -> None:
    """A body that cannot be parsed is not complete: it was cut, or is something else."""
    response = _fed(text)

    assert (False, False, "it is not a whole JSON text", text[:200]) == (
        response.complete,
        response.usable,
        response.problem,
        response.beginning,
    )


def test_the_text_of_a_stream() -> None:
    """What a piece of a stream adds is returned at once, and its text is known before it ends."""
    response = IncomingResponse("openai-chat")

    assert "Hi" == response.feed(_STREAM)
    assert ("Hi", True, True) == (response.text, response.is_stream, response.began)


def test_events_of_an_sdk() -> None:
    """An event may come as a map, and a whole response as well."""
    assert "Hi" == _fed(_CHUNK).text
    assert json.loads(_WHOLE) == json.loads(_fed(json.loads(_WHOLE)).body())


@pytest.mark.parametrize("sample", [OLLAMA, OLLAMA_WHOLE, BEDROCK_WHOLE])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_response_that_begins_like_an_event(sample: Sample, size: int) -> None:
    """Where a whole response is an event too, a text that begins with a brace is read as a stream."""
    response = IncomingResponse(cast("Format", sample.format))
    for start in range(0, len(sample.data), size):
        response.feed(sample.data[start : start + size])
    response.end()

    assert (sample.text, sample.body, True) == (response.text, json.loads(response.body()), response.complete)
    assert response.is_stream


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize("kind", ["chat.completion", "chat.completion.chunk"])
def test_numbers_of_a_map_that_json_does_not_have(number: str, kind: str) -> None:
    """An event or a response as a map is read as its text is, in which some providers write these words."""
    text = f'{{"object": "{kind}", "choices": [{{"index": 0, "delta": {{"x": [{number}]}}}}], "usage": {number}}}'
    body = _fed(json.loads(text)).body()

    assert json.loads(body) == parse_answer(_fed(text if "chunk" not in kind else f"data: {text}\n\n").body())
    assert 2 == body.count(f'"{number}"')


def test_bytes_in_an_event() -> None:
    """They become base64, as in the JSON of a provider, also in a whole response."""
    chunk = {"choices": [{"index": 0, "delta": {"audio": {"data": b"tape"}}}]}
    whole = {"object": "chat.completion", "choices": ({"message": {"audio": {"data": bytearray(b"tape")}}},)}

    for given in (chunk, whole):
        (choice,) = json.loads(_fed(given).body())["choices"]
        assert {"data": "dGFwZQ=="} == choice["message"]["audio"]


def test_an_event_that_is_too_deep() -> None:
    """It is refused as what cannot be written."""
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}

    with pytest.raises(ValueError, match="nested too deep"):
        _fed(deep)


def test_the_error_of_a_provider() -> None:
    """An error in the middle of a stream is the reason why it is not complete."""
    response = _fed(_STREAM, 'data: {"error": {"message": "overloaded"}}\n\n')

    assert ("overloaded", "overloaded") == (response.error, response.problem)


def test_nothing_but_blanks() -> None:
    """Blanks are not the beginning of a response."""
    response = _fed("\n \t")

    assert (False, "nothing came") == (response.anything, response.problem)


def test_a_stream_of_something_else() -> None:
    """Text without a single event is named for what it is not."""
    response = _fed("<html>", "busy</html>\n\n")

    assert ("it is not an event stream of openai-chat", "<html>busy</html>\n\n") == (
        response.problem,
        response.beginning,
    )


@pytest.mark.parametrize("events", ['data: {"type": "message_start"}\n\n', 'data: {"id": "x"}\n\ndata: {"id'])
def test_a_stream_without_a_part_of_an_answer(events: str) -> None:
    """Events of another API, or of an answer that has not begun, are named for what they are not."""
    assert "nothing in it is an answer of openai-chat" == _fed(events).problem


def test_a_stream_that_breaks_off() -> None:
    """What has begun and has no end broke off."""
    response = _fed('data: {"choices": [{"index": 0, "delta": {"content": "Hi"}}]}\n\n')

    assert (True, "it broke off") == (response.usable, response.problem)


def test_the_beginning_of_a_stream() -> None:
    """Only the beginning is kept for whoever is told that it is no answer."""
    response = _fed(" ", *["x" * 150] * 3)

    assert 200 == len(response.beginning)
