"""The figures of ``reel top``, computed from two samples of the daemon's ``stats``. No I/O."""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING, NamedTuple
from reel.stats.histograms import Histogram, histogram_of

if TYPE_CHECKING:
    from typing import Any, TypeAlias

    Stats: TypeAlias = dict[str, Any]

# The figures that say what is wrong.
_PROBLEMS = ("storage_problem", "erasing_problem", "retention_problem", "housekeeping_problem", "search_problem")
# Methods that wait for something to happen, so that their time says nothing about the daemon.
_WAITS = {"wait"}


class Latency(NamedTuple):
    """How often something happens in a second, and what half and nearly all of it do not exceed, in seconds."""

    per_second: float
    p50: float | None
    p99: float | None


class MethodFigures(NamedTuple):
    """A method: its latency, and how many requests there were since the daemon started."""

    name: str
    latency: Latency
    total: int


class AgentFigures(NamedTuple):
    """An agent in memory.

    ``per_second`` counts its events; ``None`` if it was not in memory before. ``followers`` and ``typing`` are names of
    clients.
    """

    name: str
    per_second: float | None
    updated: int
    seq: int
    waiting: int
    followers: list[str]
    typing: list[str]


class ConnectionFigures(NamedTuple):
    """A connection; ``per_second`` counts its requests, ``None`` if it was not there before."""

    number: int
    client: str
    pid: int | None
    per_second: float | None
    in_flight: int
    unread: int
    subscriptions: int


class Figures(NamedTuple):
    """Everything that is shown. Rates are of the last moments, or of all the time since the daemon started."""

    seconds: float
    uptime: float
    version: str
    requests: Latency
    in_flight: int
    refused_per_second: float
    errors_per_second: float
    commits: Latency
    events_per_commit: float | None
    commits_waiting: int
    jobs_waiting: int
    events_per_second: float
    newest_event: int
    search_behind: int
    subscriptions: int
    drafts: int
    unread: int
    cpu: float
    memory: int
    loaded_agents: int
    alive_agents: int | None
    loaded_bytes: int
    cache_hits: float | None
    problems: list[str]
    connected: int
    follow_all: list[str]
    methods: list[MethodFigures]
    agents: list[AgentFigures]
    connections: list[ConnectionFigures]


def figures(now: Stats, before: Stats | None = None, long_before: Stats | None = None) -> Figures:
    """Return the figures of a moment.

    Args:
        now: what ``stats`` returned, with details.
        before: what it returned a moment ago, for the rates. Default: everything since the daemon started.
        long_before: what it returned somewhat earlier, for the latencies: a moment has too few of them.
    """
    before = before if before is not None and _is_same(before, now) else None
    early = long_before if long_before is not None and _is_same(long_before, now) else before
    seconds: float = max((now["uptime"] - (before["uptime"] if before else 0)) / 1000, 0.001)

    def rate(field: str) -> float:
        change: int = now[field] - (before[field] if before else 0)
        return change / seconds

    errors = sum(now["errors"].values()) - (sum(before["errors"].values()) if before else 0)
    clients = {each["connection"]: each["client"] or "unnamed" for each in now["connection_details"]}
    methods = _methods(now, before, early, seconds)
    commits, events = histogram_of(now["commit_seconds"]), histogram_of(now["commit_events"])
    lookups = now["render_cache_hits"] + now["render_cache_misses"]
    return Figures(
        seconds=seconds,
        uptime=now["uptime"] / 1000,
        version=now["version"],
        requests=_of_all(now, before, early, seconds),
        in_flight=now["requests_in_flight"],
        refused_per_second=rate("refused_requests"),
        errors_per_second=errors / seconds,
        commits=_latency(commits, _histogram(before, "commit_seconds"), _histogram(early, "commit_seconds"), seconds),
        events_per_commit=events.since(_histogram(early, "commit_events")).mean,
        commits_waiting=now["commits_waiting"],
        jobs_waiting=now["jobs_waiting"],
        events_per_second=rate("events_written"),
        newest_event=now["newest_event"],
        search_behind=now["search_behind"],
        subscriptions=now["subscriptions"],
        drafts=now["drafts"],
        unread=now["bytes_waiting"],
        cpu=rate("cpu_us") / 1e6,
        memory=now["memory_kb"] * 1024,
        loaded_agents=now["loaded_agents"],
        alive_agents=now["living_agents"],
        loaded_bytes=now["loaded_bytes"],
        cache_hits=now["render_cache_hits"] / lookups if lookups else None,
        problems=[problem for field in _PROBLEMS if (problem := now.get(field)) is not None],
        connected=now["connections"],
        follow_all=_names(now["followers"], clients),
        methods=methods,
        agents=_agents(now, before, seconds, clients),
        connections=_connections(now, before, seconds),
    )


def _is_same(before: Stats, now: Stats) -> bool:
    """Return whether it is the same process, at a later moment."""
    return bool(before["started"] == now["started"] and before["uptime"] < now["uptime"])


def _latency(now: Histogram, before: Histogram | None, early: Histogram | None, seconds: float) -> Latency:
    lately = now.since(early)
    return Latency(now.since(before).total / seconds, lately.quantile(0.5), lately.quantile(0.99))


def _histogram(stats: Stats | None, field: str) -> Histogram | None:
    return None if stats is None else histogram_of(stats[field])


def _by_method(stats: Stats | None) -> dict[str, Histogram]:
    return {} if stats is None else {name: histogram_of(found) for name, found in stats["request_seconds"].items()}


def _methods(now: Stats, before: Stats | None, early: Stats | None, seconds: float) -> list[MethodFigures]:
    then, once = _by_method(before), _by_method(early)
    return [
        MethodFigures(name, _latency(found, then.get(name), once.get(name), seconds), found.total)
        for name, found in _by_method(now).items()
    ]


def _of_all(now: Stats, before: Stats | None, early: Stats | None, seconds: float) -> Latency:
    """Return the latency of all methods together that do not wait for something."""
    sums = [_sum(_by_method(stats)) for stats in (now, before, early)]
    return _latency(sums[0] or Histogram([], [0], 0.0), sums[1], sums[2], seconds)


def _sum(histograms: dict[str, Histogram]) -> Histogram | None:
    chosen = [found for name, found in histograms.items() if name not in _WAITS]
    if not chosen:
        return None
    counts = [sum(column) for column in zip(*(found.counts for found in chosen), strict=True)]
    return Histogram(chosen[0].bounds, counts, sum(found.sum for found in chosen))


def _agents(now: Stats, before: Stats | None, seconds: float, clients: dict[int, str]) -> list[AgentFigures]:
    heads = {agent["id"]: agent["head"] for agent in before["agent_details"]} if before else {}
    return [
        AgentFigures(
            agent["name"],
            (agent["head"] - heads[agent["id"]]) / seconds if agent["id"] in heads else None,
            agent["updated"],
            agent["head"],
            agent["jobs_waiting"],
            _names(agent["followers"], clients),
            [client or "unnamed" for client in agent["drafts"]],
        )
        for agent in now["agent_details"]
    ]


def _connections(now: Stats, before: Stats | None, seconds: float) -> list[ConnectionFigures]:
    answered = {each["connection"]: each["answered"] for each in before["connection_details"]} if before else {}
    return [
        ConnectionFigures(
            each["connection"],
            each["client"] or "unnamed",
            each["pid"],
            (each["answered"] - answered[each["connection"]]) / seconds if each["connection"] in answered else None,
            each["in_flight"],
            each["bytes_waiting"],
            each["subscriptions"],
        )
        for each in now["connection_details"]
    ]


def _names(connections: list[int], clients: dict[int, str]) -> list[str]:
    return [clients.get(number, f"#{number}") for number in connections]
