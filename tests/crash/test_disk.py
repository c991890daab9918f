"""The disk fails, is slow, or the daemon dies while writing: nothing is lost, and refused commands leave no trace."""

import errno
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import reel
from reeld.store.schema import DURABILITIES
from tests.crash import stats
from tests.crash.crash_points import IN_LOOP
from tests.crash.crashing_daemon import CrashingDaemon
from tests.crash.shim import COMPILER, Action, File, Op, Shim
from tests.crash.workload import Workload
from tests.daemon import Daemon, until
from tests.patience import PATIENCE

pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no compiler")

# The call on the disk at each of these points.
PLACES = {
    "before the first page of the WAL": (Action.DIE_BEFORE, Op.WRITE, File.WAL, 0),
    "between pages of the WAL": (Action.DIE_BEFORE, Op.WRITE, File.WAL, 7),
    "the WAL written, not synced": (Action.DIE_BEFORE, Op.SYNC, File.WAL, 3),
    "the WAL synced": (Action.DIE_AFTER, Op.SYNC, File.WAL, 3),
    "in a checkpoint, before its first page": (Action.DIE_BEFORE, Op.WRITE, File.DATABASE, 0),
    "in a checkpoint, between pages": (Action.DIE_AFTER, Op.WRITE, File.DATABASE, 3),
    "in a checkpoint, before it is synced": (Action.DIE_BEFORE, Op.SYNC, File.DATABASE, 0),
    "in a checkpoint, after it is synced": (Action.DIE_AFTER, Op.SYNC, File.DATABASE, 0),
}
CLOSING = {
    "closing, before the WAL goes": (Action.DIE_BEFORE, Op.UNLINK, File.WAL, 0),
    "closing, after the WAL has gone": (Action.DIE_AFTER, Op.UNLINK, File.WAL, 0),
}


def test_death_in_the_midst_of_writing(shimmed: CrashingDaemon, shim: Shim) -> None:
    """After a death at any write or sync of SQLite, under load, no command is lost, doubled or torn."""
    workload = Workload(shimmed, seed=300)
    shimmed.start()
    for action, op, files, skip in PLACES.values():
        shim.order(action, op, files, skip=skip)
        with workload.load():
            shimmed.wait_for_death()
        shim.calm()
        assert 1 == shim.hits
        shimmed.start()
        workload.verify_in_between()
        stats.count("fault points hit")
    workload.verify()


def test_death_while_it_closes(shimmed: CrashingDaemon, shim: Shim) -> None:
    """After a death during the last checkpoint, or around the removal of the WAL, no command is lost."""
    workload = Workload(shimmed, seed=301)
    for action, op, files, skip in CLOSING.values():
        shimmed.start()
        with workload.load():
            workload.wait_for_commands(100)
        with shim.ordered(action, op, files, skip=skip):
            shimmed.process.send_signal(signal.SIGTERM)
            shimmed.wait_for_death()
        shimmed.start()
        workload.verify()
        shimmed.end()
        stats.count("fault points hit")


@contextmanager
def ready(daemon: CrashingDaemon, *, in_loop: bool) -> Iterator[reel.Client]:
    """Start a daemon with an agent, and connect to it.

    Args:
        daemon: the daemon.
        in_loop: whether its next commit is one of the event loop's thread, rather than of the connection's.
    """

    def commits_there() -> bool:
        client.add("other", "to be sure of the disk", create=True)
        return IN_LOOP in daemon.reached()

    daemon.start()
    with daemon.client() as client:
        client.add("demo", "before", create=True)
        if in_loop:  # the first commit after a checkpoint is never there, and each is that on a slow machine
            until(commits_there)
        assert in_loop == (IN_LOOP in daemon.reached())
        yield client


@pytest.mark.parametrize(
    ("code", "in_loop"),
    [(errno.EIO, True), *((code, False) for code in (errno.EIO, errno.ENOSPC, errno.EROFS, errno.EDQUOT))],
)
@pytest.mark.parametrize("op", [Op.WRITE, Op.SYNC])
def test_a_disk_that_fails_for_a_while(
    shimmed: CrashingDaemon, shim: Shim, op: Op, code: int, *, in_loop: bool
) -> None:
    """An add that cannot be written changes nothing, reads go on, and adds work again when the disk does.

    After a failed sync nobody knows whether the add would survive a crash, and the error says so.
    """
    error, says = (reel.Storage, "nothing was written") if op is Op.WRITE else (reel.Internal, "commit state unknown")
    with ready(shimmed, in_loop=in_loop) as client:
        with shim.ordered(Action.FAIL, op, File.WAL, value=code):
            with pytest.raises(error, match=says):
                client.add("demo", "refused")
            assert 1 == client.agent("demo").messages
        client.add("demo", "after")
        assert 2 == client.agent("demo").messages
        assert client.replay("demo").matched


@pytest.mark.parametrize("in_loop", [False, True])
@pytest.mark.parametrize("op", [Op.WRITE, Op.SYNC])
def test_a_refused_add_stays_refused(shimmed: CrashingDaemon, shim: Shim, op: Op, *, in_loop: bool) -> None:
    """If the disk fails and the daemon dies before another commit, the refused add is not there afterwards."""
    with ready(shimmed, in_loop=in_loop) as client:
        with shim.ordered(Action.FAIL, op, File.WAL, count=1, value=errno.EIO), pytest.raises(reel.Storage):
            client.add("demo", "refused")
        shimmed.kill()
        shimmed.start()

        assert ["before"] == [record["content"] for record in client.iter_conversation("demo")]


@pytest.mark.parametrize("op", [Op.WRITE, Op.SYNC])
def test_housekeeping_on_a_disk_that_fails(shimmed: CrashingDaemon, shim: Shim, op: Op) -> None:
    """A daemon whose checkpoints fail serves as before, says so, and makes up for them when the disk works again."""
    shimmed.start()
    with shimmed.client() as client:
        client.create("demo")
        with shim.ordered(Action.FAIL, op, File.DATABASE, value=errno.EIO):
            client.add("demo", "meanwhile")
            until(lambda: client.stats()["housekeeping_problem"] is not None)
            problem = client.stats()["housekeeping_problem"]
            client.add("demo", "and again")
        until(lambda: client.stats()["housekeeping_problem"] is None)

        assert "checkpoint: disk I/O error; it is tried again" == problem
        assert 2 == client.agent("demo").messages


def wait_for_hits(shim: Shim, times: int) -> None:
    """Wait until the last order has hit so many calls."""
    until(lambda: shim.hits == times)


@pytest.mark.parametrize("op", [Op.WRITE, Op.SYNC])
@pytest.mark.parametrize("files", [File.WAL, File.DATABASE])
def test_faults_under_load(shimmed: CrashingDaemon, shim: Shim, op: Op, files: File) -> None:
    """No acknowledged command is lost if the disk fails now and then, under load, and then the daemon dies."""
    workload = Workload(shimmed, seed=302)
    shimmed.start()
    for skip in range(2):
        with workload.load():
            for _ in range(3):
                shim.order(Action.FAIL, op, files, skip=skip, count=1 + skip, value=errno.EIO)
                wait_for_hits(shim, 1 + skip)
                workload.wait_for_commands(10)
            shimmed.kill()
        shim.calm()
        shimmed.start()
        workload.verify_in_between()
    workload.verify()


def test_a_slow_disk(shimmed: CrashingDaemon, shim: Shim) -> None:
    """A slow disk changes only the time that commands take."""
    workload = Workload(shimmed, seed=303)
    shimmed.start()
    with shim.ordered(Action.DELAY, Op.SYNC, File.WAL, value=30_000), workload.load():
        workload.wait_for_commands(20)
        shimmed.kill()
    assert shim.hits > 0
    shimmed.start()
    workload.verify()


# Microseconds that last longer than any test.
_FOR_EVER = 1_000_000_000


@contextmanager
def killed_at_last(daemon: Daemon, shim: Shim) -> Iterator[None]:
    """Kill a daemon after the block, if it was launched there."""
    try:
        yield
    finally:
        shim.calm()
        daemon.kill()


@pytest.mark.parametrize("op", [Op.WRITE, Op.SYNC])
@pytest.mark.parametrize("durability", DURABILITIES)
def test_a_frozen_disk(directory: Path, shim: Shim, durability: str, op: Op) -> None:
    """While the disk is frozen, the supervisor gets no sign of life from the daemon, even if nobody writes."""
    daemon = Daemon(directory)
    daemon.options = ["--durability", durability]
    watched = {"NOTIFY_SOCKET": str(directory / "notify"), "WATCHDOG_USEC": "20000"}
    daemon.environment = {**os.environ, **shim.environment, **watched, "CRASH_DIRECTORY": f"{directory}/"}
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor, killed_at_last(daemon, shim):
        supervisor.bind(watched["NOTIFY_SOCKET"])
        supervisor.settimeout(PATIENCE)
        daemon.launch()
        while supervisor.recv(1000) != b"WATCHDOG=1":
            pass
        shim.order(Action.DELAY, op, File.WAL, value=_FOR_EVER)
        until(lambda: shim.hits == 1)  # it writes by itself
        supervisor.settimeout(0.2)  # ten times the interval
        with pytest.raises(TimeoutError):
            list(iter(lambda: supervisor.recv(1000), b""))


def test_a_disk_that_fails_is_logged(shimmed: CrashingDaemon, shim: Shim) -> None:
    """The log says once that commits fail, and why, and once that they work again; in between, stats say it."""
    shimmed.start()
    with shimmed.client() as client:
        client.create("demo")
        with shim.ordered(Action.FAIL, Op.WRITE, File.WAL, value=errno.EIO):
            for _ in range(10):
                with pytest.raises(reel.Storage):
                    client.add("demo", "refused")
            assert client.stats()["storage_problem"].startswith("the last commit failed: storage: nothing was written")
        client.add("demo", "done")
        assert client.stats()["storage_problem"] is None

    shown = [line for line in shimmed.log.read_text().splitlines() if "commit" in line and shimmed.database in line]
    assert shown[0].endswith(f"a commit to {shimmed.database} failed: storage: nothing was written: disk I/O error")
    assert f"commits to {shimmed.database} work again; 10 failed within " in shown[1]
    assert 2 == len(shown)
