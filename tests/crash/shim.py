"""The shim between SQLite and the disk: compiled, told what to do, and what it wrote down."""

import mmap
import shutil
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum, IntFlag
from pathlib import Path
from typing import NamedTuple

_SOURCE = Path(__file__).with_name("shim.c")
_BOARD = struct.Struct("7i")
_RECORD = struct.Struct("IIQQ")

COMPILER = shutil.which("cc")


class Op(IntEnum):
    """What is asked of a disk, and of a socket."""

    WRITE = 1
    SYNC = 2
    TRUNCATE = 3
    UNLINK = 4
    SEND = 5
    # A sync that failed: the kernel takes what was to be synced for clean, and never writes it.
    LOST = 6


class File(IntFlag):
    """The files of a database."""

    DATABASE = 1
    WAL = 2
    JOURNAL = 4


SUFFIXES = {File.DATABASE: "", File.WAL: "-wal", File.JOURNAL: "-journal"}


class Action(IntEnum):
    """What becomes of a call."""

    FAIL = 1
    DIE_BEFORE = 2
    DIE_AFTER = 3
    DELAY = 4


class Done(NamedTuple):
    """A call that was done; ``where`` is a file, or the descriptor of a socket."""

    op: Op
    where: int
    offset: int
    data: bytes


class Shim:
    """One shim over the databases in a directory."""

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
        subprocess.run(command, check=True, timeout=60)

    @property
    def environment(self) -> dict[str, str]:
        """What a process must be started with."""
        return {
            "LD_PRELOAD": str(self._library),
            "CRASH_DIRECTORY": f"{self.directory}/",
            "CRASH_BOARD": str(self._path),
            "CRASH_JOURNAL": str(self._journal),
        }

    def order(
        self, action: Action, op: Op, files: File, *, skip: int = 0, count: int = 1 << 30, value: int = 0
    ) -> None:
        """Say what becomes of calls from now on: ``skip`` pass, ``count`` are hit."""
        self._board[:] = _BOARD.pack(0, *bytes(6))
        self._board[4:] = _BOARD.pack(0, op, files, skip, count, value, 0)[4:]
        self._board[:4] = struct.pack("i", action)  # last: all else stands by then

    def calm(self) -> None:
        """Let everything pass."""
        self._board[:4] = bytes(4)

    @property
    def hits(self) -> int:
        """How many calls were hit by the last order."""
        return int(_BOARD.unpack(self._board)[6])

    @contextmanager
    def ordered(
        self, action: Action, op: Op, files: File, *, skip: int = 0, count: int = 1 << 30, value: int = 0
    ) -> Iterator[None]:
        """Give an order for as long as the block lasts."""
        self.order(action, op, files, skip=skip, count=count, value=value)
        try:
            yield
        finally:
            self.calm()

    def mark(self) -> int:
        """Give the place where the journal ends."""
        return self._journal.stat().st_size

    def done(self, since: int = 0) -> Iterator[Done]:
        """Read what was written down, from a place on."""
        with self._journal.open("rb") as file:
            file.seek(since)
            while len(header := file.read(_RECORD.size)) == _RECORD.size:
                op, where, offset, length = _RECORD.unpack(header)
                yield Done(Op(op), where, offset, file.read(length))
