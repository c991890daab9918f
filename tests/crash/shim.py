"""The shim between SQLite and the disk: it injects faults, and records the calls in a journal."""

import mmap
import shutil
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum, IntFlag
from pathlib import Path
from typing import NamedTuple

from tests.patience import PATIENCE

_SOURCE = Path(__file__).with_name("shim.c")
_BOARD = struct.Struct("7i")
_RECORD = struct.Struct("IIQQ")

COMPILER = shutil.which("cc")


class Op(IntEnum):
    """A call on a file or a socket."""

    WRITE = 1
    SYNC = 2
    TRUNCATE = 3
    UNLINK = 4
    SEND = 5
    # A sync that failed: the kernel marks the pages clean all the same, and never writes them.
    LOST = 6


class File(IntFlag):
    """The files of a database."""

    DATABASE = 1
    WAL = 2
    JOURNAL = 4


SUFFIXES = {File.DATABASE: "", File.WAL: "-wal", File.JOURNAL: "-journal"}


class Action(IntEnum):
    """What the shim does to a call."""

    FAIL = 1
    DIE_BEFORE = 2
    DIE_AFTER = 3
    DELAY = 4


class Done(NamedTuple):
    """A recorded call; ``where`` is a file, or the descriptor of a socket."""

    op: Op
    where: int
    offset: int
    data: bytes


class Shim:
    """A shim for the databases in a directory."""

    def __init__(self, directory: Path) -> None:
        assert COMPILER is not None
        self.directory = directory
        self._library, self._path, self._journal = (directory / name for name in ("shim.so", "board", "journal"))
        self._journal.touch()
        self._path.write_bytes(bytes(_BOARD.size))
        with self._path.open("r+b") as file:
            self._board = mmap.mmap(file.fileno(), _BOARD.size)
        flags = ["-shared", "-fPIC", "-O1", "-Wall", "-Werror"]
        command = [COMPILER, *flags, "-o", str(self._library), str(_SOURCE), "-ldl"]
        subprocess.run(command, check=True, timeout=PATIENCE)

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables with which a process runs on the shim."""
        return {
            "LD_PRELOAD": str(self._library),
            "CRASH_DIRECTORY": f"{self.directory}/",
            "CRASH_BOARD": str(self._path),
            "CRASH_JOURNAL": str(self._journal),
        }

    def order(
        self, action: Action, op: Op, files: File, *, skip: int = 0, count: int = 1 << 30, value: int = 0
    ) -> None:
        """Apply an action to calls from now on: ``skip`` calls pass, then ``count`` calls are hit."""
        self._board[:] = _BOARD.pack(0, *bytes(6))
        self._board[4:] = _BOARD.pack(0, op, files, skip, count, value, 0)[4:]
        self._board[:4] = struct.pack("i", action)  # last: it activates the other fields

    def calm(self) -> None:
        """Let all calls pass."""
        self._board[:4] = bytes(4)

    @property
    def hits(self) -> int:
        """The number of calls that the last order hit."""
        return int(_BOARD.unpack(self._board)[6])

    @contextmanager
    def ordered(
        self, action: Action, op: Op, files: File, *, skip: int = 0, count: int = 1 << 30, value: int = 0
    ) -> Iterator[None]:
        """Apply an action during the block."""
        self.order(action, op, files, skip=skip, count=count, value=value)
        try:
            yield
        finally:
            self.calm()

    def mark(self) -> int:
        """Return the length of the journal."""
        return self._journal.stat().st_size

    def done(self, since: int = 0) -> Iterator[Done]:
        """Read the journal of one run from an offset; a record that the end of the daemon cut is left out."""
        with self._journal.open("rb") as file:
            file.seek(since)
            while len(header := file.read(_RECORD.size)) == _RECORD.size:
                op, where, offset, length = _RECORD.unpack(header)
                data = file.read(length)
                if len(data) == length:
                    yield Done(Op(op), where, offset, data)
