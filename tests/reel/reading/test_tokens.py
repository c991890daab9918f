"""The tokens that a response used, in the words of every provider."""

from typing import Any

import pytest

from reel.reading.tokens import Tokens, difference, replaced_by, tokens_in, total


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 30, "completion_tokens": 12, "total_tokens": 42}, Tokens(30, 12)),
        (
            {
                "input_tokens": 3,
                "output_tokens": 12,
                "cache_read_input_tokens": 1000,
                "cache_creation_input_tokens": 20,
            },
            Tokens(1023, 12, 1000, 0, 20),
        ),
        ({"promptTokenCount": 30, "candidatesTokenCount": 2, "thoughtsTokenCount": 10}, Tokens(30, 12, 0, 10)),
        (
            {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": None},
            Tokens(9, 0, 4),
        ),
        ({"output_tokens": 9, "output_tokens_details": {"reasoning_tokens": 4}}, Tokens(0, 9, 0, 4)),
        (
            {"inputTokens": 3, "outputTokens": 2, "cacheReadInputTokens": 7, "cacheWriteInputTokens": 5},
            Tokens(15, 2, 7, 0, 5),
        ),
        ({"prompt_tokens": 9, "prompt_tokens_details": {"cache_write_tokens": 4}}, Tokens(9, 0, 0, 0, 4)),
        (
            {
                "input_tokens": 1000,
                "cached_input_tokens": 800,
                "output_tokens": 50,
                "reasoning_output_tokens": 30,
                "total_tokens": 1050,
            },
            Tokens(1000, 50, 800, 30),
        ),
        (
            {"input": 200, "output": 40, "reasoning": 25, "cache": {"read": 700, "write": 100}},
            Tokens(1000, 65, 700, 25, 100),
        ),
        (
            {"input": 3, "output": 2, "cacheRead": 7, "cacheWrite": 5, "totalTokens": 17, "cost": {"total": 0.1}},
            Tokens(15, 2, 7, 0, 5),
        ),
        ({"input": 3, "cache": [], "reasoning": {}}, Tokens(3)),
        ({"prompt_eval_count": 3, "eval_count": 2}, Tokens(3, 2)),
        ({"input_tokens": "many", "output_tokens": True}, None),
        ({}, None),
        (None, None),
    ],
)
def test_tokens_of_a_response(usage: Any, expected: Tokens | None) -> None:
    """What a provider reads from its cache counts as read, and what a model thinks as written."""
    assert expected == tokens_in({"usage": usage})


def test_total_of_several_responses() -> None:
    """A response without a count adds nothing."""
    assert "9 in (4 cached), 2 out (1 reasoning)" == str(Tokens(9, 2, 4, 1))
    assert "1,003 in, 4 out" == str(total([Tokens(1000, 1), None, Tokens(3, 3)]))
    assert None is tokens_in([])


def test_a_later_count_of_a_response() -> None:
    """A count that takes the place of an earlier one adds the difference."""
    data = {"usage": {"prompt_tokens": 9, "completion_tokens": 5}}
    later = {**data, "replaces": {"usage": {"prompt_tokens": 9, "completion_tokens": 2}}}

    assert None is replaced_by(data) is replaced_by(7)
    assert Tokens(9, 2) == replaced_by(later)
    assert Tokens(0, 3) == difference(Tokens(9, 5), replaced_by(later))
    assert Tokens(9, 5) == difference(Tokens(9, 5), replaced_by(data))
