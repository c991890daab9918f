"""The daemon as a whole, in this process: its exit status, and what it leaves behind."""

import errno
import os
import signal
import socket
import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path

import anyio
import pytest

from reel.daemon.answering import answers
from reel.sync.client import Client
from reeld import app, notify
from reeld.agents.registry import Registry
from reeld.config import Config
from reeld.locks import lock
from reeld.metrics_file import Metrics
from reeld.serving.server import Server
from reeld.startup import ALREADY_RUNNING, CANNOT_START, OK
from reeld.store import housekeeping, schema
from reeld.store.presence import Held
from reeld.store.store import open_store
from tests.daemon import short_directory, until
from tests.patience import PATIENCE
from tests.postgres import Server as Postgres
from tests.postgres import own_server


@pytest.fixture
def config() -> Iterator[Config]:
    """A socket and a database of the test's own; the daemon's umask, directory and signals are reset after the test."""
    umask, before = os.umask(0o022), Path.cwd()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    with short_directory() as directory:
        yield Config(str(directory / "s.sock"), str(directory / "r.db"))
    for number, handler in handlers.items():
        signal.signal(number, handler)
    os.chdir(before)
    os.umask(umask)


def test_it_runs_until_it_is_told_to_stop(config: Config) -> None:
    """The daemon serves until a client stops it; then the socket is gone, the WAL is in the file, the status is 0."""
    user = threading.Thread(target=_add_and_stop, args=(config.socket,))
    user.start()
    status = app.main(config)
    user.join(PATIENCE)

    assert status == OK
    assert ["r-search.db", "r.db", "r.db.lock", "s.sock.lock"] == sorted(
        path.name for path in Path(config.socket).parent.iterdir()
    )


def test_it_writes_its_metrics(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """If it is to, the daemon writes what it counts into a file while it runs."""
    directory = Path(config.socket).parent
    monkeypatch.chdir(directory)
    with ThreadPoolExecutor() as pool:
        user = pool.submit(_wait_for_metrics_and_stop, config.socket, directory / "reeld.prom")
        assert app.main(config._replace(metrics=Metrics("reeld.prom", 0.05))) == OK

    assert "reeld_events_written_total 0\n" in user.result()
    assert not (directory / "reeld.prom").exists()


def _wait_for_metrics_and_stop(path: str, metrics: Path) -> str:
    """Return the text of the metrics, and stop the daemon."""
    while not metrics.exists():
        time.sleep(0.005)  # between two looks
    text = metrics.read_text()
    with Client(path) as client:
        client.shutdown()
    return text


def _add_and_stop(path: str) -> None:
    """Wait for a daemon, add a message, find it, and stop the daemon."""
    while not answers(path):
        time.sleep(0.005)  # between two looks
    with Client(path) as client:
        client.add("demo", "hi", create=True)
        client.search("hi")
        client.shutdown()


def test_a_start_with_a_long_migration(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """While it waits for an old database, the daemon asks its supervisor for more time; then it is ready."""
    monkeypatch.setattr(notify, "_EXTEND_EVERY", 0.005)
    monkeypatch.setenv("NOTIFY_SOCKET", f"{config.socket}.notify")
    with (
        closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as supervisor,
        closing(sqlite3.connect(config.database, isolation_level=None, check_same_thread=False)) as other,
        ThreadPoolExecutor() as pool,
    ):
        supervisor.bind(f"{config.socket}.notify")
        supervisor.settimeout(PATIENCE)
        schema.migrate(other, schema.MIGRATIONS[:3])
        other.execute("BEGIN EXCLUSIVE")  # the migration cannot begin before this ends
        facts = pool.submit(_facts_until_ready, supervisor, other, config.socket)

        assert app.main(config) == OK
        assert b"EXTEND_TIMEOUT_USEC=60000000\nSTATUS=opens the database" in facts.result()


def _facts_until_ready(supervisor: socket.socket, other: sqlite3.Connection, path: str) -> set[bytes]:
    """Return what the supervisor is told; let go of the database after the first fact, and stop the daemon at last."""
    facts = {supervisor.recv(1000)}
    other.execute("ROLLBACK")
    while not any(fact.startswith(b"READY=1") for fact in facts):
        facts.add(supervisor.recv(1000))
    with Client(path) as client:
        client.shutdown()
    return facts


def test_a_server_that_is_down_at_the_start(
    config: Config, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Under a supervisor the daemon waits for the server, which it says once in the log, and asks for time."""
    monkeypatch.setattr(app, "_START_AGAIN", 0.05)
    monkeypatch.setenv("NOTIFY_SOCKET", f"{config.socket}.notify")
    with (
        closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as supervisor,
        own_server() as server,
        ThreadPoolExecutor() as pool,
    ):
        supervisor.bind(f"{config.socket}.notify")
        supervisor.settimeout(PATIENCE)
        server.stop()
        waited = pool.submit(_start_after_two_waits, supervisor, server, config.socket)

        assert app.main(config._replace(database=server.url)) == OK
    warnings = [record.message for record in caplog.records if "cannot start yet" in record.message]
    assert [True, True] == [said.startswith(b"STATUS=waits: cannot use postgresql:") for said in waited.result()]
    assert 1 == sum("server.s.PGSQL" in said or "No such file" in said for said in warnings)


def _start_after_two_waits(supervisor: socket.socket, server: Postgres, path: str) -> list[bytes]:
    """Return what the supervisor is told of two waits; start the server then, and stop the daemon that is ready."""
    waits = []
    for _ in range(2):
        extension, status = supervisor.recv(1000).splitlines()
        assert b"EXTEND_TIMEOUT_USEC=60000000" == extension
        waits.append(status)
    server.start()
    while supervisor.recv(1000).splitlines()[0] != b"READY=1":
        pass
    with Client(path) as client:
        client.search("word")  # the index has opened the log then, and closes it again
        client.shutdown()
    return waits


# Undos and redos.
_JUMPS = 100


def test_what_was_accepted_is_done(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an agent was asked for is done before the daemon ends, even if its client did not get the reply in time."""
    monkeypatch.setattr("reeld.serving.server._GRACE", 0.0)
    with ThreadPoolExecutor() as pool:
        user = pool.submit(_undo_and_stop, config)
        assert app.main(config) == OK
        user.result()

    with closing(sqlite3.connect(config.database)) as left:
        kinds = [kind for (kind,) in left.execute("SELECT kind FROM events")]
    assert ["created", "user"] + ["restore"] * _JUMPS == kinds


def _undo_and_stop(config: Config) -> None:
    """Send commands that have to wait; stop the daemon, and let them go on once nobody can reach it any more.

    They are so many that they cannot be done before all else has ended.
    """
    while not answers(config.socket):
        time.sleep(0.005)  # between two looks
    with Client(config.socket) as client:
        client.create("demo")
    with (
        closing(sqlite3.connect(config.database, isolation_level=None)) as other,
        socket.socket(socket.AF_UNIX) as raw,
    ):
        other.execute("BEGIN IMMEDIATE")
        raw.connect(config.socket)
        jumps = ['"method":"undo","params":["demo"]', '"method":"redo","params":["demo"]'] * (_JUMPS // 2)
        for call in ('"method":"add","params":["demo","hi"]', *jumps, '"method":"ping"'):
            raw.sendall(f'{{"id":1,{call}}}\n'.encode())
        assert raw.recv(1000)  # only the ping is answered
        os.kill(os.getpid(), signal.SIGTERM)
        while raw.recv(1000):
            pass
        until(lambda: not Path(config.socket).exists())
        other.execute("ROLLBACK")


async def test_a_lock_that_cannot_be_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A disk that fails below the lock of the inode is shown, and tried again in the next round of the maintenance."""
    monkeypatch.setattr(app, "_MAINTENANCE_EVERY", 0)
    monkeypatch.setattr(housekeeping, "_AGAIN", 0)
    failures, touched, shown = iter([OSError(errno.EIO, os.strerror(errno.EIO))] * 2), anyio.Event(), []

    def touch(_: int) -> None:
        shown.append(store.housekeeping.problem)
        for failure in failures:
            raise failure
        touched.set()

    monkeypatch.setattr(os, "utime", touch)
    with anyio.fail_after(PATIENCE):
        async with open_store(str(tmp_path / "r.db")) as store, anyio.create_task_group() as tasks:
            maintain = partial(app._maintain, store, Registry(store, tasks), Server(), Held(0, None, 0))
            tasks.start_soon(partial(store.housekeeping.keep_going, "maintenance", maintain))
            await touched.wait()
            tasks.cancel_scope.cancel()

    problem = "touching the lock: Input/output error; it is tried again"
    assert [None, problem, problem] == shown
    assert [
        "touching the lock failed, and is tried again: Input/output error",
        "touching the lock works again",
    ] == caplog.messages


def test_a_second_daemon_is_refused(config: Config, capsys: pytest.CaptureFixture[str]) -> None:
    """A second daemon ends with a status of its own, and its error names the first one."""
    with lock(config.socket, "the socket", config.socket):
        assert app.main(config) == ALREADY_RUNNING

    assert (
        f"reeld: another reeld is running (pid {os.getpid()}); it holds the socket {config.socket};"
        f" end it with: reel --socket {config.socket} stop\n"
    ) == capsys.readouterr().err


def test_the_remedy_is_short_on_the_default_socket(
    config: Config, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If every command finds the first daemon's socket, the error does not repeat it."""
    monkeypatch.setenv("REEL_SOCKET", config.socket)
    with lock(config.database, "the database", config.socket):
        assert app.main(config) == ALREADY_RUNNING

    assert capsys.readouterr().err.endswith("; end it with: reel stop\n")


def test_a_file_that_is_not_a_database_stops_the_start(config: Config, capsys: pytest.CaptureFixture[str]) -> None:
    """A refused start prints one line, and both locks are free again."""
    Path(config.database).write_text("dear diary" * 1000)
    status = app.main(config)
    said = capsys.readouterr().err

    assert status == CANNOT_START
    assert said.startswith(f"reeld: {config.database} is ")
    assert 1 == said.count("\n")
    with lock(config.socket, "the socket"), lock(config.database, "the database"):
        pass


def test_a_bug_at_start_is_raised(config: Config) -> None:
    """A bug, such as settings that were never made, ends the daemon with a traceback; only a refusal is one line."""
    with pytest.raises(BaseExceptionGroup) as crashed:
        app.main(config._replace(agents=None))  # type: ignore[arg-type]
    assert crashed.group_contains(TypeError)


def test_everything_is_its_owners(config: Config) -> None:
    """The daemon's umask lets only the owner use its files, whatever the shell's umask is."""
    Path(config.database).write_text("dear diary" * 1000)
    app.main(config)

    assert 0o077 == os.umask(0o077)
