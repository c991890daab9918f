"""What one long conversation costs, itself and others: ``python -m tests.bench.long [MESSAGES] [--directory WHERE]``.

While one client does something with a long conversation, another one adds to its own, one message at a time. A line has
the time of the one, and what the adds of the other took meanwhile.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from reel.base.errors import TooLarge
from reel.sync.client import Client
from tests.bench.setting import TEXT, Daemon, running, say
from tests.bench.table import percentile

_MESSAGES = 100_000
# Of one request.
_BLOCK = 10_000
# Of the conversation that takes the long one over.
_SHORT = 1000
# Tokens.
_BUDGET = 20_000
_SAID = TEXT[: len(TEXT) // 5]
# Seconds between two adds of the other client, and while nothing else happens.
_PAUSE, _ALONE = 0.001, 2.0
# Adds that are measured even if a step is over sooner.
_LEAST = 20


class Step(NamedTuple):
    """Something to do with a long conversation; ``cold`` if the daemon is to be started for it."""

    what: str
    action: Callable[[Client], Any]
    is_cold: bool = False


def main() -> None:
    """Make the conversation, and measure."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.long", description=__doc__)
    parser.add_argument("messages", nargs="?", type=int, default=_MESSAGES)
    parser.add_argument("--directory", type=Path, help="where to write; the disk there is measured")
    parser.add_argument("--only", help="measure only the steps whose names contain this")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="reel-bench-", dir=given.directory) as name:
        directory = Path(name)
        with running(directory) as daemon:
            began = time.perf_counter()
            _fill(daemon.client(), "long", given.messages)
            _fill(daemon.client(), "short", _SHORT)
            took = time.perf_counter() - began
        size = Path(daemon.database).stat().st_size / 1e6
        say(f"{given.messages:,} messages in {took:.0f} s, {size:,.0f} MB; load {os.getloadavg()[0]:.1f}")
        say(f"{'':<30}{'takes':>9}{'CPU':>9}{'peak':>9}{'p50':>9}{'p99':>9}{'longest add':>13}{'load':>7}")
        steps = [step for step in _steps() if given.only is None or given.only in step.what]
        while steps:
            with running(directory) as daemon, _adding(daemon) as other:
                _measure(daemon, steps.pop(0), other)
                while steps and not steps[0].is_cold:
                    _measure(daemon, steps.pop(0), other)


def _steps() -> list[Step]:
    return [
        Step("nothing", lambda _: time.sleep(_ALONE)),
        Step("render with a budget, cold", _render_cut, is_cold=True),
        Step("the same again", _render_cut),
        Step("render without a budget, cold", _render_whole, is_cold=True),
        Step("undo of an add", _undo_add, is_cold=True),
        Step("clone into another", lambda client: client.clone("long", into="short"), is_cold=True),
        Step("undo of that", lambda client: client.undo("short")),
        Step("redo of that", lambda client: client.redo("short")),
        Step("replay", lambda client: client.replay("long"), is_cold=True),
        Step("purge of the other", lambda client: client.purge("short"), is_cold=True),
        Step("purge", lambda client: client.purge("long"), is_cold=True),
    ]


def _render_cut(client: Client) -> None:
    client.render("long", "anthropic", extra={"model": "m", "max_tokens": 1}, budget=_BUDGET)


def _render_whole(client: Client) -> None:
    with suppress(TooLarge):
        client.render("long", "anthropic", extra={"model": "m", "max_tokens": 1})


def _undo_add(client: Client) -> None:
    client.add("long", _SAID)
    client.undo("long")


def _fill(client: Client, agent: str, messages: int) -> None:
    """Add messages, as many as a request may have at a time, user and assistant in turns."""
    block: list[Any] = [_SAID, {"role": "assistant", "content": _SAID}] * (_BLOCK // 2)
    for begin in range(0, messages, _BLOCK):
        client.add(agent, block[: messages - begin], create=True)


@contextmanager
def _adding(daemon: Daemon) -> Iterator[Connection]:
    """Let another process add; a connection tells it when to begin, when to end, and by its end to stop."""
    spawn = get_context("spawn")
    ours, theirs = spawn.Pipe()
    process = spawn.Process(target=_add, args=(daemon.socket, theirs))
    process.start()
    theirs.close()
    try:
        ours.recv()
        yield ours
    finally:
        ours.close()
        process.join()


def _add(path: str, parent: Connection) -> None:
    with Client(path) as client, suppress(EOFError):
        client.add("other", _SAID, create=True)
        parent.send(None)
        while True:
            parent.recv()
            times: list[float] = []
            while len(times) < _LEAST or not parent.poll():
                began = time.perf_counter()
                client.add("other", _SAID)
                times.append(time.perf_counter() - began)
                time.sleep(_PAUSE)
            parent.recv()
            parent.send(times)


def _measure(daemon: Daemon, step: Step, other: Connection) -> None:
    client, load = daemon.client(), os.getloadavg()[0]
    _forget_peak(daemon)
    spent = daemon.processor_time()
    other.send("begin")
    began = time.perf_counter()
    step.action(client)
    took = time.perf_counter() - began
    other.send("end")
    times: list[float] = other.recv()
    spent = daemon.processor_time() - spent
    half, most = (percentile(times, percent) * 1e3 for percent in (50, 99))
    say(
        f"{step.what:<30}{took:>7.2f} s{spent:>7.2f} s{_peak(daemon):>6.0f} MB{half:>6.1f} ms{most:>6.1f} ms"
        f"{max(times) * 1e3:>10.1f} ms{load:>7.1f}"
    )
    client.close()


def _forget_peak(daemon: Daemon) -> None:
    Path(f"/proc/{daemon.pid}/clear_refs").write_text("5", encoding="utf-8")


def _peak(daemon: Daemon) -> float:
    """Return the most memory that was resident since it was forgotten, in MB; on Linux only."""
    lines = Path(f"/proc/{daemon.pid}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) / 1000 for line in lines if line.startswith("VmHWM"))


if __name__ == "__main__":
    main()
