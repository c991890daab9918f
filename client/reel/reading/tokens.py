"""How many tokens a response used, whichever provider counted them."""

from collections.abc import Iterable
from typing import Any, NamedTuple

# What the providers call it. Anthropic and Bedrock count what was read from and written to the cache separately; the
# others count it as a part of the input. Gemini counts thoughts separately; the others count them as output.
_INPUT = (
    *("prompt_tokens", "input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"),
    *("promptTokenCount", "toolUsePromptTokenCount", "total_input_tokens", "total_tool_use_tokens"),
    *("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens", "prompt_eval_count"),
)
_OUTPUT = (
    *("completion_tokens", "output_tokens", "candidatesTokenCount", "thoughtsTokenCount"),
    *("total_output_tokens", "total_thought_tokens", "outputTokens", "eval_count"),
)
_CACHED = ("cache_read_input_tokens", "cachedContentTokenCount", "total_cached_tokens", "cacheReadInputTokens")
_REASONING = ("thoughtsTokenCount", "total_thought_tokens")
# OpenAI has these in a map of details.
_INPUT_DETAILS = ("prompt_tokens_details", "input_tokens_details")
_OUTPUT_DETAILS = ("completion_tokens_details", "output_tokens_details")


class Tokens(NamedTuple):
    """Tokens that were read and written; those read include the cached ones, those written the reasoning."""

    read: int = 0
    written: int = 0
    cached: int = 0
    reasoning: int = 0

    def __str__(self) -> str:
        cached = f" ({self.cached:,} cached)" if self.cached else ""
        reasoning = f" ({self.reasoning:,} reasoning)" if self.reasoning else ""
        return f"{self.read:,} in{cached}, {self.written:,} out{reasoning}"


def tokens_in(data: Any) -> Tokens | None:
    """Return the tokens that the data of a ``usage`` event counts; ``None`` if it counts none."""
    usage = data.get("usage") if isinstance(data, dict) else None
    if not isinstance(usage, dict):
        return None
    counted = Tokens(
        _sum(usage, _INPUT),
        _sum(usage, _OUTPUT),
        _sum(usage, _CACHED) + _detail(usage, _INPUT_DETAILS, "cached_tokens"),
        _sum(usage, _REASONING) + _detail(usage, _OUTPUT_DETAILS, "reasoning_tokens"),
    )
    return counted if any(counted) else None


def _sum(usage: dict[str, Any], fields: Iterable[str]) -> int:
    return sum(count for field in fields if type(count := usage.get(field)) is int)


def _detail(usage: dict[str, Any], maps: Iterable[str], field: str) -> int:
    return sum(_sum(details, (field,)) for name in maps if isinstance(details := usage.get(name), dict))


def total(counted: Iterable[Tokens | None]) -> Tokens:
    """Return the sum of several counts."""
    known = [tokens for tokens in counted if tokens is not None]
    return Tokens(*map(sum, zip(*known, strict=True))) if known else Tokens()
