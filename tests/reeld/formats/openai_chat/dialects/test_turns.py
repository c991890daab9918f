"""The order of messages, and ids: Mistral, Gemini's compatible endpoint, xAI and chat templates."""

import re
from typing import Any

import pytest

from tests.reeld.formats.histories import IMAGE, call, model, result, text, tool, user
from tests.reeld.formats.openai_chat.dialects.chatting import CALL, answer, chat

LOOKED = ["Hi", model(call()), tool(result()), "Stop"]
LOCAL = ["vllm", "llama.cpp", "lm-studio"]


def roles(messages: list[dict[str, Any]]) -> list[str]:
    """Return the role of each message."""
    return [message["role"] for message in messages]


def ids(messages: list[dict[str, Any]]) -> list[str]:
    """Return the ids of the calls."""
    return [made["id"] for message in messages for made in message.get("tool_calls", [])]


@pytest.mark.parametrize(
    ("dialect", "name"), [("mistral", None), ("gemini", None), ("vllm", "mistralai/Devstral-Small-2-24B")]
)
def test_the_assistant_speaks_between_a_result_and_the_user(dialect: str, name: str | None) -> None:
    """What it says is reported (rules D10, D12 and D17)."""
    messages, why = chat(dialect, LOOKED, name)

    assert ["user", "assistant", "tool", "assistant", "user"] == roles(messages)
    assert any("must speak between" in reason for reason in why)


def test_a_blank_answer_to_a_result_is_not_nothing_for_mistral() -> None:
    """The user speaks next, so that something must stand between (rule D12)."""
    history = ["Hi", model(call()), tool(result()), model(" ")]

    assert ["user", "assistant", "tool"] == roles(chat("mistral", history)[0])
    assert ["user", "assistant", "tool", "assistant", "user"] == roles(chat("mistral", [*history, "So?"])[0])


def test_media_of_a_result_are_the_users_words_too() -> None:
    """The assistant speaks before them (rule D12)."""
    history = ["Hi", model(call()), tool(result(content=[text("See"), IMAGE]))]

    assert ["user", "assistant", "tool", "assistant", "user"] == roles(chat("mistral", history)[0])


@pytest.mark.parametrize("dialect", ["openrouter", "xai", "vllm"])
def test_elsewhere_the_user_may_follow_a_result(dialect: str) -> None:
    """Nothing is put between them."""
    assert ["user", "assistant", "tool", "user"] == roles(chat(dialect, LOOKED)[0])


@pytest.mark.parametrize(("dialect", "name"), [("mistral", "mistral-large-latest"), ("vllm", "Mistral-7B-Instruct")])
def test_ids_are_of_nine_characters(dialect: str, name: str) -> None:
    """One that is stays; another is a hash, a different one if it comes again (rules D11 and D17)."""
    history = [
        "Hi",
        model(call("abcDEF123"), call("call_1")),
        tool(result("abcDEF123"), result("call_1")),
        model(call("call_1"), call("abcDEF123")),
        tool(result("call_1"), result("abcDEF123")),
    ]
    found = ids(chat(dialect, history, name)[0])

    assert "abcDEF123" == found[0]
    assert 4 == len({name for name in found if re.fullmatch("[a-zA-Z0-9]{9}", name)})


def test_instructions_in_mid_history_are_the_users_for_mistral() -> None:
    """A system message after the assistant is refused (rule D12)."""
    messages, why = chat(
        "mistral",
        [{"role": "system", "content": "S"}, "Hi", model("OK"), user("Be brief", provider="openai", role="system")],
    )

    assert ["system", "user", "assistant", "user"] == roles(messages)
    assert ["a system message is sent as the user's"] == why


@pytest.mark.parametrize("dialect", [*LOCAL, "gemini"])
def test_neighbours_of_one_role_are_one_message(dialect: str) -> None:
    """So are the messages of the prompt, and instructions in mid-history are the user's (rule D16)."""
    prompt = {"role": "system", "content": [text("A"), text("B")]}
    history = [prompt, "Hi", "there", model("OK"), model("so"), "And", user("now", provider="openai", role="developer")]
    messages, why = chat(dialect, history)

    assert ["system", "user", "assistant", "user"] == roles(messages)
    assert ["A\nB", "Hi\n\nthere", "OK\n\nso", "And\n\nnow"] == [message["content"] for message in messages]
    assert "a developer message is sent as the user's" in why


@pytest.mark.parametrize("dialect", [*LOCAL, "gemini"])
def test_a_history_begins_with_the_user(dialect: str) -> None:
    """A placeholder takes its place (rules D10 and D16)."""
    assert ["user", "assistant", "user"] == roles(chat(dialect, [model("Hello"), "Hi"])[0])


@pytest.mark.parametrize("dialect", ["xai", "deepseek", "kimi", "qwen", "mistral", *LOCAL])
def test_a_call_without_words_has_an_empty_text(dialect: str) -> None:
    """Null is refused (rules D15 and D16)."""
    assert "" == chat(dialect, ["Hi", model(call()), tool(result())])[0][1]["content"]


def test_the_first_call_of_a_step_is_signed_for_gemini() -> None:
    """A signature goes back to the model that made it; a call that never had one gets Google's dummy (rule D9)."""
    signed = {**CALL, "extra_content": {"google": {"thought_signature": "c2ln"}}}
    history = [
        "Hi",
        answer({"tool_calls": [signed, {**CALL, "id": "call_2"}]}, "gemini-3-pro"),
        tool(result("call_1"), result("call_2")),
        model(call("call_3")),
        tool(result("call_3")),
    ]
    found = [
        made.get("extra_content", {}).get("google")
        for message in chat("gemini", history, "gemini-3-pro")[0]
        for made in message.get("tool_calls", [])
    ]

    assert [
        {"thought_signature": "c2ln"},
        None,
        {"thought_signature": "skip_thought_signature_validator"},
    ] == found


def test_the_signature_of_another_model_is_replaced_for_gemini() -> None:
    """The dummy takes its place, and that is reported (rules D9 and X7)."""
    signed = {**CALL, "extra_content": {"google": {"thought_signature": "c2ln"}}}
    history = ["Hi", answer({"tool_calls": [signed]}, "gemini-2.5-pro"), tool(result("call_1"))]
    messages, why = chat("gemini", history, "gemini-3-pro")

    assert "skip_thought_signature_validator" in str(messages)
    assert 1 == len(why)


def test_gemini_before_version_3_needs_no_signature() -> None:
    """Nothing is put beside its calls (rule D9)."""
    messages, _ = chat("gemini", ["Hi", model(call()), tool(result())], "gemini-2.5-flash")

    assert "extra_content" not in messages[1]["tool_calls"][0]


def test_a_signature_beside_a_text_goes_back_to_gemini() -> None:
    """What is in its place is not a signature is left out (rule D9)."""
    beside = {"google": {"thought_signature": "c2ln"}}
    said = answer({"content": "x", "extra_content": beside}, "gemini-3-pro")

    assert beside == chat("gemini", ["Hi", said, "And?"], "gemini-3-pro")[0][1]["extra_content"]
    said = answer({"content": "x", "extra_content": "c2ln"}, "gemini-3-pro")
    assert "extra_content" not in chat("gemini", ["Hi", said, "And?"], "gemini-3-pro")[0][1]
