"""Conversations written for the AI SDK."""

import json
from typing import Any

import pytest

from tests.formats.cases.ai_sdk import FILE, FOUND, HI, SERVED, TEXT, answer, call
from tests.formats.cases.ai_sdk import model as assistant
from tests.formats.cases.ai_sdk import tool as results
from tests.formats.cases.ai_sdk import user as person
from tests.formats.checker import check
from tests.reeld.formats import histories
from tests.reeld.formats.histories import IMAGE, PDF, model, opaque, result, text, thinking, tool, user
from tests.reeld.formats.sending import sent

Json = dict[str, Any]
NAME = "ai-sdk"


def messages(*history: Any) -> tuple[list[Json], list[str]]:
    """Return the messages of a conversation, and the actions of the report."""
    body, report = sent(NAME, history)
    assert [] == [problem for problem in check("ai_sdk", body) if problem.rule != "last-role"]
    found: list[Json] = body["messages"]
    return found, [change.action for change in report]


def said(*blocks: Json | str) -> list[Json]:
    """Return the parts of what the assistant says."""
    found, _ = messages(user("Hi"), model(*blocks), user("Hi"))
    content = found[1]["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def options(provider: str, **given: Any) -> Json:
    return {"providerOptions": {provider: given}}


def test_a_conversation() -> None:
    """The prompt is beside the messages; results follow their calls (rules V1 and V3)."""
    body, report = sent(
        NAME,
        [
            {"role": "system", "content": "S"},
            user("Hi"),
            model("OK", histories.call(arguments='{"a": 1}')),
            tool(result()),
        ],
    )

    made = assistant({"type": "text", "text": "OK"}, call(input={"a": 1}))
    assert {"system": "S", "messages": [HI, made, results(answer())]} == body
    assert [] == report


def test_a_later_instruction_is_the_users() -> None:
    """The AI SDK allows no system message among the others (rule V1)."""
    found, report = messages(user("Hi"), user("S", role="system"))

    assert ([HI, {"role": "user", "content": "S"}], ["downgraded"]) == (found, report)


@pytest.mark.parametrize(
    ("provider", "expected"),
    [
        ("anthropic", options("anthropic", signature="c2ln")),
        ("bedrock", options("bedrock", signature="c2ln")),
        ("gemini", options("google", thoughtSignature="c2ln")),
        ("other", {}),
        (None, {}),
    ],
)
def test_reasoning_has_the_signature_of_its_provider(provider: str | None, expected: Json) -> None:
    """Whoever answers next: each provider of the AI SDK looks for its own (rule V4)."""
    reasoning = {"type": "reasoning", "text": "hm", **expected}

    assert [reasoning, TEXT] == said(thinking(provider=provider, model="any"), "Hi")


def test_redacted_thinking_is_reasoning() -> None:
    """What is redacted is an option of its provider, of those that the AI SDK has (rule V4)."""
    hidden = {"type": "redacted_thinking", "data": "AAAA", "provider": "anthropic"}
    reasoning = {"type": "reasoning", "text": "", **options("anthropic", redactedData="AAAA")}

    assert [reasoning, TEXT] == said(hidden, "Hi")
    assert [TEXT] == said({**hidden, "provider": "other"}, "Hi")


def test_an_empty_thought_is_left_out() -> None:
    """It says nothing and is not signed; reasoning alone is no answer either."""
    assert [TEXT] == said(thinking(" ", None), "Hi")
    assert [HI, HI] == messages(user("Hi"), model(thinking()), user("Hi"))[0]


def test_an_item_of_openai_is_reasoning() -> None:
    """It is written with its encrypted content and without its id (rule V4)."""
    summary = [{"type": "summary_text", "text": words} for words in "ab"]
    item = {"type": "reasoning", "id": "rs_1", "summary": [*summary, 1], "encrypted_content": "AAAA"}
    reasoning = {"type": "reasoning", "text": "a\n\nb", **options("openai", reasoningEncryptedContent="AAAA")}

    assert [reasoning, TEXT] == said(opaque(json.dumps(item), "openai"), "Hi")
    assert [{**reasoning, "text": ""}, TEXT] == said(opaque(json.dumps({**item, "summary": "x"}), "openai"), "Hi")
    assert [TEXT] == said(opaque(json.dumps({**item, "encrypted_content": ""}), "openai"), "Hi")
    for parts in ("[1]", '[{"type":"text"}]', '[{"type":"reasoning","text":""}]', "1"):
        kept = {"provider": "openai", "parts_json": parts}
        assert [reasoning, TEXT] == said(opaque(json.dumps(item), "openai", provider_metadata=kept), "Hi")


def test_signatures_and_breakpoints_of_other_parts() -> None:
    """A signature of Google's on a call, and a cache breakpoint of Anthropic's, are options (rule V4)."""
    signed = {"provider": "gemini", "model": "any", "signature": "c2ln"}
    marked = {"provider": "anthropic", "cache_control": {"type": "ephemeral"}}
    found, report = messages(
        user(text("Hi", provider_metadata=marked)),
        model(histories.call(provider_metadata=signed)),
        tool(result()),
    )

    assert {**TEXT, **options("anthropic", cacheControl={"type": "ephemeral"})} == found[0]["content"][0]
    assert call(**options("google", thoughtSignature="c2ln")) == found[1]["content"][0]
    assert [] == report


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (IMAGE, FILE),
        (PDF, {"type": "file", "data": PDF["url"], "mediaType": "application/pdf"}),
        ({**IMAGE, "name": "a.png"}, {**FILE, "filename": "a.png"}),
    ],
)
def test_files(block: Json, expected: Json) -> None:
    """Their data is a text, from the user and from the assistant (rule V5)."""
    assert [person(expected)] == messages(user(block))[0]
    assert [expected] == said(block)


def test_media_without_a_type_are_left_out() -> None:
    """The AI SDK requires one."""
    assert ([HI], ["dropped"]) == messages(user({**IMAGE, "mime_type": "png"}, "Hi"))


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (result(), {"type": "text", "value": "done"}),
        (result(is_error=True), {"type": "error-text", "value": "done"}),
        (
            result(content=[text("a"), IMAGE, PDF]),
            {
                "type": "content",
                "value": [
                    {"type": "text", "text": "a"},
                    {"type": "file-data", "data": "AAAA", "mediaType": "image/png"},
                    {"type": "file-url", "url": PDF["url"], "mediaType": "application/pdf"},
                ],
            },
        ),
        (
            result(content='{"a":1}', provider_metadata={"provider": NAME, "output": "json"}),
            {"type": "json", "value": {"a": 1}},
        ),
        (
            result(content="null", is_error=True, provider_metadata={"provider": NAME, "output": "error-json"}),
            {"type": "error-json", "value": None},
        ),
        (
            result(content="{", provider_metadata={"provider": NAME, "output": "json"}),
            {"type": "text", "value": "{"},
        ),
        (
            result(content="no", is_error=True, provider_metadata={"provider": NAME, "output": "execution-denied"}),
            {"type": "execution-denied", "reason": "no"},
        ),
        (
            result(provider_metadata={"provider": NAME, "outputOptions_json": '{"x":{"a":1}}'}),
            {"type": "text", "value": "done", **options("x", a=1)},
        ),
    ],
)
def test_the_output_of_a_tool(block: Json, expected: Json) -> None:
    """It has the kind in which it came, if that still fits (rule V3)."""
    found, _ = messages(user("Hi"), model(histories.call()), tool(block))

    assert results(answer(output=expected)) == found[-1]


@pytest.mark.parametrize("kept", [{}, {"provider_metadata": {"provider": "openai"}}])
def test_a_failed_result_with_media_says_so_in_its_text(kept: Json) -> None:
    """There is no flag for it, wherever the result came from; the report says so."""
    failed = result(content=[IMAGE], is_error=True, **kept)
    found, report = messages(user("Hi"), model(histories.call()), tool(failed))

    assert {"type": "text", "text": "Error: "} == found[-1]["content"][0]["output"]["value"][0]
    assert ["downgraded"] == report


def test_what_the_provider_ran_goes_back_as_it_came() -> None:
    """The call and its result, or neither (rules V3 and X9)."""
    pair = [opaque(json.dumps({**part, "x": 1}), NAME) for part in (SERVED, FOUND)]
    found = {**FOUND, "output": {"type": "content", "value": [TEXT]}}
    denied = {**FOUND, "output": {"type": "execution-denied"}}

    for other in (found, denied):
        assert [SERVED, other, TEXT] == said(pair[0], opaque(json.dumps(other), NAME), "Hi")
    assert [SERVED, FOUND, TEXT] == said(*pair, "Hi")
    assert [TEXT] == said(pair[0], "Hi") == said(pair[1], "Hi")
    assert [SERVED, FOUND, TEXT] == said(*pair, *pair, "Hi")


@pytest.mark.parametrize(
    "value",
    [
        {"type": "custom", "kind": 1},
        {"type": "custom", "kind": "a.b", "providerOptions": {"a": 1}},
        {"type": "file", "data": "AAAA"},
        {"type": "file", "data": "AAAA", "mediaType": ""},
        {"type": "source-url", "sourceId": "1", "url": "u"},
        {"type": []},
        {**FOUND, "output": 1},
        {**FOUND, "output": {"type": "text", "value": 1}},
        {**FOUND, "output": {"type": "content", "value": [{"type": "x"}]}},
        {**FOUND, "output": {"type": "json"}},
        {**FOUND, "output": {"type": "json", "value": 1, "providerOptions": 1}},
        {**SERVED, "providerExecuted": "yes"},
        [],
    ],
)
def test_an_opaque_block_that_has_no_form(value: Any) -> None:
    """It is left out, with a report."""
    found, report = messages(user("Hi"), model(opaque(json.dumps(value), NAME), "Hi"), user("Hi"))

    assert ([HI, {"role": "assistant", "content": "Hi"}, HI], ["dropped"]) == (found, report)


@pytest.mark.parametrize(
    "part", [{"type": "custom", "kind": "a.b"}, {"type": "reasoning-file", "data": "AAAA", "mediaType": "image/png"}]
)
def test_parts_of_its_own_come_back(part: Json) -> None:
    """They are the assistant's."""
    assert [part, TEXT] == said(opaque(json.dumps(part), NAME), "Hi")


def test_a_reference_to_a_file_comes_back() -> None:
    """It is a provider's own file, from the user or in a result (rule V5)."""
    part = {"type": "file", "data": {"type": "reference", "reference": {"openai": "f1"}}, "mediaType": "image/png"}
    block = opaque(json.dumps(part), NAME)
    found, _ = messages(user(block), model(histories.call()), tool(result(content=[block])))

    assert [person(part), [part]] == [found[0], found[2]["content"][0]["output"]["value"]]


def test_tools_are_renamed_wherever_they_are_named() -> None:
    """In the set, in the choice and among the active ones."""
    extra = {"tools": {"a.b": {}}, "toolChoice": {"type": "tool", "toolName": "a.b"}, "activeTools": ["a.b", 1]}
    body, _ = sent(NAME, [user("Hi")], None, extra)
    (name,) = body["tools"]

    assert name.startswith("a_b_")
    assert (name, [name, 1]) == (body["toolChoice"]["toolName"], body["activeTools"])
    assert {"tools": 1, "toolChoice": "auto"} == {
        key: value
        for key, value in sent(NAME, [user("Hi")], None, {"tools": 1, "toolChoice": "auto"})[0].items()
        if key != "messages"
    }
