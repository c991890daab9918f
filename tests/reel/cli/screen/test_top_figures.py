"""The figures of ``reel top``, from what the daemon counted at two moments."""

from typing import Any

import pytest

from reel.cli.screen.top.figures import Latency, figures

_COUNTED = {
    **dict.fromkeys(("refused_requests", "jobs_waiting", "commits_waiting", "search_behind", "subscriptions"), 0),
    **dict.fromkeys(("drafts", "bytes_waiting", "loaded_bytes", "render_cache_hits", "render_cache_misses"), 0),
    **dict.fromkeys(("storage_problem", "search_problem"), None),
    **dict.fromkeys(("requests_in_flight", "connections", "loaded_agents", "living_agents", "memory_kb"), 1),
}


def histogram(*counts: int) -> dict[str, Any]:
    """Return a histogram of seconds."""
    return {"bounds": [1, 2], "counts": [*counts, 0, 0][:3], "sum": float(sum(counts))}


def stats(uptime: int, calls: int = 0, events: int = 0, **other: Any) -> dict[str, Any]:
    """Return what a daemon counted after so many milliseconds."""
    agent = {"id": "a", "name": "demo", "head": events, "updated": 5, "jobs_waiting": 0}
    peer = {"client": "nvim", "pid": 7, "in_flight": 0, "bytes_waiting": 0, "subscriptions": 1}
    return {
        **_COUNTED,
        "uptime": uptime,
        "started": 1000,
        "version": "1",
        "errors": {"busy": calls},
        "request_seconds": {"add": histogram(calls), "wait": histogram(0, calls)},
        "commit_seconds": histogram(events),
        "commit_events": histogram(events),
        "events_written": events,
        "newest_event": events,
        "cpu_us": uptime * 500,
        "agent_details": [{**agent, "followers": [3, 9], "drafts": ["vim", None]}],
        "connection_details": [{**peer, "connection": 3, "answered": calls}],
        "followers": [3],
        **other,
    }


def test_rates_are_of_the_last_moment() -> None:
    """What came in the last moment is divided by its seconds, as the daemon's clock counts them."""
    found = figures(stats(6000, calls=30, events=8), stats(4000, calls=10, events=4), stats(4000, calls=10, events=4))

    assert (2.0, 10.0, 2.0, 10.0) == (
        found.seconds,
        found.requests.per_second,
        found.events_per_second,
        found.errors_per_second,
    )
    assert (0.5, [2.0], [10.0]) == (
        found.cpu,
        [agent.per_second for agent in found.agents],
        [each.per_second for each in found.connections],
    )


def test_latencies_are_of_a_longer_time() -> None:
    """Latencies are computed over more than the rates; what waits on purpose is not in the sum of all."""
    found = figures(stats(6000, calls=30), stats(5000, calls=30), stats(1000))
    latencies = {method.name: method.latency for method in found.methods}

    assert Latency(0.0, 0.5, 0.99) == found.requests == latencies["add"]
    assert latencies["wait"].p50 == pytest.approx(1.5)


@pytest.mark.parametrize("before", [None, stats(9000, calls=99), stats(1000, calls=99, started=5)])
def test_another_process_counts_from_its_start(before: dict[str, Any] | None) -> None:
    """Without figures of the same process from before, everything since its start counts; agents have no rate."""
    found = figures(stats(2000, calls=10, events=4), before)

    assert (5.0, 2.0) == (found.requests.per_second, found.events_per_second)
    assert [None, None] == [found.agents[0].per_second, found.connections[0].per_second]


def test_who_follows_and_types() -> None:
    """Connections are shown by the names of their clients, and by their numbers if they are gone."""
    found = figures(stats(1000))

    assert (["nvim", "#9"], ["vim", "unnamed"]) == (found.agents[0].followers, found.agents[0].typing)
    assert ["nvim"] == found.follow_all


def test_a_daemon_that_did_nothing() -> None:
    """Without requests there are no latencies, and without renderings there is no share of hits."""
    found = figures(stats(1000, request_seconds={}))

    assert Latency(0.0, None, None) == found.requests == found.commits
    assert found.cache_hits is found.events_per_commit is None
    assert figures(stats(1000, render_cache_hits=3, render_cache_misses=1)).cache_hits == pytest.approx(0.75)


@pytest.mark.parametrize("part", ["storage", "erasing", "retention", "housekeeping", "search"])
def test_problems(part: str) -> None:
    """What the daemon says is wrong is among the figures."""
    assert ["the disk is full"] == figures({**stats(1000), f"{part}_problem": "the disk is full"}).problems
