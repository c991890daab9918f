"""A fork server: a process that has imported what a daemon needs, and forks one for each start.

A daemon takes half a second of a core to import its modules, and the tests start hundreds. Forked, it begins with
:func:`run_daemon` right away. Tests of how a process begins, or of its memory, start a program of its own.
"""

import atexit
import gc
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, NoReturn, Self, TypeAlias

import anyio

from tests.daemon import Daemon, short_directory
from tests.few_variables import allow_few_variables
from tests.patience import PATIENCE

# What a child is to do, as JSON.
Order: TypeAlias = dict[str, Any]


class ForkServer:
    """The process, and what it has reported.

    Args:
        module: the module that it runs, which calls :func:`serve`.
        environment: more variables of its environment.
    """

    def __init__(self, module: str, environment: Mapping[str, str] | None = None) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[1],
            env={**os.environ, **(environment or {})},
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._orders, self._reports = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._unread = b""
        self._started: list[int] = []
        self._ended: dict[int, int] = {}
        # Tests wait for children in several threads.
        self._turn = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End it. Children that still run go on."""
        self._process.communicate(timeout=PATIENCE)

    def start(self, order: Order) -> "Child":
        """Start a child."""
        with self._turn:
            os.write(self._orders, json.dumps(order).encode() + b"\n")
            while not self._started:
                assert self._read(PATIENCE), "the fork server does not answer"
            return Child(self._started.pop(), self)

    def exit_code(self, pid: int, patience: float) -> int | None:
        """Return the exit code of a child; ``None`` if it still runs after so many seconds."""
        deadline = time.monotonic() + patience
        while True:
            with self._turn:
                # Not for long: others wait for their children as well.
                heard = pid not in self._ended and self._read(min(max(deadline - time.monotonic(), 0), 0.1))
                if pid in self._ended:
                    return self._ended[pid]
            if not heard and time.monotonic() >= deadline:
                return None

    def _read(self, patience: float) -> bool:
        """Take in what it reports; return whether there was anything."""
        if not select.select([self._reports], [], [], patience)[0]:
            return False
        data = os.read(self._reports, 1 << 16)
        assert data, "the fork server has ended"
        *lines, self._unread = (self._unread + data).split(b"\n")
        for line in lines:
            pid, code = json.loads(line)
            if code is None:
                self._started.append(pid)
                self._ended.pop(pid, None)  # of an earlier process with this number
            else:
                self._ended[pid] = code
        return True


class Child:
    """A forked process, with the part of ``Popen`` that the tests need."""

    def __init__(self, pid: int, server: ForkServer) -> None:
        self.pid = pid
        self._server = server

    def poll(self) -> int | None:
        """Return its exit code, or ``None`` if it runs."""
        return self._server.exit_code(self.pid, 0)

    def wait(self, timeout: float = PATIENCE) -> int:
        """Wait for it to end, and return its exit code."""
        code = self._server.exit_code(self.pid, timeout)
        if code is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout)
        return code

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it has not ended: the fork server waits for each child at once."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(signal.SIGKILL)


class ForkedDaemon(Daemon):
    """A daemon that begins without importing anything, unless it needs an environment or limits of its own."""

    def launch(self) -> None:
        """Start it without waiting."""
        if self.environment is not None or self.files is not None:
            super().launch()
            return
        _, _, _, *arguments = self.command()
        order = {
            "arguments": arguments,
            "log": str(self.log),
            "environment": dict(os.environ),
            "directory": str(Path.cwd()),
        }
        self._process = _server().start(order)  # type: ignore[assignment]  # the part of Popen that is used


@contextmanager
def running_daemon(*options: str) -> Iterator[ForkedDaemon]:
    """Run a daemon in a directory of its own until the block ends."""
    with short_directory() as directory, closing(ForkedDaemon(directory)) as daemon:
        daemon.options = [*options]
        yield daemon.start()


@cache
def _server() -> ForkServer:
    """Return the fork server of this process."""
    server = ForkServer("tests.forkserver")
    atexit.register(server.close)
    return server


def run_daemon(order: Order) -> int:
    """Run a daemon in this process; return its exit code."""
    from reeld.__main__ import main  # noqa: PLC0415 - the tests import this module too

    write_to(order["log"])
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["directory"])
    sys.argv = ["reeld", *order["arguments"]]
    return main()


def write_to(path: str) -> None:
    """Append what this process prints to a file, and give it no input."""
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for descriptor in (1, 2):
        os.dup2(log, descriptor)
    os.close(log)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)


def load(order: Order) -> None:
    """Import what only the daemon of this order needs, and later ones like it."""
    if any(argument.startswith("postgresql:") for argument in order["arguments"]):
        from reeld.store.postgres import engine  # noqa: F401, PLC0415 - 10 MB, and a fifth of a second


def serve(run: Callable[[Order], int], prepare: Callable[[Order], None] | None = None) -> None:
    """Fork a child for each order, until there are no more; report its pid at first, and in the end its exit code.

    Args:
        run: what a child does; it returns the exit code.
        prepare: what is done before that, in this process.
    """
    _prepare()
    woken, wake = os.pipe()
    for descriptor in (woken, wake):
        os.set_blocking(descriptor, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake)
    unread = b""
    while True:
        for ready in select.select([0, woken], [], [])[0]:
            if ready == woken:
                os.read(woken, 1 << 10)
                _report_the_dead()
                continue
            data = os.read(0, 1 << 16)
            if not data:
                return
            *lines, unread = (unread + data).split(b"\n")
            for line in lines:
                order = json.loads(line)
                if prepare is not None:
                    prepare(order)
                pid = os.fork()
                if pid == 0:
                    signal.set_wakeup_fd(-1)
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    for descriptor in (woken, wake):
                        os.close(descriptor)
                    _end_with(run, order)
                _report(pid, None)


def _end_with(run: Callable[[Order], int], order: Order) -> NoReturn:
    """Do what a child does, and end its process.

    An interpreter that ends looks at each object once more, and gets a copy of all that it shares with the fork server:
    that was a third of what a daemon takes from its start to its end.
    """
    try:
        code = run(order)
    except SystemExit as end:
        if isinstance(end.code, str):
            sys.stderr.write(end.code + "\n")
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    for thread in threading.enumerate():
        if thread is not threading.main_thread() and not thread.daemon:
            thread.join()  # as an interpreter does: a thread that does not end is still seen
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


def _prepare() -> None:
    """Do once what each child would do: load the event loop, half of what the start of a daemon takes."""
    allow_few_variables()
    anyio.run(anyio.sleep, 0, backend="trio")
    # A child that collects garbage writes to all that the collector looks at, and would get a copy of it.
    gc.collect()
    gc.freeze()


def _report_the_dead() -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        _report(pid, os.waitstatus_to_exitcode(status))


def _report(pid: int, code: int | None) -> None:
    os.write(1, json.dumps([pid, code]).encode() + b"\n")


if __name__ == "__main__":
    from reeld import app  # noqa: F401 - for the children
    from reeld.backups import commands  # noqa: F401 - likewise

    serve(run_daemon, load)
