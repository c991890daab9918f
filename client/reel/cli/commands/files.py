"""The command ``files``."""

from __future__ import annotations

from reel import requests
from reel.base.light_typing import TYPE_CHECKING
from reel.cli.commands.shared.edits import PAGE, WAIT, tell_behind
from reel.cli.commands.shared.pager import paged
from reel.cli.line.context import Context
from reel.cli.screen.edit_lines import edit_line
from reel.reading.wording import age, full_time

if TYPE_CHECKING:
    from reel.replies import Edit


def files(ctx: Context) -> None:
    """Print what a conversation read, wrote and ran, the newest last."""
    args = ctx.args
    texts = None if ctx.out.as_json else False
    call = requests.edits(args.file, ctx.agent, args.deed, limit=PAGE, texts=texts, wait=WAIT)
    found: list[Edit] = []
    behind = 0
    with ctx.out.waiting("reading"):
        for page in ctx.client.pages(call):
            found += page.edits
            behind = page.behind
            if args.limit is not None and len(found) >= args.limit:
                break
    found = found[: args.limit][::-1]
    if ctx.out.as_json:
        ctx.out.documents(found)
    else:
        told = age if ctx.out.terminal else full_time
        with paged(ctx, at_end=True):
            ctx.out.lines(edit_line(edit, told) for edit in found)
    tell_behind(ctx, behind)
