"""Responses of Chat Completions, read."""

import json
from typing import Any

import pytest

from reel.base.errors import InvalidMessage
from reel.said.records import message_from_record
from reeld.core.validation import rows_from
from reeld.formats.openai_chat.read import read_response

USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1}}
CALL = {"id": "call_1", "type": "function", "function": {"name": "ls", "arguments": '{"d": 1}'}}


def body(message: dict[str, Any], **choice: Any) -> dict[str, Any]:
    """Return a response with one message."""
    given = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}, **choice}
    return {"id": "chatcmpl-1", "object": "chat.completion", "model": "gpt-5", "choices": [given], "usage": USAGE}


def blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the blocks of an answer as they are read again after they were stored."""
    ((row, _),), _ = rows_from([read_response(body(message)).message])
    stored = message_from_record(row._asdict())
    assert stored is not None
    return [dict(block) for block in stored["content"]]


def test_a_chat_response_has_its_model_and_usage_as_metadata() -> None:
    """So are its id and finish reason; the usage is also returned by itself."""
    response = read_response(body({"content": "hi"}, finish_reason="length"), "other")
    known = {"provider": "openai", "model": "gpt-5", "response_id": "chatcmpl-1", "finish_reason": "length"}

    assert {"role": "assistant", "content": [{"type": "text", "text": "hi"}]} == {
        key: response.message[key] for key in ("role", "content")
    }
    assert {**known, "usage": USAGE} == response.message["provider_metadata"]
    assert USAGE == response.usage


def test_a_chat_response_without_model_and_id() -> None:
    """The caller's model counts, and metadata that are missing are left out."""
    response = read_response({"choices": [{"message": {"content": "hi"}}], "usage": 5}, "llama")

    assert ({"provider": "openai", "model": "llama"}, None) == (response.message["provider_metadata"], response.usage)


def test_text_comes_before_all_calls() -> None:
    """The calls are in their order."""
    second = {**CALL, "id": "call_2", "index": 1}
    found = blocks({"content": "look", "refusal": None, "annotations": [], "tool_calls": [CALL, second]})

    assert [
        {"type": "text", "text": "look"},
        {"type": "tool_call", "id": "call_1", "name": "ls", "arguments": '{"d": 1}'},
        {"type": "tool_call", "id": "call_2", "name": "ls", "arguments": '{"d": 1}'},
    ] == found


@pytest.mark.parametrize("message", [{"content": None}, {"content": ""}, {}, {"content": []}])
def test_an_empty_chat_response_has_an_empty_text(message: dict[str, Any]) -> None:
    """A message needs a block."""
    assert [{"type": "text", "text": ""}] == blocks(message)


def test_a_call_in_the_old_form_in_a_chat_response() -> None:
    """It has no id, and gets one, as in a request; beside calls it is their copy."""
    function = {"name": "ls", "arguments": '{"d": 1}'}
    (alone,) = blocks({"content": None, "function_call": function})
    (beside,) = blocks({"content": None, "function_call": function, "tool_calls": [CALL]})

    assert {"type": "tool_call", "id": alone["id"], **function} == alone
    assert ("call_", "call_1") == (alone["id"][:5], beside["id"])


def test_a_custom_call_of_a_chat_response_has_its_text_as_input() -> None:
    """So its arguments are an object for every provider."""
    call = {"id": "call_1", "type": "custom", "custom": {"name": "sql", "input": 'SELECT "ä"'}}
    (found,) = blocks({"content": None, "tool_calls": [call]})

    assert {"input": 'SELECT "ä"'} == json.loads(found["arguments"])
    assert ("sql", {"provider": "openai", "type": "custom_tool_call"}) == (found["name"], found["provider_metadata"])


@pytest.mark.parametrize("message", [{"refusal": "no"}, {"content": [{"type": "refusal", "refusal": "no"}]}])
def test_a_refusal_in_a_chat_response_is_a_marked_text(message: dict[str, Any]) -> None:
    """For other providers it is a text."""
    assert [{"type": "text", "text": "no", "provider_metadata": {"provider": "openai", "refusal": True}}] == blocks(
        {"content": None, **message}
    )


def test_citations_are_kept_with_their_text() -> None:
    """Annotations are metadata of the text that they are about."""
    (found,) = blocks({"content": "as X says", "annotations": [{"type": "url_citation", "url_citation": {"url": "x"}}]})

    assert [{"type": "url_citation", "url_citation": {"url": "x"}}] == json.loads(
        found["provider_metadata"]["annotations_json"]
    )


def test_a_spoken_answer_is_its_transcript() -> None:
    """The audio is kept as metadata."""
    audio = {"id": "audio_1", "data": "QUJD", "expires_at": 5, "transcript": "hi"}
    (found,) = blocks({"content": None, "audio": audio})

    assert ("hi", audio) == (found["text"], found["provider_metadata"]["audio"])


def test_a_spoken_answer_without_transcript_is_opaque() -> None:
    """Only its id is known."""
    (found,) = blocks({"content": None, "audio": {"id": "audio_1"}})

    assert ("opaque", {"audio": {"id": "audio_1"}}) == (found["type"], json.loads(found["data_json"]))


def test_reasoning_content_of_other_servers_is_thinking() -> None:
    """It comes before the content that it led to."""
    thinking, said = blocks({"content": "4", "reasoning_content": "2 + 2"})

    assert {"type": "thinking", "text": "2 + 2", "provider": "openai", "model": "gpt-5"} == thinking
    assert {"type": "text", "text": "4"} == said


@pytest.mark.parametrize(
    ("beside", "text", "kept"),
    [
        ({"reasoning": "hm"}, "hm", {}),
        ({"reasoning": "hm", "reasoning_content": "hm"}, "hm", {}),
        ({"reasoning": "short", "reasoning_content": "long"}, "long", {"reasoning": "short"}),
        ({"reasoning": {"effort": "low"}, "reasoning_content": "hm"}, "hm", {"reasoning": {"effort": "low"}}),
        ({"reasoning_details": "x", "reasoning": "hm"}, "hm", {"reasoning_details": "x"}),
    ],
)
def test_reasoning_under_another_name_is_thinking(beside: dict[str, Any], text: str, kept: dict[str, Any]) -> None:
    """What says something else is kept as metadata."""
    message = read_response(body({"content": "4", **beside})).message
    thinking = message["content"][0]

    assert {"type": "thinking", "text": text, "provider": "openai", "model": "gpt-5"} == thinking
    assert kept == {key: message["provider_metadata"].get(key) for key in kept}


def test_reasoning_details_are_kept_with_their_text() -> None:
    """They go back as they came, also if there is no text to read (rule D8)."""
    details = [{"type": "reasoning.encrypted", "data": "gAAA"}]
    thinking, _ = blocks({"content": "4", "reasoning_details": details, "reasoning": None})

    assert ("", details) == (thinking["text"], json.loads(thinking["provider_metadata"]["reasoning_details_json"]))


@pytest.mark.parametrize(
    ("part", "text", "kept"),
    [
        ({"thinking": "hm"}, "hm", {}),
        ({"thinking": [{"type": "text", "text": "h"}, {"type": "text", "text": "m"}]}, "hm", {}),
        ({"thinking": [{"type": "text", "text": "hm"}], "closed": False}, "hm", {"closed": False}),
        ({"thinking": [{"type": "text", "text": "hm"}, 5]}, "hm", {"thinking_json": '[{"type":"text","text":"hm"},5]'}),
    ],
)
def test_a_part_that_is_reasoning_is_thinking(part: dict[str, Any], text: str, kept: dict[str, Any]) -> None:
    """What is more than texts is kept as well (rule D14)."""
    thinking, said = blocks({"content": [{"type": "thinking", **part}, {"type": "text", "text": "4"}]})

    assert (text, "gpt-5", "4") == (thinking["text"], thinking["model"], said["text"])
    assert ({"provider": "openai", **kept} if kept else None) == thinking.get("provider_metadata")


def test_citations_of_a_text_after_reasoning() -> None:
    """They are metadata of the first text."""
    part = {"type": "thinking", "thinking": "hm"}
    _, said = blocks({"content": [part, {"type": "text", "text": "4"}], "annotations": [{"a": 1}]})

    assert '[{"a":1}]' == said["provider_metadata"]["annotations_json"]


def test_reasoning_of_an_unknown_model_has_no_model() -> None:
    """A model that nobody names is left out."""
    message = read_response({"choices": [{"message": {"content": "4", "reasoning_content": "2 + 2"}}]}).message

    assert {"type": "thinking", "text": "2 + 2", "provider": "openai"} == message["content"][0]


def test_unknown_parts_and_keys_of_chat_are_kept() -> None:
    """A part without a neutral form is opaque, and a key without one is metadata."""
    message = read_response(body({"content": [{"type": "hologram", "z": 1, "a": 2}], "mood": {"x": {"y": 1}}})).message

    assert {
        "type": "opaque",
        "provider": "openai",
        "data_json": '{"type":"hologram","z":1,"a":2}',
        "provider_metadata": {"provider": "openai", "format": "openai-chat"},
    } == message["content"][0]
    assert '{"x":{"y":1}}' == message["provider_metadata"]["mood_json"]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"error": {"message": "no credit"}}, "error"),
        ({"object": "list", "data": []}, "choices"),
        ({"choices": []}, "choices"),
        ({"choices": [{}, {}]}, "choices"),
        ({"choices": {}}, "choices"),
        ({"choices": [5]}, "choices[0]"),
        ({"choices": [{"delta": {}}]}, "choices[0].message"),
        (body({"content": 5}), "choices[0].message.content"),
        (body({"refusal": 5}), "choices[0].message.refusal"),
        (body({"audio": 5}), "choices[0].message.audio"),
        (body({"reasoning_content": 5}), "choices[0].message.reasoning_content"),
        (body({"content": [{"type": "thinking"}]}), "choices[0].message.content[0].thinking"),
        (body({"tool_calls": 5}), "choices[0].message.tool_calls"),
        (body({"tool_calls": [5]}), "choices[0].message.tool_calls[0]"),
        (body({"tool_calls": [{"id": "x"}]}), "choices[0].message.tool_calls[0].function"),
        (body({"tool_calls": [{**CALL, "id": 5}]}), "choices[0].message.tool_calls[0].id"),
        (body({"tool_calls": [{**CALL, "function": {"arguments": "{}"}}]}), "choices[0].message.tool_calls[0].name"),
    ],
)
def test_an_invalid_chat_response_is_refused(wrong: dict[str, Any], field: str) -> None:
    """The error names the place."""
    with pytest.raises(InvalidMessage) as caught:
        read_response(wrong)

    assert field == caught.value.data["field"]


@pytest.mark.parametrize(("choices", "told"), [([], False), ([{}, {}], True)])
def test_other_answers_are_to_be_removed_if_there_are_some(choices: list[Any], told: bool) -> None:
    """Of no answer, the error says so."""
    with pytest.raises(InvalidMessage) as caught:
        read_response({"choices": choices})

    assert told == ("remove the others" in str(caught.value))
