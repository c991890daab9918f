"""Responses of the Responses API, read."""

import json
from typing import Any

import pytest

from reel.base.errors import InvalidMessage
from reel.said.records import message_from_record
from reeld.core.validation import rows_from
from reeld.formats.openai_responses.read import read_response

REASONING: dict[str, Any] = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [],
    "encrypted_content": "gAAA",
    "status": None,
}
CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "ls",
    "arguments": "{}",
    "status": "completed",
}
SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}}


def said(text: str, **keys: Any) -> dict[str, Any]:
    """Return a message item as the API makes it."""
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part], **keys}


def body(*output: Any, **keys: Any) -> dict[str, Any]:
    """Return a response with some items."""
    return {
        "id": "resp_1",
        "object": "response",
        "model": "gpt-5",
        "status": "completed",
        "output": list(output),
        **keys,
    }


def blocks(*output: Any) -> list[dict[str, Any]]:
    """Return the blocks of an answer as they are read again after they were stored."""
    ((row, _),), _ = rows_from([read_response(body(*output)).message])
    stored = message_from_record(row._asdict())
    assert stored is not None
    return [dict(block) for block in stored["content"]]


def test_a_response_has_its_model_and_usage_as_metadata() -> None:
    """So are its id and status; the usage is also returned by itself."""
    response = read_response(body(said("hi"), usage={"input_tokens": 1}), "other")
    known = {"provider": "openai", "model": "gpt-5", "response_id": "resp_1", "finish_reason": "completed"}

    assert [{"type": "text", "text": "hi"}] == response.message["content"]
    assert {**known, "usage": {"input_tokens": 1}} == response.message["provider_metadata"]
    assert {"input_tokens": 1} == response.usage


def test_the_finish_reason_of_an_incomplete_response() -> None:
    """The reason is more precise than the status."""
    cut = body(said("h"), status="incomplete", incomplete_details={"reason": "max_output_tokens"}, usage=None)

    assert "max_output_tokens" == read_response(cut).message["provider_metadata"]["finish_reason"]


def test_the_items_of_a_response_keep_their_order() -> None:
    """Reasoning is verbatim and directly before the item it led to."""
    found = blocks(REASONING, said("look"), {**REASONING, "id": "rs_2"}, CALL, {**CALL, "call_id": "call_2"}, SEARCH)

    assert ["opaque", "text", "opaque", "tool_call", "tool_call", "opaque"] == [block["type"] for block in found]
    assert {
        "type": "opaque",
        "provider": "openai",
        "data_json": json.dumps(REASONING, separators=(",", ":")),
        "model": "gpt-5",
    } == found[0]
    assert {"type": "tool_call", "id": "call_2", "name": "ls", "arguments": "{}"} == found[4]
    assert {"type": "opaque", "provider": "openai", "data_json": json.dumps(SEARCH, separators=(",", ":"))} == found[5]


def test_the_message_items_of_a_response_are_one_message() -> None:
    """The phase of each is kept."""
    found = blocks(said("a", phase="commentary"), said("b", phase="final_answer"))

    assert [("a", "commentary"), ("b", "final_answer")] == [
        (block["text"], block["provider_metadata"]["phase"]) for block in found
    ]


def test_a_refusal_in_a_response_is_a_marked_text() -> None:
    """For other providers it is a text."""
    (found,) = blocks(said("", content=[{"type": "refusal", "refusal": "no"}]))

    assert {"type": "text", "text": "no", "provider_metadata": {"provider": "openai", "refusal": True}} == found


def test_citations_and_phase_are_kept_with_their_text() -> None:
    """They are metadata of the text."""
    part = {"type": "output_text", "text": "x", "annotations": [{"type": "url_citation", "url": "u"}]}
    (found,) = blocks(said("", content=[part], phase="final_answer"))

    assert {
        "provider": "openai",
        "annotations_json": '[{"type":"url_citation","url":"u"}]',
        "phase": "final_answer",
    } == found["provider_metadata"]


def test_an_empty_response_has_an_empty_text() -> None:
    """A message needs a block."""
    assert [{"type": "text", "text": ""}] == blocks()


def test_a_custom_call_of_a_response_has_its_text_as_input() -> None:
    """So its arguments are an object for every provider."""
    (found,) = blocks(
        {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": "sql", "input": "SELECT"}
    )

    assert {
        "type": "tool_call",
        "id": "call_1",
        "name": "sql",
        "arguments": '{"input": "SELECT"}',
        "provider_metadata": {"provider": "openai", "type": "custom_tool_call"},
    } == found


@pytest.mark.parametrize(
    ("item", "name", "arguments"),
    [
        (
            {"type": "computer_call", "id": "cu_1", "call_id": "c", "action": {"type": "click"}},
            "computer",
            '{"type":"click"}',
        ),
        ({"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}}, "shell", '{"commands":["ls"]}'),
        ({"type": "tool_search_call", "call_id": "c", "execution": "client", "arguments": {}}, "tool_search", "{}"),
        ({"type": "mcp_approval_request", "id": "c", "name": "rm", "arguments": "{}", "server_label": "s"}, "rm", "{}"),
    ],
)
def test_items_that_the_client_answers_are_calls(item: dict[str, Any], name: str, arguments: str) -> None:
    """Whatever their kind: the item is kept whole, and any provider's model can be told of the call."""
    (found,) = blocks(item)

    assert ("tool_call", "c", name, arguments) == (found["type"], found["id"], found["name"], found["arguments"])
    assert item == json.loads(found["provider_metadata"]["item_json"])


@pytest.mark.parametrize(
    "item",
    [
        {"type": "tool_search_call", "call_id": None, "execution": "server", "arguments": {}},
        {"type": "tool_search_output", "call_id": "c", "execution": "server", "tools": []},
        {"type": "hologram", "depth": {"z": 1}},
    ],
)
def test_items_of_the_servers_tools_are_opaque(item: dict[str, Any]) -> None:
    """So are items of unknown types."""
    (found,) = blocks(item)

    assert ("opaque", item) == (found["type"], json.loads(found["data_json"]))


def test_a_failed_response_keeps_what_it_contains() -> None:
    """Its items are read as those of any other."""
    failed = body(said("h"), status="failed", error={"message": "broken"})

    assert ("h", "failed") == (
        read_response(failed).message["content"][0]["text"],
        read_response(failed).message["provider_metadata"]["finish_reason"],
    )


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"error": {"message": "no credit"}}, "error"),
        (body(status="failed", error={"message": "broken"}), "error"),
        ({"choices": []}, "output"),
        (body(status="queued"), "output"),
        ({"output": "hi"}, "output"),
        (body(5), "output[0]"),
        (body(said("", content=[5])), "output[0].content[0]"),
        (body(said("", content=5)), "output[0].content"),
        (body(said("", role="narrator")), "output[0].role"),
        (body({"type": "custom_tool_call", "call_id": "c", "name": "x"}), "output[0].input"),
    ],
)
def test_an_invalid_response_is_refused(wrong: dict[str, Any], field: str) -> None:
    """The error names the place."""
    with pytest.raises(InvalidMessage) as caught:
        read_response(wrong)

    assert field == caught.value.data["field"]
