"""What commands about edits share: how they ask the daemon, and what they say of edits that it does not know yet."""

from __future__ import annotations

from reel import requests
from reel.base.errors import ProtocolMismatch
from reel.base.light_typing import TYPE_CHECKING
from reel.reading.wording import count

if TYPE_CHECKING:
    from typing import Any

    from reel.cli.line.context import Context
    from reel.replies import Edit

# How many milliseconds a list of edits waits for what was just said, as a search does.
_PATIENCE = 500
_PAGE = 1000


def edits(ctx: Context, most: int | None, **asked: Any) -> list[Edit]:
    """Return edits, the newest first; warn if the daemon has not collected all of them yet.

    The arguments, and what is raised, are those of :func:`collected`.
    """
    found, behind = collected(ctx, most, **asked)
    if behind:
        ctx.out.warn(f"edits are still being collected: {count(behind, 'event')} are missing; repeat this later")
    return found


def collected(ctx: Context, most: int | None, **asked: Any) -> tuple[list[Edit], int]:
    """Return edits, the newest first, and how many events the daemon has not collected the edits of yet.

    Args:
        ctx: the command's context.
        most: how many at most; ``None`` for all.
        asked: which ones, as :func:`reel.requests.edits` takes it.

    Raises:
        ProtocolMismatch: the daemon has no list of edits.
    """
    hello = ctx.client.connect().server
    if hello is not None and "edits" not in hello.features:
        raise ProtocolMismatch(
            "the daemon is older than this reel, and does not know what calls did; restart it: reel stop; reel start"
        )
    found: list[Edit] = []
    behind = 0
    with ctx.out.waiting("reading"):
        for page in ctx.client.pages(requests.edits(**asked, limit=min(most or _PAGE, _PAGE), wait=_PATIENCE)):
            found += page.edits
            behind = page.behind
            if most is not None and len(found) >= most:
                break
    return found[:most], behind
