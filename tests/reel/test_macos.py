"""What a Mac answers where Linux is asked otherwise; the system's own functions are faked, and nothing else."""

import _socket
import fcntl
import os
import select
import struct
import subprocess
from pathlib import Path
from typing import Any, ClassVar

import pytest

from reel.cli import main
from reel.cli.commands.stop import open_process
from reel.daemon import lock_file
from reel.daemon.lock_file import lock_holder
from reel.daemon.peer import Peer, peer_of
from reeld.serving import stats
from reeld.store.presence import sync_descriptor
from tests.daemon import Daemon, short_directory
from tests.patience import PATIENCE

_PID, _UID = 4711, 501
# The fixture below takes it away from everybody else.
pidfd_open = os.pidfd_open


class MacSocket:
    """Answers as a Unix socket of macOS does."""

    def getsockopt(self, level: int, option: int, size: int = 0) -> Any:
        """Return a ``struct xucred``, or a pid."""
        assert 0 == level
        if option == 1:
            xucred = struct.pack("IIh2x16I", 0, _UID, 2, 20, 12, *[0] * 14)
            assert size == len(xucred)
            return xucred
        return {2: _PID}[option]


def test_the_peer_of_a_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pid and the uid come from the two options that macOS has in place of SO_PEERCRED."""
    monkeypatch.delattr(_socket, "SO_PEERCRED")

    assert Peer(_PID, _UID) == peer_of(MacSocket())  # type: ignore[arg-type]


@pytest.mark.parametrize(("openers", "holder"), [(f"12\n{_PID}\n", _PID), ("12\n", None), ("", None)])
def test_the_holder_of_a_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, openers: str, holder: int | None
) -> None:
    """Without /proc, lsof tells whether the process in the lock file has that file open."""
    monkeypatch.setattr(lock_file, "_PROC", tmp_path / "no proc")
    lsof = tmp_path / "lsof"
    lsof.write_text(f"#!/bin/sh\nprintf '{openers}'\n")
    lsof.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    (tmp_path / "s.sock.lock").write_text(f"{_PID}\n")

    assert holder == lock_holder(str(tmp_path / "s.sock"))


def test_a_system_without_lsof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If neither /proc nor lsof is there, nobody is known to hold the lock."""
    monkeypatch.setattr(lock_file, "_PROC", tmp_path / "no proc")
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "s.sock.lock").write_text(f"{_PID}\n")

    assert lock_holder(str(tmp_path / "s.sock")) is None


def test_a_sync_reaches_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system has F_FULLFSYNC it is used, because fsync stops at the disk's cache there."""
    calls: list[tuple[int, int]] = []
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", lambda *call: calls.append(call))

    with (tmp_path / "file").open("w") as file:
        sync_descriptor(file.fileno())
        assert [(file.fileno(), 51)] == calls


def test_a_file_system_without_that_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One on the network that does not know F_FULLFSYNC is asked for what it knows; other errors are errors."""
    synced: list[int] = []
    unknown = 51  # to Linux, too
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", unknown, raising=False)
    monkeypatch.setattr(os, "fsync", synced.append)
    with (tmp_path / "file").open("w") as file:
        sync_descriptor(file.fileno())
        with pytest.raises(OSError, match="Bad file descriptor"):
            sync_descriptor(1 << 20)

        assert [file.fileno()] == synced


def test_memory_without_proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without /proc the memory is the peak, which a Mac counts in bytes."""
    monkeypatch.setattr(stats, "_STATM", tmp_path / "none")

    assert stats.memory_kb() > 0


class Queue:
    """Becomes readable when a process ends, as a kqueue does that was asked for that."""

    asked: ClassVar[list[tuple[int, ...]]] = []

    def __init__(self) -> None:
        self._handle: int | None = None

    def control(self, events: list[tuple[int, ...]], _most: int) -> None:
        """Watch a process."""
        self.asked.extend(events)
        self._handle = pidfd_open(events[0][0])

    def fileno(self) -> int:
        """Return the descriptor to wait for."""
        assert self._handle is not None
        return self._handle

    def close(self) -> None:
        """Free it."""
        if self._handle is not None:
            os.close(self._handle)


@pytest.fixture
def kqueue(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """A kqueue in place of a pidfd; return what it is asked for."""
    monkeypatch.delattr(os, "pidfd_open")
    monkeypatch.setattr(select, "kqueue", Queue, raising=False)
    monkeypatch.setattr(select, "kevent", lambda *event: event, raising=False)
    for number, name in enumerate(["KQ_FILTER_PROC", "KQ_EV_ADD", "KQ_NOTE_EXIT"], 1):
        monkeypatch.setattr(select, name, number, raising=False)
    monkeypatch.setattr(Queue, "asked", [])
    return Queue.asked


@pytest.mark.slow
def test_a_daemon_is_stopped(kqueue: list[tuple[int, ...]]) -> None:
    """Without a pidfd, a kqueue reports the end of the daemon that `reel stop` waits for."""
    with short_directory() as directory:
        daemon = Daemon(directory)
        daemon.start()
        pid = daemon.process.pid

        assert 0 == main(["--socket", daemon.socket, "stop"])
        assert [(pid, 1, 2, 3)] == kqueue
        assert 0 == daemon.process.wait(PATIENCE)


def test_a_daemon_that_has_ended(kqueue: list[tuple[int, ...]]) -> None:
    """A process that is not there any more needs no waiting."""
    with subprocess.Popen(["true"]) as ended:
        ended.wait()

    assert open_process(ended.pid) is None
    assert [(ended.pid, 1, 2, 3)] == kqueue
