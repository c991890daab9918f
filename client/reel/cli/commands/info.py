"""The command ``info``."""

from reel.cli.commands.shared.waiting import waits_for
from reel.cli.line.context import Context
from reel.cli.line.names import Names
from reel.cli.screen.output import plain
from reel.reading.approvals import MESSAGES
from reel.reading.fullness import Fullness
from reel.reading.tokens import Tokens, total
from reel.reading.wording import flat
from reel.replies import AgentInfo
from reel.requests.context import context
from reel.requests.derived import usage


def info(ctx: Context) -> None:
    """Show an agent's state."""
    reply = ctx.client.agent(ctx.agent)
    if ctx.args.marks and not ctx.out.as_json:
        labels = dict.fromkeys(mark.label for mark in reversed(reply.marks) if mark.label is not None)
        ctx.out.lines([label] for label in labels)
        return
    full = ctx.client.call(context(reply.id, ctx.settings.contexts)) if reply.messages else None
    if ctx.out.as_json:
        ctx.out.document({**plain(reply), **({} if full is None else {"context": full._asdict()})})
        return
    for name, value in describe(reply, ctx, used=_tokens(ctx), full=full, turn=_next_turn(ctx, reply)):
        if value:
            ctx.out.line((f"{name:<13}", "dim"), value)


def _tokens(ctx: Context) -> Tokens:
    """Return how many tokens the responses of an agent used, without those of its source."""
    return total(entry.tokens for entry in ctx.client.call(usage(ctx.agent)).values())


def describe(info: AgentInfo, ctx: Context, used: Tokens, full: Fullness | None, turn: str) -> list[tuple[str, str]]:
    """Return what is known about an agent as labels and texts; an empty text is not shown."""
    source = info.source
    return [
        ("name", info.name),
        ("id", info.id),
        ("title", flat(info.title or "")),
        ("tags", "  ".join(f"{name}={value}" for name, value in info.tags.items())),
        ("state", "alive" if info.alive else "killed"),
        ("source", f"{Names(ctx.client).of(source.agent)} at #{source.at}" if source else ""),
        ("head", f"#{info.head}"),
        ("messages", str(info.messages)),
        ("tokens", str(used) if any(used) else ""),
        ("context", "" if full is None else str(full)),
        ("prompt", flat(info.system or "", 200)),
        ("marks", "  ".join(f"{mark.label or '(no label)'} #{mark.seq}" for mark in info.marks)),
        ("open calls", "  ".join(f"{call.name} {call.id} #{call.seq}" for call in info.open_calls)),
        ("turn", turn),
        ("followers", str(info.attached)),
        ("created", ctx.clock(info.created)),
        ("updated", ctx.clock(info.updated)),
    ]


def _next_turn(ctx: Context, info: AgentInfo) -> str:
    """Return whose turn it is, or what a conversation waits for."""
    newest = ctx.client.messages(info.id, last=MESSAGES if info.open_calls else 1).messages
    if waits := waits_for(ctx, info.id, newest, info.open_calls):
        return waits
    if info.ready:
        return "the assistant"
    return "tool results" if info.open_calls else "the user"
