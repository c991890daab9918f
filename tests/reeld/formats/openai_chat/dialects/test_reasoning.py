"""Reasoning that goes back: DeepSeek, Kimi, Qwen, OpenRouter, Mistral, vLLM and llama.cpp."""

from typing import Any

import pytest

from tests.reeld.formats.histories import call, model, result, text, tool, user
from tests.reeld.formats.openai_chat.dialects.chatting import CALL, answer, chat, loop, thought

SIGNED = [
    {"type": "reasoning.text", "text": "hm", "signature": "Et8", "format": "anthropic-claude-v1", "index": 0},
    {"type": "reasoning.encrypted", "data": "gAAA", "id": "call_1", "index": 1},
]


def reasoning(messages: list[dict[str, Any]], key: str = "reasoning_content") -> list[Any]:
    """Return the reasoning of the assistant's messages."""
    return [message.get(key) for message in messages if message["role"] == "assistant"]


def test_deepseek_gets_the_reasoning_of_tool_loops() -> None:
    """Elsewhere the server ignores it, but wants the key (rule D3)."""
    plain = model(thought("alone", "deepseek-v4-pro"), "Hello")
    history = ["Hi", plain, "Look", *loop("hm", model="deepseek-v4-pro"), "And?"]
    messages, why = chat("deepseek", history, "deepseek-v4-pro")

    assert ["", "hm", "hm!"] == reasoning(messages)
    assert ["DeepSeek ignores reasoning outside of a tool loop"] == why


def test_deepseek_gets_an_empty_text_for_calls_of_others() -> None:
    """The key is required even if there never was any reasoning (rule D3)."""
    assert [""] == reasoning(chat("deepseek", ["Hi", model(call()), tool(result())])[0])


def test_glm_gets_the_reasoning_of_tool_loops() -> None:
    """That of earlier turns only if the request keeps it (rule D22)."""
    history = ["Hi", model(thought("alone", "glm-5.2"), "Hello"), "Look", *loop("hm", model="glm-5.2"), "And?"]
    kept = {"thinking": {"type": "enabled", "clear_thinking": False}}

    assert [None, "hm", "hm!"] == reasoning(chat("glm", history, "glm-5.2")[0])
    assert ["alone", "hm", "hm!"] == reasoning(chat("glm", history, "glm-5.2", kept)[0])


def test_minimax_gets_the_reasoning_of_tool_loops_as_details() -> None:
    """As they came; other reasoning in the same form (rule D23)."""
    details = [{"type": "reasoning.text", "id": "r1", "format": "MiniMax-response-v1", "index": 0, "text": "hm"}]
    called = answer({"content": "", "reasoning_details": details, "tool_calls": [CALL]}, "MiniMax-M3")
    history = ["Hi", called, tool(result("call_1")), model(thought("So", "MiniMax-M3"), "Done"), "And?"]
    messages, _ = chat("minimax", [*history, model(thought("alone", "MiniMax-M3"), "Yes"), "Oh"], "MiniMax-M3")

    assert [details, [{"type": "reasoning.text", "text": "So"}], None] == reasoning(messages, "reasoning_details")


def test_mimo_gets_reasoning_with_every_call() -> None:
    """A space stands for what another provider did not write, and content is a text (rule D24)."""
    history = ["Hi", *loop("hm", model="mimo-v2.5-pro"), "Look", model(call("c2")), tool(result("c2"))]
    messages, _ = chat("mimo", history, "mimo-v2.5-pro")

    assert ["hm", "hm!", " "] == reasoning(messages)
    assert ["", "Done", ""] == [message["content"] for message in messages if message["role"] == "assistant"]


def test_a_loop_ends_when_the_user_speaks() -> None:
    """What the model says after that is of a new turn (rule D3)."""
    history = ["Hi", model(call()), tool(result()), "Stop", model(thought("hm", "deepseek-chat"), "OK"), "And?"]

    assert ["", ""] == reasoning(chat("deepseek", history, "deepseek-chat")[0])


def test_reasoning_alone_joins_the_next_message() -> None:
    """A message that is nothing but reasoning is not sent by itself."""
    history = ["Hi", model(thought("a", "m")), model(thought("b", "m"), call()), tool(result())]
    messages, _ = chat("kimi", history, "m")

    assert ["a\n\nb"] == reasoning(messages)
    assert ["user", "assistant", "tool"] == [message["role"] for message in messages]


def test_reasoning_before_text_and_calls_of_two_messages() -> None:
    """The calls are in the last message, after a text of the one before."""
    history = ["Hi", model(thought("a", "m"), "x"), model(call()), tool(result())]

    assert [("x", "a"), ("", " ")] == [
        (message["content"], message["reasoning_content"])
        for message in chat("kimi", history, "m")[0]
        if message["role"] == "assistant"
    ]


def test_kimi_gets_a_space_for_calls_without_reasoning() -> None:
    """An empty text counts as missing; messages without calls need none (rule D5)."""
    history = ["Hi", model("Hello"), "Look", model(call()), tool(result()), model("x"), "And?"]

    assert [None, " ", None] == reasoning(chat("kimi", history)[0])


def test_kimi_gets_all_reasoning() -> None:
    """Some of its models read that of every turn (rule D5)."""
    history = ["Hi", model(thought("alone", "kimi-k3"), "Hello"), "Look", *loop("hm", model="kimi-k3"), "And?"]

    assert ["alone", "hm", "hm!"] == reasoning(chat("kimi", history, "kimi-k3")[0])


def test_kimi_gets_its_own_ids() -> None:
    """An id that the model made stays; another one is as everywhere, also if it comes again (rule D6)."""
    history = [
        "Hi",
        model(call("functions.look:0"), call("a|b")),
        tool(result("functions.look:0"), result("a|b")),
        model(call("functions.look:0")),
        tool(result("functions.look:0")),
    ]
    ids = [message["tool_call_id"] for message in chat("kimi", history)[0] if message["role"] == "tool"]

    assert "functions.look:0" == ids[0]
    assert 3 == len(set(ids))


@pytest.mark.parametrize(("extra", "expected"), [(None, None), ({"preserve_thinking": True}, "alone")])
def test_qwen_gets_past_reasoning_on_request(extra: dict[str, Any] | None, expected: str | None) -> None:
    """That of a tool loop goes back in any case (rule D7)."""
    history = ["Hi", model(thought("alone", "qwen3.7-max"), "Hello"), "Look", *loop("hm", model="qwen3.7-max"), "And?"]

    assert [expected, "hm", "hm!"] == reasoning(chat("qwen", history, "qwen3.7-max", extra)[0])


def test_openrouter_gets_its_details_unchanged() -> None:
    """The plain text beside them is left out (rule D8)."""
    said = answer({"content": "x", "reasoning": "hm", "reasoning_details": SIGNED}, "anthropic/claude-opus-5")
    messages, why = chat("openrouter", ["Hi", said, "And?"], "anthropic/claude-opus-5")

    assert {"role": "assistant", "content": "x", "reasoning_details": SIGNED} == messages[1]
    assert [] == why


def test_openrouter_gets_encrypted_details_without_a_text() -> None:
    """A detail follows its call to the id under which it is sent (rule D8)."""
    given = "tool_0_look:1"
    made = {**CALL, "id": given}
    said = answer({"tool_calls": [made], "reasoning_details": [{**SIGNED[1], "id": given}]}, "google/gemini-3-pro")
    messages, _ = chat("openrouter", ["Hi", said, tool(result(given))], "google/gemini-3-pro")

    assert messages[1]["tool_calls"][0]["id"] == messages[1]["reasoning_details"][0]["id"] != given


def test_openrouter_gets_plain_reasoning_as_such() -> None:
    """Some providers give no details (rule D8)."""
    said = answer({"content": "x", "reasoning": "hm"}, "z-ai/glm-5")

    assert "hm" == chat("openrouter", ["Hi", said, "And?"], "z-ai/glm-5")[0][1]["reasoning"]


def test_mistral_gets_its_reasoning_as_a_part() -> None:
    """It comes before the text, as it came (rule D14)."""
    part = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}], "closed": True}
    said = answer({"content": [part, {"type": "text", "text": "x"}]}, "magistral-medium-latest")
    found = chat("mistral", ["Hi", said, "And?"], "magistral-medium-latest")[0][1]

    assert {"role": "assistant", "content": [part, {"type": "text", "text": "x"}]} == found


def test_mistral_gets_reasoning_with_references_as_it_came() -> None:
    """A part with more than texts inside is kept whole, and has no text beside it if only a call follows (rule D14)."""
    part = {
        "type": "thinking",
        "thinking": [{"type": "text", "text": "hm"}, {"type": "reference", "reference_ids": [1]}],
    }
    said = answer({"content": [part], "tool_calls": [{**CALL, "id": "abcdef123"}]}, "magistral-medium-latest")
    found = chat("mistral", ["Hi", said, tool(result("abcdef123"))], "magistral-medium-latest")[0][1]

    assert [part] == found["content"]
    assert "hm" == said["content"][0]["text"]


@pytest.mark.parametrize("dialect", ["mistral", "vllm", "llama.cpp"])
def test_reasoning_without_a_text_is_not_sent(dialect: str) -> None:
    """An empty text or part would be no reasoning when it is loaded again."""
    metadata = {"provider": "openai", "reasoning_details_json": '[{"type":"reasoning.encrypted"}]'}
    hidden = {"type": "thinking", "text": "", "provider": "openai", "provider_metadata": metadata}

    assert {"role": "assistant", "content": "Hello"} == chat(dialect, ["Hi", model(hidden, "Hello"), "And?"])[0][1]


@pytest.mark.parametrize(("dialect", "key"), [("vllm", "reasoning"), ("llama.cpp", "reasoning_content")])
def test_local_servers_get_all_reasoning(dialect: str, key: str) -> None:
    """The template decides what becomes of it (rules D18 and D19)."""
    history = ["Hi", model(thought("alone", "m"), "Hello"), "Look", *loop("hm", model="m"), "And?"]

    assert ["alone", "hm", "hm!"] == reasoning(chat(dialect, history, "m")[0], key)


@pytest.mark.parametrize("dialect", ["xai", "lm-studio", "gemini"])
def test_other_servers_get_no_reasoning(dialect: str) -> None:
    """It is left out, and reported (rules D15 and D20)."""
    messages, why = chat(dialect, ["Hi", *loop("SECRET", model="m"), "And?"], "m")

    assert "SECRET" not in str(messages)
    assert 2 == len(why)


def test_texts_of_one_message_are_one_string() -> None:
    """Templates join strings (rule D16)."""
    assert "a\n\nb" == chat("vllm", [user(text("a"), text("b"))])[0][0]["content"]
