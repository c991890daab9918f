"""The command ``usage``: how many tokens the responses used, in groups."""

from __future__ import annotations

import json
import time
from typing import Any, NamedTuple

from reel import requests
from reel.cli.arguments import UsageError
from reel.cli.context import Context
from reel.errors import NotFound
from reel.light_typing import TYPE_CHECKING
from reel.reading.tokens import Tokens, tokens_in, total
from reel.reading.wording import cells, cut, flat, pad

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reel.cli.output import Line
    from reel.messages import Event

# The label of responses without a model, or agents without the tag.
NONE = "(none)"
_COLUMNS = ("responses", "in", "cached", "out", "reasoning")
# The numbers of a line take this many columns at least.
_NAME_WIDTH = 40


class Sum(NamedTuple):
    """The responses of a group, and their tokens."""

    responses: int = 0
    tokens: Tokens = Tokens()

    def plus(self, tokens: Tokens) -> Sum:
        """Return the sum with another response."""
        return Sum(self.responses + 1, total((self.tokens, tokens)))

    @property
    def columns(self) -> tuple[int, int, int, int, int]:
        """The numbers in the order of the table."""
        read, written, cached, reasoning = self.tokens
        return self.responses, read, cached, written, reasoning


class Counted(NamedTuple):
    """A response: its group and its tokens."""

    group: str
    tokens: Tokens


def usage(ctx: Context) -> None:
    """Print how many tokens were used."""
    args = ctx.args
    if args.format and ctx.out.as_json:
        raise UsageError("--format and --json cannot be combined")
    if args.all and args.agent:
        raise UsageError("--all and -a cannot be combined")
    by = args.by or ""
    with ctx.out.waiting("reading the logs"):
        sums = add_up(_counted(ctx, by))
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


def add_up(counted: Iterable[Counted]) -> dict[str, Sum]:
    """Return the sum of each group."""
    sums: dict[str, Sum] = {}
    for group, tokens in counted:
        sums[group] = sums.get(group, Sum()).plus(tokens)
    return sums


def whole(sums: Iterable[Sum]) -> Sum:
    """Return the sum of several groups."""
    entries = list(sums)
    return Sum(sum(entry.responses for entry in entries), total(entry.tokens for entry in entries))


def _counted(ctx: Context, by: str) -> Iterator[Counted]:
    """Yield the responses of the agent or of all agents.

    Only an agent's own events are read: inherited ones are counted with its source.
    """
    named = "" if ctx.args.all else ctx.agent
    for agent, tags in _agents(ctx, named):
        tag = tags.get(by.removeprefix("tag:"), NONE)
        try:
            for page in ctx.client.pages(requests.history(agent, kinds=["usage"])):
                for event in page.events:
                    yield from responses(event, by, tag)
        except NotFound:
            if named:
                raise  # otherwise it was removed since the list was read


def _agents(ctx: Context, named: str) -> Iterator[tuple[str, dict[str, str]]]:
    if named:
        agent = ctx.client.agent(named)
        yield agent.id, agent.tags
        return
    for page in ctx.client.pages(requests.agents()):
        for row in page.agents:
            yield row.id, row.tags


def responses(event: Event, by: str, tag: str) -> Iterator[Counted]:
    """Yield the response that an event counts, unless it counts nothing.

    Args:
        event: a ``usage`` event.
        by: ``model``, ``day``, ``tag:KEY``, or nothing for one group.
        tag: the group for a tag.
    """
    try:
        data = json.loads(event["data_json"] or "{}")
    except (ValueError, RecursionError):  # anybody may add such an event
        return
    if tokens := tokens_in(data):
        yield Counted(_group(event, data, by, tag), tokens)


def _group(event: Event, data: dict[str, Any], by: str, tag: str) -> str:
    if by == "model":
        model = data.get("model")
        return model if isinstance(model, str) and model else NONE
    if by == "day":
        return time.strftime("%Y-%m-%d", time.localtime(event.get("sent", event["time"]) / 1000))
    return tag if by else "all"


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
