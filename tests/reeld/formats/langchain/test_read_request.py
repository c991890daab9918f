"""Histories of LangChain's, loaded."""

from typing import Any

import pytest

from reel.base.errors import InvalidMessage
from reeld.formats.fields import LoadedRequest
from reeld.formats.langchain.read import read_request
from tests.reeld.formats.histories import Json, entries_of

AI = {"type": "ai", "content": "OK"}
CALL = {"name": "look", "args": {"a": 1}, "id": "c1", "type": "tool_call"}
ANTHROPIC = {"model_provider": "anthropic", "model_name": "claude-opus-5"}
MADE_BY = {"provider": "anthropic", "model": "claude-opus-5"}


def loaded(*messages: Any, **more: Any) -> LoadedRequest:
    """Load some messages, and check that they can be added."""
    found = read_request({"messages": list(messages), **more})
    assert entries_of(found.messages)
    return found


def said(*content: Any, **fields: Any) -> list[Json]:
    """Return the blocks of a message of the assistant's with such content."""
    (found,) = loaded({"type": "ai", "content": list(content), **fields}).messages
    blocks: list[Json] = found["content"]
    return blocks


@pytest.mark.parametrize(
    "given",
    [
        "Hi",
        ["human", "Hi"],
        ["user", [{"type": "text", "text": "Hi"}]],
        {"type": "human", "content": "Hi"},
        {"role": "user", "content": ["Hi"]},
        {"type": "human", "data": {"content": "Hi", "type": "human"}},
        {"lc": 1, "type": "constructor", "id": ["schema", "messages", "HumanMessage"], "kwargs": {"content": "Hi"}},
        {"type": "HumanMessageChunk", "content": "Hi"},
        {"type": "chat", "role": "user", "content": "Hi"},
    ],
)
def test_a_message_in_any_form(given: Any) -> None:
    """All say the same (rule L1)."""
    (found,) = loaded(given).messages

    assert ("user", [{"type": "text", "text": "Hi"}]) == (found["role"], found["content"])


def test_leading_instructions_are_the_prompt() -> None:
    """Later ones are the user's, in their role (rules L1 and X13)."""
    developer = {"type": "system", "content": "B", "additional_kwargs": {"__openai_role__": "developer"}}
    prompt, _, later = loaded({"type": "system", "content": "A"}, "Hi", developer).messages

    assert {"role": "system", "content": "A"} == prompt
    assert "developer" == later["provider_metadata"]["role"]


def test_what_is_beside_the_messages_is_named() -> None:
    """The state of a graph may have more."""
    assert ["todos"] == [change.why.split()[0] for change in loaded("Hi", todos=[]).report]


def test_calls_and_results() -> None:
    """A call is read once, whether it failed is known, and calls without ids get some (rules L2, L3 and X12)."""
    native = {"type": "tool_use", "id": "c1", "name": "look", "input": {"a": 1}}
    broken = {"name": "say", "args": '{"a":', "id": None, "error": "x"}
    ai = {"type": "ai", "content": [native], "tool_calls": [CALL], "invalid_tool_calls": [broken]}
    failed = {"type": "tool", "content": "no", "tool_call_id": "c1", "status": "error", "artifact": {"x": 1}}
    found = loaded("Hi", ai, failed, {"type": "function", "name": "say", "content": ""})
    _, made, first, second = found.messages

    assert [("c1", '{"a":1}'), ("call_1_1", '{"a":')] == [(call["id"], call["arguments"]) for call in made["content"]]
    assert (True, {"x": 1}) == (
        first["content"][0]["is_error"],
        first["content"][0]["provider_metadata"]["artifact"],
    )
    assert "call_1_1" == second["content"][0]["tool_call_id"]
    assert 1 == len(found.report)


@pytest.mark.parametrize(
    "block",
    [
        {"type": "tool_use", "id": "c1", "name": "look", "input": {"a": 1}},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": '{"a":1}'},
        {"type": "tool_call", "id": "c1", "name": "look", "args": {"a": 1}},
    ],
)
def test_a_call_in_the_content_only(block: Json) -> None:
    """It is a call like any other (rule L3)."""
    assert [{"type": "tool_call", "id": "c1", "name": "look", "arguments": '{"a":1}'}] == said(block)


def test_calls_in_the_form_of_openai() -> None:
    """A map with a role may have them (rule L1)."""
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"a":1}'}}
    (found,) = loaded({"role": "assistant", "content": "", "tool_calls": [call]}).messages

    assert [("look", '{"a":1}')] == [(block["name"], block["arguments"]) for block in found["content"]]


@pytest.mark.parametrize(
    ("part", "block"),
    [
        (
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "thinking", "text": "hm", "signature": "s", **MADE_BY},
        ),
        ({"type": "reasoning", "reasoning": "hm"}, {"type": "thinking", "text": "hm", **MADE_BY}),
        (
            {"type": "reasoning", "reasoning": "hm", "extras": {"signature": "s"}},
            {"type": "thinking", "text": "hm", "signature": "s", **MADE_BY},
        ),
        ({"type": "redacted_thinking", "data": "x"}, {"type": "redacted_thinking", "data": "x", **MADE_BY}),
        ({"type": "search", "id": "s1"}, {"type": "opaque", "data_json": '{"type":"search","id":"s1"}', **MADE_BY}),
        ({"type": "non_standard", "value": {"a": 1}}, {"type": "opaque", "data_json": '{"a":1}', **MADE_BY}),
        (
            {"type": "reasoning", "summary": []},
            {"type": "opaque", "data_json": '{"type":"reasoning","summary":[]}', **MADE_BY, "provider": "openai"},
        ),
        ({"type": "reasoning", "x": 1}, {"type": "opaque", "data_json": '{"type":"reasoning","x":1}', **MADE_BY}),
    ],
)
def test_what_a_provider_made_belongs_to_it(part: Json, block: Json) -> None:
    """The metadata of the message name provider and model (rule L4)."""
    assert [block] == said(part, response_metadata=ANTHROPIC)


def test_blocks_of_an_unknown_provider() -> None:
    """They are LangChain's; signed thinking is Anthropic's (rule L4)."""
    signed = {"type": "thinking", "thinking": "", "signature": "s"}
    blocks = said({"type": "x"}, {"type": "non_standard", "value": {}}, signed)

    assert ["langchain", "langchain", "anthropic"] == [block["provider"] for block in blocks]
    assert "provider" not in said({"type": "reasoning", "reasoning": "hm"}, response_metadata=5)[0]


def test_an_unknown_provider_keeps_its_name() -> None:
    """Only its own name is known."""
    made_by = {"model_provider": "cohere", "model": "c"}
    (block,) = said({"type": "reasoning", "reasoning": "hm"}, response_metadata=made_by)

    assert ("cohere", "c") == (block["provider"], block["model"])


def test_reasoning_beside_the_content() -> None:
    """It comes first, unless the content has it too (rule L4)."""
    beside = {"additional_kwargs": {"reasoning_content": "hm"}}
    named = {"response_metadata": {"model_name": "deepseek-chat"}}

    assert ["thinking", "text"] == [block["type"] for block in said("x", **beside)]
    assert ["thinking"] == [block["type"] for block in said({"type": "reasoning", "reasoning": "hm"}, **beside)]
    assert "deepseek-chat" == said("x", **beside, **named)[0]["model"]


@pytest.mark.parametrize(
    ("part", "media"),
    [
        ({"type": "image", "base64": "AA", "mime_type": "image/png"}, ("image/png", "AA", None, None)),
        ({"type": "image", "source_type": "base64", "data": "AA"}, ("image/*", "AA", None, None)),
        ({"type": "image", "url": "https://e.org/a"}, ("image/*", None, "https://e.org/a", None)),
        ({"type": "image_url", "image_url": "data:image/png;base64,AA"}, ("image/png", "AA", None, None)),
        ({"type": "image_url", "image_url": {"url": "https://e.org/a"}}, ("image/*", None, "https://e.org/a", None)),
        (
            {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": "AA"}},
            ("image/gif", "AA", None, None),
        ),
        (
            {"type": "file", "base64": "AA", "mime_type": "application/pdf", "filename": "a.pdf"},
            ("application/pdf", "AA", None, "a.pdf"),
        ),
        ({"type": "file", "base64": "AA", "extras": {"filename": "a"}}, ("application/octet-stream", "AA", None, "a")),
    ],
)
def test_media_in_newer_and_older_forms(part: Json, media: tuple[Any, ...]) -> None:
    """All are media (rule L4)."""
    (found,) = loaded({"type": "human", "content": [part]}).messages
    (block,) = found["content"]

    assert media == (block["mime_type"], block.get("data_base64"), block.get("url"), block.get("name"))


def test_a_file_that_is_only_named_is_kept() -> None:
    """Nobody else knows it."""
    (found,) = loaded({"type": "human", "content": [{"type": "file", "file_id": "f"}]}).messages

    assert "opaque" == found["content"][0]["type"]


def test_what_is_beside_the_content_is_kept() -> None:
    """It is metadata of the message, and of a text (rule L5)."""
    cited = {"type": "text", "text": "x", "annotations": [{"a": 1}], "index": 0}
    (found,) = loaded({**AI, "content": [cited], "id": "run-1", "usage_metadata": {"input_tokens": 1}}).messages

    assert {"provider": "langchain", "id": "run-1", "usage_metadata": {"input_tokens": 1}} == found["provider_metadata"]
    assert {"provider": "langchain", "annotations_json": '[{"a":1}]'} == found["content"][0]["provider_metadata"]


@pytest.mark.parametrize(
    ("messages", "field"),
    [
        ([], "messages"),
        ([5], "messages[0]"),
        ([["human"]], "messages[0]"),
        ([[5, "Hi"]], "messages[0][0]"),
        ([{"type": "remove", "id": "x"}], "messages[0].type"),
        ([{"content": "Hi"}], "messages[0].role"),
        ([{"type": "chat", "content": "Hi"}], "messages[0].role"),
        ([{"id": ["x"], "kwargs": {}}], "messages[0].id"),
        ([{"type": "x", "data": {}}], "messages[0].type"),
        ([{"type": "human", "content": 5}], "messages[0].content"),
        ([{"type": "human", "content": [5]}], "messages[0].content[0]"),
        ([{"type": "human", "content": [{"type": "text"}]}], "messages[0].content[0].text"),
        ([{"type": "human", "content": [{"type": "image_url", "image_url": 5}]}], "messages[0].content[0].image_url"),
        ([{**AI, "content": [{"type": "tool_use", "id": "x"}]}], "messages[0].content[0].name"),
        ([{**AI, "tool_calls": [5]}], "messages[0].tool_calls[0]"),
        ([{**AI, "tool_calls": [{**CALL, "id": 5}]}], "messages[0].tool_calls[0].id"),
        ([{**AI, "tool_calls": [{**CALL, "name": 5}]}], "messages[0].tool_calls[0].name"),
    ],
)
def test_what_is_no_message_is_refused(messages: list[Any], field: str) -> None:
    """The error names the place."""
    with pytest.raises(InvalidMessage) as refused:
        read_request({"messages": messages})

    assert field == refused.value.data["field"]
