"""What the daemon has while nobody asks it for anything."""

import math
import time
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from reel.sync.client import Client
from tests.daemon import Daemon, short_directory, until

_MIB = 1 << 20
# By how much a measure may grow: a tenth, or so many bytes, files, tasks, and times of a fresh daemon. The WAL is
# overwritten when it has four megabytes, but its file keeps the size that it had at the busiest moment. So do, in part,
# the heaps of Python and of the C library: from minute to minute they differed by up to 6 MB, what is in use by less
# than 1. A leak of 400 bytes for each of the 26,000 short connections of ten minutes is more than that.
_SHARE = 0.1
_SLACK = {"memory": 8 * _MIB, "descriptors": 1, "tasks": 1, "wal": 16 * _MIB, "p50": 0.1, "p99": 0.5}
# So few adds are not enough for a comparison.
_SHORT_SLACK = {**_SLACK, "p50": math.inf, "p99": math.inf}


class Measures(NamedTuple):
    """One moment: bytes of memory (``RssAnon``), descriptors, tasks, bytes of the WAL, and how long an add takes.

    The memory is that without the cache of renderings, which has a limit of its own and grows up to it.

    The last two are in times of what the same takes in a daemon that was just started on an empty database, add by add
    in turns: in seconds, a machine with other work differs from minute to minute by more than a daemon may.
    """

    memory: int
    descriptors: int
    tasks: int
    wal: int
    p50: float
    p99: float

    def __str__(self) -> str:
        return (
            f"memory {self.memory / _MIB:6.1f} MiB, descriptors {self.descriptors:4}, tasks {self.tasks:4},"
            f" WAL {self.wal / _MIB:5.1f} MiB, add p50 {self.p50:4.2f} x, p99 {self.p99:4.2f} x a fresh daemon's"
        )


def measure(daemon: Daemon, client: Client, agent: str, adds: int) -> Measures:
    """Wait until the daemon has let go of everything that nobody uses, and measure.

    Args:
        daemon: the daemon; every other client is silent.
        client: asks it.
        agent: a new agent, for the adds.
        adds: how many are timed; if none is, they took no time.
    """
    p50, p99 = _latencies(client, agent, adds) if adds else (0.0, 0.0)
    until(lambda: _is_idle(client))
    memory = 0
    while memory != (memory := daemon.anonymous_memory()):
        time.sleep(1.2)  # a round of maintenance and more
    stats = client.stats()
    descriptors = len(list(Path(f"/proc/{daemon.process.pid}/fd").iterdir()))
    kept = memory - stats["render_cache_bytes"]
    return Measures(kept, descriptors, stats["tasks"], stats["wal_bytes"], p50, p99)


def _latencies(client: Client, agent: str, adds: int) -> tuple[float, float]:
    """Return the median of how long adds take and their 99th percentile, in times of a fresh daemon's."""
    with short_directory() as directory, closing(Daemon(directory).start()) as daemon, daemon.client() as other:
        client.create(agent)
        other.create(agent)
        pairs = [(_timed(client, agent), _timed(other, agent)) for _ in range(adds)]
    ours, fresh = map(sorted, zip(*pairs, strict=True))
    p50, p99 = (ours[adds * share // 100] / fresh[adds * share // 100] for share in (50, 99))
    return p50, p99


def _timed(client: Client, agent: str) -> float:
    began = time.perf_counter()
    client.add(agent, "What is a tape deck?")
    return time.perf_counter() - began


def _is_idle(client: Client) -> bool:
    stats = client.stats()
    return (stats["requests_in_flight"], stats["bytes_waiting"], stats["loaded_agents"]) == (1, 0, 0)


def growth(one: Measures, other: Measures, *, is_long: bool) -> list[str]:
    """Return what has grown by more than a tenth.

    Args:
        one: the first measures.
        other: later ones.
        is_long: whether the load lasted for minutes.
    """
    slack = _SLACK if is_long else _SHORT_SLACK
    pairs = [(name, getattr(one, name), getattr(other, name)) for name in slack]
    return [
        f"{name}: {before:,} and {after:,}"
        for name, before, after in pairs
        if after - before > max(_SHARE * before, slack[name])
    ]
