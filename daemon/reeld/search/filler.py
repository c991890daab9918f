"""Where the index is filled: in a thread of the daemon, and while there is much to fill in a process of its own.

An event keeps the interpreter for 50 us. While others wrote thousands a second, that was a quarter of all that the
daemon did, and everybody waited for it. A process has an interpreter of its own. It takes 0.1 s to start and 25 to 60
MB of memory, so it runs only while much is written.

It is :mod:`subprocess`, by way of anyio. :mod:`multiprocessing` would start a second process, which watches the first.

Jobs never overlap. To run one, or to write the index in another way, a task must have the turn of
:class:`reeld.search.service.Search`. The process has no transaction between two jobs. Nothing is lost if it dies: what
a job writes says how far it came, in the same transaction, and the rest is done again.
"""

import logging
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, cast

import anyio
from anyio.abc import Process

from reel.base.process_end import describe_end
from reel.base.this_python import this_python, trusted_environment
from reel.touches.describing import Described
from reeld.search.attached_log import OpenLog
from reeld.store.connection_thread import ConnectionThread, Job, T
from reeld.store.wal import opened_by, own_processes

log = logging.getLogger(__name__)

# The process is started when this many events are to be filled, and kept while these are.
_MUCH = 2000
_STILL_MUCH = 500
# Seconds without much to fill until the process ends.
_REST = 5.0
# Seconds until a process is started again after one has failed.
_RETRY = 60.0
# Seconds after which a job, or the start, counts as failed: somebody may have stopped the process. The longest job
# merges a volume, which takes one or two.
_LIMIT = 120.0
# Seconds in which a process whose pipe is closed should have ended.
_GRACE = 1.0
# What is run; the id of the daemon follows.
_PROGRAM = ("-m", "reeld.search")
_PROC = Path("/proc")


class _Failed(Exception):
    """The process could not start, or did not answer; the message says why."""


class Abandoned(Exception):
    """A job was not done, because somebody else is to write the index first."""


class Filler:
    """Runs jobs that write the index.

    Args:
        path: the index.
        database: the log.
        described: the tools whose calls are known.
    """

    def __init__(self, path: str, database: str | OpenLog, described: Described) -> None:
        self._opening = path, database, described
        self._thread: ConnectionThread | None = None
        self._process: Process | None = None
        # Whether the process was killed because others are to write the index; and held while its end is awaited.
        self._is_abandoned = False
        self._ending = anyio.Lock()
        # The times when the process ends if nothing is written, and before which none is started.
        self._ends = 0.0
        self._not_before = 0.0
        self._has_failed = False

    @property
    def has_process(self) -> bool:
        """Whether jobs run in a process of their own."""
        return self._process is not None

    @property
    def patience(self) -> float:
        """The seconds until :meth:`adapt` ends the process, if nothing is written."""
        return max(0.0, self._ends - time.monotonic()) if self.has_process else float("inf")

    @asynccontextmanager
    async def beside(self, thread: ConnectionThread) -> AsyncIterator[None]:
        """Use a connection's thread, and a process beside it, until the block ends."""
        self._thread = thread
        try:
            yield
        finally:
            self._thread = None
            await self.end()

    async def run(self, job: Job[T]) -> T:
        """Run a job: a function of a module, with arguments that can be pickled.

        Raises:
            Abandoned: the process was killed by :meth:`abandon`.
        """
        if self._process is not None:
            try:
                outcome = await self._ask(self._process, job)
            except _Failed as error:
                if self._is_abandoned:
                    raise Abandoned from None
                self._note(error)
            else:
                if isinstance(outcome, BaseException):
                    raise outcome
                return cast("T", outcome)
        assert self._thread is not None  # noqa: S101 - only then is it called
        return await self._thread.run(job)

    async def adapt(self, behind: int) -> None:
        """Start the process if there is much to fill, and end it if there was little for some seconds.

        Args:
            behind: how many events are to be filled.
        """
        now = time.monotonic()
        if behind >= (_STILL_MUCH if self.has_process else _MUCH):
            self._ends = now + _REST
            if not self.has_process and now >= self._not_before:
                await self._start()
        elif now >= self._ends:
            await self.end()

    async def _start(self) -> None:
        from reeld.search.filling import Opening  # noqa: PLC0415 - the daemon starts without it

        command = [*this_python(), *_PROGRAM, str(os.getpid())]
        self._is_abandoned = False
        try:
            with anyio.CancelScope(shield=True):  # one that started would belong to nobody
                self._process = process = await anyio.open_process(command, stderr=None, env=trusted_environment())
            own_processes.add(process.pid)
            outcome = await self._ask(process, Opening(*self._opening))
        except (OSError, RuntimeError) as error:  # of a thread that cannot start
            self._note(_Failed(f"{sys.executable}: {getattr(error, 'strerror', error)}"))
        except _Failed as error:
            if not self._is_abandoned:
                self._note(error)
        else:
            if outcome is not None:  # the thread, which does the same, says what is wrong with the index or the log
                await self.end()
                self._note(_Failed(str(outcome)))

    def _note(self, error: _Failed) -> None:
        self._not_before = time.monotonic() + _RETRY
        if not self._has_failed:
            log.warning("the search index is filled by the daemon itself, which slows it down: %s", error)
        self._has_failed = True

    async def _ask(self, process: Process, what: Any) -> Any:
        """Send a request to the process and return its answer; if it does not answer, end it."""
        is_answered = False
        try:
            with anyio.fail_after(_LIMIT):
                outcome = await _converse(process, what)
            is_answered = True
        except TimeoutError as error:
            raise _Failed(f"its process has not answered for {_LIMIT:.0f} seconds") from error
        except (anyio.BrokenResourceError, anyio.IncompleteRead) as error:
            raise _Failed(f"its process {await _end_of(process)}") from error
        finally:
            if not is_answered:
                await self.end()
        return outcome

    def abandon(self) -> None:
        """Kill the process if it runs, without the turn: who has that waits for its answer, perhaps in vain."""
        if self._process is not None and self._process.returncode is None:
            self._is_abandoned = True
            self._process.kill()

    async def end(self) -> None:
        """Kill the process if it runs, and wait until it has ended, whoever has killed it."""
        with anyio.CancelScope(shield=True):
            async with self._ending:
                if (process := self._process) is None:
                    return
                if process.returncode is None:
                    process.kill()
                await process.aclose()
                own_processes.discard(process.pid)
                self._process = None


def end_orphans(path: str) -> None:
    """Kill the processes that fill an index for a daemon that is gone; on Linux only.

    Each ends by itself, unless somebody has stopped it. Then nobody can write to the index in which it has begun to.
    """
    with suppress(OSError, ValueError):  # of the list
        for process in opened_by(path):
            with suppress(OSError, ValueError):  # it has ended meanwhile, or is another user's
                if _is_orphan(process):
                    os.kill(process, signal.SIGKILL)
                    log.warning(
                        "process %d, which filled the search index for a daemon that is gone, was ended", process
                    )


def _is_orphan(process: int) -> bool:
    command = (_PROC / str(process) / "cmdline").read_bytes().split(b"\0")
    if tuple(command[-4:-2]) != tuple(map(str.encode, _PROGRAM)):
        return False
    _, parent, *_ = (_PROC / str(process) / "stat").read_text(errors="replace").rpartition(") ")[2].split()
    return int(command[-2]) != int(parent)


async def _end_of(process: Process) -> str:
    """Return how a process ended by itself."""
    with anyio.move_on_after(_GRACE):
        return describe_end(await process.wait())
    return "closed its pipe"


async def _converse(process: Process, what: Any) -> Any:
    import pickle  # noqa: PLC0415 - as above

    from anyio.streams.buffered import BufferedByteReceiveStream  # noqa: PLC0415 - as above

    from reeld.search.filling import HEADER  # noqa: PLC0415 - as above

    assert process.stdin is not None  # noqa: S101 - both are pipes
    assert process.stdout is not None  # noqa: S101
    await process.stdin.send(pickle.dumps(what))
    received = BufferedByteReceiveStream(process.stdout)
    (size,) = HEADER.unpack(await received.receive_exactly(HEADER.size))
    return pickle.loads(await received.receive_exactly(size))  # noqa: S301 - see filling.py
