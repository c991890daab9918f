"""What models cost: a table with a date, and the prices of a person's own."""

from __future__ import annotations

from math import floor, log10

from reel.base.light_typing import TYPE_CHECKING, NamedTuple
from reel.reading.model_names import look_up

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from reel.reading.tokens import Tokens


# Digits behind the point of an amount below 1, which has at least two that are not zeros.
_PLACES = 4


class Price(NamedTuple):
    """What a million tokens of a model cost.

    Args:
        input: of those that were read.
        output: of those that were written.
        cached: of those that were read from the cache; ``None`` if they cost as much as any other input.
        cache_writes: of those that were written to the cache; ``None`` for the same.
    """

    input: float
    output: float
    cached: float | None = None
    cache_writes: float | None = None

    def of(self, tokens: Tokens) -> float:
        """Return what tokens cost."""
        plain = tokens.read - tokens.cached - tokens.cache_writes
        cached = self.input if self.cached is None else self.cached
        written = self.input if self.cache_writes is None else self.cache_writes
        read = plain * self.input + tokens.cached * cached + tokens.cache_writes * written
        return (read + tokens.written * self.output) / 1_000_000


# The day of the table, and its currency.
DATE, CURRENCY = "2026-08-21", "USD"
# List prices of the makers' own APIs, for requests of usual length, processed at once; writes to a cache for five
# minutes.
PRICES = {
    "claude-3-haiku": Price(0.25, 1.25, 0.03, 0.3),
    "claude-3-opus": Price(15, 75, 1.5, 18.75),
    "claude-3-7-sonnet": Price(3, 15, 0.3, 3.75),
    "claude-haiku-4-5": Price(1, 5, 0.1, 1.25),
    "claude-sonnet-4": Price(3, 15, 0.3, 3.75),
    "claude-sonnet-4-5": Price(3, 15, 0.3, 3.75),
    "claude-sonnet-4-6": Price(3, 15, 0.3, 3.75),
    "claude-sonnet-5": Price(2, 10, 0.2, 2.5),
    "claude-opus-4": Price(15, 75, 1.5, 18.75),
    "claude-opus-4-1": Price(15, 75, 1.5, 18.75),
    "claude-opus-4-5": Price(5, 25, 0.5, 6.25),
    "claude-opus-4-6": Price(5, 25, 0.5, 6.25),
    "claude-opus-4-7": Price(5, 25, 0.5, 6.25),
    "claude-opus-4-8": Price(5, 25, 0.5, 6.25),
    "claude-opus-5": Price(5, 25, 0.5, 6.25),
    "claude-fable-5": Price(10, 50, 1, 12.5),
    "gpt-4o": Price(2.5, 10, 1.25),
    "gpt-4o-mini": Price(0.15, 0.6, 0.075),
    "gpt-4.1": Price(2, 8, 0.5),
    "gpt-4.1-mini": Price(0.4, 1.6, 0.1),
    "gpt-4.1-nano": Price(0.1, 0.4, 0.025),
    "gpt-5": Price(1.25, 10, 0.125),
    "gpt-5-codex": Price(1.25, 10, 0.125),
    "gpt-5-mini": Price(0.25, 2, 0.025),
    "gpt-5-nano": Price(0.05, 0.4, 0.005),
    "gpt-5-pro": Price(15, 120),
    "gpt-5.1": Price(1.25, 10, 0.125),
    "gpt-5.1-codex": Price(1.25, 10, 0.125),
    "gpt-5.1-codex-max": Price(1.25, 10, 0.125),
    "gpt-5.1-codex-mini": Price(0.25, 2, 0.025),
    "gpt-5.2": Price(1.75, 14, 0.175),
    "gpt-5.2-codex": Price(1.75, 14, 0.175),
    "gpt-5.2-pro": Price(21, 168),
    "gpt-5.3-codex": Price(1.75, 14, 0.175),
    "gpt-5.4": Price(2.5, 15, 0.25),
    "gpt-5.4-mini": Price(0.75, 4.5, 0.075),
    "gpt-5.4-nano": Price(0.2, 1.25, 0.02),
    "gpt-5.4-pro": Price(30, 180, 3),
    "gpt-5.5": Price(5, 30, 0.5),
    "gpt-5.5-pro": Price(30, 180, 3),
    "gpt-5.6": Price(5, 30, 0.5, 6.25),
    "gpt-5.6-sol": Price(5, 30, 0.5, 6.25),
    "gpt-5.6-terra": Price(2, 12, 0.2, 2.5),
    "gpt-5.6-luna": Price(0.2, 1.2, 0.02, 0.25),
    "codex-mini": Price(1.5, 6, 0.375),
    "o1": Price(15, 60, 7.5),
    "o1-pro": Price(150, 600),
    "o3": Price(2, 8, 0.5),
    "o3-mini": Price(1.1, 4.4, 0.55),
    "o3-pro": Price(20, 80),
    "o4-mini": Price(1.1, 4.4, 0.275),
    "gemini-2.0-flash": Price(0.1, 0.4, 0.025),
    "gemini-2.0-flash-lite": Price(0.075, 0.3, 0.01875),
    "gemini-2.5-flash": Price(0.3, 2.5, 0.03),
    "gemini-2.5-flash-lite": Price(0.1, 0.4, 0.01),
    "gemini-2.5-pro": Price(1.25, 10, 0.125),
    "gemini-3-flash-preview": Price(0.5, 3, 0.05),
    "gemini-3-pro-preview": Price(2, 12, 0.2),
    "gemini-3.1-flash-lite": Price(0.25, 1.5, 0.025),
    "gemini-3.1-pro-preview": Price(2, 12, 0.2),
    "gemini-3.5-flash": Price(1.5, 9, 0.15),
    "gemini-3.5-flash-lite": Price(0.3, 2.5, 0.03),
    "gemini-3.6-flash": Price(1.5, 7.5, 0.15),
    "deepseek-chat": Price(0.28, 0.42, 0.028),
    "deepseek-reasoner": Price(0.28, 0.42, 0.028),
    "grok-3": Price(3, 15),
    "grok-4": Price(3, 15),
    "grok-code-fast-1": Price(0.2, 1.5),
}


def price_of(model: str, own: Mapping[str, Price]) -> Price | None:
    """Return the price of a model; ``None`` if it is not known.

    Args:
        model: the name of the model, as its provider writes it.
        own: prices that count before those of the table. A name without a version stands for all versions.
    """
    return look_up(model, own, PRICES)


def prices_in(settings: Mapping[str, Mapping[str, Any]]) -> dict[str, Price]:
    """Return the prices of a person's own, which were checked when they were read."""
    return {model: Price(**price) for model, price in settings.items()}


def money(amount: float) -> str:
    """Return an amount; one below 1 has more digits, because what some thousand tokens cost is not nothing."""
    if amount >= 1 or amount <= 0:
        return f"{amount:,.2f}"
    return f"{amount:.{max(_PLACES, 1 - floor(log10(amount)))}f}"
