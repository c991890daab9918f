"""Commands that create, end and describe agents: new, clone, kill, revive, rename, title, tag."""

from collections.abc import Iterable

from reel.base.errors import Conflict
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.cli.line.names import Names
from reel.reading.wording import flat
from reel.replies import AgentInfo

# How often to try again if the agent changes between reading and writing its tags.
_ATTEMPTS = 5


def new(ctx: Context) -> None:
    """Create an agent and print its name."""
    args = ctx.args
    tags = changed_tags({}, args.tag or [])
    info = ctx.client.create(ctx.word, args.system, args.title, tags or None)
    ctx.report(info, info.name, "kill", info.name)


def clone(ctx: Context) -> None:
    """Copy the conversation into a new agent, or over that of another one."""
    into = ctx.args.into
    info = ctx.client.clone(ctx.agent, ctx.word, ctx.args.at, into, if_seq=ctx.args.if_seq)
    if into is None or not ctx.out.terminal:
        ctx.report(info, info.name, *(["undo", into] if into else ["kill", info.name]))
        return
    at = "" if ctx.args.at is None else f" at #{ctx.args.at}"
    ctx.report(info, f"{info.name} is now a copy of {ctx.agent}{at}", "undo", info.name, destructive=True)


def kill(ctx: Context) -> None:
    """Kill an agent, with ``--cascade`` its clones as well."""
    args = ctx.args
    reply = ctx.client.kill(ctx.agent, args.reason, args.cascade or None, if_seq=args.if_seq)
    if not reply.killed:
        ctx.report(reply, f"{ctx.agent} was already killed")
        return
    others = [agent for agent in reply.killed if agent != reply.agent]
    clones = f", and its clones {Names(ctx.client).listed(others)}" if others and not ctx.out.as_json else ""
    ctx.report(reply, f"{ctx.agent} killed{clones}", "revive", ctx.agent, destructive=True)


def revive(ctx: Context) -> None:
    """Revive a killed agent, with ``--cascade`` its killed clones as well."""
    info = ctx.client.revive(ctx.agent, ctx.args.cascade or None, if_seq=ctx.args.if_seq)
    names = Names(ctx.client)
    revived = info.revived if info.revived is not None else [info.id] if info.command is not None else []
    clones = [agent for agent in revived if agent != info.id]
    listed = names.listed(clones) if clones and not ctx.out.as_json else ""
    for agent in info.taken or []:
        ctx.out.warn(f"{names.listed([agent])} stays killed, because another agent has its name; see: reel list --all")
    if info.id in revived:
        also = f", and its clones {listed}" if clones else ""
        ctx.report(info, f"{info.name} revived{also}", "kill", info.name, *(["--cascade"] if clones else []))
    else:
        also = f"; its clones {listed} are revived" if clones else ""
        ctx.report(info, f"{info.name} is not killed{also}")
        _mention_killed_namesake(ctx, info.name)


def _mention_killed_namesake(ctx: Context, name: str) -> None:
    """Print how to revive a killed agent with the same name, which now means the live one; its id still works."""
    if ctx.out.as_json:
        return
    killed = [row.id for row in ctx.client.iter_agents(name, alive=False) if row.name == name]
    for agent in killed[-1:]:
        rename, revive_it = ctx.command("rename", name, "NEW"), ctx.command("revive", agent)
        ctx.out.warn(f"note: a killed agent had this name, too; revive it with: {rename}; {revive_it}")


def rename(ctx: Context) -> None:
    """Rename an agent."""
    before = ctx.client.agent(ctx.agent).name
    info = ctx.client.change(ctx.agent, name=ctx.words[0], if_seq=ctx.args.if_seq)
    ctx.report(info, f"{before} renamed to {info.name}", "rename", info.name, before)


def title(ctx: Context) -> None:
    """Set an agent's title, or remove it."""
    before = ctx.client.agent(ctx.agent).title or ""
    info = ctx.client.change(ctx.agent, title=ctx.words[0], if_seq=ctx.args.if_seq)
    now = flat(info.title or "")
    ctx.report(info, f"{info.name}: {now or 'no title'}", "title", info.name, *_as_word(before))


def _as_word(text: str) -> list[str]:
    """Return a text as arguments, none of which can be mistaken for an option."""
    return ["--", text] if text.startswith("-") else [text]


def tag(ctx: Context) -> None:
    """Set and remove tags."""
    before, info = _retag(ctx)
    now = " ".join(f"{name}={value}" for name, value in info.tags.items())
    back = list(reverting_changes(before, info.tags))
    ctx.report(info, f"{info.name}: {now or 'no tags'}", *(["tag", "-a", info.name, *back] if back else []))


def _retag(ctx: Context) -> tuple[dict[str, str], AgentInfo]:
    """Change the tags; retry if the agent was changed in between. Return the tags before and after."""
    for left in reversed(range(_ATTEMPTS)):
        info = ctx.client.agent(ctx.agent)
        head = info.head if ctx.args.if_seq is None else ctx.args.if_seq
        try:
            return info.tags, ctx.client.change(ctx.agent, tags=changed_tags(info.tags, ctx.words), if_seq=head)
        except Conflict:
            if not left or ctx.args.if_seq is not None:
                raise
    raise AssertionError("unreachable")


def changed_tags(tags: dict[str, str], changes: Iterable[str]) -> dict[str, str]:
    """Return tags with changes applied: ``k=v`` sets one, ``k-`` removes one.

    Raises:
        UsageError: a change is neither of these.
    """
    changed = dict(tags)
    for change in changes:
        name, is_set, value = change.partition("=")
        if is_set and name:
            changed[name] = value
        elif not is_set and name.endswith("-") and len(name) > 1:
            changed.pop(name[:-1], None)
        else:
            raise UsageError(f"{change!r} is not a tag; K=V sets one and K- removes one (name the agent with -a)")
    return changed


def reverting_changes(before: dict[str, str], after: dict[str, str]) -> Iterable[str]:
    """Return the changes that restore the tags as they were before."""
    yield from (f"{name}={value}" for name, value in before.items() if after.get(name) != value)
    yield from (f"{name}-" for name in after if name not in before)
