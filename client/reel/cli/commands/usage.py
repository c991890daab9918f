"""The command ``usage``: how many tokens the responses used, in groups."""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.reading.usage import Sum, whole
from reel.reading.wording import cells, cut, flat, pad

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reel.cli.screen.output import Line

_COLUMNS = ("responses", "in", "cached", "out", "reasoning")
# The numbers of a line take this many columns at least.
_NAME_WIDTH = 40


def usage(ctx: Context) -> None:
    """Print how many tokens were used."""
    args = ctx.args
    if args.format and ctx.out.as_json:
        raise UsageError("--format and --json cannot be combined")
    if args.all and args.agent:
        raise UsageError("--all and -a cannot be combined")
    by = args.by or ""
    with ctx.out.waiting("reading the logs"):
        sums = ctx.client.usage(None if args.all else ctx.agent or None, by)
    what = by.removeprefix("tag:") or "total"
    rows = sorted(sums.items()) if by else [("all", sums.get("all", Sum()))]
    if ctx.out.as_json:
        ctx.out.documents({**({"group": name} if by else {}), **_named(entry)} for name, entry in rows)
    elif args.format == "csv":
        ctx.out.lines([line] for line in csv_lines(what, rows))
    else:
        ctx.out.lines(table(what, rows, ctx.out.width))


def _named(entry: Sum) -> dict[str, int]:
    return dict(zip(_COLUMNS, entry.columns, strict=True))


def csv_lines(what: str, rows: list[tuple[str, Sum]]) -> Iterator[str]:
    """Yield the rows as comma-separated values, below their names."""
    yield ",".join((_quoted(what), *_COLUMNS))
    for name, entry in rows:
        yield ",".join((_quoted(name), *map(str, entry.columns)))


def _quoted(text: str) -> str:
    if any(char in text for char in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text


def table(what: str, rows: list[tuple[str, Sum]], width: int | None) -> Iterator[Line]:
    """Yield the lines of a table, with the total below several rows."""
    lines = [(flat(name), tuple(f"{number:,}" for number in entry.columns)) for name, entry in rows]
    if len(rows) != 1:
        lines.append(("total", tuple(f"{number:,}" for number in whole(entry for _, entry in rows).columns)))
    heads = tuple(column.upper() for column in _COLUMNS)
    widths = [max(len(numbers[column]) for _, numbers in [("", heads), *lines]) for column in range(len(heads))]
    room = _NAME_WIDTH if width is None else max(width - sum(widths) - 2 * len(widths), 8)
    longest = min(max(cells(cut(name, room)) for name, _ in [(what, ()), *lines]), room)

    def line(name: str, numbers: tuple[str, ...]) -> str:
        shown = (number.rjust(size) for number, size in zip(numbers, widths, strict=True))
        return "  ".join((pad(cut(name, room), longest), *shown))

    yield [(line(what.upper(), heads), "dim")]
    for name, numbers in lines:
        yield [(line(name, numbers), "dim" if name == "total" and len(lines) > 1 else "")]
