"""A client that finds no daemon starts one, unless it was stopped on purpose."""

import fcntl
import os
import re
import signal
import threading
from pathlib import Path

import pytest

import reel
from reel.daemon.starting import start
from reel.daemon.stop_marker import STOPPED, is_marked, mark
from tests.patience import PATIENCE
from tests.running import server_pid

pytestmark = pytest.mark.slow


def test_a_client_starts_a_daemon(home: Path) -> None:
    """A client that finds no daemon starts one where the environment says, and the next client finds it."""
    with reel.connect(autostart=True) as client, reel.connect(autostart=True) as other:
        client.add("demo", "hi", create=True)
        client.search("hi")  # makes the index

        assert server_pid(client) == server_pid(other)
        assert 1 == other.agent("demo").messages
    assert (home / "run" / "reel" / "reel.sock").is_socket()
    files = {path.name for path in (home / "state" / "reel").iterdir()} - {"search.db-shm", "search.db-wal"}
    assert {"reel.db", "reel.db-shm", "reel.db-wal", "reel.db.lock", "reel.sock", "reeld.log", "search.db"} == files


def test_variables_go_before_directories(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The variables for the socket and the database set their paths."""
    monkeypatch.setenv("REEL_SOCKET", str(home / "named.sock"))
    monkeypatch.setenv("REEL_DATABASE", str(home / "named.db"))
    with reel.connect(autostart=True):
        assert (home / "named.sock").is_socket()
        assert (home / "named.db").is_file()


def test_starts_at_the_same_time(home: Path) -> None:
    """Many starts at once start one daemon, and all wait until it answers."""
    path = str(home / "s.sock")
    outcomes: list[int] = []

    def connect() -> None:
        with reel.connect(path, autostart=True) as client:
            outcomes.append(server_pid(client))

    threads = [threading.Thread(target=connect) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)

    assert 4 == len(outcomes)
    assert 1 == len(set(outcomes))


def test_autostart_after_a_crash(home: Path) -> None:
    """A client whose daemon was killed starts the next one, which has all the data."""
    with reel.connect(str(home / "s.sock"), autostart=True) as client:
        client.add("demo", "hi", create=True)
        pid = server_pid(client)
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED)
        client.add("demo", "again")

        assert pid != server_pid(client)
        assert 2 == client.agent("demo").messages


def test_autostart_after_a_stop(home: Path) -> None:
    """What was stopped on purpose is not started by a client; a daemon on another socket is."""
    path = str(home / "s.sock")
    mark(path)
    with pytest.raises(reel.NotRunning, match=re.escape(STOPPED)):
        reel.connect(path, autostart=True)
    with pytest.raises(reel.NotRunning, match=re.escape(STOPPED)):
        reel.connect(path)
    with reel.connect(str(home / "other.sock"), autostart=True) as client:
        assert client.ping()

    assert not Path(path).exists()
    assert start(path, database=str(home / "r.db"))
    assert not is_marked(path)


def test_a_stop_while_it_is_started(home: Path) -> None:
    """A daemon that was launched before the stop sees the mark, and does not come up."""
    path, log = str(home / "s.sock"), home / "state" / "reel" / "reeld.log"
    refused: list[str] = []

    def connect() -> None:
        with pytest.raises(reel.NotRunning) as error:
            reel.connect(path, autostart=True)
        refused.append(error.value.message)

    with Path(f"{path}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        thread = threading.Thread(target=connect)
        thread.start()
        while not (log.exists() and "another reeld is running" in log.read_text()):
            assert thread.is_alive()
        mark(path)
    thread.join(PATIENCE)

    assert [STOPPED] == refused
    assert is_marked(path)
