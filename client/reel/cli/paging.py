"""Paging, if a person reads the output."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from reel.cli.context import Context
from reel.cli.output import screen_height


@contextmanager
def paged(ctx: Context, *, at_end: bool = False) -> Iterator[None]:
    """Page the output of the block, if it is for people and on a terminal.

    Args:
        ctx: the command's context.
        at_end: whether the pager begins at the end, as far as it is known how to tell it.
    """
    if not ctx.out.terminal or ctx.out.as_json or ctx.args.no_pager:
        with ctx.out.printing():
            yield
        return
    from reel.cli.pager import Closed, PagerBuffer, pager_command  # noqa: PLC0415 - a script needs no pager

    command = pager_command(ctx.settings.pager, at_end=at_end)
    buffer = PagerBuffer(sys.stdout, screen_height(sys.stdout), command)
    stream = ctx.out.redirect(buffer)
    try:
        with suppress(Closed):
            yield
    finally:
        ctx.out.redirect(stream)
        buffer.end()
