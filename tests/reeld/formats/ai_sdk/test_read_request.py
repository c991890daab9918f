"""Conversations of the AI SDK, read."""

import json
from typing import Any

import pytest

from reel.base.errors import InvalidMessage, InvalidParams
from reeld.formats.ai_sdk.read import read_request
from reeld.formats.ingest import read_response
from tests.formats.cases.ai_sdk import FILE, FOUND, HI, LOOP, OK, SERVED, TEXT, answer, body, call, model, tool, user
from tests.reeld.formats.histories import result, text
from tests.reeld.formats.sending import sent

Json = dict[str, Any]
MODEL = "claude-opus-5"


def loaded(*messages: Any, by: str | None = None, **more: Any) -> list[Json]:
    return read_request(body(*messages, **more), by).messages


def first(part: Json, by: str | None = None) -> Json:
    """Return the block of a part of the assistant's."""
    (block,) = loaded(HI, model(part), by=by)[1]["content"]
    found: Json = block
    return found


def ui(role: str, *parts: Json, **more: Any) -> Json:
    return {"id": "m1", "role": role, "parts": list(parts), **more}


def options(provider: str, **given: Any) -> Json:
    return {"providerOptions": {provider: given}}


def test_model_messages() -> None:
    """The prompt comes first; calls, results and texts have their neutral form."""
    prompt, question, made, found, words = loaded(*LOOP, OK, system="S")

    assert {"role": "system", "content": "S"} == prompt
    assert [text("Hi")] == question["content"]
    assert [{"type": "tool_call", "id": "c1", "name": "look", "arguments": "{}"}] == made["content"]
    assert ("tool", [result(is_error=False)]) == (found["role"], found["content"])
    assert ("assistant", [text("OK")]) == (words["role"], words["content"])


@pytest.mark.parametrize(
    "given",
    [
        {"messages": [{"role": "system", "content": "S"}, HI]},
        {"messages": [HI], "instructions": "S"},
        {"messages": [HI], "system": [{"role": "system", "content": "S"}]},
        {"messages": [ui("system", {"type": "text", "text": "S"}), HI]},
        {"prompt": "Hi", "system": "S"},
        {"prompt": [HI], "system": "S"},
    ],
)
def test_the_prompt_has_many_forms(given: Json) -> None:
    """It is beside the messages or leads them (rule V1)."""
    prompt, question = read_request(given).messages

    assert ("S", "system") == ("".join(block["text"] for block in _blocks(prompt)), prompt["role"])
    assert [text("Hi")] == question["content"]


def _blocks(message: Json) -> list[Json]:
    content = message["content"]
    return [text(content)] if isinstance(content, str) else content


def test_a_later_instruction_keeps_its_role() -> None:
    """It is the user's, with its role beside it."""
    found = loaded(HI, OK, {"role": "system", "content": "S"})[-1]

    assert ("user", "system") == (found["role"], found["provider_metadata"]["role"])


def test_ui_messages() -> None:
    """Each step is a message, and the results of its tools are one (rule V2)."""
    asked = {"toolCallId": "c1", "input": {"a": 1}, "callProviderMetadata": {"google": {"thoughtSignature": "c2ln"}}}
    found = loaded(
        ui("user", {"type": "text", "text": "Hi", "state": "done"}, metadata={"a": [1]}),
        ui(
            "assistant",
            {"type": "step-start"},
            {"type": "reasoning", "text": "hm", "state": "done", "providerMetadata": {"anthropic": {"signature": "s"}}},
            {"type": "tool-look", "state": "output-available", **asked, "output": {"b": 2}},
            {"type": "dynamic-tool", "toolName": "see", "toolCallId": "c2", "state": "output-error", "errorText": "no"},
            {"type": "step-start"},
            {"type": "text", "text": "OK"},
        ),
        by="gemini-3-pro",
    )

    assert ["user", "assistant", "tool", "assistant"] == [message["role"] for message in found]
    assert {"provider": "ai-sdk", "id": "m1", "metadata_json": '{"a":[1]}'} == found[0]["provider_metadata"]
    thought, one, other = found[1]["content"]
    assert ("s", "anthropic") == (thought["signature"], thought["provider"])
    assert {"provider": "gemini", "model": "gemini-3-pro", "signature": "c2ln"} == one["provider_metadata"]
    assert ('{"a":1}', "see") == (one["arguments"], other["name"])
    assert ['{"b":2}', "no"] == [block["content"] for block in found[2]["content"]]
    assert [False, True] == [block["is_error"] for block in found[2]["content"]]


@pytest.mark.parametrize(
    ("state", "more", "expected"),
    [
        ("input-streaming", {"input": {"a": 1}}, None),
        ("input-available", {"input": {"a": 1}}, None),
        ("approval-requested", {"approval": {"id": "x"}}, None),
        ("approval-responded", {"approval": {"id": "x", "approved": True}}, None),
        ("approval-responded", {"approval": {"id": "x", "approved": False, "reason": "no"}}, ("no", True)),
        ("output-denied", {"approval": 1}, ("Tool execution denied.", True)),
        ("output-error", {"rawInput": "x", "errorText": "no"}, ("no", True)),
        ("output-error", {}, ("", True)),
        ("output-available", {"output": "done"}, ("done", False)),
    ],
)
def test_the_states_of_a_tool(state: str, more: Json, expected: tuple[str, bool] | None) -> None:
    """A call whose output has not come is open (rule V2)."""
    found = loaded(HI, ui("assistant", {"type": "tool-look", "toolCallId": "c1", "state": state, **more}))
    outputs = [(block["content"], block["is_error"]) for message in found[2:] for block in message["content"]]

    assert "tool_call" == found[1]["content"][0]["type"]
    assert ([] if expected is None else [expected]) == outputs


def test_a_result_has_the_options_of_its_part() -> None:
    """Those of the result, or else of the call, as the AI SDK has it; a failure of the provider's is JSON (rule V2)."""
    part = {"type": "tool-look", "toolCallId": "c1", "state": "output-error", "input": {}, "errorText": "no"}
    part |= {"callProviderMetadata": {"a": {"b": 1}}}
    history = loaded(HI, ui("assistant", part, {**part, "toolCallId": "c2", "providerExecuted": True}))
    (made, found) = sent("ai-sdk", history)[0]["messages"][1:]

    assert {"type": "error-json", "value": "no"} == made["content"][1]["output"]
    assert [{"a": {"b": 1}}] * 3 == [
        each["providerOptions"] for each in (made["content"][0], made["content"][1], found["content"][0])
    ]


def test_what_the_provider_ran_is_kept_whole() -> None:
    """Call and result stay together, in both kinds of messages, and go back (rule V3)."""
    part = {"type": "tool-web_search", "toolCallId": "s1", "input": {}, "providerExecuted": True}
    found = loaded(HI, ui("assistant", {**part, "state": "output-available", "output": "done"}, TEXT), HI)
    same = loaded(HI, model(SERVED, {**FOUND}, TEXT), HI)

    assert ["opaque", "opaque", "text"] == [block["type"] for block in found[1]["content"]]
    for history in (found, same):
        back, _ = sent("ai-sdk", history)
        assert ["tool-call", "tool-result", "text"] == [each["type"] for each in back["messages"][1]["content"]]


@pytest.mark.parametrize(
    "part",
    [
        {"type": "source-url", "sourceId": "1", "url": "u"},
        {"type": "data-x", "data": 1},
        {"type": "tool-approval-request", "approvalId": "1", "toolCallId": "c1"},
        {"type": 1},
    ],
)
def test_parts_without_a_neutral_form_are_kept(part: Json) -> None:
    """In both kinds of messages (rule V2)."""
    expected = {"type": "opaque", "provider": "ai-sdk", "data_json": json.dumps(part, separators=(",", ":"))}

    assert expected == first(part)
    assert expected == loaded(ui("assistant", part))[0]["content"][0]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (options("anthropic", signature="s"), {"provider": "anthropic", "model": MODEL, "signature": "s"}),
        (options("amazonBedrock", signature="s"), {"provider": "bedrock", "model": MODEL, "signature": "s"}),
        (options("vertex", thoughtSignature="s"), {"provider": "gemini", "model": MODEL, "signature": "s"}),
        ({}, {}),
        (options("anthropic", signature=""), {}),
        (options("xai", itemId="x"), {}),
    ],
)
def test_reasoning(given: Json, expected: Json) -> None:
    """It is thinking with the signature of its provider, made by the model that the caller names (rule V4)."""
    found = first({"type": "reasoning", "text": "hm", **given}, MODEL)
    found.pop("provider_metadata", None)

    assert {"type": "thinking", "text": "hm", **expected} == found


def test_redacted_reasoning() -> None:
    """It has no text (rule V4)."""
    found = first({"type": "reasoning", "text": "", **options("anthropic", redactedData="AAAA")})

    assert {"type": "redacted_thinking", "data": "AAAA", "provider": "anthropic"} == found


def test_the_reasoning_of_openai_is_an_item() -> None:
    """Parts of one item are its summaries; OpenAI gets it, and the AI SDK the parts as they were (rule V4)."""
    parts = [
        {"type": "reasoning", "text": "a", **options("openai", itemId="rs_1", reasoningEncryptedContent=None)},
        {"type": "reasoning", "text": "b", **options("openai", itemId="rs_1", reasoningEncryptedContent="AAAA")},
        {"type": "reasoning", "text": "", **options("azure", reasoningEncryptedContent="BBBB")},
    ]
    history = loaded(HI, model(*parts, TEXT), HI)
    one, other = (json.loads(block["data_json"]) for block in history[1]["content"][:2])
    summary = [{"type": "summary_text", "text": words} for words in "ab"]

    assert {"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "AAAA"} == one
    assert {"type": "reasoning", "summary": [], "encrypted_content": "BBBB"} == other
    assert [*parts, TEXT] == sent("ai-sdk", history)[0]["messages"][1]["content"]
    back = sent("openai-responses", history, "gpt-5", {"store": False})[0]["input"]
    assert ["AAAA", "BBBB"] == [item["encrypted_content"] for item in back if item.get("type") == "reasoning"]


def test_an_item_that_only_the_server_has_comes_back_to_the_ai_sdk() -> None:
    """It has an id alone, at the end of a message too (rule V4)."""
    part = {"type": "reasoning", "text": "a", **options("openai", itemId="rs_1")}
    history = loaded(HI, model(TEXT, part, call()), tool(answer()))
    alone = loaded(HI, model(part))[1]["content"]

    assert [TEXT, part, call()] == sent("ai-sdk", history)[0]["messages"][1]["content"]
    assert ["opaque"] == [block["type"] for block in alone]


@pytest.mark.parametrize(
    "part",
    [
        {**TEXT, **options("openai", itemId="msg_1")},
        {**TEXT, **options("anthropic", cacheControl={"type": "ephemeral"})},
        {**TEXT, **options("google", thoughtSignature="s")},
        {**FILE, **options("openai", imageDetail="low")},
        {"type": "reasoning", "text": "hm", "providerOptions": {"anthropic": {"signature": "s", "x": 1}, "y": {}}},
        {"type": "reasoning", "text": "hm", **options("xai", itemId="x")},
    ],
)
def test_the_options_of_a_part_come_back(part: Json) -> None:
    """Whatever they say (rule V4)."""
    history = loaded(HI, model(part, TEXT), HI)

    assert [part, TEXT] == sent("ai-sdk", history)[0]["messages"][1]["content"]


def test_the_options_of_messages_and_results_come_back() -> None:
    """They belong to the message, the result or the output."""
    asked = {**user(TEXT), **options("a", b=1)}
    output = {"type": "error-json", "value": {"a": 1}, **options("a", b=2)}
    answered = tool(answer(output=output, **options("a", b=3)))
    history = loaded(asked, model(call()), answered)
    back = sent("ai-sdk", history)[0]["messages"]

    assert [{**asked, "content": "Hi"}, answered] == [back[0], back[2]]


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (FILE, {"mime_type": "image/png", "data_base64": "AAAA"}),
        ({**FILE, "data": "https://a.example", "filename": "a"}, {"url": "https://a.example", "name": "a"}),
        ({**FILE, "data": "data:image/gif;base64,AAAA"}, {"mime_type": "image/gif", "data_base64": "AAAA"}),
        ({**FILE, "data": {"type": "url", "url": "https://a.example"}}, {"url": "https://a.example"}),
        ({**FILE, "data": {"type": "data", "data": "AAAA"}}, {"data_base64": "AAAA"}),
        ({**FILE, "data": {"type": "text", "text": "abc"}, "mediaType": "text"}, {"mime_type": "text/*"}),
        ({**FILE, "data": {"0": 97, "1": 98}}, {"data_base64": "YWI="}),
        ({**FILE, "data": {"type": "Buffer", "data": [97, 98]}}, {"data_base64": "YWI="}),
        ({"type": "image", "image": "AAAA"}, {"mime_type": "image/*", "data_base64": "AAAA"}),
        ({"type": "image", "image": "AAAA", "mimeType": "image/png"}, {"mime_type": "image/png"}),
        ({"type": "file", "data": "AAAA"}, {"mime_type": "application/octet-stream"}),
    ],
)
def test_files(part: Json, expected: Json) -> None:
    """Data have many forms, also those in which bytes are written as JSON (rules V5 and X12)."""
    (block,) = loaded(user(part))[0]["content"]

    assert "media" == block["type"]
    assert expected == {key: block[key] for key in expected}


@pytest.mark.parametrize(
    "data",
    [
        None,
        {},
        {"openai": "f1"},
        {"0": 300},
        {"type": "Buffer", "data": "x"},
        {"type": "text", "text": 1},
        {"type": "url"},
    ],
)
def test_a_file_that_only_its_provider_has_is_kept(data: Any) -> None:
    """There are no bytes to read (rule V5)."""
    assert "opaque" == loaded(user({**FILE, "data": data}))[0]["content"][0]["type"]


def test_a_file_of_a_ui_message() -> None:
    """It has an address, or a reference that counts instead."""
    part = {"type": "file", "mediaType": "image/png", "url": "https://a.example"}
    referring = {**part, "providerReference": {"openai": "f1"}}

    assert "https://a.example" == loaded(ui("user", part))[0]["content"][0]["url"]
    kept = json.loads(loaded(ui("user", referring))[0]["content"][0]["data_json"])
    assert {"type": "reference", "reference": {"openai": "f1"}} == kept["data"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([TEXT], [text("Hi")]),
        ([], ""),
        (
            [{"type": "file-data", "data": "AAAA", "mediaType": "image/png"}],
            [{"type": "media", "mime_type": "image/png", "data_base64": "AAAA"}],
        ),
        (
            [{"type": "image-url", "url": "https://a.example"}],
            [{"type": "media", "mime_type": "image/*", "url": "https://a.example"}],
        ),
        (
            [{"type": "file-id", "fileId": "f1"}],
            [{"type": "opaque", "provider": "ai-sdk", "data_json": '{"type":"file-id","fileId":"f1"}'}],
        ),
    ],
)
def test_the_parts_of_an_output(value: Any, expected: Any) -> None:
    """They are texts and files, of which there are many types (rule V5)."""
    found = loaded(*LOOP[:2], tool(answer(output={"type": "content", "value": value})))[-1]["content"][0]

    assert expected == found["content"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"result": "x"}, ("x", False)),
        ({"result": {"a": 1}, "isError": True}, ('{"a":1}', True)),
        ({"output": {"a": 1}}, ('{"a":1}', False)),
        ({"output": {"type": "execution-denied"}}, ("Tool execution denied.", True)),
        ({}, ("null", False)),
    ],
)
def test_results_of_other_versions(given: Json, expected: tuple[str, bool]) -> None:
    """A result may be plain (rule X12)."""
    part = {"type": "tool-result", "toolCallId": "c1", "toolName": "look", **given}
    found = loaded(*LOOP[:2], tool(part))[-1]["content"][0]

    assert expected == (found["content"], found["is_error"])


def test_calls_and_results_without_ids_are_paired() -> None:
    """They get an id, and the report says so; arguments may have an older name (rule X12)."""
    bare = {"type": "tool-call", "toolName": "look", "args": {"a": 1}}
    request = read_request(body(HI, model(bare), tool({"type": "tool-result", "toolName": "look", "result": "x"})))
    made, found = (message["content"][0] for message in request.messages[1:])

    assert (made["id"], '{"a":1}') == (found["tool_call_id"], made["arguments"])
    assert ["synthesized"] == [change.action for change in request.report]


def test_an_empty_message_is_an_empty_text() -> None:
    """It says nothing."""
    assert [[text("")]] * 3 == [
        message["content"] for message in loaded(ui("user"), {"role": "assistant", "content": None}, user())
    ]


def test_what_is_not_part_of_the_history_is_reported() -> None:
    """It is the caller's extra, or what useChat sends beside the messages."""
    report = read_request(body(HI, id="chat", trigger="submit-message")).report

    assert ["id", "trigger"] == [change.why.split()[0] for change in report]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": [1]}, "messages[0]"),
        ({"messages": [{"role": "x"}]}, "messages[0].role"),
        (body({"role": "user", "content": 1}), "messages[0].content"),
        (body(user(1)), "messages[0].content[0]"),
        (body(user({"type": "text"})), "messages[0].content[0].text"),
        (body(ui("assistant", {"type": "dynamic-tool"})), "messages[0].parts[0].toolName"),
        (body(model({**call(), "toolCallId": 1})), "messages[0].content[0].toolCallId"),
        (body(user({**TEXT, "providerOptions": 1})), "messages[0].content[0].providerOptions"),
        (
            body(model({"type": "reasoning", "text": "", "providerOptions": 1})),
            "messages[0].content[0].providerOptions",
        ),
        (body(HI, system={"content": 1}), "system[0].content"),
    ],
)
def test_what_is_not_a_conversation(given: Json, field: str) -> None:
    """It is refused, with its place."""
    with pytest.raises(InvalidMessage) as raised:
        read_request(given)

    assert field == raised.value.data["field"]


def test_there_are_no_responses() -> None:
    """Nobody answers in this format, so there is nothing to ingest."""
    with pytest.raises(InvalidParams, match="format: ai-sdk has no responses; load a whole conversation instead"):
        read_response("ai-sdk", "{}")
