"""Requests to Anthropic Messages, read."""

from typing import Any

import pytest

from reel.base.errors import InvalidMessage
from reeld.formats.anthropic.read import read_request
from tests.reeld.formats.histories import call, model, opaque, result, text, tool, user
from tests.reeld.formats.sending import sent

MARK = {"type": "ephemeral"}


def loaded(*messages: Any, **more: Any) -> list[dict[str, Any]]:
    return read_request({"messages": list(messages), **more}).messages


def test_an_anthropic_request_becomes_messages() -> None:
    """Results become messages of the role tool; a string becomes one text."""
    use = {"type": "tool_use", "id": "c1", "name": "look", "input": {"a": [1]}}
    answer = {"type": "tool_result", "tool_use_id": "c1", "content": "done", "is_error": True}

    assert [
        {"role": "system", "content": "Be brief"},
        user("Hi"),
        model("Look", call(arguments='{"a":[1]}')),
        tool(result(is_error=True)),
        user("Well?"),
    ] == loaded(
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [text("Look"), use]},
        {"role": "user", "content": [answer, text("Well?")]},
        system="Be brief",
    )


def test_unused_keys_of_an_anthropic_request_are_reported() -> None:
    """Every key but the history, the prompt and the model has a line in the report."""
    found = read_request({"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1, "model": "claude-opus-4-8"})

    assert ["max_tokens"] == [change.why.split()[0] for change in found.report]


def test_anthropic_blocks_are_kept_with_their_own_keys() -> None:
    """Signatures, cache breakpoints and citations are kept; a block without a neutral form is kept whole."""
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    search = {"type": "server_tool_use", "id": "s", "name": "x", "input": {}}
    hidden = {"type": "redacted_thinking", "data": "AAAA"}
    cited = text("OK", citations=[{"a": 1}], cache_control=MARK)
    (found,) = loaded(
        {"role": "assistant", "content": [thought, hidden, {"type": "thinking", "thinking": "x"}, search, cited]},
        model="m",
    )
    maker = {"provider": "anthropic", "model": "m"}

    assert {"type": "thinking", "text": "hm", "signature": "c2ln", **maker} == found["content"][0]
    assert {"type": "redacted_thinking", "data": "AAAA", **maker} == found["content"][1]
    assert {"type": "thinking", "text": "x", **maker} == found["content"][2]
    assert opaque('{"type":"server_tool_use","id":"s","name":"x","input":{}}', model="m") == found["content"][3]
    assert {"provider": "anthropic", "citations_json": '[{"a":1}]', "cache_control": MARK} == found["content"][4][
        "provider_metadata"
    ]


@pytest.mark.parametrize(
    ("kind", "source", "expected"),
    [
        (
            "image",
            {"type": "base64", "media_type": "image/png", "data": "AAAA"},
            {"mime_type": "image/png", "data_base64": "AAAA"},
        ),
        (
            "image",
            {"type": "url", "url": "https://example.org/a"},
            {"mime_type": "image/*", "url": "https://example.org/a"},
        ),
        (
            "document",
            {"type": "url", "url": "https://example.org/a"},
            {"mime_type": "application/pdf", "url": "https://example.org/a"},
        ),
        ("document", {"type": "text", "media_type": "text/plain", "data": "x"}, None),
        ("image", {"type": "file", "file_id": "f"}, None),
    ],
)
def test_anthropic_media_with_bytes_or_url_become_neutral(
    kind: str, source: dict[str, Any], expected: dict[str, Any] | None
) -> None:
    """Other sources, such as uploaded files, are kept whole and go back."""
    block = {"type": kind, "source": source}
    (found,) = loaded({"role": "user", "content": [block]})

    assert expected is None or {"type": "media", **expected} == found["content"][0]
    assert ("opaque" if expected is None else "media") == found["content"][0]["type"]
    assert [block] == sent("anthropic", [found])[0]["messages"][0]["content"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, ""),
        ([], ""),
        ([text("x")], "x"),
        ([text("x"), text("y")], [text("x"), text("y")]),
    ],
)
def test_a_result_of_one_plain_text_is_a_string(content: Any, expected: Any) -> None:
    """A single plain text is stored as a string, anything else as blocks."""
    (found,) = loaded({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": content}]})

    assert expected == found["content"][0]["content"]


def test_system_messages_in_mid_history_and_empty_messages() -> None:
    """A system message becomes a user message with its role; one without content gets an empty text."""
    instruction = {"role": "system", "content": "x", "clear_at": "end"}
    found = loaded({"role": "user", "content": "Hi"}, instruction, {"role": "assistant", "content": []})

    assert [user("Hi"), user("x", provider="anthropic", role="system", clear_at="end"), model("")] == found


def test_system_messages_that_lead_are_the_prompt() -> None:
    """They follow the prompt that stands beside the messages, as in every format (rule X13)."""
    found = loaded({"role": "system", "content": "B"}, {"role": "user", "content": "Hi"}, system="A")

    assert ["system", "user"] == [message["role"] for message in found]
    assert ["A", "B"] == [block["text"] for block in found[0]["content"]]


def test_a_prompt_of_blocks_goes_back_with_its_breakpoints() -> None:
    """A prompt of blocks is written again as it was loaded."""
    blocks = [text("A", cache_control=MARK), text("B")]
    found = loaded({"role": "user", "content": "Hi"}, system=blocks)

    assert blocks == sent("anthropic", found)[0]["system"]
    assert [{"text": "A\nB"}] == sent("gemini", found)[0]["systemInstruction"]["parts"]


@pytest.mark.parametrize(
    ("field", "body"),
    [
        ("messages", {}),
        ("messages", {"messages": []}),
        ("messages", {"messages": "Hi"}),
        ("messages[0]", {"messages": ["Hi"]}),
        ("messages[0].role", {"messages": [{"role": {}, "content": "x"}]}),
        ("messages[0].role", {"messages": [{"role": "narrator", "content": "x"}]}),
        ("messages[0].content", {"messages": [{"role": "user", "content": 1}]}),
        ("messages[0].content[0]", {"messages": [{"role": "user", "content": [1]}]}),
        ("messages[0].content[0].text", {"messages": [{"role": "user", "content": [{"type": "text"}]}]}),
        ("system", {"messages": [{"role": "user", "content": "x"}], "system": [{"type": "image", "source": {}}]}),
    ],
)
def test_an_invalid_anthropic_request_is_refused(field: str, body: dict[str, Any]) -> None:
    """The error names the place."""
    with pytest.raises(InvalidMessage) as refused:
        read_request(body)

    assert field == refused.value.data["field"]
