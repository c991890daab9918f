"""The files of an export: in the archive as it was downloaded, or in the directory into which it was unpacked."""

import os
import re
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from reel.importing.files import open_regular
from reel.importing.json_elements import Readable

CONVERSATIONS = re.compile(r"(?:.*/)?conversations(?:-[0-9]{1,6})?\.json")
ARCHIVE = ".zip"
# The name of a file that a conversation refers to begins with its id.
_ID = re.compile(r"(?:.*/)?(file[-_][A-Za-z0-9]+)[^/]*")
# What reading an archive raises if it is damaged or encrypted, or compressed in a way that is not known here.
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, LookupError)


class Files(ABC):
    """The files of an export. Only names that were listed are opened, so nothing leads out of it."""

    @abstractmethod
    def conversations(self) -> Iterator[tuple[str, Readable]]:
        """Yield the files with conversations, each with its name in the archive.

        Raises:
            OSError: the archive is damaged.
        """

    @abstractmethod
    def read(self, name: str, most: int) -> bytes:
        """Return the beginning of a file, with so many bytes at most.

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
    """A file with conversations, and what is beside it.

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
        return  # what is in it is missing, which is reported where it is needed


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
    """A file in an archive; what cannot be decompressed is an error of reading."""

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
