"""A daemon under a supervisor: notifications, and inherited sockets."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from reel.sync.client import Client
from tests.daemon import Daemon
from tests.patience import PATIENCE

# The first socket is the one after stderr, and it is for the process that the shell becomes.
GIVE = ("sh", "-c", 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$@" 3<&0', "sh")


@contextmanager
def running(
    daemon: Daemon, *before: str, given: socket.socket | None = None, **more: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a daemon through another program, with a larger environment, and end it."""
    with (
        daemon.log.open("ab") as log,
        subprocess.Popen(
            [*before, *daemon.command()],
            stdin=given.fileno() if given else None,
            stdout=log,
            stderr=log,
            env={**os.environ, **more},
        ) as process,
    ):
        try:
            yield process
        finally:
            process.terminate()
            process.wait(PATIENCE)


@contextmanager
def listening(path: str) -> Iterator[socket.socket]:
    """Make the socket of a supervisor."""
    with socket.socket(socket.AF_UNIX) as given:
        given.bind(path)
        given.listen()
        yield given


def facts(ear: socket.socket) -> list[str]:
    """Wait for the next notification."""
    return ear.recv(1000).decode().splitlines()


def test_supervisor(prepared: Daemon) -> None:
    """The daemon notifies its supervisor when it is ready, repeatedly while it runs, and when it stops."""
    directory = Path(prepared.socket).parent
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear:
        ear.bind(str(directory / "notify"))
        ear.settimeout(PATIENCE)
        with running(prepared, NOTIFY_SOCKET=str(directory / "notify"), WATCHDOG_USEC="20000") as process:
            first = facts(ear)
            while first == ["WATCHDOG=1"]:
                first = facts(ear)
            with prepared.client() as client:
                assert client.ping()
            assert [["WATCHDOG=1"]] * 3 == [facts(ear) for _ in range(3)]
            process.terminate()
            last = facts(ear)
            while last == ["WATCHDOG=1"]:
                last = facts(ear)
            process.wait(PATIENCE)  # a second signal could end it when it no longer handles signals

    assert ["READY=1", f"STATUS=listens on {prepared.socket} with {prepared.database}"] == first
    assert ["STOPPING=1", "STATUS=finishes what is in flight"] == last
    assert 0 == process.returncode


def test_supervisor_is_told_why_not(prepared: Daemon) -> None:
    """If it cannot start, its status is the sentence that says why."""
    Path(prepared.database).write_text("dear diary" * 1000)
    notify = f"{prepared.socket}.notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear:
        ear.bind(notify)
        ear.settimeout(PATIENCE)
        with running(prepared, NOTIFY_SOCKET=notify) as process:
            (said,) = facts(ear)
            process.wait(PATIENCE)

    assert said.startswith(f"STATUS={prepared.database} is ")
    assert 4 == process.returncode


def test_given_socket(prepared: Daemon) -> None:
    """An inherited socket is served without a lock beside it, and stays for the next daemon."""
    given_path, prepared.socket = f"{prepared.socket}.given", f"{prepared.socket}.unused"
    with listening(given_path) as given:
        for head in (2, 3):
            with running(prepared, *GIVE, given=given) as process, Client(given_path).connect() as client:
                assert head == client.add("demo", "hi", create=True).head
                assert given_path == client.stats()["socket"]
                client.search("hi")  # makes the index
            assert 0 == process.returncode
        assert Path(given_path).is_socket()

    assert ["log", "r-search.db", "r.db", "r.db.lock", "s.sock.given"] == sorted(
        path.name for path in Path(given_path).parent.iterdir()
    )


def test_given_socket_beside_another_daemon(daemon: Daemon) -> None:
    """A second daemon with an inherited socket is refused if the database is in use."""
    given_path = f"{daemon.socket}.given"
    with listening(given_path) as given, running(daemon, *GIVE, given=given) as second:
        assert 3 == second.wait(PATIENCE)

    assert f"reeld: another reeld is running (pid {daemon.process.pid}) and listens on" in daemon.log.read_text()


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        (None, "the supervisor passes no socket: Socket operation on non-socket"),
        ((socket.AF_UNIX, socket.SOCK_STREAM), "the supervisor must pass a listening"),
        ((socket.AF_UNIX, socket.SOCK_DGRAM), "the supervisor must pass a listening"),
        ((socket.AF_INET, socket.SOCK_STREAM), "the supervisor must pass a listening"),
    ],
)
def test_given_something_else(prepared: Daemon, kind: Sequence[int] | None, sentence: str) -> None:
    """An inherited file that cannot be listened on is refused in one sentence."""
    given = socket.socket(*kind) if kind else Path(os.devnull).open("rb")  # noqa: SIM115 - either is closed below
    with given:
        ran = subprocess.run(
            [*GIVE, *prepared.command()],
            stdin=given.fileno(),
            text=True,
            capture_output=True,
            check=False,
            timeout=PATIENCE,
        )

    assert 4 == ran.returncode
    assert ran.stderr.startswith(f"reeld: {sentence}")


@pytest.mark.skipif(shutil.which("systemd-socket-activate") is None, reason="systemd is not installed")
def test_socket_activation(prepared: Daemon) -> None:
    """With the real systemd, the first connection starts the daemon, and gets a reply."""
    path = f"{prepared.socket}.given"
    activate = ("systemd-socket-activate", "--listen", path)
    with running(prepared, *activate) as process:
        while "Listening on" not in prepared.log.read_text():
            assert process.poll() is None, prepared.log.read_text()
        with Client(path).connect() as client:
            assert 2 == client.add("demo", "hi", create=True).head
            assert client.server is not None
            assert process.pid == client.server.server["pid"]

    assert 0 == process.returncode
    assert "stopped" in prepared.log.read_text()
