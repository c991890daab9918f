"""The command ``revive``."""

from reel.cli.line.context import Context
from reel.cli.line.names import Names

# What each is called by whom: killed, revived, and the command that undoes it.
_WORDS = (("killed", "revived", "kill"), ("archived", "unarchived", "archive"))


def revive(ctx: Context) -> None:
    """Revive a killed agent, with ``--cascade`` its killed clones as well."""
    killed, back, kill = _WORDS[ctx.args.command == "unarchive"]
    info = ctx.client.revive(ctx.agent, ctx.args.cascade or None, if_seq=ctx.args.if_seq)
    names = Names(ctx.client)
    revived = info.revived if info.revived is not None else [info.id] if info.command is not None else []
    clones = [agent for agent in revived if agent != info.id]
    listed = names.listed(clones) if clones and not ctx.out.as_json else ""
    for agent in info.taken or []:
        ctx.out.warn(f"{names.listed([agent])} stays {killed}: another conversation has its name; see: reel list --all")
    if info.id in revived:
        also = f", and its clones {listed}" if clones else ""
        ctx.report(info, f"{info.name} {back}{also}", kill, info.name, *(["--cascade"] if clones else []))
    else:
        also = f"; its clones {listed} are {back}" if clones else ""
        ctx.report(info, f"{info.name} is not {killed}{also}")
        _mention_killed_namesake(ctx, info.name)


def _mention_killed_namesake(ctx: Context, name: str) -> None:
    """Print how to revive a killed agent with the same name, which now means the live one; its id still works."""
    if ctx.out.as_json:
        return
    killed = [row.id for row in ctx.client.iter_agents(name, alive=False) if row.name == name]
    for agent in killed[-1:]:
        rename, revive_it = ctx.command("rename", name, "NEW"), ctx.command("revive", agent)
        ctx.out.warn(f"note: a killed conversation had this name, too; revive it with: {rename}; {revive_it}")
