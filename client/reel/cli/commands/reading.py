"""Commands that only read: log, info, replay."""

import json
from contextlib import suppress
from typing import Any

from reel import requests
from reel.cli.commands.shared.pager import paged
from reel.cli.line.context import Context
from reel.cli.line.exits import OK, REFUSED
from reel.cli.line.names import Names
from reel.cli.screen.output import Line
from reel.reading.tokens import Tokens, tokens_in, total
from reel.reading.wording import count, flat
from reel.replies import AgentInfo, ReplayPage

_LARGE = 10_000


def log(ctx: Context) -> None:
    """Show the log, one line per event."""
    args = ctx.args
    call = requests.history(ctx.agent, since=args.since, kinds=args.kind, inherited=args.inherited or None)
    lines = ctx.event_lines
    with paged(ctx, at_end=True):
        for page in ctx.client.pages(call):
            if ctx.out.as_json:
                ctx.out.documents(page.events)
            else:
                ctx.out.lines(lines.layout(event) for event in page.events)


def info(ctx: Context) -> None:
    """Show an agent's state."""
    reply = ctx.client.agent(ctx.agent)
    if ctx.out.as_json:
        ctx.out.document(reply)
        return
    if ctx.args.marks:
        labels = dict.fromkeys(mark.label for mark in reversed(reply.marks) if mark.label is not None)
        ctx.out.lines([label] for label in labels)
        return
    for name, value in describe(reply, ctx, used=_tokens(ctx)):
        if value:
            ctx.out.line((f"{name:<13}", "dim"), value)


def _tokens(ctx: Context) -> Tokens:
    """Return how many tokens the responses of an agent used, without those of its source."""
    used = []
    for page in ctx.client.pages(requests.history(ctx.agent, kinds=["usage"])):
        for event in page.events:
            with suppress(ValueError, RecursionError):  # anybody may add such an event
                used.append(tokens_in(json.loads(event["data_json"] or "{}")))
    return total(used)


def describe(info: AgentInfo, ctx: Context, used: Tokens) -> list[tuple[str, str]]:
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
        ("prompt", flat(info.system or "", 200)),
        ("marks", "  ".join(f"{mark.label or '(no label)'} #{mark.seq}" for mark in info.marks)),
        ("open calls", "  ".join(f"{call.name} {call.id} #{call.seq}" for call in info.open_calls)),
        ("waiting for", _next_turn(info)),
        ("followers", str(info.attached)),
        ("created", ctx.clock(info.created)),
        ("updated", ctx.clock(info.updated)),
    ]


def _next_turn(info: AgentInfo) -> str:
    if info.ready:
        return "the assistant"
    return "tool results" if info.open_calls else "the user"


def replay(ctx: Context) -> int:
    """Rebuild the conversation from the log and show whether the live state was the same."""
    # The daemon reads the whole log for each page: ask for large pages, and no more than are shown.
    call = requests.replay(ctx.agent, at=ctx.args.at, strict=ctx.args.strict or None, limit=_LARGE)
    if ctx.out.as_json:
        pages = list(ctx.client.pages(call))
        messages: list[Any] = [message for page in pages for message in page.messages or []]
        page = pages[0]._replace(messages=messages, more=False)
        ctx.out.document(page)
    else:
        page = ctx.client.call(call)
        ctx.out.lines(verdict(page, ctx.agent))
    return REFUSED if page.matched is False else OK


def verdict(page: ReplayPage, agent: str) -> list[Line]:
    """Lay out the result of a replay."""
    state = {
        None: "",
        True: "; the live state is the same",
        False: "; the live state DIFFERED and was repaired",
    }[page.matched]
    messages = f"{'more than ' if page.more else ''}{count(len(page.messages or []), 'message')}"
    lines: list[Line] = [[f"{agent}: {messages} at #{page.at}{state}"]]
    lines += [[(f"  skipped #{skipped.seq}: {skipped.reason}", "error")] for skipped in page.skipped]
    return lines
