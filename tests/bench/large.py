"""What grows with the file: ``make bench-large``, or ``python -m tests.bench.large [EVENTS] [--directory WHERE]``.

One conversation has a tenth of the events; the others have 1,000 each.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reel.sync.client import Client
from tests.bench.reads import fill
from tests.bench.setting import Daemon, running, say
from tests.bench.table import timed

_EVENTS = 10_000_000
_OTHERS = 1000


def main() -> None:
    """Make the file, and measure."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.large", description=__doc__)
    parser.add_argument("events", nargs="?", type=int, default=_EVENTS)
    parser.add_argument("--directory", type=Path, help="where to write; the disk there is measured")
    given = parser.parse_args()
    long = max(1000, given.events // 10)
    with tempfile.TemporaryDirectory(prefix="reel-bench-", dir=given.directory) as name:
        directory = Path(name)
        with running(directory) as daemon:
            began = time.perf_counter()
            client = daemon.client()
            for number in range((given.events - long) // _OTHERS):
                fill(client, f"agent-{number}", _OTHERS)
            fill(client, "long", long)
            took = time.perf_counter() - began
        size = Path(daemon.database).stat().st_size / 1e6
        say(f"{given.events:,} events in {took:.0f} s, {size:,.0f} MB; a conversation has {long:,}")
        with running(directory) as daemon:
            say(f"{'start':<40}{daemon.ready * 1e3:>10.0f} ms")
            _measure(daemon, daemon.client(), long)


def _measure(daemon: Daemon, client: Client, long: int) -> None:
    steps: list[tuple[str, Callable[[], Any]]] = [
        ("the newest 100 messages, cold", lambda: client.messages("long", last=100)),
        ("the first 1,000 messages", lambda: client.messages("long", limit=1000)),
        ("100 of the middle", lambda: client.messages("long", since=long // 2, limit=100)),
        ("the newest 100 of an earlier position", lambda: client.messages("long", at=long // 2, last=100)),
        ("an add", lambda: client.add("long", "one more")),
        ("undo", lambda: client.undo("long")),
        ("redo", lambda: client.redo("long")),
        ("clear", lambda: client.clear("long")),
        ("undo of the clear", lambda: client.undo("long")),
        ("restore of the middle", lambda: client.restore("long", long // 2)),
        ("undo of the restore", lambda: client.undo("long")),
        ("a clone", lambda: client.clone("long")),
        ("a list of 100 agents", lambda: client.agents(limit=100)),
        ("a cold agent", lambda: client.messages("agent-0", last=100)),
    ]
    for what, action in steps:
        took = timed(action)
        own, _ = daemon.memory()
        say(f"{what:<40}{took * 1e3:>10.1f} ms   {own:.0f} MB of memory")


if __name__ == "__main__":
    main()
