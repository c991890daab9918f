"""Responses of Converse."""

import json
from typing import Any

import pytest

from reel.base.errors import InvalidMessage
from reeld.formats.ingest import read_response
from tests.formats.cases.bedrock_converse import CLAUDE, FOUND, IMAGE, SEARCH, call, result, text
from tests.reel.streams.samples.bedrock_converse import BEDROCK, BEDROCK_SSE, BEDROCK_WHOLE, begun, piece
from tests.reel.streams.samples.sample import Sample, ndjson

STOP = {"messageStop": {"stopReason": "end_turn"}}


def read(*events: Any) -> list[Any]:
    return read_response("bedrock-converse", ndjson(events).decode(), CLAUDE)


def answer(*content: Any, **more: Any) -> dict[str, Any]:
    """Make a whole response."""
    return {"output": {"message": {"role": "assistant", "content": list(content)}}, "stopReason": "end_turn", **more}


@pytest.mark.parametrize("sample", [BEDROCK, BEDROCK_WHOLE, BEDROCK_SSE])
def test_an_answer(sample: Sample) -> None:
    """Whole or streamed, it is reasoning, text with citations, calls, and what it used."""
    message, usage = read_response("bedrock-converse", sample.data.decode(), CLAUDE)
    thought, hidden, cited, words, first, second = message["content"]

    assert ("Search first.", "EqQB", CLAUDE) == (thought["text"], thought["signature"], thought["model"])
    assert "dGFwZQ==" == hidden["data"]
    assert ("It is wet.", CLAUDE) == (cited["text"], cited["provider_metadata"]["model"])
    assert [" Look:", "{}", '{"x":1}'] == [words["text"], first["arguments"], second["arguments"]]
    assert 25 == json.loads(usage["data_json"])["usage"]["inputTokens"]
    assert ("tool_use", CLAUDE) == tuple(message["provider_metadata"][key] for key in ("finish_reason", "model"))


def test_a_prompt_router_names_the_model() -> None:
    """It answered, and not the router."""
    arn = "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-haiku-4-5"
    (message,) = read(answer(text(), trace={"promptRouter": {"invokedModelId": arn}}))

    assert (arn, CLAUDE) == tuple(message["provider_metadata"][key] for key in ("model", "asked_model"))


def test_what_the_sdk_adds() -> None:
    """The id of the request is kept."""
    (message,) = read(answer(text(), ResponseMetadata={"RequestId": "r1", "HTTPHeaders": {}}))

    assert "r1" == message["provider_metadata"]["response_id"]
    assert not [key for key in message["provider_metadata"] if key.startswith("Response")]


def test_a_servers_tool_is_kept_whole() -> None:
    """So is a picture that the model made a picture."""
    (message,) = read(answer(SEARCH, FOUND, IMAGE, text()))

    assert ["opaque", "opaque", "media", "text"] == [block["type"] for block in message["content"]]


def test_a_servers_tool_in_a_stream() -> None:
    """Its result comes in pieces; a call whose input broke off was never made."""
    search = {"toolUseId": "s1", "name": "nova_grounding", "type": "server_tool_use"}
    found = {"toolUseId": "s1", "type": "nova_grounding_result", "status": "success"}
    events = [begun(0, toolUse=search), piece(0, toolUse={"input": "{}"}), begun(1, toolResult=found)]
    events += [piece(1, toolResult=[{"text": "a"}]), piece(1, toolResult=[{"json": {}}])]
    events += [begun(2, toolUse=search), piece(2, toolUse={"input": "{"}), STOP]
    (message,) = read(*events)

    assert [
        {"toolUse": {**search, "input": {}}},
        {"toolResult": {**found, "content": [{"text": "a"}, {"json": {}}]}},
    ] == [json.loads(block["data_json"]) for block in message["content"]]


def test_a_picture_in_a_stream() -> None:
    """Its bytes come in pieces; without any there is no picture."""
    events = [begun(0, image={"format": "png"}), piece(0, image={"source": {"bytes": "dGE="}})]
    events += [piece(0, image={"source": {"bytes": "cGU="}, "error": None}), begun(1, image={"format": "png"})]
    (message,) = read(*events, piece(1, image={"source": {"bytes": "A"}}), STOP)

    assert [("media", "dGFwZQ==")] == [(block["type"], block["data_base64"]) for block in message["content"]]


def test_citations_without_a_text() -> None:
    """They are kept with an empty one."""
    (message,) = read(piece(0, citation={"title": "Tapes"}), STOP)

    assert [""] == [block["text"] for block in message["content"]]


def test_an_answer_that_broke_off() -> None:
    """Arguments are kept as far as they came."""
    message, interrupted = read(begun(0, toolUse={"toolUseId": "c1", "name": "x"}), piece(0, toolUse={"input": '{"a'}))

    assert ('{"a', "interrupted") == (message["content"][0]["arguments"], interrupted["kind"])


@pytest.mark.parametrize("pieces", [[STOP], [{"output": {"message": {}}, "stopReason": "content_filtered"}]])
def test_an_answer_of_nothing(pieces: list[Any]) -> None:
    """It is an empty text."""
    (message,) = read(*pieces)

    assert [{"type": "text", "text": ""}] == message["content"]


def test_an_event_that_means_nothing() -> None:
    """It adds nothing, and neither does one without a block."""
    events = [begun(0), {"contentBlockStop": {"contentBlockIndex": 0}}, {"new": {}}, piece(0, new={}), STOP]

    assert [""] == [block["text"] for block in read(*events)[0]["content"]]


@pytest.mark.parametrize(
    ("event", "why"),
    [
        ({"message": "The text field is blank."}, "body: the answer has no content: The text field is blank."),
        ({"throttlingException": {"message": "Slow"}}, "body: the answer has no content: throttlingException: Slow"),
        ({"output": {}, "stopReason": "x"}, "output.message: expected an object, got null"),
        (answer(call(), result()), "output.message.content[1]: an answer cannot contain"),
    ],
)
def test_what_is_not_an_answer(event: Any, why: str) -> None:
    """It is refused with the reason."""
    with pytest.raises(InvalidMessage) as error:
        read(event)

    assert str(error.value).startswith(f"invalid_message: {why}")
