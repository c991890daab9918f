"""What ``extra`` cannot have, because the API refuses the request, or because the history would be sent twice."""

import json
import re
from typing import Any

import pytest

from reel.base.errors import InvalidMessage, InvalidParams
from reeld.formats.ingest import read_request
from tests.reeld.formats.sending import sent

FUNCTION = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
CUSTOM = {"type": "custom", "custom": {"name": "look"}}
CONTINUED = [
    ("openai-responses", "previous_response_id", "resp_1"),
    ("openai-responses", "conversation", "conv_1"),
    ("anthropic", "thread", {"type": "continue", "previous_message_id": "msg_1"}),
    ("anthropic", "thread", {"type": "create"}),
    ("gemini-interactions", "previous_interaction_id", "1"),
]


@pytest.mark.parametrize(("name", "key", "value"), CONTINUED)
def test_a_body_with_the_whole_history_continues_nothing(name: str, key: str, value: Any) -> None:
    """The history would be sent, and paid for, twice (rules R8, A18 and I8)."""
    with pytest.raises(InvalidParams, match=f"extra: {key} continues a history on the server"):
        sent(name, ["Hi"], extra={key: value})


@pytest.mark.parametrize(("name", "key", "value"), [row for row in CONTINUED if row[2] != {"type": "create"}])
def test_a_request_that_continues_another_is_not_loaded(name: str, key: str, value: Any) -> None:
    """Its beginning is elsewhere; one that begins a thread is whole."""
    history = {"anthropic": "messages"}.get(name, "input")
    with pytest.raises(InvalidMessage, match="the history begins outside this body") as refused:
        read_request(name, f'{{"{history}": [], "{key}": {json.dumps(value)}}}')

    assert key == refused.value.data["field"]
    whole = read_request("anthropic", '{"messages": [{"role": "user", "content": "Hi"}], "thread": {"type": "create"}}')
    assert 1 == len(whole.messages)


@pytest.mark.parametrize("model", ["gpt-5.6", "gpt-5.6-terra", "gpt-6-sol", "gpt-6", "gpt-10.1"])
def test_newer_models_take_no_functions_at_chat_completions(model: str) -> None:
    """The error says what to do; without reasoning they take them (rule C10)."""
    for more in ({}, {"reasoning_effort": "low"}):
        with pytest.raises(InvalidParams, match=re.escape(f"tools: {model} takes no functions")) as refused:
            sent("openai-chat", ["Hi"], model, {"tools": [CUSTOM, FUNCTION], **more})
        assert "openai-responses" in str(refused.value)

    assert [FUNCTION] == sent("openai-chat", ["Hi"], model, {"tools": [FUNCTION], "reasoning_effort": "none"})[0][
        "tools"
    ]
    assert [CUSTOM] == sent("openai-chat", ["Hi"], model, {"tools": [CUSTOM]})[0]["tools"]


@pytest.mark.parametrize("model", ["gpt-5.5", "gpt-5", "gpt-4o", "gpt-4.1-mini", "deepseek-chat", None])
def test_others_take_functions_at_chat_completions(model: str | None) -> None:
    """Older models, and those of other servers."""
    assert [FUNCTION] == sent("openai-chat", ["Hi"], model, {"tools": [FUNCTION]})[0]["tools"]


def thinking_of(name: str, kind: Any) -> dict[str, Any]:
    """Return what sets a kind of thinking in a format."""
    setting = {"thinking": {"type": kind}}
    return setting if name == "anthropic" else {"additionalModelRequestFields": setting}


@pytest.mark.parametrize("name", ["anthropic", "bedrock-converse"])
@pytest.mark.parametrize(
    ("model", "kind"),
    [
        ("claude-opus-5-5", "enabled"),
        ("us.anthropic.claude-opus-5-5-v1:0", "disabled"),
        ("claude-fable-5-1", "disabled"),
        ("claude-mythos-5", "enabled"),
        ("claude-sonnet-5-5@20260928", "disabled"),
        ("claude-haiku-5-5", "enabled"),
        ("claude-opus-6", "disabled"),
    ],
)
def test_newer_models_think_as_much_as_they_want(name: str, model: str, kind: str) -> None:
    """The error says what to set instead (rule A24)."""
    with pytest.raises(InvalidParams, match=re.escape(f"thinking: {model} does not take the type '{kind}'")) as refused:
        sent(name, ["Hi"], model, thinking_of(name, kind))

    assert "adaptive" in str(refused.value)
    assert "effort" in str(refused.value)
    sent(name, ["Hi"], model, thinking_of(name, "adaptive"))


@pytest.mark.parametrize("name", ["anthropic", "bedrock-converse"])
@pytest.mark.parametrize(
    ("model", "kind"),
    [
        ("claude-opus-5", "disabled"),
        ("claude-sonnet-4-6", "enabled"),
        ("claude-haiku-5-5", "disabled"),
        ("claude-opus-5-5", 1),
        ("my-alias", "enabled"),
        ("claude-3-7-sonnet-latest", "enabled"),
    ],
)
def test_others_are_told_how_to_think(name: str, model: str, kind: Any) -> None:
    """Older models, one behind an alias, and what is no kind at all."""
    sent(name, ["Hi"], model, thinking_of(name, kind))


def choice_of(name: str, kind: str) -> dict[str, Any]:
    """Return what says that a tool is to be called, in a format."""
    tools: dict[str, Any] = {"input_schema": {}} if name == "anthropic" else {"inputSchema": {"json": {}}}
    named = {"name": "look"} if kind == "tool" else {}
    if name == "anthropic":
        return {"tools": [{"name": "look", **tools}], "tool_choice": {"type": kind, **named}}
    return {"toolConfig": {"tools": [{"toolSpec": {"name": "look", **tools}}], "toolChoice": {kind: named}}}


@pytest.mark.parametrize("name", ["anthropic", "bedrock-converse"])
@pytest.mark.parametrize(
    "model", ["claude-opus-5-5", "us.anthropic.claude-fable-5-1", "claude-mythos-5-1", "claude-sonnet-6"]
)
@pytest.mark.parametrize("kind", ["any", "tool"])
def test_newer_models_are_not_told_to_call_a_tool(name: str, model: str, kind: str) -> None:
    """The error says what to do instead; what leaves it to the model is sent (rule A25)."""
    with pytest.raises(InvalidParams, match=re.escape(f"{model} does not take '{kind}'; leave")):
        sent(name, ["Hi"], model, choice_of(name, kind))

    sent(name, ["Hi"], model, choice_of(name, "auto"))


@pytest.mark.parametrize("name", ["anthropic", "bedrock-converse"])
@pytest.mark.parametrize(
    "model", ["claude-opus-5", "claude-fable-5", "claude-haiku-5-5", "my-alias", "claude-sonnet-4-6"]
)
def test_others_are_told_to_call_a_tool(name: str, model: str) -> None:
    """Unless their thinking is enabled with a budget."""
    sent(name, ["Hi"], model, choice_of(name, "any"))

    with pytest.raises(InvalidParams, match="thinking"):
        sent(name, ["Hi"], model, {**choice_of(name, "any"), **thinking_of(name, "enabled")})


@pytest.mark.parametrize("choice", [None, "any", [], {}, {"type": ["any"]}, {"any": 1, "x": 2}, 1])
def test_what_is_no_choice_is_for_the_api_to_judge(choice: Any) -> None:
    """Nothing fails here."""
    sent("anthropic", ["Hi"], "claude-opus-5", {"tool_choice": choice})
    sent("bedrock-converse", ["Hi"], "claude-opus-5", {"toolConfig": {"toolChoice": choice}})
