"""The command ``render``: the conversation as the body of a provider's request."""

from collections.abc import Iterable
from typing import Any, cast

from reel.base.strict_json import encode, parse
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.cli.line.files import read_json
from reel.cli.screen.output import plain, to_json
from reel.replies import Change
from reel.said.formats import FORMATS, Format

# How many changes are listed; nobody reads more on stderr.
_SHOWN = 12


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
        cache=args.cache,
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


def only_tools(ctx: Context) -> list[str] | None:
    """Return the tools of ``--only-tools``, ``None`` without it."""
    given = ctx.args.only_tools
    return None if given is None else list(filter(None, given.split(",")))


def format_of(ctx: Context) -> Format:
    """Return the value of ``--format``.

    Raises:
        UsageError: it is missing; the API cannot be guessed.
    """
    if ctx.args.format is None:
        raise UsageError(f"--format is missing; it is one of {', '.join(FORMATS)}")
    return cast("Format", ctx.args.format)


def extra(settings: Iterable[str], tools: str | None) -> str | None:
    """Return the top-level keys of the body as JSON text, which may be nested deeper than a message."""
    body = body_settings(settings, tools)
    return encode(body) if body else None


def body_settings(settings: Iterable[str], tools: str | None) -> dict[str, Any]:
    """Return the top-level keys of the body.

    Args:
        settings: ``KEY=VALUE``, where the value is JSON or text.
        tools: the path of the file with the tools.

    Raises:
        UsageError: a setting has no key or no value, or the file is not valid JSON.
    """
    body: dict[str, Any] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not key or not equals:
            raise UsageError(f"--set {setting!r} is not of the form K=V")
        body[key] = _value(value)
    if tools is not None:
        body["tools"] = read_json(tools)
    return body


def _value(text: str) -> Any:
    try:
        return parse(text)
    except (ValueError, RecursionError):
        return text


def from_report(path: str | None, field: str) -> Any:
    """Return a field of a file that ``render --report`` wrote; ``None`` if no file is named, or it has no such field.

    Raises:
        UsageError: the file was not written by ``render --report``.
    """
    if path is None:
        return None
    report = read_json(path)
    if not isinstance(report, dict) or "prefix" not in report:
        raise UsageError(f"{path} was not written by reel render --report")
    return report.get(field)


def show_changes(ctx: Context, report: list[Change]) -> None:
    """Print on stderr what had to be changed."""
    for change in report[:_SHOWN]:
        where = "" if change.seq is None else f"#{change.seq}{'' if change.block is None else f'[{change.block}]'} "
        ctx.out.warn(f"note: {where}{change.action}: {change.why}")
    if len(report) > _SHOWN:
        ctx.out.warn(f"note: and {len(report) - _SHOWN} more; --json has them all")


def _write_report(path: str, reply: Any) -> None:
    report = plain(reply)
    del report["body"]
    with open(path, "w", encoding="utf-8") as file:
        file.write(to_json(report) + "\n")
