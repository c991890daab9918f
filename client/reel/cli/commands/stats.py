"""The command ``stats``: every figure of the daemon, for people and for monitoring systems."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from reel.base.light_typing import TYPE_CHECKING
from reel.cli.line.arguments import UsageError
from reel.reading.wording import count, duration, latency, size
from reel.stats.histograms import histogram_of
from reel.stats.metrics import exposition

if TYPE_CHECKING:
    from typing import Any

    from reel.cli.line.context import Context
    from reel.cli.screen.output import Line


def stats(ctx: Context) -> None:
    """Print every counter and size of the daemon, by the names of the protocol or as metrics.

    Raises:
        UsageError: metrics were asked for as JSON.
    """
    if ctx.args.format and ctx.out.as_json:
        raise UsageError("--format and --json cannot be combined")
    counted = ctx.client.stats()
    if ctx.args.format:
        ctx.out.piece(exposition(counted, ctx.args.format))
    elif ctx.out.as_json:
        ctx.out.document(counted)
    else:
        ctx.out.lines(line for name, value in counted.items() for line in _lines(name, value, ctx.clock))


def _lines(name: str, value: Any, clock: Callable[[int], str]) -> Iterator[Line]:
    """Yield a figure; of a map, each of its entries on a line below its name."""
    title = (f"{name:<28}", "dim")
    if not isinstance(value, dict) or not value:
        yield [title, _shown(name, value, clock)]
    elif "counts" in value:
        yield [title, _summary(name, value)]
    else:
        yield [title]
        for key in sorted(value):
            shown = _summary(name, value[key]) if isinstance(value[key], dict) else f"{value[key]:,}"
            yield [(f"  {key:<26}", "dim"), shown]


def _shown(name: str, value: Any, clock: Callable[[int], str]) -> str:
    """Return a figure with its unit, which its name tells."""
    if value is None or value in ([], {}):
        return "none"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if name == "uptime":
        return duration(value / 1000)
    if name in ("started", "scheduled_backup_time", "retention_after", "retention_history_after"):
        return clock(value)
    if "bytes" in name:
        return size(value)
    if name.endswith("_kb"):
        return size(value * 1024)
    if name.endswith("_us"):
        return latency(value / 1e6)
    return f"{value:,}" if type(value) is int else str(value)


def _summary(name: str, found: dict[str, Any]) -> str:
    """Return how many values a histogram has, and which value half and nearly all of them do not exceed."""
    histogram = histogram_of(found)
    half, most = histogram.quantile(0.5), histogram.quantile(0.99)
    if half is None or most is None:
        return "0 times"
    shown = (latency(half), latency(most)) if name.endswith("_seconds") else (f"{half:,.0f}", f"{most:,.0f}")
    return f"{count(histogram.total, 'time')}, p50 {shown[0]}, p99 {shown[1]}"
