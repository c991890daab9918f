"""What an answer took, in a few words: its tokens, what it cost, and how full the context is now."""

from __future__ import annotations

from contextlib import suppress

from reel.base.errors import ReelError
from reel.base.light_typing import TYPE_CHECKING
from reel.reading.model_names import look_up
from reel.reading.prices import CURRENCY, money, price_of, prices_in
from reel.requests.context import context

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reel.cli.commands.shared.answering import Outcome
    from reel.cli.line.context import Context
    from reel.reading.fullness import Fullness
    from reel.reading.tokens import Tokens


def account(ctx: Context, agent: str, outcome: Outcome, model: str | None) -> str:
    """Return what an answer took, as far as it is known.

    Args:
        ctx: the command's context.
        agent: the conversation, which has the answer.
        outcome: the answer.
        model: who was asked.
    """
    return "  ".join(_words(ctx, agent, outcome, model))


def _words(ctx: Context, agent: str, outcome: Outcome, model: str | None) -> Iterator[str]:
    asked = outcome.model or model
    if outcome.tokens is not None:
        yield str(outcome.tokens)
        if asked is not None and (price := cost(ctx, asked, outcome.tokens)) is not None:
            yield price
    if (full := fullness(ctx, agent, model)) is not None:
        yield full.short


def fullness(ctx: Context, agent: str, model: str | None) -> Fullness | None:
    """Return how full the context of the model that is asked is; ``None`` if the daemon cannot say."""
    with suppress(ReelError):
        return ctx.client.call(context(agent, ctx.settings.contexts, model))
    return None


def cost(ctx: Context, model: str, tokens: Tokens) -> str | None:
    """Return what tokens of a model cost, in the currency of the table unless the price is a person's own."""
    own = prices_in(ctx.settings.prices)
    if (price := price_of(model, own)) is None:
        return None
    shown = money(price.of(tokens))
    return f"cost {shown}" if look_up(model, own) else f"cost {shown} {CURRENCY}"
