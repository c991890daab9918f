"""What the commands share that have to do with the body of a request: its options, and what had to be changed."""

from collections.abc import Iterable
from typing import Any, cast

from reel.base.strict_json import parse
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.cli.line.files import read_json
from reel.replies import Change
from reel.said.formats import FORMATS, Format

# How many changes are listed; nobody reads more on stderr.
_SHOWN = 12


def only_tools(ctx: Context) -> list[str] | None:
    """Return the tools of ``--only-tools``, ``None`` without it."""
    given = ctx.args.only_tools
    return None if given is None else list(filter(None, given.split(",")))


def format_of(ctx: Context, default: str | None = None) -> Format:
    """Return the value of ``--format``, else the default.

    Raises:
        UsageError: it is missing; the API cannot be guessed.
    """
    spoken = ctx.args.format or default
    if spoken is None:
        raise UsageError(f"--format is missing; it is one of {', '.join(FORMATS)}")
    return cast("Format", spoken)


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
