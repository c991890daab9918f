"""Print where the daemon's time goes, stage by stage: ``make profile``.

A profiler makes small functions look two to three times as expensive as they are, so the shares count and not the
microseconds. Those of a function in C are its caller's, but for SQLite's, which has a line of its own.
"""

import pstats
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from tests.bench.adds import adds_a_second
from tests.bench.setting import running

Function: TypeAlias = tuple[str, int, str]

# The first that a path contains is the stage of what is in the file.
STAGES = {
    "/reeld/serving/": "requests and replies",
    "/reel/wire/": "wire",
    "/reeld/wire/": "wire",
    "/reeld/agents/": "agents",
    "/reeld/core/": "core",
    "/reel/": "messages and values",
    "/reeld/store/": "store",
    "/reeld/search/": "search",
    "/reeld/": "rest of the daemon",
    "/trio/": "trio and anyio",
    "/anyio/": "trio and anyio",
    "/outcome/": "trio and anyio",
    "/aiosqlite/": "aiosqlite and asyncio",
    "/asyncio/": "aiosqlite and asyncio",
}
OTHER = "rest"
SQLITE = "SQLite and the disk"
WAITING = "waiting"
# Parts of the names of functions in C.
_WAITS = ("'poll' of 'select", "'acquire' of '_thread", "of '_queue.SimpleQueue'", "sleep")
_SQLITE = ("sqlite3.",)
# Each load: connections, requests in flight on each, and adds.
LOADS = {"one client": (1, 1, 1_000), "64 clients": (64, 1, 6_000), "8 clients, 32 in flight": (8, 32, 12_000)}


def stage_of(function: Function) -> str:
    """Return the stage that a function in Python belongs to."""
    path = function[0]
    return next((stage for part, stage in STAGES.items() if part in path), OTHER)


def stages(stats: Mapping[Function, Any]) -> dict[str, float]:
    """Return the seconds of each stage.

    Args:
        stats: as in ``pstats.Stats.stats``: for each function ``(calls, calls, own seconds, all seconds, callers)``.
    """
    spent: dict[str, float] = {}
    for function, (_, _, own, _, callers) in stats.items():
        for stage, seconds in _shares(function, own, callers):
            spent[stage] = spent.get(stage, 0) + seconds
    return spent


def _shares(function: Function, own: float, callers: Mapping[Function, Any]) -> Iterator[tuple[str, float]]:
    path, _, name = function
    if path != "~":
        yield stage_of(function), own
    elif any(part in name for part in _WAITS):
        yield WAITING, own
    elif any(part in name for part in _SQLITE):
        yield SQLITE, own
    else:
        for caller, (_, _, seconds, _) in callers.items():
            yield (OTHER if caller[0] == "~" else stage_of(caller)), seconds


def lines(spent: Mapping[str, float], adds: int) -> Iterable[str]:
    """Return the table of one load: microseconds of each add, and shares, without waiting."""
    counted = {stage: seconds for stage, seconds in spent.items() if stage != WAITING}
    busy = sum(counted.values())
    for stage, seconds in sorted(counted.items(), key=lambda item: -item[1]):
        if seconds > busy / 1000:
            yield f"  {stage:<24}{seconds / adds * 1e6:8.0f} us {seconds / busy:7.1%}"
    yield f"  {'in all':<24}{busy / adds * 1e6:8.0f} us"


def measured(connections: int, depth: int, adds: int) -> dict[str, float]:
    """Return the seconds of each stage while a daemon starts, carries out some adds, and stops."""
    with tempfile.TemporaryDirectory(prefix="reel-profile-") as name:
        profile = Path(name) / "profile"
        with running(Path(name), "tests.bench.profiled", str(profile)) as daemon:
            adds_a_second([daemon.socket], connections, depth, adds, "load")
        stats: Mapping[Function, Any] = pstats.Stats(str(profile)).stats  # type: ignore[attr-defined]
    return stages(stats)


def main() -> None:
    """Run each load on a daemon of its own, and print its table."""
    idle = measured(1, 1, 1)
    for what, (connections, depth, adds) in LOADS.items():
        spent = {stage: seconds - idle.get(stage, 0) for stage, seconds in measured(connections, depth, adds).items()}
        sys.stdout.write(f"an add, {what}\n" + "".join(f"{line}\n" for line in lines(spent, adds)))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
