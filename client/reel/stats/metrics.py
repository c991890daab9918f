"""The daemon's metrics for a monitoring system: their table, and their text format.

The table has the name and the unit of each field of ``stats``. The text, the documentation and the tests are all
derived from it. Names follow the conventions of Prometheus and of OpenMetrics: the prefix of the program, base units
(seconds, bytes) as the suffix, and ``_total`` for counters, which is not part of the name here.

The text is OpenMetrics 1.0, or Prometheus's older format. The differences are small: OpenMetrics names a counter
without ``_total``, has a type ``info``, declares units and ends with ``# EOF``. The textfile collector of node_exporter
reads the older one: it rejects a whole file because of one unknown type, and treats an OpenMetrics counter as untyped.
No sample has a timestamp, which it rejects too.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

from reel.base.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

COUNTER, GAUGE, HISTOGRAM, INFO = "counter", "gauge", "histogram", "info"
OPENMETRICS, PROMETHEUS = "openmetrics", "prometheus"


class Metric(NamedTuple):
    """A metric, and the field of ``stats`` that it is made from.

    Args:
        name: without ``reeld_``, and without the suffix of a counter.
        kind: ``counter``, ``gauge``, ``histogram`` or ``info``.
        help: what it is, as one sentence.
        field: in ``stats``; of an ``info`` the fields, which are its labels, separated by blanks.
        unit: ``seconds``, ``bytes`` or ``events``, which the name then ends in; empty for other counts.
        parts: how many of the daemon's units make one of the metric's.
        label: what the keys of the field mean, if it is a map.
    """

    name: str
    kind: str
    help: str
    field: str
    unit: str = ""
    parts: float = 1
    label: str = ""

    @property
    def family(self) -> str:
        """Its name, without the suffixes of its samples."""
        return f"reeld_{self.name}"


METRICS = (
    Metric("build", INFO, "The versions of reeld, of its protocol and of SQLite.", "version protocol sqlite"),
    Metric("start_time_seconds", GAUGE, "When the daemon started, since the epoch.", "started", "seconds", 1000),
    Metric("uptime_seconds", GAUGE, "How long the daemon has been running.", "uptime", "seconds", 1000),
    Metric("cpu_seconds", COUNTER, "Processor time that the daemon has used.", "cpu_us", "seconds", 1_000_000),
    Metric("resident_memory_bytes", GAUGE, "Memory of the process.", "memory_kb", "bytes", 1 / 1024),
    Metric("open_files", GAUGE, "Open file descriptors.", "open_files"),
    Metric("tasks", GAUGE, "Tasks in the daemon.", "tasks"),
    Metric("connections", GAUGE, "Open connections.", "connections"),
    Metric("connections_refused", COUNTER, "Connections refused at the limit.", "refused_connections"),
    Metric(
        "connections_dropped",
        COUNTER,
        "Connections closed because too much was waiting on all of them together.",
        "dropped_connections",
    ),
    Metric("requests_in_flight", GAUGE, "Requests that have not been answered.", "requests_in_flight"),
    Metric("requests_in_flight_bytes", GAUGE, "Size of the requests in flight.", "bytes_in_flight", "bytes"),
    Metric("requests_refused", COUNTER, "Requests refused before they began.", "refused_requests"),
    Metric("request_errors", COUNTER, "Requests answered with an error.", "errors", label="error"),
    Metric(
        "request_duration_seconds",
        HISTOGRAM,
        "Time from when a request was read until its reply was queued; of methods that were called.",
        "request_seconds",
        "seconds",
        label="method",
    ),
    Metric("unread_bytes", GAUGE, "Replies, pushes and incomplete requests that wait.", "bytes_waiting", "bytes"),
    Metric("subscriptions", GAUGE, "Subscriptions of all connections.", "subscriptions"),
    Metric(
        "subscriptions_lagged",
        COUNTER,
        "Subscriptions that ended because the client did not read fast enough.",
        "lagged_subscriptions",
    ),
    Metric("drafts", GAUGE, "Texts that are being typed.", "drafts"),
    Metric("agents", GAUGE, "Conversations in the database, killed ones included.", "agents"),
    Metric("agents_alive", GAUGE, "Conversations that are not killed.", "living_agents"),
    Metric("agents_loaded", GAUGE, "Conversations in memory.", "loaded_agents"),
    Metric("agents_loaded_bytes", GAUGE, "Size of the conversations in memory.", "loaded_bytes", "bytes"),
    Metric("agent_starts", COUNTER, "Conversations that had to be loaded into memory.", "started_agents"),
    Metric("agent_failures", COUNTER, "Conversations that failed because of a bug.", "failed_agents"),
    Metric("agent_repairs", COUNTER, "Live states that differed from the log.", "mended_agents"),
    Metric("agent_jobs_waiting", GAUGE, "Requests that wait for a conversation.", "jobs_waiting"),
    Metric("commit_duration_seconds", HISTOGRAM, "Time that commits took.", "commit_seconds", "seconds"),
    Metric("commit_events", HISTOGRAM, "Events that a commit wrote, if it wrote any.", "commit_events", "events"),
    Metric("commits_waiting", GAUGE, "Transactions that are not committed yet.", "commits_waiting"),
    Metric(
        "commit_longest_seconds",
        GAUGE,
        "The longest commit since the start.",
        "longest_commit_us",
        "seconds",
        1_000_000,
    ),
    Metric("events_written", COUNTER, "Events written since the start.", "events_written"),
    Metric("newest_event_id", GAUGE, "The id of the newest event.", "newest_event"),
    Metric(
        "events_lost",
        COUNTER,
        "Acknowledged events that a database server came back without, since the start.",
        "lost_events",
    ),
    Metric(
        "storage_failing", GAUGE, "Whether commands are refused because of the disk or the file.", "storage_problem"
    ),
    Metric("erasing_failing", GAUGE, "Whether something is left of what was erased.", "erasing_problem"),
    Metric("retention_failing", GAUGE, "Whether what is too old is not purged or pruned.", "retention_problem"),
    Metric(
        "events_pruned",
        COUNTER,
        "Events of living conversations that retention pruned since the start.",
        "retention_pruned_events",
    ),
    Metric(
        "pruned_bytes",
        COUNTER,
        "Bytes of text that retention pruned since the start.",
        "retention_pruned_bytes",
        "bytes",
    ),
    Metric("housekeeping_failing", GAUGE, "Whether something for which nobody waits fails.", "housekeeping_problem"),
    Metric("database_bytes", GAUGE, "Size of the database file.", "database_bytes", "bytes"),
    Metric("wal_bytes", GAUGE, "Size of the write-ahead log.", "wal_bytes", "bytes"),
    Metric("wal_readers", GAUGE, "Other processes that keep the write-ahead log growing.", "wal_readers"),
    Metric("search_index_bytes", GAUGE, "Size of the search index.", "search_index_bytes", "bytes"),
    Metric("search_behind_events", GAUGE, "Events that the search index lacks.", "search_behind", "events"),
    Metric(
        "search_without_trigrams_events",
        GAUGE,
        "Events that a search for a pattern has to read: they have no trigrams yet; up to 8,192 always have none.",
        "search_without_trigrams",
        "events",
    ),
    Metric("search_failing", GAUGE, "Whether searching does not work.", "search_problem"),
    Metric(
        "scheduled_backup_time_seconds",
        GAUGE,
        "When the newest intact backup by the daemon itself was begun, since the epoch.",
        "scheduled_backup_time",
        "seconds",
        1000,
    ),
    Metric(
        "scheduled_backup_failures", COUNTER, "Backups by the daemon itself that failed.", "scheduled_backup_failures"
    ),
    Metric(
        "scheduled_backup_failing",
        GAUGE,
        "Whether the last backup by the daemon itself failed, is damaged, or is too old.",
        "scheduled_backup_problem",
    ),
    Metric(
        "render_cache_bytes",
        GAUGE,
        "Size of the rendered histories and items in the cache.",
        "render_cache_bytes",
        "bytes",
    ),
    Metric("render_cache_hits", COUNTER, "Renderings that continued one in the cache.", "render_cache_hits"),
    Metric("render_cache_misses", COUNTER, "Renderings from the beginning.", "render_cache_misses"),
)


def exposition(stats: dict[str, Any], form: str) -> str:
    """Return metrics as text. One that is missing, because the daemon is older or does not know it, is left out.

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
    """Return a figure in the metric's unit; for a list its length, for a problem whether there is one."""
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
