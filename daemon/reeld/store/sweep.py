"""Clearing the unused bytes of a whole SQLite file, while others read it and commit.

The file itself changes only when SQLite copies the WAL into it. A *guard* prevents that: it is a connection with a read
transaction that began when the WAL was empty. SQLite must keep the file as it is for such a reader, whichever process
wants to copy the WAL. Meanwhile commits go into the WAL.

Pages that a commit changed may have copies of what other pages had in their unused bytes, because SQLite moves whole
pages and caches them. So each time the file is let go, the pages that are in the WAL are noted, and cleared again. As
long as there is a guard, the WAL cannot begin anew, so none is missed. At the end the connection that writes forgets
the pages that it has in memory.
"""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager

from reel.base.errors import Storage
from reel.base.light_typing import NamedTuple
from reeld.store.connection import uri_of
from reeld.store.image import Image
from reeld.store.opening import open_regular
from reeld.store.pages import DamagedPageError
from reeld.store.presence import sync_descriptor
from reeld.store.wal import checkpoint, truncate_wal, written_pages

_MODE = 0o600
# Seconds for which it works without a pause, for which the file is kept as it is, and bytes of the WAL from which on it
# is let go: the WAL stays at a few megabytes.
_SLICE = 0.005
_KEPT = 1.0
_MOST_IN_WAL = 4 << 20
# The most pages that are cleared while nobody can commit.
_LAST = 100
# Free pages that are given back at once: some milliseconds, and at most three megabytes in the WAL.
_GIVEN_BACK = 256
# Damaged pages that are named.
_NAMED = 3


class Ground(NamedTuple):
    """A file whose pages can be cleared.

    SQLite's locks on a file end when any descriptor of it is closed. So the descriptor is opened before SQLite opens
    the file, and closed after SQLite has closed it.

    Args:
        descriptor: opened to read and write.
        guard: a connection that nothing else uses meanwhile, except for the one that writes.
    """

    path: str
    descriptor: int
    guard: sqlite3.Connection


class Sweep:
    """One pass over all pages of a file.

    Args:
        ground: the file.
        is_in_doubt: whether an earlier pass may not be on the disk: its sync failed. Then the system has forgotten what
            was to be written, and shows it nevertheless.
    """

    def __init__(self, ground: Ground, *, is_in_doubt: bool = False) -> None:
        self._ground = ground
        self._is_in_doubt = is_in_doubt
        self._wal = f"{ground.path}-wal"
        self._image: Image | None = None
        self._let_go_at = 0.0
        # The first page that was not visited, and pages before it that changed since.
        self._next = 1
        self._again: set[int] = set()
        self._damaged: list[int] = []

    @property
    def is_held(self) -> bool:
        """Whether the file is kept as it is."""
        return self._image is not None

    @property
    def visited(self) -> int:
        """How many pages have been cleared at least once."""
        return self._next - 1

    def hold(self, writer: sqlite3.Connection, patience: int = 0) -> bool:
        """Keep the file as it is from now on; return whether that was possible: no reader needs the WAL.

        Args:
            writer: the connection that writes.
            patience: how long to wait for readers, in milliseconds; nothing is committed meanwhile.

        Raises:
            OSError: the file cannot be read.
            Storage: it is damaged, or of a kind that cannot be cleared.
            sqlite3.Error: the WAL cannot be copied.
        """
        if self._size_of_wal():
            self._again |= {page for page in written_pages(self._wal) if page < self._next}
        self.let_go()
        is_empty = truncate_wal(writer, patience)
        guard = self._ground.guard
        guard.execute("BEGIN")
        guard.execute("SELECT 1 FROM main.sqlite_schema").fetchall()
        if not is_empty or self._size_of_wal():
            return False
        self._image = Image(self._ground.descriptor, is_in_doubt=self._is_in_doubt)
        self._let_go_at = time.monotonic() + _KEPT
        return True

    def let_go(self) -> None:
        """Let the file change again."""
        self._image = None
        if self._ground.guard.in_transaction:
            self._ground.guard.execute("ROLLBACK")

    def _size_of_wal(self) -> int:
        try:
            return os.stat(self._wal).st_size
        except FileNotFoundError:
            return 0

    def clear_some(self) -> bool:
        """Clear pages for a moment, in any thread; return whether it should be called again before the file is let go.

        Raises:
            OSError: the file cannot be read or written.
        """
        ends = time.monotonic() + _SLICE
        is_through = self._clear(ends)
        lets_go = is_through or ends > self._let_go_at or self._size_of_wal() > _MOST_IN_WAL
        if lets_go:
            # Else the next commit that copies the WAL would wait for it.
            sync_descriptor(self._ground.descriptor)
        return not lets_go

    def _clear(self, ends: float) -> bool:
        image = self._image
        assert image is not None  # noqa: S101 - it is held
        while self._again or self._next <= image.count:
            if self._again:
                page = self._again.pop()
            else:
                page, self._next = self._next, self._next + 1
            if page <= image.count:
                try:
                    image.clear(page)
                except DamagedPageError:
                    self._damaged.append(page)
            if time.monotonic() > ends:
                return False
        return True

    def finish(self, writer: sqlite3.Connection, patience: int = 0) -> bool:
        """End the pass, in a moment without commits; return whether all is cleared.

        If it is not, the file is kept as it is, or is being read.

        Raises:
            OSError: the file cannot be read or written.
            Storage: it is damaged.
            sqlite3.Error: the WAL cannot be copied.
        """
        if not self.hold(writer, patience):
            return False
        assert self._image is not None  # noqa: S101 - it is held
        if len(self._again) + self._image.count - self._next >= _LAST:
            return False
        self._clear(float("inf"))
        sync_descriptor(self._ground.descriptor)
        self.let_go()
        forget_pages(writer)
        if self._damaged:
            named = ", ".join(map(str, self._damaged[:_NAMED]))
            raise Storage(f"pages {named} are damaged, so it is not known what they use; see reel verify")
        return True


def forget_pages(connection: sqlite3.Connection) -> None:
    """Drop the pages that a connection has in memory."""
    connection.execute("PRAGMA shrink_memory")


def give_back_room(connection: sqlite3.Connection) -> bool:
    """Give some of the free pages of a file back to the system; return whether more can be."""
    count = "PRAGMA main.freelist_count"
    (before,) = connection.execute(count).fetchone()
    # As a script: execute() makes one step of a statement without columns, and that gives back a single page.
    connection.executescript(f"PRAGMA main.incremental_vacuum({_GIVEN_BACK})")
    (after,) = connection.execute(count).fetchone()
    return bool(0 < after < before)  # in a file without auto_vacuum nothing happens


def clean(connection: sqlite3.Connection, path: str, descriptor: int) -> None:
    """Remove everything from a file that SQLite does not use; nobody else writes to it.

    Args:
        connection: to the file.
        descriptor: of the file, see :class:`Ground`.

    Raises:
        OSError: it cannot be read or written.
        sqlite3.Error: the same; or another program reads an old state of it.
        Storage: it is damaged, or of a kind that cannot be cleared.
    """
    while give_back_room(connection):
        checkpoint(connection)
    sweep = Sweep(Ground(path, descriptor, connection))
    try:
        while not sweep.finish(connection):
            if not sweep.is_held:
                raise sqlite3.OperationalError("another program reads it")
            while sweep.clear_some():
                pass
    finally:
        sweep.let_go()


@contextmanager
def open_descriptor(path: str, flags: int = 0) -> Iterator[int]:
    """Open a file for :class:`Ground`, before SQLite does, until the block ends.

    Raises:
        OSError: it cannot be opened.
    """
    descriptor = open_regular(path, os.O_RDWR | flags, _MODE)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def open_guard(path: str) -> sqlite3.Connection:
    """Open the connection that guards a file which another connection has open."""
    return sqlite3.connect(uri_of(path, "ro"), uri=True, isolation_level=None, check_same_thread=False)
