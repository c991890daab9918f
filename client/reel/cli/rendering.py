"""The command ``render``: the conversation as a provider wants it."""

from collections.abc import Iterable
from typing import Any

from reel.cli.arguments import UsageError
from reel.cli.context import Context
from reel.cli.files import read_json
from reel.cli.output import plain, to_json
from reel.formats import FORMATS
from reel.replies import Change
from reel.strict_json import encode, parse

# More than this nobody reads in passing.
_SHOWN = 12


def render(ctx: Context) -> None:
    """Print the body of a request, and aside what was done to the history."""
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
    )
    if args.report:
        _write_report(args.report, reply)
    elif not ctx.out.as_json:
        show_changes(ctx, reply.report)
    if ctx.out.as_json:
        ctx.out.document(reply)
    else:
        ctx.out.json_text(reply.body)
    if not reply.ready:
        ctx.out.warn(f"note: not ready to be sent: it needs a message of the {reply.needs or 'user'} at its end")
    if reply.extends is False:
        ctx.out.warn("note: this does not go on from the earlier rendering; what the provider has cached is lost")


def format_of(ctx: Context) -> str:
    """Give the format that was named.

    Raises:
        UsageError: none was: which API it is cannot be guessed.
    """
    if ctx.args.format is None:
        raise UsageError(f"--format is missing; one of {', '.join(FORMATS)}")
    return str(ctx.args.format)


def extra(settings: Iterable[str], tools: str | None) -> str | None:
    """Give what goes to the top of the body, as JSON text: it may be deeper than a message.

    Args:
        settings: ``KEY=VALUE``, the value JSON or else a text.
        tools: the file that the tools are in.

    Raises:
        UsageError: one of them is none.
    """
    body: dict[str, Any] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not key or not equals:
            raise UsageError(f"--set {setting!r} is no K=V")
        body[key] = _value(value)
    if tools is not None:
        body["tools"] = read_json(tools)
    return encode(body) if body else None


def _value(text: str) -> Any:
    try:
        return parse(text)
    except (ValueError, RecursionError):
        return text


def from_report(path: str | None, field: str) -> Any:
    """Read a field of what ``render --report`` wrote; ``None`` where no file is named, or it has no such field.

    Raises:
        UsageError: it is no such file.
    """
    if path is None:
        return None
    report = read_json(path)
    if not isinstance(report, dict) or "prefix" not in report:
        raise UsageError(f"{path} was not written by reel render --report")
    return report.get(field)


def show_changes(ctx: Context, report: list[Change]) -> None:
    """Say aside what could not stay as it was."""
    for change in report[:_SHOWN]:
        where = "" if change.seq is None else f"{change.seq}{'' if change.block is None else f'[{change.block}]'} "
        ctx.out.warn(f"note: {where}{change.action}: {change.why}")
    if len(report) > _SHOWN:
        ctx.out.warn(f"note: and {len(report) - _SHOWN} more; --json has them all")


def _write_report(path: str, reply: Any) -> None:
    report = plain(reply)
    del report["body"]
    with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123 - pathlib costs 4 ms
        file.write(to_json(report) + "\n")
