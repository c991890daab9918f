"""Commands about agents as such: new, clone, kill, revive, rename, title, tag."""

from collections.abc import Iterable

from reel.cli.arguments import UsageError
from reel.cli.context import Context
from reel.cli.terminal import flat
from reel.errors import Conflict
from reel.replies import AgentInfo

# How often somebody may get in between when tags are read and written.
_ATTEMPTS = 5


def new(ctx: Context) -> None:
    """Make an agent and print its name."""
    args = ctx.args
    tags = changed_tags({}, args.tag or [])
    info = ctx.client.create(ctx.word, args.system, args.title, tags or None, if_seq=args.if_seq)
    ctx.report(info, info.name, "kill", info.name)


def clone(ctx: Context) -> None:
    """Start another conversation from this one, or replace another's by it."""
    into = ctx.args.into
    info = ctx.client.clone(ctx.agent, ctx.word, ctx.args.at, into, if_seq=ctx.args.if_seq)
    ctx.report(info, info.name, *(["undo", into] if into else ["kill", info.name]))


def kill(ctx: Context) -> None:
    """End an agent, with ``--cascade`` its clones as well."""
    args = ctx.args
    reply = ctx.client.kill(ctx.agent, args.reason, args.cascade or None, if_seq=args.if_seq)
    if not reply.killed:
        ctx.report(reply, f"{ctx.agent}: was dead already")
        return
    others = [agent for agent in reply.killed if agent != reply.agent]
    ctx.report(reply, f"{ctx.agent}: killed{', with ' if others else ''}{' '.join(others)}", "revive", ctx.agent)
    if others:
        ctx.out.hint("its clones are revived one by one, by their ids")


def revive(ctx: Context) -> None:
    """Bring a killed agent back."""
    info = ctx.client.revive(ctx.agent, if_seq=ctx.args.if_seq)
    if info.command is None:
        ctx.report(info, f"{info.name}: lives already")
    else:
        ctx.report(info, f"{info.name}: lives", "kill", info.name)


def rename(ctx: Context) -> None:
    """Give an agent another name."""
    before = ctx.client.agent(ctx.agent).name
    info = ctx.client.change(ctx.agent, name=ctx.words[0], if_seq=ctx.args.if_seq)
    ctx.report(info, f"{before}: is called {info.name} now", "rename", info.name, before)


def title(ctx: Context) -> None:
    """Give an agent another title, or take it away."""
    before = ctx.client.agent(ctx.agent).title or ""
    info = ctx.client.change(ctx.agent, title=ctx.words[0], if_seq=ctx.args.if_seq)
    now = flat(info.title or "")
    ctx.report(info, f"{info.name}: {now or 'no title'}", "title", info.name, *_as_word(before))


def _as_word(text: str) -> list[str]:
    """Give a text as a word that is taken for no option."""
    return ["--", text] if text.startswith("-") else [text]


def tag(ctx: Context) -> None:
    """Set and remove tags."""
    before, info = _retag(ctx)
    now = " ".join(f"{name}={value}" for name, value in info.tags.items())
    back = list(reverting_changes(before, info.tags))
    ctx.report(info, f"{info.name}: {now or 'no tags'}", *(["tag", "-a", info.name, *back] if back else []))


def _retag(ctx: Context) -> tuple[dict[str, str], AgentInfo]:
    """Read the tags, change them and write them all, as long as nobody else did anything in between."""
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
    """Apply changes to tags: ``k=v`` sets one, ``k-`` removes it.

    Raises:
        UsageError: a change is neither.
    """
    changed = dict(tags)
    for change in changes:
        name, is_set, value = change.partition("=")
        if is_set and name:
            changed[name] = value
        elif not is_set and name.endswith("-") and len(name) > 1:
            changed.pop(name[:-1], None)
        else:
            raise UsageError(f"{change!r} is no tag: K=V sets one, K- removes it; an agent is named with -a")
    return changed


def reverting_changes(before: dict[str, str], after: dict[str, str]) -> Iterable[str]:
    """Give the changes that turn tags back into what they were."""
    yield from (f"{name}={value}" for name, value in before.items() if after.get(name) != value)
    yield from (f"{name}-" for name in after if name not in before)
