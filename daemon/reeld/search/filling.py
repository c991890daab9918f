"""A process that is a connection to the index: it is sent jobs, and answers with what they return or raise.

It is used as :class:`reeld.store.connection_thread.ConnectionThread` is. The daemon's side is
:mod:`reeld.search.filler`; this side imports as little as possible, because it starts often and does not last long.

Jobs and outcomes are pickled: both ends of the pipes are this program, and nobody else has them. So a job is a function
of a module, an error arrives as it was raised, and there is no second list of either.
"""

import gc
import os
import pickle
import sqlite3
import struct
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from threading import Thread
from traceback import clear_frames
from typing import Any, BinaryIO

from reel.base.light_typing import NamedTuple
from reel.touches.describing import Described
from reel.version import __version__
from reeld.search import index, touched
from reeld.search.attached_log import OpenLog
from reeld.store.connection import uri_of

# Comes before each outcome: its size in bytes.
HEADER = struct.Struct("!I")
# What a daemon and its process must have in common. A program that is replaced while the daemon runs may write another
# index.
VERSIONS = (__version__, index.VERSION, touched.VERSION)
# The daemon and its clients come first, and so does an import. With the highest niceness, an index would fall behind
# for as long as others are busy.
_NICE = 10
# Allocations before a look for garbage, of which a batch makes hardly any; Python's default is 700.
_YOUNG = 20_000


class Opening(NamedTuple):
    """What a process is sent first: the index, what reads the log, the tools that are known, and who sends it."""

    path: str
    database: str | OpenLog
    described: Described
    versions: tuple[Any, ...] = VERSIONS


class _Connection(sqlite3.Connection):
    """A connection to the index, with what jobs look for there: another connection to the log."""

    log: Any = None


def run_jobs() -> None:
    """Open the index, and run jobs, until the daemon is gone: then the process ends at once, in the middle of a job."""
    requests, outcomes = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what somebody prints is no outcome
    with suppress(OSError):  # the unit for systemd forbids it; then it is one of those who share the processors
        os.nice(_NICE)
    with suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:
        score.write("1000")  # if memory runs out, the system ends this process before the daemon; on Linux only
    gc.freeze()
    gc.set_threshold(_YOUNG)
    received: SimpleQueue[Any] = SimpleQueue()
    Thread(target=_receive, args=(requests, received), daemon=True).start()
    opening = received.get()
    connection = sqlite3.connect(uri_of(opening.path, "rw"), uri=True, isolation_level=None, factory=_Connection)
    _send(outcomes, _outcome(partial(_prepare, connection, opening)))
    while True:
        _send(outcomes, _outcome(partial(received.get(), connection)))


def _prepare(connection: sqlite3.Connection, opening: Opening) -> None:
    if opening.versions != VERSIONS:
        raise RuntimeError("the program was replaced since the daemon started; restart the daemon")
    index.prepare(connection, opening.database, opening.described)


def _receive(requests: BinaryIO, received: "SimpleQueue[Any]") -> None:
    """Receive what the daemon sends, beside the jobs, so that its end is seen at once."""
    try:
        while True:
            received.put(pickle.load(requests))  # noqa: S301 - see above
    except EOFError:
        os._exit(0)
    except BaseException:
        os._exit(1)


def _outcome(job: Callable[[], Any]) -> Any:
    try:
        return job()
    except Exception as error:
        clear_frames(error.__traceback__)  # a half-read cursor in one would keep a read transaction open
        return error


def _send(outcomes: BinaryIO, outcome: Any) -> None:
    body = pickle.dumps(outcome)
    outcomes.write(HEADER.pack(len(body)) + body)
    outcomes.flush()
