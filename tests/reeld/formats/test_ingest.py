"""Responses, as bodies or streams, complete or cut anywhere, become messages and records."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.base.errors import InvalidMessage
from reeld.core.validation import rows_from
from reeld.formats.body import RenderRequest
from reeld.formats.ingest import read_request, read_response
from reeld.formats.render import render
from reeld.formats.table import FORMATS
from tests.formats.checker import check
from tests.reel.streams.samples import SAMPLES
from tests.reel.streams.samples.anthropic import ANTHROPIC
from tests.reel.streams.samples.openai_chat import CHAT
from tests.reel.streams.samples.openai_responses import RESPONSES
from tests.reel.streams.samples.sample import Sample, sse
from tests.reeld.formats.histories import entries_of, user

each_sample = pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)

CHAT_BODY = {
    "id": "c1",
    "model": "gpt-5",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hi"}}],
}


def said(messages: list[Any]) -> list[tuple[str, str]]:
    """Return the types of the blocks of an answer, and the text of each."""
    words = {"text": "text", "thinking": "text", "tool_call": "arguments", "opaque": "data_json"}
    return [(block["type"], block.get(words.get(block["type"], ""), "")) for block in messages[0]["content"]]


# What stands in a body for a number that is put in afterwards, because Python has no value for it.
_PLACE = "a large number"
_PLACES = frozenset({"index", "output_index", "content_index", "summary_index", "annotation_index"})


def with_numbers(value: Any, number: str) -> str:
    """A body as JSON in which every number is this one, but for those that say where something belongs."""

    def put(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: put(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [put(item) for item in value]
        return _PLACE if type(value) in (int, float) and key not in _PLACES else value

    return json.dumps(put(value)).replace(f'"{_PLACE}"', number)


@each_sample
def test_numbers_of_any_size(sample: Sample) -> None:
    """No answer is refused because of a number, and what was used is kept as the provider said it."""
    events = [json.loads(line[6:]) for line in sample.data.decode().split("\n") if line.startswith("data: {")]
    for number in ("18446744073709551616", "1e400", "7" * 5_000, "NaN", "-Infinity"):
        stream = "\n\n".join(f"data: {with_numbers(event, number)}" for event in events)
        for body in [with_numbers(sample.body, number), *([stream] if stream else [])]:
            rows, _ = rows_from(read_response(sample.format, body))

            assert number in next(row.data_json or "" for row, _ in rows if row.kind == "usage")


def unfinished(status: str, text: str = "half", **more: Any) -> str:
    part = {"type": "output_text", "text": text}
    item = {"type": "message", "role": "assistant", "content": [part]}
    return json.dumps({"id": "r", "status": status, "output": [item], **more})


@pytest.mark.parametrize(
    ("format", "body", "why"),
    [
        ("openai-responses", unfinished("failed", error={"message": "boom"}), "the response is failed: boom"),
        ("openai-responses", unfinished("failed", error={"code": 1}), 'the response is failed: {"code":1}'),
        ("openai-responses", unfinished("cancelled"), "the response is cancelled"),
        ("openai-responses", unfinished("in_progress"), "the response is in_progress"),
        (
            "openai-chat",
            json.dumps({"choices": [{"error": {"message": "gone"}, "message": {"content": "half"}}]}),
            "the provider said: gone",
        ),
    ],
)
def test_an_incomplete_body_is_kept_and_marked(format: str, body: str, why: str) -> None:  # noqa: A002 - the protocol's own word
    """It is treated like a stream that broke off; without content it is refused."""
    message, interrupted = read_response(format, body)
    with pytest.raises(InvalidMessage, match="the answer has no content"):
        read_response(format, body.replace("half", ""))

    assert "half" == message["content"][0]["text"]
    assert {"kind": "interrupted", "content": why} == interrupted
    assert why == message["provider_metadata"]["broke_off"]


def test_a_body_that_reached_the_token_limit_is_complete() -> None:
    """The reason is in its metadata."""
    assert 1 == len(read_response("openai-responses", unfinished("incomplete")))


@each_sample
def test_a_stream_and_its_body_give_the_same_message(sample: Sample) -> None:
    """The stream is assembled to the body that the API would have sent."""
    whole, streamed = (
        read_response(sample.format, json.dumps(sample.body)),
        read_response(sample.format, sample.data.decode()),
    )

    assert whole == streamed
    assert ["assistant", "usage"] == [message.get("role") or message["kind"] for message in streamed]


@given(st.sampled_from(list(SAMPLES.values())), st.data())
def test_a_stream_cut_anywhere_is_kept_or_refused(sample: Sample, data: Any) -> None:
    """What came is added, with the arguments of calls as far as they came; or the error says that nothing came."""
    end = data.draw(st.integers(min_value=0, max_value=len(sample.data)))
    whole = said(read_response(sample.format, sample.data.decode()))
    try:
        messages = read_response(sample.format, sample.data[:end].decode(errors="surrogateescape"))
    except InvalidMessage as error:
        assert error.message.startswith("body: ")  # noqa: PT017 - most cuts leave something, some nothing
        return

    rows, _ = rows_from(messages)
    assert len(rows) == len(messages)
    if messages[-1].get("kind") != "interrupted":
        assert whole == said(messages)
    texts = "".join(text for kind, text in said(messages) if kind == "text")
    assert "".join(text for kind, text in whole if kind == "text").startswith(texts)


@given(st.sampled_from(list(SAMPLES.values())), st.sampled_from(list(FORMATS)), st.data())
def test_a_stream_cut_anywhere_can_be_sent_to_every_provider(sample: Sample, target: str, data: Any) -> None:
    """Once the user has spoken again, every provider accepts it."""
    end = data.draw(st.integers(min_value=0, max_value=len(sample.data)))
    try:
        messages = read_response(sample.format, sample.data[:end].decode(errors="surrogateescape"))
    except InvalidMessage:
        messages = []
    entries = entries_of([user("What?"), messages[0] if messages else user("Hm."), user("Go on.")])
    made_for: dict[str, Any] = {"anthropic": {"max_tokens": 9, "model": "claude-opus-5"}, "gemini": {}}
    asked = RenderRequest(
        target, "gemini-3-pro" if target == "gemini" else None, made_for.get(target, {"model": "gpt-5.2"})
    )
    rendered, _ = render(asked, entries)

    assert [] == check(target.replace("-", "_"), json.loads(rendered.body), asked.model)
    assert rendered.ready


@pytest.mark.parametrize("sample", [CHAT, ANTHROPIC, RESPONSES], ids=lambda sample: sample.format)
def test_arguments_that_broke_off_are_kept_as_text(sample: Sample) -> None:
    """They are the text that came."""
    places = {"openai-chat": rb"{\"city\":", "anthropic": rb"{\"x\": ", "openai-responses": rb"{\"city\":"}
    place = sample.data.index(places[sample.format])
    messages = read_response(sample.format, sample.data[: sample.data.index(b"\n\n", place) + 2].decode())
    calls = [block["arguments"] for block in messages[0]["content"] if block["type"] == "tool_call"]

    assert json.loads(f'"{places[sample.format].decode()}"') == calls[-1]


def test_gemini_arguments_that_broke_off_are_not_an_object() -> None:
    """Nobody takes them for complete."""
    partial = {"name": "f", "partialArgs": [{"jsonPath": "$.a", "stringValue": "b"}], "willContinue": True}
    events = [{"candidates": [{"content": {"parts": [{"functionCall": partial}]}}]}]
    (message, _) = read_response("gemini", sse(events).decode())

    assert ['{"a":"b"'] == [block["arguments"] for block in message["content"]]


@pytest.mark.parametrize(
    ("format", "body", "expected"),
    [
        ("openai-chat", "{", "body: invalid JSON: "),
        ("openai-chat", '{"a": ' + "[" * 100_000, "body: invalid JSON: "),
        ("openai-chat", "", "body: the answer has no content: it is neither a JSON object nor an event stream"),
        ("openai-chat", "<html>", "body: the answer has no content: it is neither a JSON object nor an event stream"),
        ("openai-chat", "[1]", "body: the answer has no content: it is neither a JSON object nor an event stream"),
        ("openai-chat", 'data: {"choices": []}\n\n', "body: the answer has no content: the answer broke off"),
        ("openai-chat", 'data: {"error": {"message": "Boom"}}\n\n', "body: the answer has no content: Boom"),
        (
            "openai-chat",
            'data: {"choices": [{"delta": {"role": "assistant"}}]}\n\ndata: {"error": {"message": "Boom"}}\n\n',
            "body: the answer has no content: Boom",
        ),
        ("openai-chat", '{"error": {"message": "Boom"}}', "error: the provider refused: Boom"),
    ],
)
def test_a_body_without_an_answer_is_refused(format: str, body: str, expected: str) -> None:  # noqa: A002 - the protocol's own word
    """The error has the provider's message if there is one."""
    with pytest.raises(InvalidMessage) as caught:
        read_response(format, body)

    assert caught.value.message.startswith(expected)


def test_usage_is_a_record_of_its_own() -> None:
    """It is in the provider's words; without usage there is no record."""
    body = {**CHAT_BODY, "usage": {"total_tokens": 3}}

    assert [{"provider": "openai", "model": "gpt-5", "response_id": "c1", "usage": {"total_tokens": 3}}] == [
        json.loads(message["data_json"]) for message in read_response("openai-chat", json.dumps(body))[1:]
    ]
    assert [] == read_response("openai-chat", json.dumps(CHAT_BODY))[1:]


def test_a_response_that_the_caller_saw_break_off_is_marked() -> None:
    """So is one whose stream says why."""
    (message, mark) = read_response("openai-chat", json.dumps(CHAT_BODY), interrupted=True)
    (whole, *_) = read_response("openai-chat", json.dumps(CHAT_BODY))
    events = [{"choices": [{"delta": {"content": "a"}}]}, {"error": {"message": "Overloaded"}}]
    (_, told) = read_response("openai-chat", sse(events).decode())

    assert {"kind": "interrupted", "content": "the answer broke off"} == mark
    assert "the answer broke off" == message["provider_metadata"]["broke_off"]
    assert "broke_off" not in whole["provider_metadata"]
    assert {"kind": "interrupted", "content": "Overloaded"} == told


def test_renamed_tools_get_their_names_back() -> None:
    """All other tools keep their names."""
    (message, *_) = read_response("openai-chat", CHAT.data.decode(), names={"weather": "weather report"})

    assert ["weather report", "time"] == [b["name"] for b in message["content"] if b["type"] == "tool_call"]


def test_the_caller_may_name_the_model_of_a_response() -> None:
    """It counts if the body does not name one."""
    body = {key: value for key, value in CHAT_BODY.items() if key != "model"}

    assert "gpt-6" == read_response("openai-chat", json.dumps(body), model="gpt-6")[0]["provider_metadata"]["model"]


def test_a_request_is_read_with_or_without_byte_order_mark() -> None:
    """A body that is not a request is refused."""
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hi"}], "tools": []})

    assert [change.why for change in read_request("openai-chat", "\ufeff" + body).report]
    with pytest.raises(InvalidMessage, match=r"^invalid_message: body: invalid JSON"):
        read_request("openai-chat", "data: {}")
    with pytest.raises(InvalidMessage, match=r"^invalid_message: body: expected an object, got an integer"):
        read_request("openai-chat", "5")


@pytest.mark.parametrize(("format", "history"), [
    ("langchain", [{"type": "human", "content": "Hi"}]), ("gemini", [{"role": "user", "parts": [{"text": "Hi"}]}]),
])  # fmt: skip
def test_a_history_alone_is_a_request(format: str, history: list[Any]) -> None:  # noqa: A002 - the protocol's word
    """Programs store it without the rest (rule X12)."""
    assert ["user"] == [message["role"] for message in read_request(format, json.dumps(history)).messages]


@each_sample
def test_a_stream_that_is_cut_inside_its_first_event_broke_off(sample: Sample) -> None:
    """It is not a stream of an unknown format, wherever it was cut."""
    data = sample.data.decode()
    first = data.index("\n\n") if "\n\n" in data else 20
    for end in range(1, first):
        with pytest.raises(InvalidMessage, match="the answer broke off"):
            read_response(sample.format, data[:end])


@pytest.mark.parametrize(
    "change",
    [
        {"\ud800": 1},
        {"usage": {"\ud800": 1}},
        {"choices": [{"message": {"content": "Hi"}, "\ud800": 1}]},
        {"choices": [{"message": {"content": "Hi", "\ud800": {"\ud800": 1}}}]},
    ],
)
def test_half_a_character_in_a_field_name(change: dict[str, Any]) -> None:
    """An answer with it is added, wherever it is."""
    rows, _ = rows_from(read_response("openai-chat", json.dumps({**CHAT_BODY, **change})))

    assert "Hi" == rows[0].row.content
