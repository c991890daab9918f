"""How long an erasure takes in a large file, and how long others wait meanwhile: ``python -m tests.bench.erasing``.

One message of two is redacted while another client adds messages, one after the other, and so is one agent of 1,000
messages purged. The first line has the same adds without an erasure.
"""

import argparse
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reel.sync.client import Client
from tests.bench.reads import fill
from tests.bench.setting import Daemon, running, say

# Bytes of the file for each message, measured.
_BYTES = 480
_OTHERS = 1000
# Seconds without an erasure.
_QUIET = 5


def main() -> None:
    """Make the file, and measure."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.erasing", description=__doc__)
    parser.add_argument("megabytes", nargs="?", type=int, default=1000)
    parser.add_argument("--directory", type=Path, help="where to write; the disk there is measured")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="reel-bench-", dir=given.directory) as name:
        directory = Path(name)
        with running(directory) as daemon:
            client = daemon.client()
            client.add("one", ["before", "the word xyzzyplugh", "after"], create=True)
            for number in range(given.megabytes * 1_000_000 // _BYTES // _OTHERS):
                fill(client, f"agent-{number}", _OTHERS)
            while client.stats()["search_behind"]:
                time.sleep(0.1)  # nothing tells when everything is in the index
        with running(directory) as daemon:
            size = Path(daemon.database).stat().st_size / 1e6
            say(f"{size:,.0f} MB, {given.megabytes * 1_000_000 // _BYTES // _OTHERS * _OTHERS:,} messages")
            client = daemon.client()
            client.add("beside", "one", create=True)
            _measure(daemon, "nothing", lambda: time.sleep(_QUIET))
            _measure(daemon, "redact one message", lambda: client.redact("one", text="xyzzyplugh"))
            _measure(daemon, "purge 1,000 messages", lambda: client.purge("agent-7"))


def _measure(daemon: Daemon, what: str, action: Callable[[], Any]) -> None:
    over, took = threading.Event(), list[float]()

    def add() -> None:
        with Client(daemon.socket) as client:
            while not over.is_set():
                began = time.perf_counter()
                client.add("beside", "one more")
                took.append(time.perf_counter() - began)

    beside = threading.Thread(target=add)
    beside.start()
    began, processor = time.perf_counter(), daemon.processor_time()
    action()
    seconds, processor = time.perf_counter() - began, daemon.processor_time() - processor
    over.set()
    beside.join()
    took.sort()
    middle, late = took[len(took) // 2], took[len(took) * 99 // 100]
    say(
        f"{what:<24}{seconds:>8.2f} s, {processor:.2f} s of CPU; {len(took):,} adds meanwhile:"
        f" median {middle * 1e3:.1f} ms, p99 {late * 1e3:.1f} ms, longest {took[-1] * 1e3:.0f} ms"
    )


if __name__ == "__main__":
    main()
