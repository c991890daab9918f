"""Reads the files of other tools, without following links, and with a limit on the length of lines."""

import io
import json
import os
import stat
from abc import ABC, abstractmethod
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib import import_module
from math import inf
from pathlib import Path
from typing import Any, BinaryIO

from reel.base.batches import converted, some_at_a_time
from reel.base.installation import install_command
from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json
from reel.base.values import new_tuple
from reel.importing.sources.long_lines import parse_shortened
from reel.importing.steps import NOT_JSON, TOO_LONG, Counts, Problem, Source, Step
from reel.importing.values import parse_record

# The longest line that is read. The daemon accepts no longer message, and a parsed line has to fit into memory
# three times: as bytes, as text and as values.
MAX_LINE = 16 << 20
_CHUNK = 1 << 20
# How many times the limit a line may have to be read without its largest parts.
LONGEST = 4
# Finding lines takes half as long as with the default of 8 KiB; more does not help.
_BUFFER = 1 << 16
# How a record begins, and at how many places of a damaged line one is looked for.
_RECORD, _MOST_STARTS = '{"', 200
# What is before a value that is a part of another one.
_WITHIN, _SPACES = (":", ",", "["), 16
# What a line consists of in which there never was a record.
_NOTHING = b"\0 \t\r\n"
# Python has the first one since 3.14.
_ZSTD_MODULES = ("compression.zstd", "backports.zstd")
_ZSTD_MISSING = "is compressed with Zstandard; to read it: "


class Line(NamedTuple):
    """A line of a file.

    Args:
        number: its number, starting at 1.
        end: the start of the next line, in bytes.
        data: the line; empty if it is longer than the limit.
        length: its length in bytes.
        complete: whether it ends with a line break; the last line of a file that is being written may lack it.
        long: the line if it is longer than the limit; empty if it is longer than four times that.
    """

    number: int
    end: int
    data: bytes
    length: int
    complete: bool
    long: bytes = b""


def lines_of(
    file: BinaryIO, start: int = 0, number: int = 0, limit: int = MAX_LINE, last: float = inf
) -> Iterator[Line]:
    """Yield the lines of a file from a position on, in bounded memory, without a byte order mark.

    Args:
        file: the file, at this position.
        start: the position, for the offsets of the yielded lines.
        number: the number of lines before it.
        limit: the longest line that is read.
        last: where the last line that is read ends at most.
    """
    end = start
    while data := file.readline(limit + 1):
        number += 1
        length, complete = len(data), data.endswith(b"\n")
        too_long = length - complete > limit
        rest: list[bytes] = []
        while not complete and too_long and (more := file.readline(_CHUNK)):
            length, complete = length + len(more), more.endswith(b"\n")
            rest = [*rest, more] if length <= LONGEST * limit else []
        end += length
        if end > last:
            return
        if number == 1 and data.startswith(BOM_UTF8):
            data, length = data.removeprefix(BOM_UTF8), length - len(BOM_UTF8)
        if too_long:
            long = b"".join([data, *rest]) if length <= LONGEST * limit else b""
            yield Line(number, end, b"", length, complete, long)
        else:
            yield new_tuple(Line, (number, end, data, length, complete, b""))


def open_regular(path: str) -> BinaryIO:
    """Open a regular file for reading, without following a link or waiting for a pipe.

    Raises:
        OSError: it is unreadable, or not a regular file.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(0, "is not a regular file", path)
    return os.fdopen(descriptor, "rb", buffering=_BUFFER)


class Entry(NamedTuple):
    """A regular file below a root: its path, its size in bytes, and its modification time in nanoseconds."""

    path: Path
    size: int
    modified: int


def files_below(root: Path, suffixes: tuple[str, ...], problems: list[Problem]) -> Iterator[Entry]:
    """Yield the regular files below a directory whose names have these suffixes, ordered by name.

    Links are not followed: they may lead out of the root. Links and unreadable directories are reported.

    Args:
        root: the directory; it may itself be a link, or a file.
        suffixes: the suffixes.
        problems: receives the problems.
    """
    real = root.resolve()
    if real.is_file():
        status = real.stat()
        yield Entry(real, status.st_size, status.st_mtime_ns)
        return

    if not real.is_dir():  # such as the pipe of <(command), which cannot be read twice
        problems.append(Problem(str(root), 0, "is neither a file nor a directory; write its content to a file first"))
        return

    def report(error: OSError) -> None:
        problems.append(Problem(str(error.filename), 0, error.strerror or str(error)))

    for directory, below, names in os.walk(real, onerror=report):
        below.sort()
        # Links to directories are listed as directories.
        for name in sorted([*names, *below]):
            path = os.path.join(directory, name)
            try:
                status = os.lstat(path)
            except FileNotFoundError:  # removed meanwhile
                continue
            except OSError as error:
                report(error)
                continue
            if stat.S_ISLNK(status.st_mode):
                problems.append(Problem(path, 0, "is a link, which is not followed"))
            elif stat.S_ISREG(status.st_mode) and name.endswith(suffixes):
                yield Entry(Path(path), status.st_size, status.st_mtime_ns)


class _Decompressed(io.RawIOBase):
    """The decompressed content of a file; damage raises ``OSError``."""

    def __init__(self, file: Any, path: str) -> None:
        self._file = file
        self._path = path

    def readable(self) -> bool:
        """Return that it is readable."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Read into a buffer."""
        try:
            data = self._file.read(len(buffer))
        except Exception as error:  # each module has its own exceptions
            raise OSError(0, f"cannot be decompressed: {error}", self._path) from error
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()


def open_zstd(file: BinaryIO, path: str) -> BinaryIO:
    """Return a reader of a file that was compressed with Zstandard.

    Raises:
        OSError: no module supports it; the error says what to install.
    """
    for name in _ZSTD_MODULES:
        try:
            module: Any = import_module(name)
        except ImportError:
            continue
        return io.BufferedReader(_Decompressed(module.ZstdFile(file), path), 1 << 20)
    file.close()
    raise OSError(0, _ZSTD_MISSING + install_command("zstd"), path)


class JsonLines(ABC):
    """A file of JSON lines that is being read: the base of all readers of such files.

    Args:
        source: the location of the file.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.counts = Counts()
        self._line = 0
        self._position = 0

    def steps(self) -> Iterator[Step]:
        """Yield the steps in the lines written since the last call.

        An incomplete last line is left for the next call. The first call reads no further than where the file ended
        when it was found: which conversation it is, and of which it is a fork, was told from its beginning, which may
        have been less than there is now.
        """
        with self.open() as file:
            if self._position:
                file.seek(self._position)
            last = inf if self._position else self.end_when_found
            yield from self.read(lines_of(file, self._position, self._line, last=last))

    @property
    def end_when_found(self) -> float:
        """Where the file ended when it was found, in bytes of its lines; infinite if that is not known."""
        return self.source.size

    def open(self) -> BinaryIO:
        """Open the file."""
        return open_regular(self.source.path)

    def read(self, lines: Iterator[Line]) -> Iterator[Step]:
        """Yield the steps in lines."""
        parsed = some_at_a_time(self._parsed(lines), lambda parsed: parsed[0].length)
        for some in converted(parsed, self._prepared):
            for line, records in some:
                self._line, self._position = line.number, line.end
                self.counts.line, self.counts.position = line.number, line.end
                if not records and (line.data.strip(_NOTHING) or (line.length and not line.data)):
                    self.miss(line)
                for found in records:
                    yield from self.read_line(found, line.number)
        yield from self.end()

    def _parsed(self, lines: Iterator[Line]) -> Iterator[tuple[Line, list[Json]]]:
        """Yield lines with the records in them, up to one that is not complete."""
        for line in lines:
            if not line.complete and not is_whole(line):
                return
            yield line, self._parse(line)

    def _parse(self, line: Line) -> list[Json]:
        return parse_line(line, self.source, self.counts) if line.length else []

    def _prepared(self, parsed: tuple[Line, list[Json]]) -> tuple[Line, list[Any]]:
        line, records = parsed
        return line, [self.prepare(found, line.number) for found in records]

    def prepare(self, found: Json, _line: int) -> Any:
        """Return what :meth:`read_line` gets of a record: it is made of it alone, whatever is before it in the file.

        Some more records are prepared before it is read.
        """
        return found

    @abstractmethod
    def read_line(self, found: Any, line: int) -> Iterable[Step]:
        """Return the steps of a record, and count it.

        Args:
            found: what :meth:`prepare` has returned.
            line: its line.
        """

    def miss(self, _line: Line) -> None:
        """Take note of a line of which nothing could be read. A reader that numbers records counts it as one."""
        return

    def end(self) -> Iterator[Step]:
        """Yield steps that were held back, as the file has ended."""
        yield from ()


def parse_line(line: Line, source: Source, counts: Counts) -> list[Json]:
    """Return the objects in a line: one, or of a damaged line those that are whole. All else is counted and reported.

    A line that is too long is one without its largest media.
    """
    try:
        if not line.data:
            return _shortened(line, source, counts)
        if (found := parse_record(line.data)) is not None:
            return [found]
        what = "not a JSON object"
    except (ValueError, RecursionError) as error:
        if line.data and not line.data.strip():
            return []
        what = f"not JSON: {error}"
    rest = list(_whole_records(line.data)) if line.data else []
    if rest:
        read = "a whole record" if len(rest) == 1 else f"{len(rest)} whole records"
        what = f"{what}; {read} on this line {'was' if len(rest) == 1 else 'were'} read"
    counts.refuse(NOT_JSON, Problem(source.path, line.number, what))
    return rest


def _shortened(line: Line, source: Source, counts: Counts) -> list[Json]:
    """Return the record of a line that is too long.

    Raises:
        ValueError: it is not JSON.
        RecursionError: it is nested too deep.
    """
    what = f"a line of {line.length:,} bytes; the limit is {MAX_LINE:,}"
    found = parse_shortened(line.long, MAX_LINE) if line.long else None
    if found is None:
        counts.refuse(TOO_LONG, Problem(source.path, line.number, what))
        return []
    record, left_out = found
    counts.problem(Problem(source.path, line.number, f"{what}: {left_out}"))
    return [record]


def _whole_records(data: bytes) -> Iterator[Json]:
    """Yield the whole records in a damaged line.

    A tool that was killed, or a disk that was full, leaves half a record or NULs, and the next record on the same line;
    or a line break is lost.
    """
    text, decoder, at = data.decode("utf-8", "surrogateescape"), json.JSONDecoder(), 0
    for _ in range(_MOST_STARTS):
        start = text.find(_RECORD, at)
        if start < 0:
            return
        at = start + 1
        if text[max(0, start - _SPACES) : start].rstrip().endswith(_WITHIN):  # a part of a record without its end
            continue
        with suppress(ValueError, RecursionError):
            _, end = decoder.raw_decode(text, start)
            if (found := parse_record(text[start:end].encode("utf-8", "surrogateescape"))) is not None:
                yield found
            at = end


def is_whole(line: Line) -> bool:
    """Return whether a line without a line break is complete: no prefix of an object is a complete object."""
    try:
        data = line.data or line.long
        return bool(data) and parse_record(data) is not None
    except (ValueError, RecursionError):
        return False
