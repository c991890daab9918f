"""How full a model's context is with a conversation."""

import json
from typing import Any

import pytest

from reel.reading.contexts import CONTEXTS, context_of
from reel.reading.fullness import MOST, Counted, Fullness, counted_in, estimate, fullness


def event(seq: int, data: Any) -> Any:
    """Return a ``usage`` event."""
    text = data if isinstance(data, str) else json.dumps(data)
    return {"agent": "a", "seq": seq, "command": seq, "kind": "usage", "data_json": text}


def message(*blocks: Any) -> Any:
    """Return a message."""
    return {"role": "user", "content": list(blocks)}


def text(said: str) -> Any:
    """Return a block of text."""
    return {"type": "text", "text": said}


def test_the_providers_own_count() -> None:
    """What it read, from its cache as well, and what it wrote, is what the next request has."""
    usage = {"input_tokens": 10, "cache_read_input_tokens": 500, "cache_creation_input_tokens": 40, "output_tokens": 7}

    assert Counted(5, 557, "m") == counted_in(
        [event(3, {"usage": {"input_tokens": 1}}), event(5, {"model": "m", "usage": usage})]
    )


def test_what_counts_nothing_is_passed() -> None:
    """The newest event that counts something is the count, whatever others have added."""
    counted = [
        event(3, {"usage": {"input_tokens": 1}}),
        event(4, "}"),
        event(5, "[]"),
        event(6, {"usage": {"input_tokens": 0}}),
    ]

    assert Counted(3, 1) == counted_in(counted)
    assert Counted() == counted_in([])


def answer(seq: int, command: int, read: int) -> Any:
    """Return the event of an answer that a framework has stored with its tokens."""
    fields = {"usage_metadata": {"input_tokens": read, "output_tokens": 1}, "response_metadata": {"model_name": "m"}}
    item = {"format": "x-langgraph", "form_json": json.dumps({"class": "AIMessage", "fields": fields})}
    data = {"item": item}
    about = {"agent": "a", "kind": "assistant", "content": "Yes.", "time": 0, "data_json": json.dumps(data)}
    return {**about, "seq": seq, "command": command}


def test_what_an_answer_counts() -> None:
    """An answer that says what it took counts as well, unless it is stored again behind another beginning."""
    rewind: Any = {"kind": "rewind"}

    assert Counted(7, 501, "m", 6) == counted_in([event(3, {"usage": {"input_tokens": 1}}), answer(7, 6, 500)])
    assert Counted(7, 501, "m") == counted_in([answer(7, 7, 500)])
    assert Counted(8, 2) == counted_in([answer(7, 6, 500), event(8, {"usage": {"input_tokens": 2}})])
    assert Counted() == counted_in([answer(7, 6, 500) | {"content": None}])
    assert Counted() == Counted(7, 501, "m", 6).unless_again([rewind])
    assert Counted(7, 501, "m", 6) == Counted(7, 501, "m", 6).unless_again([answer(6, 6, 500)])


def test_a_count_is_exact() -> None:
    """Directly after an answer nothing is estimated, and the prompt was read."""
    full = fullness(Counted(5, 90_000, "claude-haiku-4-5-20251001"), [], "Be brief.", {})

    assert "90,000 tokens, 45 % of 200,000 (claude-haiku-4-5-20251001)" == str(full)
    assert "context 45 %" == full.short


def test_what_came_after_the_count_is_estimated() -> None:
    """Four bytes are a token."""
    full = fullness(Counted(5, 1000, "gpt-5"), [message(text("x" * 1600))], "Be brief.", {})

    assert "about 1,404 tokens, 404 of them estimated, under 1 % of 400,000 (gpt-5)" == str(full)
    assert "context under 1 %" == full.short


def test_before_the_first_answer_everything_is_estimated() -> None:
    """The prompt as well; who is asked is not known."""
    full = fullness(Counted(), [message(text("é" * 40))], "x" * 40, {})

    assert "about 34 tokens, estimated" == str(full)
    assert "context about 34 tokens" == full.short


def test_a_model_that_is_not_known() -> None:
    """It is said, and no size is guessed."""
    full = fullness(Counted(5, 1000, "qwen3:8b"), [], None, {})

    assert "1,000 tokens, of an unknown context (qwen3:8b)" == str(full)
    assert "context 1,000 tokens" == full.short


def test_a_size_of_ones_own() -> None:
    """It counts before the table; so does the model that is asked next."""
    assert 2000 == fullness(Counted(5, 1000, "gpt-5"), [], None, {"my-model": 2000}, "my-model").size
    assert 4000 == fullness(Counted(5, 1000, "gpt-5-2025-08-07"), [], None, {"gpt-5": 4000}).size


def test_a_part_of_a_long_conversation() -> None:
    """If not all of it was looked at, there is at least so much."""
    full = fullness(Counted(), [message(text("x"))] * MOST, None, {})

    assert "at least 5,000 tokens, estimated" == str(full)
    assert fullness(Counted(), [message(text("x"))], None, {}, is_least=True).is_least
    assert not fullness(Counted(), [message(text("x"))], None, {}).is_least


@pytest.mark.parametrize(
    ("block", "tokens"),
    [
        (text("x" * 40), 10),
        ({"type": "media", "mime_type": "image/png", "data_base64": "A" * 400_000}, 1500),
        ({"type": "tool_call", "id": "c", "name": "look", "arguments": "x" * 36}, 10),
        ({"type": "tool_result", "tool_call_id": "c", "content": "x" * 40, "is_error": False}, 10),
        ({"type": "tool_result", "tool_call_id": "c", "content": [text("x" * 40)], "is_error": False}, 10),
        ({"type": "thinking", "text": "x" * 40, "signature": "y" * 400}, 10),
        ({"type": "opaque", "provider": "p", "data_json": "x" * 40}, 10),
        (text("\ud800x"), 1),
    ],
)
def test_estimates(block: Any, tokens: int) -> None:
    """A picture counts as one, not as its bytes; what marks a message counts a little."""
    assert 4 + tokens == estimate(message(block))


def test_the_table_is_plausible() -> None:
    """Every size is one that some maker has, and versions of a model have that of the model."""
    assert {128_000, 200_000, 400_000, 1_000_000, 1_047_576, 1_048_576, 1_050_000} == {*CONTEXTS.values()}
    assert 200_000 == context_of("us.anthropic.claude-sonnet-4-5-20250929-v1:0", {})
    assert None is context_of("claude", {})


def test_all_fields() -> None:
    """Both numbers together are the tokens."""
    assert 30 == Fullness(10, 20).tokens
