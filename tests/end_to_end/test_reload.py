"""SIGHUP: the log is opened again, and the socket is made again if it is gone."""

import os
import pty
import signal
import socket
import subprocess
from pathlib import Path

from tests.daemon import Daemon, until
from tests.end_to_end.test_supervised import GIVE, facts, listening, running
from tests.patience import PATIENCE


def hang_up(daemon: Daemon, times: int = 1) -> None:
    """Send SIGHUP, and wait until the log says that it was obeyed so many times."""
    daemon.process.send_signal(signal.SIGHUP)
    until(lambda: daemon.log.exists() and daemon.log.read_text().count("reloaded") == times)


def test_the_log_was_moved_away(daemon: Daemon) -> None:
    """The daemon goes on in a new file, for its owner only; what it logged before is in the old one."""
    old = daemon.log.rename(daemon.log.with_name("log.1"))
    written = old.read_text()
    hang_up(daemon)

    assert 0o600 == daemon.log.stat().st_mode & 0o777
    assert (1, 0) == (daemon.log.read_text().count("got SIGHUP"), old.read_text().count("SIGHUP"))
    assert 0 == daemon.end()
    assert (True, written) == ("stopped" in daemon.log.read_text(), old.read_text())


def test_the_log_was_copied_and_emptied(daemon: Daemon) -> None:
    """A log that is still at its path is opened again, and grows at its end."""
    os.truncate(daemon.log, 0)
    hang_up(daemon)

    assert daemon.log.read_text().startswith("20")


def test_the_log_cannot_be_opened(daemon: Daemon) -> None:
    """The daemon goes on with the log that it has."""
    old = daemon.log.rename(daemon.log.with_name("log.1"))
    daemon.log.mkdir()
    daemon.process.send_signal(signal.SIGHUP)
    until(lambda: "the log cannot be opened again" in old.read_text())

    with daemon.client() as client:
        assert client.ping()


def test_the_socket_is_gone(daemon: Daemon) -> None:
    """The socket is made again, connections that are open go on, and the end of the daemon removes it."""
    with daemon.client() as before:
        Path(daemon.socket).unlink()
        hang_up(daemon)
        with daemon.client() as client:
            assert (True, True) == (client.ping(), before.ping())
            assert 2 == client.stats()["connections"]
        Path(daemon.socket).unlink()
        hang_up(daemon, 2)
        with daemon.client() as client:
            assert client.ping()
    assert 0 == daemon.end()

    assert not Path(daemon.socket).exists()


def test_its_directory_is_gone(prepared: Daemon) -> None:
    """The directory is made again, for its owner only."""
    directory = Path(prepared.socket).parent / "reel"
    prepared.socket = str(directory / "s.sock")
    prepared.start()
    directory.rename(directory.with_name("elsewhere"))
    hang_up(prepared)

    assert 0o700 == directory.stat().st_mode & 0o777
    with prepared.client() as client:
        assert client.ping()


def test_the_socket_is_there(daemon: Daemon) -> None:
    """A socket that is still at its path stays the same."""
    before = os.lstat(daemon.socket)
    hang_up(daemon)

    assert before.st_ino == os.lstat(daemon.socket).st_ino


def test_another_is_in_the_place_of_the_socket(daemon: Daemon) -> None:
    """What somebody else has put at the path is neither replaced at a SIGHUP nor removed at the end."""
    Path(daemon.socket).unlink()
    with listening(daemon.socket) as other:
        hang_up(daemon)
        assert "another program answers on" in daemon.log.read_text()
        assert 0 == daemon.end()

        with socket.socket(socket.AF_UNIX) as client:
            client.connect(daemon.socket)
            other.accept()[0].close()


def test_the_supervisor_is_told(prepared: Daemon) -> None:
    """The supervisor learns that the daemon reloads, when it began, and that it has finished."""
    name = str(Path(prepared.socket).parent / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear:
        ear.bind(name)
        ear.settimeout(PATIENCE)
        with running(prepared, NOTIFY_SOCKET=name) as process:
            assert "READY=1" == facts(ear)[0]
            process.send_signal(signal.SIGHUP)
            begun, ended = facts(ear), facts(ear)

    assert ["RELOADING=1", "MONOTONIC_USEC"] == [begun[0], begun[1].partition("=")[0]]
    assert ["READY=1"] == ended


def test_a_socket_of_the_supervisor(prepared: Daemon) -> None:
    """A socket that the supervisor has made is up to the supervisor."""
    with listening(prepared.socket) as given, running(prepared, *GIVE, given=given) as process:
        with prepared.client() as client:
            assert client.ping()
        Path(prepared.socket).unlink()
        process.send_signal(signal.SIGHUP)
        until(lambda: "got SIGHUP" in prepared.log.read_text())

        assert not Path(prepared.socket).exists()


def test_a_terminal_that_is_closed(prepared: Daemon) -> None:
    """A daemon that logs to a terminal ends with it, as with SIGTERM."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(prepared.command(), stdout=theirs, stderr=theirs)
    os.close(theirs)
    until(lambda: Path(prepared.socket).exists())
    process.send_signal(signal.SIGHUP)

    assert 0 == process.wait(PATIENCE)
    os.close(ours)
