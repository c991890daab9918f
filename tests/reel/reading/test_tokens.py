"""The tokens that a response used, in the words of every provider."""

from typing import Any

import pytest

from reel.reading.tokens import Tokens, tokens_in, total


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 30, "completion_tokens": 12, "total_tokens": 42}, Tokens(30, 12)),
        ({"input_tokens": 3, "output_tokens": 12, "cache_read_input_tokens": 1000}, Tokens(1003, 12, 1000)),
        ({"promptTokenCount": 30, "candidatesTokenCount": 2, "thoughtsTokenCount": 10}, Tokens(30, 12, 0, 10)),
        (
            {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": None},
            Tokens(9, 0, 4),
        ),
        ({"output_tokens": 9, "output_tokens_details": {"reasoning_tokens": 4}}, Tokens(0, 9, 0, 4)),
        ({"inputTokens": 3, "outputTokens": 2, "cacheReadInputTokens": 7}, Tokens(10, 2, 7)),
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
