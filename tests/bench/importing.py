"""Rows about importing a history of Claude Code that the bench writes itself: 60 sessions, 28,800 records, 39 MB.

``SESSIONS=6 make bench ROW=import`` measures a smaller one, and ``RECORDS=100000 SESSIONS=1`` one long session.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from reel.base.errors import ReelError
from tests.bench import claude_history
from tests.bench.setting import Daemon, Setting, environment, running
from tests.bench.table import Line, in_turns, percentile, timed

_SESSIONS = int(os.environ.get("SESSIONS", "60"))
_RECORDS = int(os.environ.get("RECORDS", "480"))
_ROUNDS = 3
# Sessions of which each has a turn, which are looked through again.
_MANY = 3000
_MB = 1_000_000
# Seconds between two looks whether everything is in the index.
_LOOK = 0.05


def imports(setting: Setting) -> Iterator[Line]:
    """Measure an import, from files to a log on the disk, by itself and beside another client that adds messages."""
    history = setting.new_directory()
    files = claude_history.write(history, _SESSIONS, _RECORDS)
    size, records = sum(file.stat().st_size for file in files) / _MB, _SESSIONS * _RECORDS
    counted, parsed = in_turns(
        _ROUNDS,
        lambda: timed(lambda: subprocess.run(["wc", "-l", *files], check=True, stdout=subprocess.DEVNULL)),
        lambda: timed(lambda: _parse(files)),
    )
    (parsing,) = in_turns(_ROUNDS, lambda: _processor_time(lambda: _parse(files)))
    assert counted is not None
    assert parsed is not None
    assert parsing is not None
    alone: list[_Round] = []
    beside_another: list[_Round] = []
    for _ in range(_ROUNDS):
        alone.append(_Round(setting.new_directory(), history, another=False))
        beside_another.append(_Round(setting.new_directory(), history, another=True))
    took, disturbed = (statistics.median(each.seconds for each in rounds) for rounds in (alone, beside_another))
    daemon = statistics.median(each.daemon for each in alone) / records * 1e6
    importer = statistics.median(each.importer for each in alone) / records * 1e6
    yield Line(
        f"import {records:,} records, {size:.0f} MB",
        f"{records / took:,.0f}/s",
        f"json.loads of the lines: {records / parsed:,.0f}/s",
        took / parsed,
        "10,000/s",
    )
    yield Line("from file to log", f"{size / took:.1f} MB/s", f"wc -l: {size / counted:,.0f} MB/s", None, "15 MB/s")
    one = parsing / records * 1e6
    beside = f"json.loads: {one:.1f} us"
    yield Line("processor time of the daemon, a record", f"{daemon:.0f} us", beside, daemon / one, "60 us")
    yield Line("processor time of the importer, a record", f"{importer:.0f} us", beside, importer / one)
    rounds = [*alone, *beside_another]
    yield Line("memory of the importer, at most", f"{max(each.memory for each in rounds):.0f} MB", None, None, "100 MB")
    yield Line("memory of the daemon", f"{max(each.daemon_memory for each in rounds):.0f} MB")
    yield Line("import beside another client", f"{records / disturbed:,.0f}/s", "by itself", disturbed / took)
    adds = [seconds for each in beside_another for seconds in each.adds]
    yield Line("another client's add meanwhile, p99", f"{percentile(adds, 99) * 1000:.1f} ms", None, None, "20 ms")
    late = max(each.indexed for each in rounds)
    yield Line("until a search finds all of it", f"{late:.2f} s", None, None, "2 s")


def again(setting: Setting) -> Iterator[Line]:
    """Measure a second import of many sessions that have not changed."""
    history, directory = setting.new_directory(), setting.new_directory()
    claude_history.write(history, _MANY, 2)
    with running(directory) as daemon:
        _import(daemon, history, directory)
        seconds = [timed(lambda: _import(daemon, history, directory)) for _ in range(_ROUNDS)]
        version = timed(lambda: subprocess.run([*_REEL, "--version"], check=True, stdout=subprocess.DEVNULL))
    took, beside = statistics.median(seconds), f"reel --version: {version:.2f} s"
    yield Line(f"look through {_MANY:,} unchanged sessions", f"{took:.2f} s", beside, None, "0.5 s")


def _parse(files: list[Path]) -> None:
    for path in files:
        with path.open("rb") as file:
            for line in file:
                json.loads(line)


def _processor_time(action: Callable[[], None]) -> float:
    began = time.process_time()
    action()
    return time.process_time() - began


class _Round:
    """One import into a new daemon.

    Args:
        directory: of the daemon.
        history: what is imported.
        another: whether another client adds a message each 20 ms.
    """

    def __init__(self, directory: Path, history: Path, *, another: bool) -> None:
        self.adds: list[float] = []
        with running(directory) as daemon, daemon.client() as client:
            client.create("beside")
            ended = threading.Event()
            other = threading.Thread(target=self._add, args=(daemon, ended))
            if another:
                other.start()
            before, began = daemon.processor_time(), time.perf_counter()
            reported, used = _import(daemon, history, directory)
            self.seconds = reported - began
            ended.set()
            if another:
                other.join()
            while client.search("no-such-word", limit=1).behind:
                time.sleep(_LOOK)
            self.indexed = time.perf_counter() - reported
            self.daemon = daemon.processor_time() - before
            self.importer = used.ru_utime + used.ru_stime
            self.memory = used.ru_maxrss / 1000
            self.daemon_memory = daemon.memory()[0]

    def _add(self, daemon: Daemon, ended: threading.Event) -> None:
        with daemon.client() as client:
            while not ended.wait(0.02):
                try:
                    self.adds.append(timed(lambda: client.add("beside", "hi")))
                except ReelError as error:
                    raise SystemExit(f"an add was refused: {error}") from error


_REEL = [sys.executable, "-c", "import sys; from reel.cli import process; sys.exit(process())"]


def _import(daemon: Daemon, history: Path, directory: Path) -> tuple[float, resource.struct_rusage]:
    """Import a history; return when it was reported, and what the importer has used.

    All of it is in the log when it is reported; then the importer waits until a search finds it, for two seconds.
    """
    command = [*_REEL, "--socket", daemon.socket, "import", "claude-code", str(history)]
    state = {"XDG_STATE_HOME": str(directory / "state")}
    process = subprocess.Popen(command, env=environment(**state), stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    reported = time.perf_counter()
    process.stdout.read()
    process.stdout.close()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = status
    if status:
        raise SystemExit("the import failed")
    return reported, used
