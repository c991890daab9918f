"""Requests to Chat Completions, read."""

from typing import Any

import pytest

from reel.base.errors import InvalidMessage
from reeld.core.validation import rows_from
from reeld.formats.openai_chat.read import read_request

SYSTEM = {"role": "system", "content": "be brief"}
USER = {"role": "user", "content": "hi"}
CALL = {"id": "call_1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}


def loaded(*messages: dict[str, Any], **rest: Any) -> list[dict[str, Any]]:
    """Load messages, and check that they can be added."""
    found = read_request({"model": "gpt-5", "messages": list(messages), **rest}).messages
    rows_from(found)
    return found


def test_a_chat_request_becomes_messages() -> None:
    """A plain request has no metadata, only its texts, calls and results."""
    messages = loaded(
        SYSTEM,
        USER,
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": "a b"},
        {"role": "assistant", "content": "two"},
    )
    call = {"type": "tool_call", "id": "call_1", "name": "ls", "arguments": "{}"}
    result = {"type": "tool_result", "tool_call_id": "call_1", "content": "a b", "is_error": False}

    assert [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {"role": "assistant", "content": [call]},
        {"role": "tool", "content": [result]},
        {"role": "assistant", "content": [{"type": "text", "text": "two"}]},
    ] == messages


def test_later_instructions_of_chat_become_user_messages() -> None:
    """Only the leading ones are the prompt; later ones keep their role as metadata."""
    messages = loaded(SYSTEM, USER, SYSTEM, {"role": "developer", "content": "now"})

    assert ["system", "user", "user", "user"] == [message["role"] for message in messages]
    assert [{"provider": "openai", "role": role} for role in ("system", "developer")] == [
        message["provider_metadata"] for message in messages[2:]
    ]


def test_a_request_of_instructions_alone_is_a_prompt() -> None:
    """A history of system messages becomes a prompt and no other message."""
    assert [{"role": "system", "content": "be brief"}] == loaded(SYSTEM)


@pytest.mark.parametrize(
    ("part", "block"),
    [
        ("bare", {"type": "text", "text": "bare"}),
        ({"type": "text", "text": "x"}, {"type": "text", "text": "x"}),
        (
            {"type": "text", "text": "x", "prompt_cache_breakpoint": {"mode": "explicit"}},
            {
                "type": "text",
                "text": "x",
                "provider_metadata": {"provider": "openai", "prompt_cache_breakpoint": {"mode": "explicit"}},
            },
        ),
        (
            {"type": "image_url", "image_url": {"url": "https://x/y.png", "detail": "low"}},
            {
                "type": "media",
                "mime_type": "image/*",
                "url": "https://x/y.png",
                "provider_metadata": {"provider": "openai", "detail": "low"},
            },
        ),
        (
            {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "mp3"}},
            {
                "type": "media",
                "mime_type": "audio/mpeg",
                "data_base64": "QUJD",
                "provider_metadata": {"provider": "openai"},
            },
        ),
        (
            {"type": "file", "file": {"file_data": "data:application/pdf;base64,QUJD", "filename": "a.pdf"}},
            {
                "type": "media",
                "mime_type": "application/pdf",
                "data_base64": "QUJD",
                "name": "a.pdf",
                "provider_metadata": {"provider": "openai"},
            },
        ),
        (
            {"type": "file", "file": {"file_data": "data:application/pdf;base64,QUJD"}},
            {
                "type": "media",
                "mime_type": "application/pdf",
                "data_base64": "QUJD",
                "provider_metadata": {"provider": "openai"},
            },
        ),
        (
            {"type": "file", "file": {"file_id": "file-1"}},
            {
                "type": "opaque",
                "provider": "openai",
                "data_json": '{"type":"file","file":{"file_id":"file-1"}}',
                "provider_metadata": {"provider": "openai", "format": "openai-chat"},
            },
        ),
        (
            {"type": "file", "file_id": "file-1"},  # Mistral's
            {
                "type": "opaque",
                "provider": "openai",
                "data_json": '{"type":"file","file_id":"file-1"}',
                "provider_metadata": {"provider": "openai", "format": "openai-chat"},
            },
        ),
        (
            {"type": "input_audio", "input_audio": "QUJD"},  # Mistral's too
            {
                "type": "opaque",
                "provider": "openai",
                "data_json": '{"type":"input_audio","input_audio":"QUJD"}',
                "provider_metadata": {"provider": "openai", "format": "openai-chat"},
            },
        ),
    ],
)
def test_chat_parts_become_blocks(part: Any, block: dict[str, Any]) -> None:
    """A part without a neutral form becomes an opaque block."""
    assert [block] == loaded({"role": "user", "content": [part]})[0]["content"]


def test_the_name_of_a_speaker_is_kept() -> None:
    """It is metadata of the message."""
    messages = loaded({**USER, "name": "ada"}, {"role": "assistant", "content": "hi", "name": "bob"})

    assert ["ada", "bob"] == [message["provider_metadata"]["name"] for message in messages]


@pytest.mark.parametrize("content", [None, "", []])
def test_a_chat_message_without_content(content: Any) -> None:
    """It gets an empty text, and a result without content is empty."""
    user, result = loaded(
        {"role": "user", "content": content}, {"role": "tool", "tool_call_id": "a", "content": content}
    )

    assert [{"type": "text", "text": ""}] == user["content"]
    assert "" == result["content"][0]["content"]


def test_a_chat_result_of_parts_is_a_list_of_blocks() -> None:
    """Several parts, or one with a cache breakpoint, are stored as blocks."""
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    (result,) = loaded({"role": "tool", "tool_call_id": "a", "name": "ls", "content": parts})

    assert parts == result["content"][0]["content"]


def test_function_calls_in_the_old_form_get_ids() -> None:
    """The id is made from the place of the call, and its result gets the same; the report says so."""
    called = {"role": "assistant", "content": None, "function_call": {"name": "ls", "arguments": "{}"}}
    answered = {"role": "function", "name": "ls", "content": "a"}
    found = read_request({"messages": [USER, called, answered]})
    _, call, result = found.messages

    assert ["call_1_0"] * 2 == [call["content"][0]["id"], result["content"][0]["tool_call_id"]]
    assert [("synthesized", "messages[1].function_call has no id; it is now the call call_1_0")] == [
        (change.action, change.why) for change in found.report
    ]


def test_a_chat_result_with_an_id_answers_the_call_with_that_id() -> None:
    """It does not answer a call of the same tool that came without an id."""
    calls = [{"id": given, "type": "function", "function": {"name": "ls", "arguments": "{}"}} for given in ("a", "")]
    answers: list[Any] = [
        {"role": "tool", "tool_call_id": "a", "name": "ls", "content": "1"},
        {"role": "tool", "name": "ls", "content": "2"},
    ]
    _, *results = loaded({"role": "assistant", "content": None, "tool_calls": calls}, *answers)

    assert ["a", "call_0_1"] == [found["content"][0]["tool_call_id"] for found in results]


def test_a_function_message_without_its_call_is_kept() -> None:
    """It is read as a result of no call."""
    (result,) = loaded({"role": "function", "name": "ls", "content": "a"})

    assert "messages[0].tool_call_id" == result["content"][0]["tool_call_id"]


def test_unused_keys_of_a_chat_request_are_reported() -> None:
    """Tools and switches belong in ``extra``."""
    report = read_request({"model": "gpt-5", "messages": [USER], "tools": [], "stream": True}).report

    assert ["tools", "stream"] == [change.why.split()[0] for change in report]


def test_the_model_of_a_chat_request_wrote_the_assistants_messages() -> None:
    """The model of the body counts, then the caller's."""
    thought = {"role": "assistant", "content": "4", "reasoning_content": "2 + 2"}

    assert "gpt-5" == read_request({"model": "gpt-5", "messages": [thought]}, "m").messages[0]["content"][0]["model"]
    assert "m" == read_request({"messages": [thought]}, "m").messages[0]["content"][0]["model"]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"input": "hi"}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": "hi"}, "messages"),
        ({"messages": ["hi"]}, "messages[0]"),
        ({"messages": [{"role": "narrator", "content": "hi"}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": 5}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": [5]}]}, "messages[0].content[0]"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages[0].content[0].text"),
        ({"messages": [{"role": "tool", "tool_call_id": 5, "content": "x"}]}, "messages[0].tool_call_id"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages[0].content[0].image_url"),
    ],
)
def test_an_invalid_chat_request_is_refused(wrong: dict[str, Any], field: str) -> None:
    """The error names the place."""
    with pytest.raises(InvalidMessage) as caught:
        read_request(wrong)

    assert field == caught.value.data["field"]
