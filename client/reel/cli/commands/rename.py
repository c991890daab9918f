"""The command ``rename``."""

from reel.cli.line.context import Context


def rename(ctx: Context) -> None:
    """Rename an agent."""
    before = ctx.client.agent(ctx.agent).name
    info = ctx.client.change(ctx.agent, name=ctx.words[0], if_seq=ctx.args.if_seq)
    ctx.report(info, f"{before} renamed to {info.name}", "rename", info.name, before)
