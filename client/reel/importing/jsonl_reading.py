"""Reading a source that is a file of JSON lines."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import BinaryIO

from reel.importing.files import MAX_LINE, Line, lines_of, open_regular
from reel.importing.steps import NOT_JSON, TOO_LONG, Counts, Problem, Source, Step
from reel.importing.values import parse_record
from reel.strict_json import Json


class JsonLines(ABC):
    """A file of JSON lines that is being read: what a reader of such a file has in common with others.

    Args:
        source: where it is.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.counts = Counts()
        self._line = 0
        self._position = 0

    def steps(self) -> Iterator[Step]:
        """Yield what the lines say that were written since the last time.

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
        """Yield what lines say."""
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
        """Yield what waits for more, at the end of what is there."""
        yield from ()


def _is_whole(line: Line) -> bool:
    """Return whether a line without a line break is complete: no part of an object is an object."""
    try:
        return bool(line.data) and parse_record(line.data) is not None
    except (ValueError, RecursionError):
        return False
