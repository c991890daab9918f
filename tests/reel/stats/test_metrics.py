"""The metrics: their table, and their text in both forms as other programs read it."""

import re
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_prometheus

from reel.stats.metrics import COUNTER, GAUGE, HISTOGRAM, INFO, METRICS, OPENMETRICS, PROMETHEUS, Metric, exposition

_HISTOGRAM = {"bounds": [0.001, 1], "counts": [2, 1, 1], "sum": 3.5}


def value_of(metric: Metric) -> Any:
    """Return what a daemon might have counted."""
    one: Any = _HISTOGRAM if metric.kind == HISTOGRAM else 5
    return {'a"b\\c\nd': one} if metric.label else one


def read(text: str, form: str) -> dict[str, Any]:
    """Return the families of a text by their names, as Prometheus's own library reads them."""
    families: Any = {OPENMETRICS: read_openmetrics, PROMETHEUS: read_prometheus}[form]
    return {family.name: family for family in families(text)}


STATS = {field: value_of(metric) for metric in METRICS for field in metric.field.split()}


def test_the_table() -> None:
    """Each name follows the conventions: no suffix that the form adds, the unit at its end; each has one sentence."""
    for metric in METRICS:
        assert re.fullmatch(r"[a-z]+(_[a-z]+)*", metric.name), metric
        assert not metric.name.endswith(("_total", "_info", "_count", "_sum", "_bucket", "_created")), metric
        assert metric.unit in ("", "seconds", "bytes", "events"), metric
        assert metric.name.endswith(metric.unit), metric
        assert metric.unit or not metric.name.endswith(("_seconds", "_bytes", "_events", "_us", "_ms", "_kb")), metric
        assert metric.kind in (COUNTER, GAUGE, HISTOGRAM, INFO), metric
        assert re.fullmatch(r"[A-Z][^.\n]*\.", metric.help), metric


def test_every_name_is_there_once() -> None:
    """No two metrics have the same name, or are made from the same figure."""
    assert len(METRICS) == len({metric.name for metric in METRICS}) == len({metric.field for metric in METRICS})


@pytest.mark.parametrize("form", [OPENMETRICS, PROMETHEUS])
def test_every_metric_is_read_back(form: str) -> None:
    """Prometheus's library finds every metric with its type and its help, and of OpenMetrics its unit."""
    families = read(exposition(STATS, form), form)
    assert len(METRICS) == len(families)
    for metric in METRICS:
        info = metric.kind == INFO and form == PROMETHEUS
        family = families[metric.family + ("_info" if info else "")]
        assert (GAUGE if info else metric.kind, metric.help) == (family.type, family.documentation)
        assert family.unit == (metric.unit if form == OPENMETRICS else "")


@pytest.mark.parametrize("form", [OPENMETRICS, PROMETHEUS])
def test_the_end_and_the_times(form: str) -> None:
    """OpenMetrics ends in a mark; no sample has a time, for which node_exporter refuses a file."""
    text = exposition(STATS, form)

    assert (form == OPENMETRICS) == text.endswith("\n# EOF\n")
    assert all(sample.timestamp is None for family in read(text, form).values() for sample in family.samples)


def test_values_in_base_units() -> None:
    """Milliseconds, microseconds and kilobytes become seconds and bytes; of a list the length counts."""
    stats = {"uptime": 1500, "cpu_us": 250_000, "memory_kb": 3, "wal_readers": ["a", "b"], "storage_problem": "full"}
    lines = exposition({**stats, "search_problem": None, "search_index_bytes": None}, OPENMETRICS).splitlines()

    assert [
        "reeld_uptime_seconds 1.5",
        "reeld_cpu_seconds_total 0.25",
        "reeld_resident_memory_bytes 3072",
        "reeld_storage_failing 1",
        "reeld_wal_readers 2",
        "reeld_search_failing 0",
    ] == [line for line in lines if not line.startswith("#")]


def test_a_histogram_counts_upwards() -> None:
    """Each bucket includes the ones below it, and the last one has everything."""
    lines = exposition({"request_seconds": {"add": _HISTOGRAM}}, OPENMETRICS).splitlines()

    assert [
        'reeld_request_duration_seconds_bucket{method="add",le="0.001"} 2',
        'reeld_request_duration_seconds_bucket{method="add",le="1.0"} 3',
        'reeld_request_duration_seconds_bucket{method="add",le="+Inf"} 4',
        'reeld_request_duration_seconds_count{method="add"} 4',
        'reeld_request_duration_seconds_sum{method="add"} 3.5',
    ] == [line for line in lines if not line.startswith("#")]


def test_a_label_is_escaped() -> None:
    """Quotes, backslashes and line breaks of a label's value are read back."""
    (sample,) = read(exposition({"errors": {'a"b\\c\nd': 1}}, PROMETHEUS), PROMETHEUS)["reeld_request_errors"].samples

    assert {"error": 'a"b\\c\nd'} == sample.labels


def test_what_an_older_daemon_lacks() -> None:
    """Figures that are not there are left out."""
    assert "# EOF\n" == exposition({}, OPENMETRICS)
    assert "" == exposition({}, PROMETHEUS)
