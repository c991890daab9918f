"""The command ``files``."""

from reel.cli.commands.shared.edits import edits
from reel.cli.commands.shared.pager import paged
from reel.cli.line.context import Context
from reel.cli.screen.edit_lines import edit_line
from reel.reading.wording import age, full_time


def files(ctx: Context) -> None:
    """Print what a conversation read, wrote and ran, the newest last."""
    args = ctx.args
    texts = None if ctx.out.as_json else False
    found = edits(ctx, args.limit, path=args.file, agent=ctx.agent, deed=args.deed, texts=texts)[::-1]
    if ctx.out.as_json:
        ctx.out.documents(found)
    else:
        told = age if ctx.out.terminal else full_time
        with paged(ctx, at_end=True):
            ctx.out.lines(edit_line(edit, told) for edit in found)
