"""A socket that went away comes back; until then, and from where nobody sees it, the database's lock names another.

The runtime directory goes at the last logout, cleaners remove old files in /tmp, and a cron job has no runtime
directory at all. The daemon holds the database all the while.
"""

import os
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import reel
from reel.base.errors import NotRunning
from reel.daemon.lock_file import lock_holder, sockets_by_lock
from reel.daemon.starting import start
from reel.daemon.stop_marker import is_marked
from reel.sync.client import Client
from reeld.locks import lasting_directory, socket_beside
from tests.daemon import until
from tests.running import server_pid

pytestmark = pytest.mark.slow

_REEL = [sys.executable, "-c", "from reel.cli import process; process()"]


def command(*argv: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a process."""
    return subprocess.run([*_REEL, *argv], text=True, check=False, capture_output=True, stdin=subprocess.DEVNULL)


@pytest.fixture
def usual(home: Path) -> Path:
    """The usual socket of a daemon that a client has started."""
    with reel.connect(autostart=True) as client:
        client.add("demo", "before", create=True)
    return home / "run" / "reel" / "reel.sock"


def logged_out(run: Path) -> None:
    """Remove the runtime directory, and make it anew."""
    shutil.rmtree(run)
    run.mkdir(mode=0o700)


def cleaned(run: Path) -> None:
    """Remove the socket and its lock, as a cleaner does."""
    for file in (run / "reel").iterdir():
        file.unlink()


def logged_out_for_good(run: Path) -> None:
    """Remove the runtime directory; nobody can make it again."""
    shutil.rmtree(run)
    run.write_text("in the way")


@pytest.mark.parametrize("lose", [logged_out, cleaned])
def test_a_socket_is_made_again(home: Path, usual: Path, lose: Callable[[Path], None]) -> None:
    """The daemon makes the socket, its directory and its lock again: no second daemon can listen there."""
    pid = lock_holder(str(usual))
    lose(home / "run")
    until(lambda: usual.exists() and stat.S_IMODE(usual.stat().st_mode) == 0o600)  # bound first, then changed

    with Client(str(usual)).connect() as client:
        assert pid == server_pid(client)
    assert 0o700 == stat.S_IMODE(usual.parent.stat().st_mode)
    assert pid == lock_holder(str(usual))
    refused = subprocess.run(
        [sys.executable, "-m", "reeld", "--socket", str(usual), "--database", str(home / "other.db")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"another reeld is running (pid {pid})" in refused.stderr


@pytest.mark.parametrize("lose", [logged_out, cleaned, logged_out_for_good])
def test_nobody_waits_for_a_lost_socket(home: Path, usual: Path, lose: Callable[[Path], None]) -> None:
    """Clients, commands and a client that was connected reach the daemon at once, wherever its socket went."""
    with reel.connect() as before:
        pid = server_pid(before)
        lose(home / "run")

        assert "before" in command("show", "demo").stdout
        assert 2 == before.add("demo", "after").head - 1
    with Client(str(usual), autostart=True).connect() as client:
        assert pid == server_pid(client)
    assert start(str(usual)) is False
    with Client(command("socket").stdout.strip()).connect() as client:
        assert pid == server_pid(client)


@pytest.mark.parametrize("lose", [logged_out, cleaned, logged_out_for_good])
def test_a_daemon_with_a_lost_socket_is_stopped(home: Path, usual: Path, lose: Callable[[Path], None]) -> None:
    """reel stop ends it, and its sockets are gone."""
    pid = lock_holder(str(usual))
    assert pid is not None
    lose(home / "run")
    stopped = command("stop")
    if lose is logged_out_for_good:
        (home / "run").unlink()

    assert (0, f"stopped: {usual}\n") == (stopped.returncode, stopped.stdout)
    assert lock_holder(str(home / "state" / "reel" / "reel.db")) is None
    assert not (home / "state" / "reel" / "reel.sock").exists()
    assert 0 == command("start").returncode
    assert "before" in command("show", "demo").stdout


def test_a_daemon_that_listens_nowhere_is_stopped(home: Path, usual: Path) -> None:
    """An older daemon has no other socket; it is ended by its process, which the lock names."""
    lock = home / "state" / "reel" / "reel.db.lock"
    pid, own, *_ = lock.read_text().splitlines()
    lock.write_text(f"{pid}\n{own}\n")
    logged_out_for_good(home / "run")
    stopped = command("stop", "--timeout", "1")

    assert (0, f"stopped: {usual}\n") == (stopped.returncode, stopped.stdout)
    assert lock_holder(str(home / "state" / "reel" / "reel.db")) is None


async def test_an_environment_without_the_runtime_directory(
    home: Path, usual: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cron job, with another place for the socket, reaches the daemon that has its database, and stops that one."""
    pid = lock_holder(str(usual))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(home / "cron"))
    assert 0 == command("add", "demo", "said by cron").returncode
    async with reel.aio.connect(autostart=True) as client:
        assert client.server is not None
        assert pid == client.server.server["pid"]
    doctor = command("doctor")
    assert 0 == doctor.returncode
    assert f"{usual}.lock: held by pid {pid}" in doctor.stdout

    assert 0 == command("stop").returncode
    assert lock_holder(str(home / "state" / "reel" / "reel.db")) is None
    assert is_marked(str(usual))
    refused = command("add", "demo", "said later")
    assert "it was stopped" in refused.stderr or "was stopped with `reel stop`" in refused.stderr


def test_a_socket_that_was_named(home: Path, usual: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever names a socket gets the daemon on that one, or none."""
    other = str(home / "other.sock")
    with pytest.raises(NotRunning):
        Client(other).connect()
    monkeypatch.setenv("REEL_SOCKET", other)
    with pytest.raises(NotRunning):
        reel.connect()

    assert [] == sockets_by_lock(other)
    monkeypatch.setenv("REEL_SOCKET", str(usual))
    assert [str(home / "state" / "reel" / "reel.sock")] == sockets_by_lock(str(usual))


def test_a_lock_that_nobody_holds(home: Path) -> None:
    """A process that has the file open without the lock, and listens where it says, is not believed."""
    state = home / "state" / "reel"
    state.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as listener, (state / "reel.db.lock").open("w+") as lock:
        listener.bind(str(state / "reel.sock"))
        listener.listen()
        lock.write(f"{os.getpid()}\n\n\n{state}/reel.sock\n")
        lock.flush()

        assert [] == sockets_by_lock(str(home / "run" / "reel" / "reel.sock"))
        with pytest.raises(NotRunning):
            reel.connect()


def test_the_socket_beside_a_database() -> None:
    """It is called after the database; if that is too long for a socket, it is a hash in the directory of the locks."""
    long = f"/{'d' * 100}/reel.db"

    assert "/home/me/.local/state/reel/reel.sock" == socket_beside("/home/me/.local/state/reel/reel.db")
    assert "/srv/talks.sqlite.sock" == socket_beside("/srv/talks.sqlite")
    assert lasting_directory() == os.path.dirname(socket_beside(long))
    assert len(socket_beside(long)) <= 104
    assert socket_beside(long) != socket_beside(f"/x{long}")


def test_a_long_path_has_a_socket(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon whose database has a long path is found by its lock as well."""
    database = home / ("d" * 120) / "reel.db"
    monkeypatch.setenv("REEL_DATABASE", str(database))
    with reel.connect(autostart=True) as client:
        pid = server_pid(client)
        logged_out_for_good(home / "run")
    with reel.connect() as client:
        assert pid == server_pid(client)
        client.shutdown()
    until(lambda: lock_holder(str(database)) is None)

    assert not Path(socket_beside(str(database))).exists()
