"""The command ``render``: the conversation as the body of a provider's request."""

from collections.abc import Iterable
from typing import Any

from reel.base.strict_json import encode
from reel.cli.commands.shared.bodies import body_settings, format_of, from_report, only_tools, show_changes
from reel.cli.line.context import Context
from reel.cli.screen.output import plain, to_json
from reel.replies import Change


def render(ctx: Context) -> None:
    """Print the body of a request, and on stderr how the history had to be changed."""
    args = ctx.args
    reply = ctx.client.render(
        ctx.agent,
        format_of(ctx),
        at=args.at,
        model=args.model,
        extra=extra(args.set or (), args.tools),
        budget=args.budget,
        open=args.open,
        pin=args.pin,
        after=from_report(args.after, "prefix"),
        cache=None if args.cache == "off" else args.cache,
        dialect=args.dialect,
        tools=only_tools(ctx),
    )
    if args.report:
        _write_report(args.report, reply)
    elif not ctx.out.as_json:
        show_changes(ctx, _news(ctx, reply.report) if ctx.out.tells_a_person else reply.report)
    if ctx.out.as_json:
        ctx.out.document(reply)
    else:
        ctx.out.json_text(reply.body)
    if not reply.ready:
        ctx.out.warn(
            f"warning: nothing to answer: the last message is not the {reply.needs or 'user'}'s, or cannot be sent"
        )
    if reply.extends is False:
        ctx.out.warn("note: the body does not extend the earlier one; the provider's cache does not help")


def _news(ctx: Context, report: list[Change]) -> list[Change]:
    """Return the changes that are new to a person: those of older messages were printed when these were the newest."""
    newest = ctx.client.messages(ctx.agent, last=1, at=ctx.args.at).messages
    if not newest:
        return report
    return [change for change in report if change.seq is None or change.seq >= newest[0]["seq"]]


def extra(settings: Iterable[str], tools: str | None) -> str | None:
    """Return the top-level keys of the body as JSON text, which may be nested deeper than a message."""
    body = body_settings(settings, tools)
    return encode(body) if body else None


def _write_report(path: str, reply: Any) -> None:
    report = plain(reply)
    del report["body"]
    with open(path, "w", encoding="utf-8") as file:
        file.write(to_json(report) + "\n")
