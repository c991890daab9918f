"""The command ``kill``."""

from reel.cli.line.context import Context
from reel.cli.line.names import Names


def kill(ctx: Context) -> None:
    """Kill an agent, with ``--cascade`` its clones as well."""
    args = ctx.args
    killed, revive = ("archived", "unarchive") if args.command == "archive" else ("killed", "revive")
    reply = ctx.client.kill(ctx.agent, args.reason, args.cascade or None, if_seq=args.if_seq)
    if not reply.killed:
        ctx.report(reply, f"{ctx.agent} was already {killed}")
        return
    others = [agent for agent in reply.killed if agent != reply.agent]
    clones = f", and its clones {Names(ctx.client).listed(others)}" if others and not ctx.out.as_json else ""
    ctx.report(reply, f"{ctx.agent} {killed}{clones}", revive, ctx.agent, destructive=True)
