"""What a Mac answers where Linux is asked otherwise; the system's own functions are faked, and nothing else."""

import fcntl
import os
import socket
import struct
from pathlib import Path
from typing import Any

import pytest

from reel import process
from reel.peer import Peer, peer_of
from reel.process import lock_holder
from reeld.serving.handlers import queries
from reeld.store.presence import sync_descriptor

_PID, _UID = 4711, 501


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
    monkeypatch.delattr(socket, "SO_PEERCRED")

    assert Peer(_PID, _UID) == peer_of(MacSocket())  # type: ignore[arg-type]


@pytest.mark.parametrize(("openers", "holder"), [(f"12\n{_PID}\n", _PID), ("12\n", None), ("", None)])
def test_the_holder_of_a_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, openers: str, holder: int | None
) -> None:
    """Without /proc, lsof tells whether the process in the lock file has that file open."""
    monkeypatch.setattr(process, "_PROC", tmp_path / "no proc")
    lsof = tmp_path / "lsof"
    lsof.write_text(f"#!/bin/sh\nprintf '{openers}'\n")
    lsof.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    (tmp_path / "s.sock.lock").write_text(f"{_PID}\n")

    assert holder == lock_holder(str(tmp_path / "s.sock"))


def test_a_system_without_lsof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If neither /proc nor lsof is there, nobody is known to hold the lock."""
    monkeypatch.setattr(process, "_PROC", tmp_path / "no proc")
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


def test_memory_without_proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without /proc the memory is the peak, which a Mac counts in bytes."""
    monkeypatch.setattr(queries, "_STATM", tmp_path / "none")

    assert queries.memory_kb() > 0
