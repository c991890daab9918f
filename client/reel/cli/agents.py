"""Commands about agents as such: new, clone, kill, revive, rename, title, tag."""

from collections.abc import Iterable

from reel.cli.arguments import UsageError
from reel.cli.context import Invocation
from reel.cli.terminal import flat
from reel.errors import Conflict
from reel.replies import AgentInfo

# How often somebody may get in between when tags are read and written.
_TRIES = 5


def new(run: Invocation) -> None:
    """Make an agent and print its name."""
    args = run.args
    tags = changed_tags({}, args.tag or [])
    info = run.client.create(run.word, args.system, args.title, tags or None, if_seq=args.if_seq)
    run.done(info, info.name, "kill", info.name)


def clone(run: Invocation) -> None:
    """Start another conversation from this one, or replace another's by it."""
    into = run.args.into
    info = run.client.clone(run.agent, run.word, run.args.at, into, if_seq=run.args.if_seq)
    run.done(info, info.name, *(["undo", into] if into else ["kill", info.name]))


def kill(run: Invocation) -> None:
    """End an agent, with ``--cascade`` its clones as well."""
    args = run.args
    reply = run.client.kill(run.agent, args.reason, args.cascade or None, if_seq=args.if_seq)
    if not reply.killed:
        run.done(reply, f"{run.agent}: was dead already")
        return
    others = [agent for agent in reply.killed if agent != reply.agent]
    run.done(reply, f"{run.agent}: killed{', with ' if others else ''}{' '.join(others)}", "revive", run.agent)
    if others:
        run.out.hint("its clones are revived one by one, by their ids")


def revive(run: Invocation) -> None:
    """Bring a killed agent back."""
    info = run.client.revive(run.agent, if_seq=run.args.if_seq)
    if info.command is None:
        run.done(info, f"{info.name}: lives already")
    else:
        run.done(info, f"{info.name}: lives", "kill", info.name)


def rename(run: Invocation) -> None:
    """Give an agent another name."""
    before = run.client.agent(run.agent).name
    info = run.client.change(run.agent, name=run.words[0], if_seq=run.args.if_seq)
    run.done(info, f"{before}: is called {info.name} now", "rename", info.name, before)


def title(run: Invocation) -> None:
    """Give an agent another title, or take it away."""
    before = run.client.agent(run.agent).title or ""
    info = run.client.change(run.agent, title=run.words[0], if_seq=run.args.if_seq)
    now = flat(info.title or "")
    run.done(info, f"{info.name}: {now or 'no title'}", "title", info.name, *_word(before))


def _word(text: str) -> list[str]:
    """Give a text as a word that is taken for no option."""
    return ["--", text] if text.startswith("-") else [text]


def tag(run: Invocation) -> None:
    """Set and remove tags."""
    before, info = _retag(run)
    now = " ".join(f"{name}={value}" for name, value in info.tags.items())
    back = list(way_back(before, info.tags))
    run.done(info, f"{info.name}: {now or 'no tags'}", *(["tag", "-a", info.name, *back] if back else []))


def _retag(run: Invocation) -> tuple[dict[str, str], AgentInfo]:
    """Read the tags, change them and write them all, as long as nobody else did anything in between."""
    for left in reversed(range(_TRIES)):
        info = run.client.agent(run.agent)
        head = info.head if run.args.if_seq is None else run.args.if_seq
        try:
            return info.tags, run.client.change(run.agent, tags=changed_tags(info.tags, run.words), if_seq=head)
        except Conflict:
            if not left or run.args.if_seq is not None:
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


def way_back(before: dict[str, str], after: dict[str, str]) -> Iterable[str]:
    """Give the changes that turn tags back into what they were."""
    yield from (f"{name}={value}" for name, value in before.items() if after.get(name) != value)
    yield from (f"{name}-" for name in after if name not in before)
