"""Keeps the files of an import as they are: which are new, and what a consistent copy of each is."""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from reel.importing.adding.trials import Trials
from reel.importing.originals.store import Content, Store, StoreError
from reel.importing.sources import databases
from reel.importing.sources.files import open_regular
from reel.importing.steps import Problem, Source, Tool

# How many times as long as keeping it took a file is left alone that changes all the time.
_TIMES = 50
# How many files are kept in one transaction.
_TOGETHER = 64


class Keeper:
    """Keeps the files of tools.

    Args:
        store: where they are kept.
        clock: returns a time in seconds that only grows.
    """

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        # Until when a file is left alone.
        self._resting: dict[str, float] = {}
        # The failures of the store itself, and what was said of the last one.
        self._trials = Trials(clock)
        self._failure: list[Problem] = []

    def keep(self, tool: Tool, sources: Iterable[Source], is_erased: Callable[[str], bool]) -> list[Problem]:
        """Keep the files of sources that are new or have changed; return those that could not be kept.

        An original is erased if its conversation was purged meanwhile, by this program or another one.

        Args:
            tool: the tool.
            sources: its sources.
            is_erased: returns whether a conversation, or a file, was purged here.
        """
        problems: list[Problem] = []
        if not self._trials.is_due(self._store.path):
            return self._failure
        try:
            if purged := list(filter(is_erased, self._store.conversations())):
                self._store.erase(self._store.files_with(purged))
            known = self._store.states()
            found = _contents(tool, sources, is_erased, problems)
            changed = (content for content in found if content.state != known.get(content.path))
            while some := [*islice(changed, _TOGETHER)]:
                with self._store.together():
                    for content in some:
                        problems += self._keep(content)
        except StoreError as error:  # the disk is full, perhaps
            self._trials.fail(self._store.path)
            self._failure = [Problem(self._store.path, 0, f"{error}; originals are not kept meanwhile")]
            return self._failure
        self._trials.succeed(self._store.path)
        return problems

    def _keep(self, content: Content) -> list[Problem]:
        began = self._clock()
        if began < self._resting.get(content.path, began):
            return []
        problems = []
        try:
            with _opened(content.path, f"{self._store.path}-copy") as file:
                self._store.keep(content, file, time.time_ns() // 1_000_000)
        except OSError as error:
            problems.append(_not_kept(content.path, error))
        ended = self._clock()
        self._resting[content.path] = ended + _TIMES * (ended - began)
        return problems


def _not_kept(path: str, error: OSError) -> Problem:
    return Problem(path, 0, f"its original is not kept: {error.strerror or error}")


def _contents(
    tool: Tool, sources: Iterable[Source], is_erased: Callable[[str], bool], problems: list[Problem]
) -> Iterator[Content]:
    """Yield each file once: a database has many conversations, and a conversation may have many files.

    A file with a conversation that was purged is left out, and so is one that is gone. One that cannot be looked at is
    a problem, and keeps no other from being kept.
    """
    named: dict[str, list[Source]] = {}
    for source in sources:
        for path in (source.path, *map(str, tool.beside(source))):
            named.setdefault(path, []).append(source)
    for path, group in named.items():
        names, number = frozenset(one.conversation for one in group), sum(one.conversations for one in group)
        if any(map(is_erased, (erased_file(path), *names))):
            continue
        try:
            state, modified = _state_of(path)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            problems.append(_not_kept(path, error))
            continue
        yield Content(tool.name, path, state, modified, names, number)


def erased_file(path: str) -> str:
    """Return the name under which it is remembered that a file was erased."""
    return f"original {path}"


def _state_of(path: str) -> tuple[str, int]:
    """Return what changes with a file, and its modification time; of a database, also its log."""
    found = [os.lstat(path)]
    with suppress(FileNotFoundError):
        found.append(os.lstat(path + databases.WAL))
    return " ".join(f"{one.st_size} {one.st_mtime_ns}" for one in found), max(one.st_mtime_ns for one in found)


@contextmanager
def _opened(path: str, copy: str) -> Iterator[BinaryIO]:
    """Open a file for reading; of a database, a consistent copy with what is in its log.

    Args:
        path: the file.
        copy: the path for the copy, which goes afterwards. If this process is killed, the next copy replaces it.
    """
    with open_regular(path) as file:
        if not databases.is_database(file):
            file.seek(0)
            yield file
            return
    _remove(copy)
    try:
        databases.copy(path, copy)
        with open_regular(copy) as file:
            yield file
    finally:
        _remove(copy)


def _remove(copy: str) -> None:
    for suffix in ("", "-journal", databases.WAL, "-shm"):
        Path(copy + suffix).unlink(missing_ok=True)
