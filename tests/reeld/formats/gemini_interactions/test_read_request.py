"""Requests to Google's Interactions API, read."""

from typing import Any

import pytest

from reel.base.errors import InvalidMessage
from reeld.formats.gemini_interactions.read import read_request
from tests.formats.cases.gemini_interactions import HI, IMAGE, TEXT, THOUGHT, answer, body, call, model, user
from tests.reeld.formats.histories import result, text

Json = dict[str, Any]
MODEL = "gemini-3-pro-preview"


def loaded(*steps: Any, **more: Any) -> list[Json]:
    return read_request(body(*steps, **more)).messages


def test_a_request_is_its_messages() -> None:
    """The prompt comes first; what the model made in a row is one message, signed by the body's model."""
    prompt, question, made, found, words = loaded(
        HI, THOUGHT, call(), answer(), HI, system_instruction="S", model=MODEL, tools=[]
    )

    assert {"role": "system", "content": "S"} == prompt
    assert [text("Hi")] == question["content"] == words["content"]
    assert ["thinking", "tool_call"] == [block["type"] for block in made["content"]]
    assert (MODEL, "AAAA") == (made["content"][0]["model"], made["content"][0]["signature"])
    assert [result(is_error=False)] == found["content"]


def test_what_is_not_part_of_the_history_is_reported() -> None:
    """It is the caller's extra."""
    report = read_request(body(HI, tools=[], store=False)).report

    assert ["tools", "store"] == [change.why.split()[0] for change in report]


@pytest.mark.parametrize("given", ["Hi", TEXT, [TEXT], ["Hi"], {"role": "user", "content": "Hi"}, user(TEXT)])
def test_what_the_user_says_has_many_forms(given: Any) -> None:
    """A text, contents, a step, and a turn with a role as the API had it once (rules I1 and X12)."""
    assert [[text("Hi")]] == [message["content"] for message in read_request({"input": given}).messages]


def test_turns_with_roles() -> None:
    """Their parts are read as steps are; results are the tool's (rule X12)."""
    found = loaded(
        {"role": "user", "content": [TEXT, "x"]},
        {"role": "system", "content": "S"},
        {"role": "model", "content": ["OK", TEXT, {"type": "function_call", "id": "c1", "name": "look"}]},
        {"role": "user", "content": [answer()]},
        {"role": "user", "content": []},
    )

    assert ["user", "user", "assistant", "tool", "user"] == [message["role"] for message in found]
    assert "system" == found[1]["provider_metadata"]["role"]
    assert ["text", "text", "tool_call"] == [block["type"] for block in found[2]["content"]]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("done", "done"),
        (None, ""),
        ([], ""),
        ([TEXT], [text("Hi")]),
        (["Hi"], [text("Hi")]),
        (7, "7"),
        ({"a": 1}, '{"a":1}'),
    ],
)
def test_the_result_of_a_call(value: Any, expected: Any) -> None:
    """It is a text or contents; an object is kept beside its text (rule I5)."""
    found = loaded(HI, call(), answer(result=value, is_error=True))[-1]["content"][0]
    kept: Json = {"provider_metadata": {"provider": "gemini", "response_json": '{"a":1}'}} if value == {"a": 1} else {}

    assert result(content=expected, is_error=True, **kept) == found


def test_calls_and_results_without_ids_are_paired() -> None:
    """They get an id, and the report says so (rule X12)."""
    bare = {"type": "function_call", "name": "look"}
    request = read_request(body(HI, bare, {"type": "function_result", "name": "look", "result": "x"}))
    made, found = (message["content"][0] for message in request.messages[1:])

    assert made["id"] == found["tool_call_id"] == "call_1"
    assert ["synthesized"] == [change.action for change in request.report]


def test_a_signature_of_a_call_is_kept() -> None:
    """An earlier form of the API signed calls themselves (rule I3)."""
    (found,) = loaded(HI, call(signature="c2ln"))[1]["content"]

    assert {"provider": "gemini", "signature": "c2ln"} == found["provider_metadata"]


def test_results_next_to_each_other_are_one_message() -> None:
    """So are the contents of the user's that are not in a step."""
    found = loaded(HI, call(), call("c2"), answer(), answer("c2"), TEXT, IMAGE)

    assert [1, 2, 2, 2] == [len(message["content"]) for message in found]


def test_an_output_without_content_is_nothing() -> None:
    """The model said nothing."""
    assert 1 == len(loaded(HI, model()))


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"previous_interaction_id": "1", "input": "Hi"}, "previous_interaction_id"),
        ({"continuation_token": "x", "input": "Hi"}, "continuation_token"),
        ({}, "input"),
        ({"input": []}, "input"),
        ({"input": [1]}, "input[0]"),
        ({"input": [{"role": "x"}]}, "input[0].role"),
        ({"input": [{"role": "model", "content": [1]}]}, "input[0].content[0]"),
        ({"input": "Hi", "system_instruction": {"parts": []}}, "system_instruction"),
    ],
)
def test_what_is_not_a_request(given: Json, field: str) -> None:
    """It is refused, with its place; so is one that begins on the server (rule I8)."""
    with pytest.raises(InvalidMessage) as raised:
        read_request(given)

    assert field == raised.value.data["field"]


def test_the_model_may_be_named_by_the_caller() -> None:
    """The body's own counts if it has one."""
    assert MODEL == read_request(body(HI, THOUGHT), MODEL).messages[1]["content"][0]["model"]
