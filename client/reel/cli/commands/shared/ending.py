"""The end of a long list, for a pager that begins there."""

from __future__ import annotations

from itertools import chain

from reel.base.light_typing import TYPE_CHECKING
from reel.cli.commands.shared.pager import begins_at_end

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, TypeVar

    from reel.cli.line.context import Context
    from reel.replies import ConversationPage, HistoryPage, MessagesPage
    from reel.requests import Call

    R = TypeVar("R", MessagesPage, ConversationPage, HistoryPage)

# How much is read for such a pager, which shows nothing until it has all of it: a million messages took 47 s.
# ``journalctl -e`` reads as many lines.
NEWEST = 1_000


def ending(
    ctx: Context,
    ask: Callable[..., Call[R]],
    entries: Callable[[R], Sequence[Mapping[str, Any]]],
    whole: Sequence[str],
) -> tuple[bool, Iterator[R]]:
    """Return whether only the end of a list is shown, below a line that says so, and the pages of what is shown.

    Args:
        ctx: the command's context.
        ask: returns the request for a page; it takes ``last`` and ``limit``.
        entries: returns what is on a page, each with its ``seq``.
        whole: the words of the command that shows all.
    """
    if not begins_at_end(ctx):
        return False, ctx.client.pages(ask())
    pages = ctx.client.pages(ask(last=NEWEST))
    first = next(pages)
    shown = entries(first)
    may_be_cut = bool(shown) and (first.more or len(shown) == NEWEST)
    oldest = entries(ctx.client.call(ask(limit=1))) if may_be_cut else ()
    is_cut = bool(oldest) and oldest[0]["seq"] < shown[0]["seq"]
    if is_cut:
        ctx.out.line((f"… more before this: {ctx.command(*whole)}", "dim"))
        ctx.out.line()
    return is_cut, chain([first], pages)
