"""A stream forms the response that the API would have given without streaming, as far as it arrived."""

import itertools
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reel.said.formats import EXCHANGE_FORMATS
from reel.streams.stream import ASSEMBLERS, Stream
from tests.reel.streams.samples import SAMPLES
from tests.reel.streams.samples.anthropic import ANTHROPIC
from tests.reel.streams.samples.google import GEMINI_ARRAY
from tests.reel.streams.samples.openai_chat import CHAT
from tests.reel.streams.samples.sample import Sample, sse

samples = st.sampled_from(list(SAMPLES.values()))


def read(format: str, *pieces: bytes | str) -> tuple[Stream, str]:  # noqa: A002 - the protocol's own word
    stream = Stream(format)
    return stream, "".join([*map(stream.feed, pieces), stream.end()])


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
def test_a_whole_stream(sample: Sample) -> None:
    """A stream forms its body and its text."""
    stream, text = read(sample.format, sample.data)

    assert sample.body == stream.body()
    assert sample.text == text
    assert stream.complete
    assert stream.error is None


@pytest.mark.parametrize("format", EXCHANGE_FORMATS)
def test_a_format_without_responses(format: str) -> None:  # noqa: A002 - the protocol's own word
    """Nobody answers in it, so it has no streams."""
    with pytest.raises(ValueError, match=f"no provider answers in {format}"):
        Stream(format)


@given(samples, st.lists(st.integers(min_value=0, max_value=8000), max_size=12))
def test_cuts_make_no_difference(sample: Sample, cuts: list[int]) -> None:
    """However the bytes are cut, even inside a character, body and text are the same."""
    places = [0, *sorted(cuts), len(sample.data)]
    stream, text = read(sample.format, *(sample.data[a:b] for a, b in itertools.pairwise(places)))

    assert (sample.body, sample.text, True) == (stream.body(), text, stream.complete)


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
def test_a_stream_that_arrives_byte_by_byte(sample: Sample) -> None:
    """A stream in single bytes forms the same body."""
    stream, text = read(sample.format, *(bytes([byte]) for byte in sample.data))

    assert (sample.body, sample.text, True) == (stream.body(), text, stream.complete)


@pytest.mark.parametrize("ending", ["\r\n", "\r"])
def test_other_line_ends(ending: str) -> None:
    """All three newlines are accepted, a byte order mark is ignored, and text works like bytes."""
    text = "\ufeff" + ANTHROPIC.data.decode().replace("\n", ending)

    assert ANTHROPIC.body == read("anthropic", text)[0].body()
    assert ANTHROPIC.body == read("anthropic", text.encode())[0].body()


@given(samples, st.data())
def test_an_answer_that_broke_off_is_not_complete(sample: Sample, data: Any) -> None:
    """A stream that breaks off has a prefix of the text, a body that is valid JSON, and is not complete."""
    end = data.draw(st.integers(min_value=0, max_value=len(sample.data)))
    stream, text = read(sample.format, sample.data[:end])
    body = stream.body()

    assert sample.text.startswith(text)
    assert body == json.loads(json.dumps(body))
    assert not stream.complete or sample.text == text
    assert stream.error is None


@pytest.mark.parametrize("format", ASSEMBLERS)
def test_what_is_not_an_event_stream(format: str) -> None:  # noqa: A002 - the protocol's own word
    """A stream without events is not complete, and the error says how much arrived."""
    for data in ("", " \n\n", ": hello\n\n", "upstream connect error", "<html>\n</html>\n", "[]"):
        stream, text = read(format, data)

        assert ("", 0, False) == (text, stream.events, stream.complete), data


@pytest.mark.parametrize(
    ("format", "event", "expected"),
    [
        (
            "anthropic",
            'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}\n\n',
            "overloaded_error: Overloaded",
        ),
        ("openai-chat", 'data: {"error": {"message": "Boom", "code": "server_error"}}\n\n', "server_error: Boom"),
        ("openai-chat", 'data: {"error": "rate limited", "choices": []}\n\n', "rate limited"),
        ("openai-chat", 'event: error\ndata: {"message": "Boom"}\n\n', "Boom"),
        ("openai-chat", 'data: {"id": \n\n', "event 1 is not a JSON object"),
        ("openai-chat", "data: [1]\n\n", "event 1 is not a JSON object"),
        ("openai-chat", "data: " + "[" * 100_000 + "\n\n", "event 1 is not a JSON object"),
        (
            "openai-responses",
            'data: {"type": "error", "code": "server_error", "message": "Boom", "param": null}\n\n',
            "server_error: Boom",
        ),
        (
            "openai-responses",
            'data: {"type": "response.failed", "response": {"error": {"code": "x", "message": "Boom"}}}\n\n',
            "x: Boom",
        ),
        (
            "openai-responses",
            'data: {"type": "response.failed", "response": {"error": null}}\n\n',
            "the provider reported an error without details",
        ),
        ("gemini", 'data: {"error": {"code": 503, "message": "Overloaded", "status": "X"}}\n\n', "Overloaded"),
        (
            "bedrock-converse",
            '{"throttlingException": {"message": "Too many requests"}}',
            "throttlingException: Too many requests",
        ),
        (
            "bedrock-converse",
            'event: modelStreamErrorException\ndata: {"message": "x"}\n\n',
            "modelStreamErrorException: x",
        ),
        ("bedrock-converse", '{"message": "The text field is blank."}', "The text field is blank."),
        ("gemini", '[{"error": {"code": 400, "message": "API key not valid."}}\n]', "API key not valid."),
    ],
)
def test_an_error_in_the_stream(format: str, event: str, expected: str) -> None:  # noqa: A002 - as above
    """A provider's error is reported in one line, and the answer is not complete."""
    stream, _ = read(format, event)

    assert (expected, False) == (stream.error, stream.complete)


@pytest.mark.parametrize("line", ["data:", "data: ", "event: ping\ndata:"])
def test_an_event_without_data(line: str) -> None:
    """Proxies keep a connection alive with it; it is neither an event of the API nor an error."""
    text = f"{line}\n\n".join(("", 'data: {"choices": [{"delta": {"content": "Hi"}}]}\n\n', "data: [DONE]\n\n"))
    stream, shown = read("openai-chat", text)

    assert ("Hi", 1, True, None) == (shown, stream.events, stream.complete, stream.error)


def test_an_error_after_the_end() -> None:
    """An answer that ended in an error is not complete, even if it had a finish reason."""
    stream, text = read("openai-chat", CHAT.data.removesuffix(b"data: [DONE]\n\n"), 'data: {"error": "Boom"}\n\n')

    assert (CHAT.text, False, "Boom") == (text, stream.complete, stream.error)


def test_an_error_ends_the_stream() -> None:
    """Events before an error are kept, later ones are ignored."""
    head, tail = CHAT.data.split(b"\n\n", 3)[:2], CHAT.data
    stream, text = read("openai-chat", b"\n\n".join(head), b'\n\ndata: {"error": {"message": "Boom"}}\n\n', tail)

    assert ("Let me ", "Boom", False) == (text, stream.error, stream.complete)
    assert "error" not in stream.body()


@pytest.mark.parametrize(("tail", "complete"), [("data: [DONE]", True), ("data: [DON", False), ("data: {", False)])
def test_a_last_event_without_its_blank_line(tail: str, complete: bool) -> None:
    """A last event without its blank line counts if it is complete; otherwise the stream broke off there."""
    stream, text = read("openai-chat", 'data: {"choices": [{"delta": {"content": "a"}}]}\n\n', tail)

    assert ("a", complete, None) == (text, stream.complete, stream.error)


def test_nothing_counts_after_the_end() -> None:
    """What follows [DONE] is not looked at."""
    stream, _ = read("openai-chat", CHAT.data, "data: x\n\n", CHAT.data)

    assert CHAT.body == stream.body()


@pytest.mark.parametrize(
    ("format", "event", "expected"),
    [
        ("anthropic", {"type": "message_start", "message": {"id": "m", "content": []}}, False),
        ("anthropic", {"type": "content_block_start", "content_block": {"type": "text", "text": ""}}, True),
        ("openai-chat", {"choices": [], "usage": {}}, False),
        ("openai-chat", {"choices": [{"index": 0, "delta": {}}]}, True),
    ],
)
def test_whether_it_began(format: str, event: Any, expected: bool) -> None:  # noqa: A002 - as above
    """A stream without any part of an answer has no body."""
    assert expected == read(format, sse([event]))[0].began


def test_a_stream_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream is read up to the limit."""
    monkeypatch.setattr("reel.streams.stream.MAX_STREAM", 500)
    stream, text = read("gemini", *[b"data: {}\n\n" * 10] * 9)

    assert ("it is longer than 0 MiB", False, "") == (stream.error, stream.complete, text)
    assert 50 == stream.events


def test_bytes_that_are_no_utf_8() -> None:
    """Invalid bytes become lone surrogates, which the daemon replaces and counts."""
    data = sse([{"candidates": [{"content": {"parts": [{"text": "a?"}]}}]}]).replace(b"?", b"\xff")

    assert "a\udcff" == read("gemini", data)[1]


def test_halves_of_a_character() -> None:
    """Halves of a character in two events become one character in the body."""
    chunks = [{"candidates": [{"content": {"parts": [{"text": half}]}}]} for half in ("\ud83d", "\ude00")]
    (candidate,) = read("gemini", sse(chunks))[0].body()["candidates"]

    assert [{"text": "\U0001f600"}] == candidate["content"]["parts"]


def test_an_array_that_is_not_asked_for() -> None:
    """The first character distinguishes an array from events, with or without white space before it."""
    assert GEMINI_ARRAY.body == read("gemini", b" \n", GEMINI_ARRAY.data)[0].body()


_WORDS = st.sampled_from(
    [
        *("message_start", "content_block_start", "content_block_delta", "message_delta", "text_delta", "tool_use"),
        *("input_json_delta", "citations_delta", "signature_delta", "response.created", "response.completed"),
        *("response.output_item.added", "response.output_text.delta", "response.content_part.added", "fallback"),
        *("response.output_text.annotation.added", "response.reasoning_summary_text.delta", "x", ""),
    ]
)
_KEYS = st.sampled_from(
    [
        *("type", "index", "delta", "message", "content_block", "usage", "choices", "tool_calls", "function", "id"),
        *("content", "text", "response", "output", "item", "output_index", "part", "candidates", "parts", "role"),
        *("finish_reason", "logprobs", "citationMetadata", "citations", "promptFeedback", "to", "model", "audio"),
    ]
)
_JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | _WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=5),
    max_leaves=20,
)


@pytest.mark.slow
@given(st.sampled_from(list(ASSEMBLERS)), st.lists(st.dictionaries(_KEYS, _JUNK, max_size=5), max_size=5))
@example("anthropic", [{"type": "message_start", "message": {"content": 3, "usage": []}}])
def test_a_stranger_may_send_anything(format: str, events: list[Any]) -> None:  # noqa: A002 - as above
    """No shape of an event raises an error: what cannot be understood adds nothing."""
    body = read(format, sse(events))[0].body()

    assert body == json.loads(json.dumps(body))


@pytest.mark.parametrize("levels", [490, 600, 900, 980, 5000])
def test_however_deep_an_event_is(levels: int) -> None:
    """The body can be encoded as JSON again; an event that is too deep is ignored."""
    stream = Stream("gemini")
    deep = '{"a":' * levels + "1" + "}" * levels
    stream.feed(f'data: {{"candidates":[{{"content":{{"parts":[{{"functionCall":{{"args":{deep}}}}}]}}}}]}}\n\n')
    stream.end()

    assert (levels < 500) == stream.began
    assert json.dumps(stream.body())
