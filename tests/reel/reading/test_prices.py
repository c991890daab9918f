"""What tokens of a model cost."""

import pytest

from reel.reading.prices import PRICES, Price, money, price_of
from reel.reading.tokens import Tokens

TOKENS = Tokens(read=1_000_000, written=500_000, cached=600_000, reasoning=100_000, cache_writes=300_000)


@pytest.mark.parametrize(
    ("expected", "amount"),
    [("0.00", 0), ("1,234.50", 1234.5), ("0.2125", 0.2125), ("0.0030", 0.003), ("0.000025", 0.000025)],
)
def test_an_amount(expected: str, amount: float) -> None:
    """An amount below 1 has four digits behind the point, or as many as it takes to see two of it."""
    assert expected == money(amount)


def test_a_price() -> None:
    """What was read from the cache or written to it has prices of its own, and is no plain input beside that."""
    assert 0.1 * 4 + 0.6 * 1 + 0.3 * 5 + 0.5 * 10 == pytest.approx(Price(4, 10, 1, 5).of(TOKENS))
    assert 1 * 4 + 0.5 * 10 == pytest.approx(Price(4, 10).of(TOKENS))


@pytest.mark.parametrize(
    ("model", "known"),
    [
        ("claude-opus-4-5", "claude-opus-4-5"),
        ("claude-opus-4-5-20251101", "claude-opus-4-5"),
        ("claude-opus-4-20250514", "claude-opus-4"),
        ("claude-opus-4-1@20250805", "claude-opus-4-1"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("openrouter/anthropic/claude-haiku-4-5", "claude-haiku-4-5"),
        ("openai/gpt-5-mini-2025-08-07", "gpt-5-mini"),
        ("models/gemini-2.5-pro", "gemini-2.5-pro"),
        ("GPT-5.1-Codex-Max", "gpt-5.1-codex-max"),
        ("codex-mini-latest", "codex-mini"),
        ("claude-opus-4-99", ""),
        ("gpt-5-turbo", ""),
        ("claude", ""),
        ("", ""),
        ("(none)", ""),
    ],
)
def test_names_of_models(model: str, known: str) -> None:
    """A version, a cloud and a gateway are no other model; the beginning of a name is."""
    assert PRICES.get(known) == price_of(model, {})


def test_prices_of_ones_own() -> None:
    """They count before the table, with the same names."""
    own = {"gpt-5": Price(1, 2), "My/Model": Price(3, 4)}

    assert Price(1, 2) == price_of("gpt-5-2025-08-07", own)
    assert Price(3, 4) == price_of("My/Model", own)
    assert PRICES["gpt-5-mini"] == price_of("gpt-5-mini", own)


def test_the_table_is_plausible() -> None:
    """Output costs more than input, and the cache less."""
    for model, price in PRICES.items():
        assert 0 < price.input < price.output, model
        assert price.cached is None or 0 < price.cached <= price.input / 2, model
        assert price.cache_writes is None or pytest.approx(1.25 * price.input, rel=0.05) == price.cache_writes, model
