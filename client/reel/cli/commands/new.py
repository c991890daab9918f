"""The command ``new``."""

from reel.base.place import tags_of_place
from reel.cli.commands.tag import changed_tags
from reel.cli.line.context import Context


def new(ctx: Context) -> None:
    """Create an agent and print its name."""
    args = ctx.args
    tags = changed_tags(tags_of_place(), args.tag or [])
    info = ctx.client.create(ctx.word, args.system, args.title, tags or None)
    ctx.report(info, info.name, "kill", info.name)
