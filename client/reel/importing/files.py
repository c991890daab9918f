"""Reading the files of other tools: no link is followed, and no line may be longer than a limit."""

import io
import os
import stat
from abc import ABC, abstractmethod
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from reel.importing.steps import NOT_JSON, TOO_LONG, Counts, Problem, Source, Step
from reel.importing.values import parse_record
from reel.strict_json import Json

# The longest line that is read. The daemon takes no message that is longer, and what is parsed has to fit into memory
# three times: as bytes, as text and as values.
MAX_LINE = 16 << 20
_CHUNK = 1 << 20
# Lines are found in half the time of the usual 8 KiB; more does not help.
_BUFFER = 1 << 16
# Python has the first one from 3.14 on.
_ZSTD_MODULES = ("compression.zstd", "backports.zstd")
_ZSTD_MISSING = "is compressed with Zstandard; to read it: pip install 'reeld[zstd]'"


class Line(NamedTuple):
    """A line of a file.

    Args:
        number: its number, from 1 on.
        end: where the next line begins, in bytes.
        data: the line; empty if it is longer than the limit.
        length: how many bytes it has.
        complete: whether it ends with a line break: the last line of a file that is being written may not.
    """

    number: int
    end: int
    data: bytes
    length: int
    complete: bool


def lines_of(file: BinaryIO, start: int = 0, number: int = 0, limit: int = MAX_LINE) -> Iterator[Line]:
    """Yield the lines of a file from a position on, in bounded memory.

    Args:
        file: the file, at this position.
        start: the position, for what is yielded.
        number: how many lines are before it.
        limit: the longest line that is read.
    """
    end = start
    while data := file.readline(limit + 1):
        number += 1
        length, complete = len(data), data.endswith(b"\n")
        too_long = length - complete > limit
        while not complete and too_long and (more := file.readline(_CHUNK)):
            length, complete = length + len(more), more.endswith(b"\n")
        end += length
        yield Line(number, end, b"" if too_long else data, length, complete)


def open_regular(path: str) -> BinaryIO:
    """Open a regular file to read it; a link is not followed, and a pipe is not waited for.

    Raises:
        OSError: it cannot be read, or is something else.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(0, "is not a regular file", path)
    return os.fdopen(descriptor, "rb", buffering=_BUFFER)


class Entry(NamedTuple):
    """A regular file below a root: its path, its size in bytes, and when it was changed, in nanoseconds."""

    path: Path
    size: int
    modified: int


def files_below(root: Path, suffixes: tuple[str, ...], problems: list[Problem]) -> Iterator[Entry]:
    """Yield the regular files below a directory whose names have these ends, in the order of their names.

    Links are not followed: they may lead out of the root. They, and directories that cannot be read, are reported.

    Args:
        root: the directory; it may itself be a link, or a file.
        suffixes: the ends of the names.
        problems: where to report.
    """
    real = root.resolve()
    if real.is_file():
        status = real.stat()
        yield Entry(real, status.st_size, status.st_mtime_ns)
        return

    def report(error: OSError) -> None:
        problems.append(Problem(str(error.filename), 0, error.strerror or str(error)))

    for directory, below, names in os.walk(real, onerror=report):
        below.sort()
        # A link to a directory is among the directories.
        for name in sorted([*names, *below]):
            path = os.path.join(directory, name)  # noqa: PTH118 - there may be many
            status = os.lstat(path)
            if stat.S_ISLNK(status.st_mode):
                problems.append(Problem(path, 0, "is a link, which is not followed"))
            elif stat.S_ISREG(status.st_mode) and name.endswith(suffixes):
                yield Entry(Path(path), status.st_size, status.st_mtime_ns)


class _Decompressed(io.RawIOBase):
    """What a compressed file contains; damage is an ``OSError``."""

    def __init__(self, file: Any, path: str) -> None:
        self._file = file
        self._path = path

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Read into a buffer."""
        try:
            data = self._file.read(len(buffer))
        except Exception as error:  # each module has exceptions of its own
            raise OSError(0, f"cannot be decompressed: {error}", self._path) from error
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()


def open_zstd(file: BinaryIO, path: str) -> BinaryIO:
    """Return what reads a file that was compressed with Zstandard.

    Raises:
        OSError: there is no module that can; the error says what to install.
    """
    for name in _ZSTD_MODULES:
        try:
            module: Any = import_module(name)
        except ImportError:
            continue
        return io.BufferedReader(_Decompressed(module.ZstdFile(file), path), 1 << 20)
    file.close()
    raise OSError(0, _ZSTD_MISSING, path)


class JsonLines(ABC):
    """A file of JSON lines that is being read: what all readers of such files have in common.

    Args:
        source: where it is.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.counts = Counts()
        self._line = 0
        self._position = 0

    def steps(self) -> Iterator[Step]:
        """Yield the steps in the lines that were written since the last time.

        The last line is left for the next time if it is not complete.
        """
        with self.open() as file:
            if self._position:
                file.seek(self._position)
            yield from self.read(lines_of(file, self._position, self._line))

    def open(self) -> BinaryIO:
        """Open the file."""
        return open_regular(self.source.path)

    def read(self, lines: Iterator[Line]) -> Iterator[Step]:
        """Yield the steps in lines."""
        for line in lines:
            if not line.complete and not _is_whole(line):
                break
            self._line, self._position = line.number, line.end
            found = self._parse(line)
            if found is not None:
                yield from self.read_line(found, line.number)
        yield from self.end()

    def _parse(self, line: Line) -> Json | None:
        if line.length and not line.data:
            self._report(line, TOO_LONG, f"a line of {line.length:,} bytes; the limit is {MAX_LINE:,}")
            return None
        if not line.data.strip():
            return None
        try:
            found = parse_record(line.data)
        except (ValueError, RecursionError) as error:
            self._report(line, NOT_JSON, f"not JSON: {error}")
            return None
        if found is None:
            self._report(line, NOT_JSON, "not a JSON object")
        return found

    def _report(self, line: Line, kind: str, what: str) -> None:
        self.counts.note(kind)
        self.counts.problem(Problem(self.source.path, line.number, what))

    @abstractmethod
    def read_line(self, found: Json, line: int) -> Iterator[Step]:
        """Yield what a record says, and count it."""

    def end(self) -> Iterator[Step]:
        """Yield what was held back for more, because the file ends."""
        yield from ()


def _is_whole(line: Line) -> bool:
    """Return whether a line without a line break is complete: no part of an object is an object."""
    try:
        return bool(line.data) and parse_record(line.data) is not None
    except (ValueError, RecursionError):
        return False
