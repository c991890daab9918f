"""Conversations written as LangChain's messages."""

from typing import Any

import pytest

from reeld.formats.langchain.read import read_request
from tests.formats.checker import check
from tests.reeld.formats.histories import IMAGE, PDF, Json, call, model, opaque, result, text, thinking, tool, user
from tests.reeld.formats.sending import sent

CALL = {"name": "look", "args": {}, "id": "c1", "type": "tool_call"}


def messages(*history: Any) -> list[Json]:
    """Render a history, check the body, and return its messages."""
    body, _ = sent("langchain", history)

    assert [] == check("langchain", body)
    found: list[Json] = body["messages"]
    return found


def why(*history: Any) -> list[str]:
    """Return the reasons in the report."""
    return [change.why for change in sent("langchain", history)[1]]


def test_a_tool_loop() -> None:
    """The calls are in one message, their results follow, and whether one failed is its status (rules L2 and L3)."""
    history = messages(
        {"role": "system", "content": "Be brief"},
        "Hi",
        model("Look", call(), call("a|b", arguments="[")),
        tool(result("a|b", "no", is_error=True), result()),
        model("Done"),
        "So?",
    )
    broken = {**CALL, "args": {"INVALID_JSON": "["}, "id": "a|b"}

    assert [
        {"type": "system", "content": "Be brief"},
        {"type": "human", "content": "Hi"},
        {"type": "ai", "content": "Look", "tool_calls": [CALL, broken]},
        {"type": "tool", "content": "done", "tool_call_id": "c1", "name": "look", "status": "success"},
        {"type": "tool", "content": "no", "tool_call_id": "a|b", "name": "look", "status": "error"},
        {"type": "ai", "content": "Done"},
        {"type": "human", "content": "So?"},
    ] == history


def test_a_call_without_words() -> None:
    """Its content is an empty text; an id that comes again is another one (rule L2)."""
    history = messages("Hi", model(call()), tool(result()), model(call()), tool(result()))

    assert "" == history[1]["content"]
    assert history[1]["tool_calls"][0]["id"] != history[3]["tool_calls"][0]["id"]


@pytest.mark.parametrize(("provider", "kind"), [("anthropic", "thinking"), ("bedrock", "reasoning")])
def test_an_answer_of_claude_keeps_its_order(provider: str, kind: str) -> None:
    """What comes after a call is after it in the content too, where the integrations look (rule L3)."""
    one, two = thinking("one", provider=provider), thinking("two", provider=provider)
    answer = model(one, call(), two, "So", call("c2"))
    found = messages("Hi", answer, tool(result(), result("c2")))
    (loaded,) = [said for said in read_request({"messages": found}).messages if said["role"] == "assistant"]

    assert [kind, "tool_use", kind, "text", "tool_use"] == [part["type"] for part in found[1]["content"]]
    assert ["c1", "c2"] == [made["id"] for made in found[1]["tool_calls"]]
    assert ["thinking", "tool_call", "thinking", "text", "tool_call"] == [block["type"] for block in loaded["content"]]
    assert [kind, "text"] == [
        part["type"] for part in messages("Hi", model(one, "So", call()), tool(result()))[1]["content"]
    ]


def test_a_call_that_the_content_has_twice_is_read_once() -> None:
    """In its first place (rule L3)."""
    used = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
    answer = {"type": "ai", "content": [used, {"type": "text", "text": "So"}, used], "tool_calls": [CALL]}

    assert ["tool_call", "text"] == [
        block["type"] for block in read_request({"messages": [answer]}).messages[0]["content"]
    ]


def test_extra_is_added_without_a_model() -> None:
    """Messages name none."""
    body, _ = sent("langchain", ["Hi"], None, {"model": "gpt-5", "todos": []})

    assert ["todos", "messages"] == list(body)


REDACTED = {"type": "redacted_thinking", "data": "x"}


@pytest.mark.parametrize(
    ("block", "written", "maker"),
    [
        (
            thinking(model="claude-opus-5"),
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"model_provider": "anthropic", "model_name": "claude-opus-5"},
        ),
        (thinking(signature=None), {"type": "thinking", "thinking": "hm"}, {"model_provider": "anthropic"}),
        (
            thinking(provider="gemini"),
            {"type": "reasoning", "reasoning": "hm", "extras": {"signature": "c2ln"}},
            {"model_provider": "google_genai"},
        ),
        (thinking(signature=None, provider=None), {"type": "reasoning", "reasoning": "hm"}, None),
        ({**REDACTED, "provider": "anthropic"}, REDACTED, {"model_provider": "anthropic"}),
        (opaque('{"type":"search","id":"s"}'), {"type": "search", "id": "s"}, {"model_provider": "anthropic"}),
        (
            opaque('{"type":"tool_use","id":"s"}'),
            {"type": "non_standard", "value": {"type": "tool_use", "id": "s"}},
            {"model_provider": "anthropic"},
        ),
        (
            opaque('{"executableCode":{}}', "gemini"),
            {"type": "non_standard", "value": {"executableCode": {}}},
            {"model_provider": "google_genai"},
        ),
        (
            opaque('{"type":"x"}', "cohere"),
            {"type": "non_standard", "value": {"type": "x"}},
            {"model_provider": "cohere"},
        ),
    ],
)
def test_what_a_provider_made_is_in_the_form_of_its_integration(block: Json, written: Json, maker: Json | None) -> None:
    """The metadata name the provider, so that LangChain reads it (rule L4)."""
    message = messages("Hi", model(block, "x"), "So?")[1]

    assert [written, {"type": "text", "text": "x"}] == message["content"]
    assert maker == message.get("response_metadata")


def test_signatures_of_google_come_back() -> None:
    """Those of calls are beside the message, those of texts beside them (rule L4)."""
    signed: Json = {"provider_metadata": {"provider": "gemini", "model": "gemini-3-pro", "signature": "c2ln"}}
    said = model({**text("x"), **signed}, {**IMAGE, **signed}, call(**signed), call("c2"))
    message = messages("Hi", said, tool(result(), result("c2")))[1]
    again = read_request({"messages": [message]}).messages[0]["content"]

    assert [{"signature": "c2ln"}] * 2 == [part["extras"] for part in message["content"]]
    assert {"__gemini_function_call_thought_signatures__": {"c1": "c2ln"}} == message["additional_kwargs"]
    assert {"model_provider": "google_genai", "model_name": "gemini-3-pro"} == message["response_metadata"]
    assert [signed["provider_metadata"], None] == [again[0]["provider_metadata"], again[3].get("provider_metadata")]
    assert [signed["provider_metadata"]] * 2 == [again[n]["provider_metadata"] for n in (1, 2)]
    assert [] == why("Hi", said, tool(result(), result("c2")))


def test_media_are_blocks_of_their_own() -> None:
    """What is no picture, sound or video is a file (rule L4)."""
    named = {**IMAGE, "mime_type": "application/pdf", "name": "a.pdf"}
    linked = {"type": "media", "mime_type": "image/*", "url": "https://e.org/a"}

    assert [
        {"type": "image", "base64": "AAAA", "mime_type": "image/png"},
        {"type": "file", "url": PDF["url"], "mime_type": "application/pdf"},
        {"type": "file", "base64": "AAAA", "mime_type": "application/pdf", "filename": "a.pdf"},
        {"type": "image", "url": "https://e.org/a"},
    ] == messages(user(IMAGE, PDF, named, linked))[0]["content"]


def test_instructions_in_mid_history() -> None:
    """A developer's message is marked; one with media is the user's (rule L1)."""
    history = [user("Now", role="developer", provider="openai"), user("Be brief", IMAGE, role="system")]
    first, second = messages("Hi", *history)[1:]

    assert ("system", {"__openai_role__": "developer"}) == (first["type"], first["additional_kwargs"])
    assert "human" == second["type"]
    assert ["a system message is sent as the user's"] == why("Hi", *history)


def test_what_has_no_form_is_reported() -> None:
    """An empty thought, redacted thinking of nobody, and what is not an object."""
    assert [
        "an empty thought",
        "redacted thinking, which only Anthropic has",
        "an opaque block that is not an object",
    ] == why("Hi", model(thinking(" ", None), REDACTED, opaque("[]"), "x"), "So?")


def test_loaded_messages_are_rendered_as_they_were() -> None:
    """With everything that is beside the content (rule L5)."""
    content = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "x", "annotations": [{"a": 1}]},
        {"type": "non_standard", "value": {"y": 1}},
    ]
    answer = {
        "type": "ai",
        "content": content,
        "tool_calls": [CALL],
        "response_metadata": {"model_provider": "anthropic", "model_name": "claude-opus-5", "stop_reason": "x"},
        "usage_metadata": {"input_tokens": 1},
        "id": "3",
    }
    picture = {"type": "image", "base64": "AAAA", "mime_type": "image/png"}
    answered = {"type": "tool", "content": [picture], "tool_call_id": "c1", "name": "look", "status": "error"}
    before = [
        {"type": "system", "content": "S", "id": "1"},
        {"type": "human", "content": "Hi", "name": "ada", "id": "2"},
        answer,
        {**answered, "artifact": [1]},
        {"type": "system", "content": "Now", "additional_kwargs": {"__openai_role__": "developer", "x": 1}},
        {"type": "human", "content": [content[2], {"type": "text", "text": "So?"}]},
    ]

    assert before == messages(*read_request({"messages": before}).messages)


def test_texts_are_what_they_were() -> None:
    """A text with metadata of another provider is a plain one."""
    assert "x" == messages(user(text("x", provider_metadata={"provider": "openai", "annotations": "y"})))[0]["content"]
