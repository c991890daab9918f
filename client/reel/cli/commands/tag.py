"""The command ``tag``."""

from collections.abc import Iterable

from reel.base.errors import Conflict
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.replies import AgentInfo

# How often to try again if the agent changes between reading and writing its tags.
_ATTEMPTS = 5


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
            raise UsageError(f"{change!r} is not a tag; K=V sets one and K- removes one (-a names the conversation)")
    return changed


def reverting_changes(before: dict[str, str], after: dict[str, str]) -> Iterable[str]:
    """Return the changes that restore the tags as they were before."""
    yield from (f"{name}={value}" for name, value in before.items() if after.get(name) != value)
    yield from (f"{name}-" for name in after if name not in before)
