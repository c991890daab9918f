"""The daemon's figures as text for a monitoring system: OpenMetrics 1.0, or Prometheus's older text format.

The two differ in little: OpenMetrics names a counter without ``_total``, has a type ``info``, states units and ends in
``# EOF``. The textfile collector of node_exporter reads the older one: it refuses a whole file over a type that it does
not know, and takes an OpenMetrics counter for a value without a type. No sample has a timestamp, which it refuses too.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

from reel.light_typing import TYPE_CHECKING
from reel.metrics import COUNTER, GAUGE, HISTOGRAM, INFO, METRICS, Metric

if TYPE_CHECKING:
    from typing import Any

OPENMETRICS, PROMETHEUS = "openmetrics", "prometheus"


def exposition(stats: dict[str, Any], form: str) -> str:
    """Return figures as text. What they lack, since the daemon is older or does not know it, is left out.

    Args:
        stats: what the method ``stats`` returns.
        form: ``openmetrics`` or ``prometheus``.
    """
    lines = [line for metric in METRICS for line in _family(metric, stats, form)]
    return "".join(f"{line}\n" for line in [*lines, *(["# EOF"] if form == OPENMETRICS else [])])


def _family(metric: Metric, stats: dict[str, Any], form: str) -> Iterator[str]:
    samples = list(_samples(metric, stats))
    if not samples:
        return
    named, kind = metric.family, metric.kind
    if form == PROMETHEUS and kind in (COUNTER, INFO):
        named, kind = samples[0].partition("{")[0].partition(" ")[0], GAUGE if kind == INFO else kind
    yield f"# HELP {named} {metric.help}"
    yield f"# TYPE {named} {kind}"
    if metric.unit and form == OPENMETRICS:
        yield f"# UNIT {named} {metric.unit}"
    yield from samples


def _samples(metric: Metric, stats: dict[str, Any]) -> Iterator[str]:
    if metric.kind == INFO:
        known = {name: stats[name] for name in metric.field.split() if name in stats}
        if known:
            yield f"{metric.family}_info{_labels(known)} 1"
        return
    if metric.field not in stats:
        return
    found = stats[metric.field]
    if metric.label:
        for key in sorted(found):
            yield from _of_one(metric, found[key], {metric.label: key})
    else:
        yield from _of_one(metric, found, {})


def _of_one(metric: Metric, found: Any, labels: dict[str, Any]) -> Iterator[str]:
    if metric.kind == HISTOGRAM:
        yield from _histogram(metric.family, found, labels)
        return
    value = _number(metric, found)
    if value is not None:
        name = f"{metric.family}_total" if metric.kind == COUNTER else metric.family
        yield f"{name}{_labels(labels)} {value}"


def _number(metric: Metric, found: Any) -> str | None:
    """Return a figure in the metric's unit: of a list how many it has, of a problem whether there is one."""
    if isinstance(found, list):
        return str(len(found))
    if metric.name.endswith("_failing"):
        return str(int(found is not None))
    if found is None:
        return None
    return str(found) if metric.parts == 1 else f"{found / metric.parts:.15g}"


def _histogram(name: str, found: dict[str, Any], labels: dict[str, Any]) -> Iterator[str]:
    sums = list(accumulate(found["counts"]))
    for bound, count in zip([*(f"{float(bound)}" for bound in found["bounds"]), "+Inf"], sums, strict=True):
        yield f"{name}_bucket{_labels({**labels, 'le': bound})} {count}"
    yield f"{name}_count{_labels(labels)} {sums[-1]}"
    yield f"{name}_sum{_labels(labels)} {found['sum']:.15g}"


def _labels(labels: dict[str, Any]) -> str:
    shown = ",".join(f'{name}="{_escaped(str(value))}"' for name, value in labels.items())
    return f"{{{shown}}}" if shown else ""


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
