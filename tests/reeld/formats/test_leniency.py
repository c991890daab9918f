"""What other clients and servers write is read if it has one meaning (rule X12)."""

import json
from typing import Any

import pytest

from reeld.formats.body import Rendered, RenderRequest
from reeld.formats.ingest import read_request, read_response
from reeld.formats.render import render
from tests.formats.checker import check
from tests.reeld.formats.histories import call, entries_of, model, result, tool, user

Json = dict[str, Any]
EMPTY: list[Any] = ["{}", None, []]
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": {"a": 1}}}


def loaded(format: str, *history: Json, key: str = "messages") -> list[Json]:  # noqa: A002 - the protocol's word
    return read_request(format, json.dumps({key: history})).messages


def rendered(format: str, *messages: Json) -> Rendered:  # noqa: A002 - the protocol's word
    return render(RenderRequest(format), entries_of(messages))[0]


@pytest.mark.parametrize(
    ("format", "key", "said"),
    [
        ("openai-chat", "messages", {"role": "model", "content": {"type": "text", "text": "OK"}}),
        ("openai-responses", "input", {"role": "model", "content": {"type": "output_text", "text": "OK"}}),
        ("anthropic", "messages", {"role": "model", "content": ["OK"]}),
        ("gemini", "contents", {"role": "assistant", "parts": ["OK"]}),
    ],
)
def test_roles_and_shapes_of_another_api_are_read(format: str, key: str, said: Json) -> None:  # noqa: A002 - as above
    """A role by any of its names, an object for a list of one, a bare string for a text."""
    (message,) = loaded(format, said, key=key)

    assert ("assistant", "OK") == (message["role"], message["content"][0]["text"])


def test_arguments_may_be_text_or_object() -> None:
    """Every format reads both; null and an empty list are an object without keys."""
    chat = loaded("openai-chat", {"role": "assistant", "tool_calls": [CALL]})
    given = [{"type": "tool_use", "id": "c", "name": "x", "input": value} for value in EMPTY]
    (claude,) = loaded("anthropic", {"role": "assistant", "content": given})

    assert '{"a":1}' == chat[0]["content"][0]["arguments"]
    assert ["{}"] * 3 == [block["arguments"] for block in claude["content"]]


@pytest.mark.parametrize("missing", [None, ""])
def test_chat_calls_without_ids_get_ids(missing: str | None) -> None:
    """In a request it comes from their place and results match by order; in a response from the response's own id."""
    calls = [{**CALL, "id": missing}, {**CALL, "id": "mine"}]
    asked, answered = loaded(
        "openai-chat", {"role": "assistant", "tool_calls": calls}, {"role": "tool", "content": "done"}
    )
    body = {"id": "r", "choices": [{"message": {"role": "assistant", "tool_calls": calls}}]}
    one, other = (read_response("openai-chat", json.dumps(body))[0] for _ in range(2))

    assert ["call_0_0", "mine"] == [block["id"] for block in asked["content"]]
    assert "call_0_0" == answered["content"][0]["tool_call_id"]
    assert one == other
    assert 2 == len({block["id"] for block in one["content"]})


def test_responses_reads_calls_and_results_of_chat() -> None:
    """Those inside an assistant's and a tool's message become items of their own."""
    asked, answered = loaded(
        "openai-responses",
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "done"},
        key="input",
    )

    assert [call(arguments='{"a":1}')] == asked["content"][1:]
    assert ["c1", "done"] == [answered["content"][0][key] for key in ("tool_call_id", "content")]


def test_an_output_that_is_an_object_is_its_text() -> None:
    """Other providers get the text."""
    item = {"type": "function_call_output", "call_id": "c1", "output": {"a": 1}}
    (found,) = loaded("openai-responses", item, key="input")

    assert '{"a":1}' == found["content"][0]["content"]


def test_calls_and_results_belong_to_their_roles() -> None:
    """A result in an assistant's message is the tool's, a call in a user's message the assistant's."""
    found = loaded(
        "gemini",
        {"role": "user", "parts": [{"functionCall": {"name": "look", "id": "c1"}}]},
        {"role": "model", "parts": [{"functionResponse": {"name": "look", "id": "c1", "response": "done"}}]},
        key="contents",
    )

    assert ["assistant", "tool"] == [message["role"] for message in found]
    assert "done" == found[1]["content"][0]["content"]


def test_null_fields_count_as_absent() -> None:
    """Some clients write every key of a part."""
    part = {"text": None, "functionCall": {"name": "look", "id": "c1", "args": None}}
    (found,) = loaded("gemini", {"role": "model", "parts": [part]}, key="contents")

    assert [call()] == found["content"]


@pytest.mark.parametrize("format", ["openai-chat", "openai-responses"])
@pytest.mark.parametrize(
    ("content", "sent"),
    [("no tape", "Error: no tape"), ("Error 5", "Error 5"), ([], "Error: "), ([{"type": "media"}], "Error: ")],
)
def test_a_failed_result_without_a_flag_says_so_in_its_text(format: str, content: Any, sent: str) -> None:  # noqa: A002 - as above
    """The report names the change."""
    media = {"type": "media", "mime_type": "video/mp4", "url": "https://example.org"}
    content = [media] if content and isinstance(content, list) else content or ""
    found = rendered(format, user("Hi"), model(call()), tool(result(content=content, is_error=True)))
    last = json.loads(found.body)["messages" if format == "openai-chat" else "input"][-1]

    assert sent == (last.get("content") or last.get("output"))
    assert "downgraded" in [change.action for change in found.report]
    assert [] == check(format.replace("-", "_"), json.loads(found.body))


def test_blocks_of_new_types_go_back_to_anthropic() -> None:
    """One that Anthropic answered with is sent as it came; one from a request is not."""
    block = {"type": "hologram", "z": 1}
    body = {"content": [block, {"type": "text", "text": "OK"}], "model": "claude-opus-4-8"}
    answer = read_response("anthropic", json.dumps(body))
    claimed = loaded("anthropic", {"role": "assistant", "content": body["content"]})
    sent = [json.loads(rendered("anthropic", user("Hi"), *said).body)["messages"][1] for said in (answer, claimed)]

    assert [block, body["content"][1]] == sent[0]["content"]
    assert [body["content"][1]] == sent[1]["content"]
