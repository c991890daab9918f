"""What the servers that speak Chat Completions have in common, and which one a model's name tells."""

import json
from typing import Any

import pytest

from reeld.formats.body import RenderRequest
from reeld.formats.openai_chat.dialects import DIALECTS, dialect_for
from reeld.formats.render import render
from tests.formats.checker.chat_dialects import SERVERS
from tests.reeld.formats.histories import IMAGE, PDF, SOUND, call, entries_of, model, opaque, result, text, tool, user
from tests.reeld.formats.openai_chat.dialects.chatting import CALL, answer, chat, loop

CUSTOM = {"provider": "openai", "type": "custom_tool_call"}
PDF_BYTES = {"type": "media", "mime_type": "application/pdf", "data_base64": "AAAA"}
LINKED = {"type": "media", "mime_type": "image/*", "url": "https://example.org/a.png"}
OTHERS = list(SERVERS)


def test_checker_and_daemon_know_the_same_dialects() -> None:
    """They are listed in one order."""
    assert ("openai", *SERVERS) == tuple(DIALECTS)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("deepseek-v4-pro", "deepseek"),
        ("deepseek-chat", "deepseek"),
        ("kimi-k2.6", "kimi"),
        ("moonshot-v1-8k", "kimi"),
        ("qwen3.7-max", "qwen"),
        ("qwen3-coder-plus", "qwen"),
        ("openrouter/auto", "openrouter"),
        ("deepseek/deepseek-r1:free", "openrouter"),
        ("gemini-3-pro-preview", "gemini"),
        ("mistral-large-latest", "mistral"),
        ("open-mistral-nemo", "mistral"),
        ("grok-4-1-fast", "xai"),
        ("deepseek-v4.1", "deepseek"),
        ("deepseek-flash", "deepseek"),
        ("glm-5.2", "glm"),
        ("MiniMax-M3", "minimax"),
        ("mimo-v2.5-pro", "mimo"),
        ("sonar", "perplexity"),
        ("sonar-pro", "perplexity"),
        ("sonarr", "openai"),
        ("gpt-5.2", "openai"),
        ("deepseek-ai/DeepSeek-V4", "openai"),
        ("anthropic/claude-opus-5", "openai"),
        ("qwen3:8b", "openai"),
        ("qwen3-32b", "openai"),
        (None, "openai"),
    ],
)
def test_a_model_tells_its_dialect(name: str | None, expected: str) -> None:
    """A name that may be anybody's tells none (rule D2)."""
    assert expected == dialect_for(None, name).name


def test_a_dialect_that_is_named_wins_over_the_model() -> None:
    """A request for DeepSeek's model through OpenRouter has OpenRouter's form."""
    messages, _ = chat("openrouter", ["Hi", *loop("hm", model="deepseek-v4-pro"), "And?"], "deepseek-v4-pro")

    assert "hm" == messages[1]["reasoning"]


def test_openai_as_a_dialect_is_the_format_itself() -> None:
    """Its name forbids what the model's name would tell."""
    entries = entries_of(["Hi", *loop("hm", model="deepseek-v4-pro"), "And?"])
    rendered, _ = render(RenderRequest("openai-chat", "deepseek-v4-pro", dialect="openai"), entries)

    assert "reasoning_content" not in rendered.body


@pytest.mark.parametrize("dialect", OTHERS)
def test_what_only_openai_has_is_sent_in_another_form(dialect: str) -> None:
    """A custom tool is a function, a refusal a text, a developer's message a system message (rule D1)."""
    refused = text("no", provider_metadata={"provider": "openai", "refusal": True})
    custom = call(name="sql", arguments='{"input": "SELECT"}', provider_metadata=CUSTOM)
    messages, why = chat(
        dialect,
        [
            {"role": "system", "content": "Be brief"},
            user("Hi"),
            model(refused),
            user("Now", provider="openai", role="developer"),
            model(custom),
            tool(result()),
            model("OK"),
            "Go on",
        ],
    )

    assert "no" in [message["content"] for message in messages]
    assert [{"name": "sql", "arguments": '{"input": "SELECT"}'}] == [
        made["function"] for message in messages for made in message.get("tool_calls", [])
    ]
    assert any("no custom tools" in reason for reason in why)


@pytest.mark.parametrize("dialect", OTHERS)
def test_media_that_a_server_does_not_read_are_left_out(dialect: str) -> None:
    """What is sent suits the server, and what is not is reported (rules D4, D10, D13, D20 and D21)."""
    every = [IMAGE, LINKED, PDF, PDF_BYTES, SOUND, {**IMAGE, "mime_type": "image/webp"}]
    messages, why = chat(dialect, [user("See", *every)])
    content = messages[0]["content"]
    sent = len(content) - 1 if isinstance(content, list) else 0

    assert len(every) == sent + len(why)


def test_media_are_sent_in_the_form_of_the_server() -> None:
    """A document is Mistral's own part, and a picture for Gemini (rules D10 and D13)."""
    assert [{"type": "document_url", "document_url": "data:application/pdf;base64,AAAA"}] == chat(
        "mistral", [user(PDF_BYTES)]
    )[0][0]["content"]
    assert [{"type": "image_url", "image_url": {"url": "data:application/pdf;base64,AAAA"}}] == chat(
        "gemini", [user(PDF_BYTES)]
    )[0][0]["content"]


@pytest.mark.parametrize("dialect", ["mistral", "qwen", "gemini", "vllm", "llama.cpp", "lm-studio"])
def test_a_speaker_without_a_name(dialect: str) -> None:
    """The name is left out, and that is reported, except where messages are joined (rule D1)."""
    messages, _ = chat(dialect, [user("Hi", provider="openai", name="ada")])

    assert [{"role": "user", "content": "Hi"}] == messages


@pytest.mark.parametrize("dialect", OTHERS)
def test_reasoning_of_another_model_is_not_sent(dialect: str) -> None:
    """It is left out, and reported (rule X7)."""
    messages, why = chat(dialect, ["Hi", *loop("SECRET", model="other-1"), "And?"], "one-2")

    assert "SECRET" not in json.dumps(messages)
    assert 2 == len([reason for reason in why if "thinking" in reason or "reasoning" in reason])


@pytest.mark.parametrize("dialect", OTHERS)
def test_signatures_that_a_server_does_not_read_are_reported(dialect: str) -> None:
    """Only Gemini's endpoint gets them (rule D9)."""
    signed: dict[str, Any] = {"extra_content": {"google": {"thought_signature": "c2ln"}}}
    said = answer({"content": "x", "tool_calls": [{**CALL, **signed}], **signed}, "gemini-3-pro")
    messages, why = chat(dialect, ["Hi", said, tool(result("call_1"))], "gemini-3-pro")

    is_gemini = dialect in ("gemini", "vertex", "ai-studio")
    assert ("c2ln" in json.dumps(messages)) == is_gemini
    assert [2, 0][is_gemini] == len([reason for reason in why if "signature" in reason])


@pytest.mark.parametrize(
    ("made_in", "target", "goes"),
    [
        ("vertex", "vertex", True),
        ("vertex", "gemini", True),
        ("gemini", "ai-studio", True),
        ("vertex", "ai-studio", False),
        ("ai-studio", "vertex", False),
    ],
)
def test_neither_server_of_gemini_gets_what_the_other_signed(made_in: str, target: str, *, goes: bool) -> None:
    """The answer brings back which one it was (rule G13); a call has Google's dummy instead."""
    signed: dict[str, Any] = {"extra_content": {"google": {"thought_signature": "c2ln"}}}
    asked = render(RenderRequest("openai-chat", "gemini-3-pro", dialect=made_in), entries_of(["Hi"]))[0].prefix.body
    said = answer({"content": "x", "tool_calls": [{**CALL, **signed}], **signed}, "gemini-3-pro", asked)
    messages, why = chat(target, ["Hi", said, tool(result("call_1"))], "gemini-3-pro")

    assert [0, 2][goes] == json.dumps(messages).count("c2ln")
    assert [1, 0][goes] == json.dumps(messages).count("skip_thought_signature_validator")
    assert [2, 0][goes] == len([reason for reason in why if "signature" in reason])


def test_a_thought_without_text_is_left_out() -> None:
    """Nothing of it can be sent, and that is reported."""
    _, why = chat("vllm", ["Hi", model({"type": "thinking", "text": " ", "provider": "openai"}, "x"), "And?"])

    assert ["an empty thought"] == why


def test_what_openai_keeps_is_for_openai() -> None:
    """Another server knows no file of that id (rule D1)."""
    kept = {"provider": "openai", "format": "openai-chat"}
    block = opaque('{"type":"file","file":{"file_id":"f"}}', "openai", provider_metadata=kept)

    assert ["an opaque block; xAI has none"] == chat("xai", [user(block, "x")])[1]


def test_redacted_thinking_is_anthropics() -> None:
    """It is left out, whatever provider it names."""
    hidden = {"type": "redacted_thinking", "data": "x", "provider": "openai"}

    assert ["vLLM has no redacted thinking"] == chat("vllm", ["Hi", model(hidden, "x"), "And?"])[1]
