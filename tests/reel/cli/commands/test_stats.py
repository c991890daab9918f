"""``reel stats``."""

import re
from typing import Any

from prometheus_client.openmetrics import parser

from reel.stats.metrics import METRICS
from tests.reel.cli.conftest import Reel

# What identifies the daemon, or says in words what a metric says as a number.
_IN_WORDS = {"clients", "database", "engine", "log", "scheduled_backup_directory", "search_index", "socket"}
# Counted by a histogram, or to be subtracted.
_REDUNDANT = {"commits", "search_indexed"}
# How far a backup is, in the unit of its step: for the person who waits for it.
_PROGRESS = {"backup_path", "backup_step", "backup_done", "backup_total"}
# What the limits add up to, and when retention may begin: they change with the settings alone.
_SETTINGS = {
    "memory_limit_kb",
    "memory_most_kb",
    "retention_after",
    "retention_history_after",
    "retention_history_days",
}


def test_every_counter_is_a_metric(reel: Reel) -> None:
    """A figure of the daemon is a metric, and each metric is made from one."""
    counted = reel("stats", "--json").documents[0]

    measured = {name for metric in METRICS for name in metric.field.split()}

    assert counted.keys() == measured | _IN_WORDS | _REDUNDANT | _PROGRESS | _SETTINGS


def test_metrics(reel: Reel) -> None:
    """A daemon's figures are valid OpenMetrics; a method that was called has its latencies."""
    reel("show", "nobody")
    reel("search", "deck")  # opens the index
    reel("stats")
    read: Any = parser.text_string_to_metric_families
    families = {each.name: each for each in read(reel("stats", "--format", "openmetrics").out)}
    calls = {sample.labels.get("method"): sample.value for sample in families["reeld_request_duration_seconds"].samples}

    # There is no backup yet.
    assert {metric.family for metric in METRICS} - {"reeld_scheduled_backup_time_seconds"} == families.keys()
    assert calls["stats"] > 0
    assert 0 < families["reeld_request_errors"].samples[0].value


def test_for_people(reel: Reel) -> None:
    """A histogram is shown as how often, and what half and nearly all stay below."""
    reel("stats")
    out = reel("stats").out

    assert re.search(r"^  stats +[0-9,]+ times?, p50 [0-9.]+ [mu]?s, p99 [0-9.]+ [mu]?s$", out, re.MULTILINE)
    assert re.search(r"^commit_events +[0-9,]+ times?(, p50 [0-9,]+, p99 [0-9,]+)?$", out, re.MULTILINE)


def test_units_for_people(reel: Reel) -> None:
    """Times and sizes have units, and an empty value is shown as none."""
    shown = dict(re.findall(r"^(\w+) *(.*)$", reel("stats").out, re.MULTILINE))

    assert re.fullmatch(r"(\d+m )?\d+s", shown["uptime"])
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT[0-9:.]+Z", shown["started"])
    assert re.fullmatch(r"[0-9.]+ (kB|MB)", shown["database_bytes"])
    assert re.fullmatch(r"\d+ MB", shown["memory_kb"])
    assert re.fullmatch(r"[0-9.]+ (us|ms|s)", shown["longest_commit_us"])
    assert ("none", "none") == (shown["wal_readers"], shown["scheduled_backup_time"])


def test_two_forms_at_once(reel: Reel) -> None:
    """Metrics are not JSON."""
    ran = reel("stats", "--format", "openmetrics", "--json")

    assert (2, "reel: usage: --format and --json cannot be combined; see: reel stats --help\n") == (ran.status, ran.err)
