"""The command ``usage``: how many tokens the responses used, in groups, and what they cost."""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING, NamedTuple
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.reading.prices import CURRENCY, DATE, money, price_of, prices_in
from reel.reading.usage import COLUMNS, Sum, whole
from reel.reading.wording import cells, count, cut, flat, pad
from reel.requests.derived import model_usage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from reel.cli.screen.output import Line
    from reel.reading.prices import Price

# The names of the additional numbers: what the responses with a known price cost, and how many others there are.
_COST = ("cost", "unpriced")
# The numbers of a line take this many columns at least.
_NAME_WIDTH = 40


class Cost(NamedTuple):
    """What responses cost: those whose price is known, and the number of the others."""

    amount: float = 0
    unpriced: int = 0

    def __str__(self) -> str:
        return f"{money(self.amount)}{' + ?' if self.unpriced else ''}"


class Row(NamedTuple):
    """A group: its responses and tokens, and what they cost, if somebody asked."""

    name: str
    entry: Sum
    cost: Cost | None = None


def usage(ctx: Context) -> None:
    """Print how many tokens were used."""
    args = ctx.args
    if args.format and ctx.out.as_json:
        raise UsageError("--format and --json cannot be combined")
    if args.all and args.agent:
        raise UsageError("--all and -a cannot be combined")
    by = args.by or ""
    with ctx.out.waiting("reading the logs"):
        models = ctx.client.call(model_usage(None if args.all else ctx.agent or None, by))
    if not by:
        models = {"all": models.get("all", {})}
    own = prices_in(ctx.settings.prices)
    rows = [
        Row(name, whole(sums.values()), cost_of(sums, own) if args.cost else None)
        for name, sums in sorted(models.items())
    ]
    what = by.removeprefix("tag:") or "total"
    if ctx.out.as_json:
        ctx.out.documents({**({"group": row.name} if by else {}), **_named(row)} for row in rows)
    elif args.format == "csv":
        ctx.out.lines([line] for line in csv_lines(what, rows, with_cost=args.cost))
    else:
        ctx.out.lines(table(what, rows, ctx.out.width, with_cost=args.cost))
    for line in remarks(models, own) if args.cost else ():
        ctx.out.warn(line)


def cost_of(models: Mapping[str, Sum], own: Mapping[str, Price]) -> Cost:
    """Return what the responses of some models cost."""
    amount, unpriced = 0.0, 0
    for model, entry in models.items():
        if (price := price_of(model, own)) is None:
            unpriced += entry.responses
        else:
            amount += price.of(entry.tokens)
    return Cost(amount, unpriced)


def remarks(models: Mapping[str, Mapping[str, Sum]], own: Mapping[str, Price]) -> Iterator[str]:
    """Yield which prices were used, and which are not known."""
    names = sorted({name for sums in models.values() for name in sums})
    if any(price_of(name, own) is not None for name in names):
        yield f"the prices are those of {DATE} in {CURRENCY}, unless [prices] in reel.toml has others"
    for name in names:
        if price_of(name, own) is None:
            responses = sum(sums[name].responses for sums in models.values() if name in sums)
            what = f"no price of {flat(name)} is known, for {count(responses, 'response')}"
            yield f"{what}: set it in [prices] in reel.toml"


def _named(row: Row) -> dict[str, Any]:
    cost = {} if row.cost is None else dict(zip(_COST, (round(row.cost.amount, 6), row.cost.unpriced), strict=True))
    return {**dict(zip(COLUMNS, row.entry.columns, strict=True)), **cost}


def csv_lines(what: str, rows: list[Row], *, with_cost: bool = False) -> Iterator[str]:
    """Yield the rows as comma-separated values, below their names."""
    yield ",".join((_quoted(what), *COLUMNS, *(_COST if with_cost else ())))
    for row in rows:
        yield ",".join((_quoted(row.name), *map(str, _named(row).values())))


def _quoted(text: str) -> str:
    if any(char in text for char in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text


def table(what: str, rows: list[Row], width: int | None, *, with_cost: bool = False) -> Iterator[Line]:
    """Yield the lines of a table, with the total below several rows."""
    lines = [(flat(row.name), _shown(row)) for row in rows]
    if len(rows) != 1:
        lines.append(("total", _shown(_total(rows, with_cost=with_cost))))
    heads = tuple(column.replace("_", " ").upper() for column in (*COLUMNS, *(_COST[:1] if with_cost else ())))
    widths = [max(len(numbers[column]) for _, numbers in [("", heads), *lines]) for column in range(len(heads))]
    room = _NAME_WIDTH if width is None else max(width - sum(widths) - 2 * len(widths), 8)
    longest = min(max(cells(cut(name, room)) for name, _ in [(what, ()), *lines]), room)

    def line(name: str, numbers: tuple[str, ...]) -> str:
        shown = (number.rjust(size) for number, size in zip(numbers, widths, strict=True))
        return "  ".join((pad(cut(name, room), longest), *shown))

    yield [(line(what.upper(), heads), "dim")]
    for name, numbers in lines:
        yield [(line(name, numbers), "dim" if name == "total" and len(lines) > 1 else "")]


def _shown(row: Row) -> tuple[str, ...]:
    return (*(f"{number:,}" for number in row.entry.columns), *(() if row.cost is None else (str(row.cost),)))


def _total(rows: list[Row], *, with_cost: bool) -> Row:
    costs = [row.cost for row in rows if row.cost is not None]
    cost = Cost(sum(cost.amount for cost in costs), sum(cost.unpriced for cost in costs))
    return Row("", whole(row.entry for row in rows), cost if with_cost else None)
