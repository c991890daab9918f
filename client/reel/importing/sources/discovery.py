"""Finds the sources of a tool among the files below a root."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from reel.base.strict_json import Json
from reel.importing.sources.files import Entry, files_below, lines_of, open_regular
from reel.importing.steps import Problem, Source
from reel.importing.values import parse_record

# How many lines are looked at to find out what a file is, and the longest of them.
_HEAD_LINES, _HEAD = 4, 1 << 18
T = TypeVar("T")


def record_files(
    root: Path, pattern: str, is_one: Callable[[Json], bool], problems: list[Problem]
) -> Iterator[tuple[Entry, list[Json]]]:
    """Yield the files of JSON lines below a root that have records of a kind, and the first records of each.

    A root that is itself a file is one of them, whatever it has: the user has named it.

    Args:
        root: a directory, or a file.
        pattern: the name of the files; a star in front stands for any beginning.
        is_one: returns whether a record is of the kind.
        problems: receives what could not be read.
    """
    named = root.resolve()
    entries = files_below(root, (pattern.removeprefix("*"),), problems)
    matching = (entry for entry in entries if entry.path == named or entry.path.match(pattern))
    for entry, records in each_read(matching, first_records, problems):
        if entry.path == named or may_have(records, is_one):
            yield entry, records


def each_read(
    entries: Iterable[Entry], read: Callable[[Entry], T], problems: list[Problem]
) -> Iterator[tuple[Entry, T]]:
    """Yield each file with what is read of it; one that cannot be read is reported, and left out.

    Args:
        entries: the files.
        read: reads one, or raises ``OSError``.
        problems: receives what could not be read.
    """
    for entry in entries:
        try:
            found = read(entry)
        except OSError as error:
            problems.append(Problem(str(entry.path), 0, error.strerror or str(error)))
            continue
        yield entry, found


def first_records(entry: Entry) -> list[Json]:
    """Return the records among the first lines of a file; a damaged or long one is empty.

    Raises:
        OSError: the file cannot be read.
    """
    found: list[Json] = []
    with open_regular(str(entry.path)) as file:
        for line in islice(lines_of(file, limit=_HEAD), _HEAD_LINES):
            try:
                found.append(parse_record(line.data) or {})
            except (ValueError, RecursionError):
                found.append({})
    return found


def may_have(records: list[Json], is_one: Callable[[Json], bool]) -> bool:
    """Return whether a file that begins with these records has some of a kind: one does, or all are damaged."""
    return any(map(is_one, records)) or (bool(records) and not any(records))


def one_of_each(sources: Iterable[Source], rank: Callable[[Source], Any]) -> list[Source]:
    """Return one source of each conversation: the first one of the highest rank."""
    best: dict[str, Source] = {}
    for source in sources:
        if rank(source) > rank(best.setdefault(source.conversation, source)):
            best[source.conversation] = source
    return list(best.values())
