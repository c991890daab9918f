"""Requests to Responses, read."""

import json
from typing import Any

import pytest

from reel.base.errors import InvalidMessage
from reeld.core.validation import rows_from
from reeld.formats.openai_responses.read import read_request

USER = {"role": "user", "content": "hi"}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "ls", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "a b"}
PICTURE = {"type": "input_image", "image_url": "data:image/png;base64,QUJD", "detail": "low"}


def loaded(*items: Any, **rest: Any) -> list[dict[str, Any]]:
    """Load items, and check that they can be added."""
    found = read_request({"model": "gpt-5", "input": list(items), **rest}).messages
    rows_from(found)
    return found


def test_a_responses_request_becomes_messages() -> None:
    """A plain request has no metadata, only its texts, calls and results."""
    messages = loaded(USER, CALL, OUTPUT, {"role": "assistant", "content": "two"}, instructions="be brief")
    call = {"type": "tool_call", "id": "call_1", "name": "ls", "arguments": "{}"}
    result = {"type": "tool_result", "tool_call_id": "call_1", "content": "a b", "is_error": False}

    assert [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {"role": "assistant", "content": [call]},
        {"role": "tool", "content": [result]},
        {"role": "assistant", "content": [{"type": "text", "text": "two"}]},
    ] == messages


def test_an_input_that_is_a_string_is_the_users() -> None:
    """So is a string among the items."""
    assert loaded(USER) == read_request({"input": "hi"}).messages
    assert loaded(USER) == loaded("hi")


def test_items_of_one_answer_are_one_message() -> None:
    """Reasoning, text and calls belong together; a text directly after a text is another message."""
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}
    spoken = {"role": "assistant", "content": "look"}
    messages = loaded(USER, reasoning, spoken, CALL, OUTPUT, spoken, spoken)

    assert [["text"], ["opaque", "text", "tool_call"], ["tool_result"], ["text"], ["text"]] == [
        [block["type"] for block in message["content"]] for message in messages
    ]


def test_instructions_and_leading_messages_are_the_prompt() -> None:
    """Each keeps its role; later instructions become user messages."""
    developer = {
        "type": "message",
        "role": "developer",
        "content": [{"type": "input_text", "text": "b"}],
        "id": "msg_1",
    }
    system, user, later = loaded(developer, USER, developer, instructions="a")
    kept = json.loads(system["provider_metadata"]["messages_json"])

    assert [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}] == system["content"]
    assert ["system", "developer"] == [message["provider_metadata"]["role"] for message in kept]
    assert "provider_metadata" not in user
    assert {"provider": "openai", "role": "developer"} == later["provider_metadata"]


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("bare", {"type": "text", "text": "bare"}),
        (
            PICTURE,
            {
                "type": "media",
                "mime_type": "image/png",
                "data_base64": "QUJD",
                "provider_metadata": {"provider": "openai", "detail": "low"},
            },
        ),
        (
            {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,QUJD"},
            {
                "type": "media",
                "mime_type": "application/pdf",
                "data_base64": "QUJD",
                "name": "a.pdf",
                "provider_metadata": {"provider": "openai"},
            },
        ),
        (
            {"type": "input_file", "file_url": "https://x/a.pdf"},
            {
                "type": "media",
                "mime_type": "application/octet-stream",
                "url": "https://x/a.pdf",
                "provider_metadata": {"provider": "openai"},
            },
        ),
        (
            {"type": "input_file", "file_id": "file-1"},
            {"type": "opaque", "provider": "openai", "data_json": '{"type":"input_file","file_id":"file-1"}'},
        ),
        (
            {"type": "input_image", "file_id": "file-1"},
            {"type": "opaque", "provider": "openai", "data_json": '{"type":"input_image","file_id":"file-1"}'},
        ),
    ],
)
def test_responses_parts_become_blocks(part: Any, expected: dict[str, Any]) -> None:
    """In messages and in outputs; a part without a neutral form becomes an opaque block."""
    said, _, result = loaded({"role": "user", "content": [part]}, CALL, {**OUTPUT, "output": [part, "x"]})

    assert [expected] == said["content"]
    assert [expected, {"type": "text", "text": "x"}] == result["content"][0]["content"]


@pytest.mark.parametrize("content", ["", [], None])
def test_a_responses_message_without_content(content: Any) -> None:
    """It gets an empty text, and an output without content is empty."""
    said, _, result = loaded({"role": "user", "content": content}, CALL, {**OUTPUT, "output": content})

    assert [{"type": "text", "text": ""}] == said["content"]
    assert "" == result["content"][0]["content"]


def test_the_other_keys_of_a_call_are_kept() -> None:
    """Those beside its name and arguments are metadata."""
    (message,) = loaded({**CALL, "namespace": "files", "status": "completed"})

    assert {"provider": "openai", "namespace": "files"} == message["content"][0]["provider_metadata"]


@pytest.mark.parametrize(
    ("item", "content", "failed"),
    [
        (
            {"type": "apply_patch_call_output", "call_id": "c", "status": "failed", "output": "no"},
            ["text", "opaque"],
            True,
        ),
        (
            {"type": "computer_call_output", "call_id": "c", "output": {"type": "computer_screenshot"}},
            ["opaque"],
            False,
        ),
        ({"type": "tool_search_output", "call_id": "c", "execution": "client", "tools": []}, ["opaque"], False),
        ({"type": "mcp_approval_response", "approval_request_id": "c", "approve": True}, ["opaque"], False),
        ({"type": "local_shell_call_output", "id": "c", "output": "a"}, ["text", "opaque"], False),
    ],
)
def test_outputs_of_other_kinds_are_kept_whole(item: dict[str, Any], content: list[str], failed: bool) -> None:
    """Other providers get their text."""
    (message,) = loaded(item)
    (result,) = message["content"]

    assert ("tool", "c", failed) == (message["role"], result["tool_call_id"], result["is_error"])
    assert content == [block["type"] for block in result["content"]]
    assert item == json.loads(result["content"][-1]["data_json"])


def test_the_output_of_a_custom_tool_is_a_plain_result() -> None:
    """It has no more than its text."""
    (message,) = loaded({"type": "custom_tool_call_output", "call_id": "c", "output": "rows"})

    assert "rows" == message["content"][0]["content"]


@pytest.mark.parametrize(
    ("item", "role"),
    [
        ({"type": "additional_tools", "role": "developer", "tools": []}, "user"),
        ({"type": "compaction", "encrypted_content": "x"}, "assistant"),
    ],
)
def test_items_without_a_neutral_form_are_opaque(item: dict[str, Any], role: str) -> None:
    """They belong to the role that made them."""
    (message,) = loaded(item)

    assert (role, "opaque", item) == (
        message["role"],
        message["content"][0]["type"],
        json.loads(message["content"][0]["data_json"]),
    )


@pytest.mark.parametrize("item", [{"type": "item_reference", "id": "msg_1"}, {"id": "msg_1"}])
def test_a_reference_to_an_item_is_refused(item: dict[str, Any]) -> None:
    """What it refers to is not in the body; the API does not require its type (rule R8)."""
    with pytest.raises(InvalidMessage, match="outside this body") as refused:
        loaded(item)

    assert "input[0]" == refused.value.data["field"]


def test_unused_keys_of_a_responses_request_are_reported() -> None:
    """Tools and switches belong in ``extra``."""
    report = read_request({"model": "gpt-5", "input": "hi", "instructions": "x", "tools": [], "store": False}).report

    assert ["tools", "store"] == [change.why.split()[0] for change in report]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"messages": []}, "input"),
        ({"input": []}, "input"),
        ({"input": 5}, "input"),
        ({"input": [5]}, "input[0]"),
        ({"input": [{"role": "narrator", "content": "x"}]}, "input[0].role"),
        ({"input": "hi", "instructions": []}, "instructions"),
        ({"input": "hi", "previous_response_id": "resp_1"}, "previous_response_id"),
        ({"input": "hi", "conversation": "conv_1"}, "conversation"),
        ({"prompt": {"id": "pmpt_1"}}, "prompt"),
        ({"input": [{**OUTPUT, "output": 5}]}, "input[0].output"),
    ],
)
def test_an_invalid_responses_request_is_refused(wrong: dict[str, Any], field: str) -> None:
    """The error names the place, also of a history that begins outside the body."""
    with pytest.raises(InvalidMessage) as caught:
        read_request(wrong)

    assert field == caught.value.data["field"]


def test_a_null_reference_to_another_history_is_ignored() -> None:
    """A null means that the body contains the whole history."""
    assert loaded(USER) == loaded(USER, previous_response_id=None, instructions=None)


def test_an_output_with_an_id_answers_the_call_with_that_id() -> None:
    """It does not answer a call of the same tool that came without an id."""
    named = {**OUTPUT, "name": "ls"}
    _, *outputs = loaded(CALL, {**CALL, "id": "fc_2", "call_id": ""}, named, {**named, "call_id": ""})

    assert ["call_1", "call_input_1"] == [found["content"][0]["tool_call_id"] for found in outputs]
