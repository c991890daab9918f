"""The command ``clone``."""

from reel.cli.line.context import Context


def clone(ctx: Context) -> None:
    """Copy the conversation into a new agent, or over that of another one."""
    into = ctx.args.into
    info = ctx.client.clone(ctx.agent, ctx.word, ctx.args.at, into, if_seq=ctx.args.if_seq)
    if into is None or not ctx.out.terminal:
        ctx.report(info, info.name, *(["undo", into] if into else ["kill", info.name]))
        return
    at = "" if ctx.args.at is None else f" at #{ctx.args.at}"
    ctx.report(info, f"{info.name} is now a copy of {ctx.agent}{at}", "undo", info.name, destructive=True)
