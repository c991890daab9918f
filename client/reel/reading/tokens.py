"""How many tokens a response used, whichever provider counted them."""

from collections.abc import Iterable, Mapping
from typing import Any

from reel.base.light_typing import NamedTuple

# What the providers, the tools and the frameworks call it. Anthropic, Bedrock, opencode and pi count what was read from
# and written to the cache separately; the others count it as a part of the input. Gemini and opencode count thoughts
# separately; the others count them as output.
_INPUT = (
    *("prompt_tokens", "input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"),
    *("promptTokenCount", "toolUsePromptTokenCount", "total_input_tokens", "total_tool_use_tokens"),
    *("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens", "prompt_eval_count"),
    *("input", "cacheRead", "cacheWrite"),
    *("prompt_token_count", "tool_use_prompt_token_count"),
)
_OUTPUT = (
    *("completion_tokens", "output_tokens", "candidatesTokenCount", "thoughtsTokenCount"),
    *("total_output_tokens", "total_thought_tokens", "outputTokens", "eval_count"),
    *("output", "reasoning"),
    *("candidates_token_count", "thoughts_token_count"),
)
_CACHED = (
    *("cache_read_input_tokens", "cachedContentTokenCount", "total_cached_tokens", "cacheReadInputTokens"),
    *("cached_input_tokens", "cacheRead", "cache_read_tokens", "cached_content_token_count"),
)
_CACHE_WRITES = ("cache_creation_input_tokens", "cacheWriteInputTokens", "cacheWrite", "cache_write_tokens")
_REASONING = (
    *("thoughtsTokenCount", "total_thought_tokens", "reasoning_output_tokens", "reasoning"),
    *("thoughts_token_count", "output_reasoning_tokens"),
)
# In the order of the fields of `Tokens`.
_NAMES = (_INPUT, _OUTPUT, _CACHED, _REASONING, _CACHE_WRITES)
# The key of an earlier count of the same answer, in the data of an event.
REPLACES = "replaces"


class Tokens(NamedTuple):
    """Tokens that were read and written.

    Those read include the ones that were read from the cache, and the ones that were written to it; those written
    include the reasoning.
    """

    read: int = 0
    written: int = 0
    cached: int = 0
    reasoning: int = 0
    cache_writes: int = 0

    def __str__(self) -> str:
        cached = f" ({self.cached:,} cached)" if self.cached else ""
        reasoning = f" ({self.reasoning:,} reasoning)" if self.reasoning else ""
        return f"{self.read:,} in{cached}, {self.written:,} out{reasoning}"


# For each name, the fields of `Tokens` that its count is added to. OpenAI has some in maps of details, and opencode has
# these in one beside the input.
_FIELDS = {
    name: tuple(place for place, names in enumerate(_NAMES) if name in names) for names in _NAMES for name in names
}
_INPUT_DETAILS: dict[str, tuple[int, ...]] = {"cached_tokens": (2,), "cache_write_tokens": (4,)}
_OUTPUT_DETAILS: dict[str, tuple[int, ...]] = {"reasoning_tokens": (3,)}
_DETAILS: dict[str, dict[str, tuple[int, ...]]] = {
    **dict.fromkeys(("prompt_tokens_details", "input_tokens_details"), _INPUT_DETAILS),
    **dict.fromkeys(("completion_tokens_details", "output_tokens_details"), _OUTPUT_DETAILS),
    "cache": {"read": (0, 2), "write": (0, 4)},
    # LangChain's messages.
    "input_token_details": {"cache_read": (2,), "cache_creation": (4,)},
    "output_token_details": {"reasoning": (3,)},
}


def tokens_in(data: Any) -> Tokens | None:
    """Return the tokens that the data of a ``usage`` event counts; ``None`` if it counts none."""
    usage = data.get("usage") if isinstance(data, dict) else None
    if not isinstance(usage, dict):
        return None
    counted = [0] * len(_NAMES)
    _add(counted, usage, _FIELDS)
    for name, details in usage.items():
        if type(details) is dict and name in _DETAILS:
            _add(counted, details, _DETAILS[name])
    return Tokens(*counted) if any(counted) else None


def _add(counted: list[int], found: Mapping[str, Any], fields: Mapping[str, tuple[int, ...]]) -> None:
    """Add the counts of a map to those of the fields that they belong to."""
    for name, count in found.items():
        if type(count) is int:
            for place in fields.get(name, ()):
                counted[place] += count


def replaced_by(data: Any) -> Tokens | None:
    """Return the tokens of an earlier count that the data of a ``usage`` event takes the place of, if it does.

    An answer that was read while it arrived is counted again when it is complete. The log keeps both counts.
    """
    return tokens_in(data.get(REPLACES)) if isinstance(data, dict) else None


def total(counted: Iterable[Tokens | None]) -> Tokens:
    """Return the sum of several counts."""
    known = [tokens for tokens in counted if tokens is not None]
    return Tokens(*map(sum, zip(*known, strict=True))) if known else Tokens()


def difference(tokens: Tokens, earlier: Tokens | None) -> Tokens:
    """Return what a count adds to an earlier one of the same answer."""
    return tokens if earlier is None else Tokens(*(now - then for now, then in zip(tokens, earlier, strict=True)))
