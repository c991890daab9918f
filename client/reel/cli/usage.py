"""How many tokens a response used, whichever provider counted them."""

from collections.abc import Iterable
from typing import Any, NamedTuple

# What the providers call it. Anthropic counts what it read from and wrote to its cache separately; the others count it
# as a part of the input.
_INPUT = ("prompt_tokens", "promptTokenCount", "input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_OUTPUT = ("completion_tokens", "output_tokens", "candidatesTokenCount", "thoughtsTokenCount")


class Tokens(NamedTuple):
    """Tokens that were read and written."""

    read: int = 0
    written: int = 0

    def __str__(self) -> str:
        return f"{self.read:,} in, {self.written:,} out"


def tokens_in(data: Any) -> Tokens | None:
    """Return the tokens that the data of a ``usage`` event counts; ``None`` if it counts none."""
    usage = data.get("usage") if isinstance(data, dict) else None
    if not isinstance(usage, dict):
        return None
    counted = Tokens(_sum(usage, _INPUT), _sum(usage, _OUTPUT))
    return counted if any(counted) else None


def _sum(usage: dict[str, Any], fields: Iterable[str]) -> int:
    return sum(count for field in fields if type(count := usage.get(field)) is int)


def total(counted: Iterable[Tokens | None]) -> Tokens:
    """Return the sum of several counts."""
    known = [tokens for tokens in counted if tokens is not None]
    return Tokens(sum(tokens.read for tokens in known), sum(tokens.written for tokens in known))
