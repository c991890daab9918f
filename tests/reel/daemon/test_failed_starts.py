"""Starts that fail, or that another daemon gets ahead of, leave no daemon behind."""

import fcntl
import socket
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import anyio
import pytest

import reel
import reel.aio
from reel.daemon.starting import start
from reel.sync.client import Client
from tests.patience import PATIENCE
from tests.running import children, server_pid

pytestmark = pytest.mark.slow


def test_the_slower_one_is_not_left_behind(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon that lost the race of two starts is ended: it would take over when the other one stops."""
    monkeypatch.setattr("reel.daemon.answering._BUSY", 0.1)
    path, before = str(home / "s.sock"), children()
    with socket.socket(socket.AF_UNIX) as faster:
        faster.bind(path)
        thread = threading.Thread(target=start, args=(path,))
        thread.start()
        while children() == before:
            assert thread.is_alive()
        faster.listen()
        thread.join(PATIENCE)

    assert before == children()


def test_the_error_has_the_last_line_of_the_log(home: Path) -> None:
    """If a daemon cannot start, its last line of output is the error."""
    (home / "state" / "reel").mkdir(parents=True)
    (home / "state" / "reel" / "reel.db").write_text("dear diary" * 1000)
    with pytest.raises(reel.NotRunning) as error:
        start(str(home / "s.sock"))

    assert error.value.message.startswith("reeld ended with status 4: reeld: ")
    assert error.value.data["log"] == str(home / "state" / "reel" / "reeld.log")


@pytest.mark.parametrize("blocking", [True, False])
def test_a_log_that_cannot_be_written(home: Path, blocking: bool) -> None:
    """If the log of the daemon cannot be written, both clients say so, with its name and the reason."""
    log, path = home / "state" / "reel" / "reeld.log", str(home / "s.sock")
    log.mkdir(parents=True)

    async def connect() -> None:
        async with reel.aio.connect(path, autostart=True):
            pass

    with pytest.raises(reel.NotRunning) as error:
        reel.connect(path, autostart=True) if blocking else anyio.run(connect)

    why = f"its log {log} cannot be written: Is a directory"
    assert f"cannot start reeld, because {why}; choose another $XDG_STATE_HOME" == error.value.message


def test_another_that_is_about_to_end(home: Path) -> None:
    """If another daemon is still stopping, the next one starts as soon as its lock is free."""
    path, log = str(home / "s.sock"), home / "state" / "reel" / "reeld.log"
    started: list[bool] = []
    with Path(f"{path}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        thread = threading.Thread(target=lambda: started.append(start(path)))
        thread.start()
        while not (log.exists() and "another reeld is running" in log.read_text()):
            assert thread.is_alive()
    thread.join(PATIENCE)

    assert [True] == started


def test_a_database_that_another_daemon_has(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the other one listens is said at once; nothing is tried again and again, and no daemon is left."""
    monkeypatch.setattr("reel.daemon.starting.READY_WITHIN", 3600)
    monkeypatch.setattr("reel.daemon.starting._AGAIN", 0.01)
    start(str(home / "s.sock"), database=str(home / "r.db"))
    before = children()
    with Client(str(home / "s.sock")).connect() as client:
        pid = server_pid(client)
    with pytest.raises(reel.NotRunning) as error:
        start(str(home / "other.sock"), database=str(home / "r.db"))

    assert (
        f"reeld ended with status 3: reeld: another reeld is running (pid {pid}) and listens on {home}/s.sock;"
        f" it holds the database {home}/r.db; end it with: reel --socket {home}/s.sock stop"
    ) == error.value.message
    assert before == children()


def test_a_daemon_that_does_not_answer_in_time(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who gives up leaves no daemon behind that would come up later."""
    monkeypatch.setattr("reel.daemon.starting.READY_WITHIN", 0.5)
    before = children()
    with closing(sqlite3.connect(home / "r.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(reel.NotRunning, match=f"reeld did not answer on {home}/s.sock within 0.5 s: "):
            start(str(home / "s.sock"), database=str(home / "r.db"))

        assert before == children()
