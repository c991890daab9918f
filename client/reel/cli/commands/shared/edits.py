"""What commands about edits share: how they ask the daemon, and what they say of edits that it does not know yet."""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING
from reel.reading.wording import count

if TYPE_CHECKING:
    from reel.cli.line.context import Context

# How many milliseconds a list of edits waits for what was just said, as a search does; and the most edits of a page.
WAIT = 500
PAGE = 1000


def tell_behind(ctx: Context, behind: int) -> None:
    """Tell a person how many events are not in the daemon's table of edits yet."""
    if behind:
        ctx.out.warn(f"edits are still being collected: {count(behind, 'event')} are missing; repeat this later")
