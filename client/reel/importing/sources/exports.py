"""Exports of chat services: a JSON array of conversations, with files beside it, in an archive or unpacked."""

import os
import re
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import BinaryIO, TypeAlias

from reel.base.strict_json import Json
from reel.importing.sources.files import Entry, files_below, open_regular
from reel.importing.sources.json_elements import MAX_ELEMENT, Element, Elements, Readable
from reel.importing.steps import NOT_JSON, TOO_LONG, Counts, Found, Problem, Source, Step, Tool, nowhere
from reel.importing.values import parse_record

# How much of a file is read to determine its service.
_HEAD = 1 << 18
CONVERSATIONS = re.compile(r"(?:.*/)?conversations(?:-[0-9]{1,6})?\.json")
ARCHIVE = ".zip"
# The name of a file that a conversation refers to starts with the file's id.
_ID = re.compile(r"(?:.*/)?(file[-_][A-Za-z0-9]+)[^/]*")
# The exceptions of reading an archive that is damaged, encrypted, or compressed in an unknown way.
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, LookupError)


class Files(ABC):
    """The files of an export. Only listed names are opened, so no access leads out of the export."""

    @abstractmethod
    def conversations(self) -> Iterator[tuple[str, Readable]]:
        """Yield the files with conversations, each with its name in the archive.

        Raises:
            OSError: the archive is damaged.
        """

    @abstractmethod
    def read(self, name: str, most: int) -> bytes:
        """Return the beginning of a file, ``most`` bytes of it at most.

        Raises:
            OSError: it cannot be read.
        """

    @abstractmethod
    def names(self) -> Iterable[str]:
        """Return the names of the files."""

    @cached_property
    def by_id(self) -> dict[str, str]:
        """The names of the files that conversations refer to, by their ids."""
        return {found[1]: name for name in sorted(self.names(), reverse=True) if (found := _ID.fullmatch(name))}


class _Directory(Files):
    """A file with conversations, and the files beside it.

    Args:
        file: the file, open.
        path: its path.
    """

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self._file = file
        self._path = path.parent

    def conversations(self) -> Iterator[tuple[str, Readable]]:
        yield "", self._file

    def read(self, name: str, most: int) -> bytes:
        with open_regular(str(self._path / name)) as file:
            return file.read(most)

    def names(self) -> Iterable[str]:
        directories = []
        for entry in _entries(self._path):
            if entry.is_dir(follow_symlinks=False):
                directories.append(entry)
            else:
                yield entry.name
        for directory in directories:
            for entry in _entries(directory.path):
                yield f"{directory.name}/{entry.name}"


def _entries(path: Path | str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(path) as found:
            yield from found
    except OSError:
        return  # missing files are reported where they are needed


class _Archive(Files):
    """An archive.

    Args:
        archive: the archive.
    """

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive

    def conversations(self) -> Iterator[tuple[str, Readable]]:
        for name in sorted(name for name in self.names() if CONVERSATIONS.fullmatch(name)):
            with self._archive.open(name) as member:
                yield name, _Member(member)

    def read(self, name: str, most: int) -> bytes:
        try:
            with self._archive.open(name) as member:
                return member.read(most)
        except _DAMAGED as error:
            raise OSError(0, f"the archive is damaged: {error}") from error

    def names(self) -> Iterable[str]:
        return self._archive.namelist()


class _Member:
    """A file in an archive; decompression errors are raised as read errors."""

    def __init__(self, file: Readable) -> None:
        self._file = file

    def read(self, size: int, /) -> bytes:
        try:
            return self._file.read(size)
        except _DAMAGED as error:
            raise OSError(0, f"the archive is damaged: {error}") from error


@contextmanager
def open_export(path: str) -> Iterator[Files]:
    """Open an export.

    Raises:
        OSError: it cannot be read, or is a damaged archive.
    """
    with open_regular(path) as file:
        if not path.endswith(ARCHIVE):
            yield _Directory(file, Path(path))
            return
        try:
            with zipfile.ZipFile(file) as archive:
                yield _Archive(archive)
        except _DAMAGED as error:
            raise OSError(0, f"the archive cannot be read: {error}", path) from error


# Yields the steps of a conversation, and counts its records; the files of the export are an argument, too.
Read: TypeAlias = Callable[[Json, Source, Counts, Files], Iterator[Step]]


def export_tool(
    name: str, title: str, *, sign: str, first_keys: tuple[str, ...], accepts: Callable[[Json], bool], read: Read
) -> Tool:
    """Return the tool of a service. Its exports have no default place: the user gives the path.

    Args:
        name: the name of the tool.
        title: its name for people.
        sign: a key that only conversations of this service have.
        first_keys: as in :class:`Export`.
        accepts: likewise.
        read: likewise.
    """
    find = partial(_discover, tool=name, sign=f'"{sign}"'.encode())
    return Tool(name, title, nowhere, find, lambda source: Export(source, first_keys, accepts, read))


def _discover(root: Path, tool: str, sign: bytes) -> Found:
    """Return the exports at a path, the oldest first; in a directory, only those that contain the sign of the service.

    Args:
        root: a file, or a directory.
        tool: the name of the tool, the prefix of the conversations' names.
        sign: a byte string in every conversation of this service.
    """
    problems: list[Problem] = []
    named = root.is_file()
    sources = [
        Source(str(entry.path), tool, entry.size, entry.modified)
        for entry in files_below(root, (".json", ARCHIVE), problems)
        if named or (_may_be_export(entry) and _has_sign(entry, sign, problems))
    ]
    return Found(sorted(sources, key=lambda source: source.modified), problems)


def _may_be_export(entry: Entry) -> bool:
    return entry.path.suffix == ARCHIVE or CONVERSATIONS.fullmatch(entry.path.name) is not None


def _has_sign(entry: Entry, sign: bytes, problems: list[Problem]) -> bool:
    try:
        with open_export(str(entry.path)) as files:
            for _, part in files.conversations():
                return sign in part.read(_HEAD)
    except OSError as error:
        problems.append(Problem(str(entry.path), 0, error.strerror or str(error)))
    return False


class Export:
    """An export that is being read.

    Args:
        source: the location of the export.
        first_keys: the keys that a conversation may begin with.
        accepts: returns whether an object is a conversation.
        read: reads a conversation.
    """

    def __init__(
        self,
        source: Source,
        first_keys: tuple[str, ...],
        accepts: Callable[[Json], bool],
        read: Read,
    ) -> None:
        self.source = source
        self.counts = Counts()
        self._first_keys = first_keys
        self._accepts = accepts
        self._read = read

    def steps(self) -> Iterator[Step]:
        """Yield the steps of all conversations."""
        with open_export(self.source.path) as files:
            for name, part in files.conversations():
                yield from self._part(name, part, files)

    def _part(self, name: str, part: Readable, files: Files) -> Iterator[Step]:
        elements = Elements(part, self._first_keys)
        number, damaged, reported = 0, False, False
        try:
            while (element := elements.next(damaged=damaged)) is not None:
                found = _parsed(element)
                damaged = isinstance(found, str) or not self._accepts(found)
                if not isinstance(found, str) and not damaged:
                    number, reported = number + 1, False
                    yield from self._read(found, self.source, self.counts, files)
                elif not reported:  # the following pieces belong to the same conversation
                    reported, number = True, number + 1
                    self._report(name, number, element, found)
            if elements.is_open and not damaged:
                self._problem(name, "the list does not end: the file was cut, and conversations may be missing")
        except OSError as error:
            self._problem(name, error.strerror or str(error))
        if not number:
            self._problem(name, "no conversation in it")

    def _report(self, name: str, number: int, element: Element, found: Json | str) -> None:
        is_long = not element.complete and len(element.data) > MAX_ELEMENT
        self.counts.note(TOO_LONG if is_long else NOT_JSON if isinstance(found, str) else "not a conversation")
        what = found if isinstance(found, str) else "not a conversation of this service"
        self._problem(name, f"conversation {number}, at byte {element.offset:,}: {what}")

    def _problem(self, name: str, what: str) -> None:
        where = f"{self.source.path}/{name}" if name else self.source.path
        self.counts.problem(Problem(where, 0, what))


def _parsed(element: Element) -> Json | str:
    """Parse an element as an object; return the reason if it is not one."""
    if not element.complete:
        if len(element.data) > MAX_ELEMENT:
            return f"has more than {MAX_ELEMENT:,} bytes, or is damaged"
        return "ends in the middle; the file was cut or is damaged"
    try:
        return parse_record(element.data) or "not a JSON object"
    except (ValueError, RecursionError) as error:
        return f"not JSON: {error}"
