"""Check the database while the daemon works, on a separate reading connection."""

import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import anyio

from reel.wire.msgpack_codec import packer
from reeld.core.conversation import Conversation
from reeld.core.state import Profile
from reeld.store.connection_thread import ConnectionThread
from reeld.store.store import Store
from reeld.verify.logs import LogChecker, compare_live_state
from reeld.verify.rows import Problem, Report
from reeld.verify.sqlite import check_file


class Verifier:
    """One check of the database; see :func:`open_verifier`.

    Args:
        database: a separate reading connection.
        path: the file; ``None`` if the database is on a server.
    """

    def __init__(self, database: ConnectionThread, path: str | None) -> None:
        self._database = database
        self._path = path
        self.report = Report()
        self.cancelled = False

    async def check_file(self) -> None:
        """Let SQLite check the file; a server checks its own."""
        if self._path is not None:
            check = partial(check_file, path=self._path, report=self.report, cancelled=lambda: self.cancelled)
            await self._database.run(check)

    async def check_logs(self, row: int | None) -> None:
        """Check the log of one agent or of all, and the keys of their commands."""
        checker = LogChecker(self.report, row)
        more = True
        while more:
            began = time.monotonic()
            more = await self._database.run(checker.work)
            await anyio.sleep(time.monotonic() - began)  # leave half of the time to others

    async def compare(self, profile: Profile, live: Conversation) -> None:
        """Compare a copy of a live state with the log."""

        def job(connection: sqlite3.Connection) -> list[Problem]:
            try:
                return compare_live_state(connection, profile, live, packer())
            except (sqlite3.DatabaseError, UnicodeError) as error:
                return [Problem("unreadable", str(error))]

        self.report.note(await self._database.run(job), profile.uid, profile.name)


@asynccontextmanager
async def open_verifier(store: Store) -> AsyncIterator[Verifier]:
    """Open a check of the database; if the block ends or is cancelled, the running check ends too.

    Raises:
        Storage: a file of the database was removed or replaced, so that it cannot be opened again.
    """
    async with store.open_reader() as database:
        if store.is_file:
            await database.run(_prepare)
        verifier = Verifier(database, store.path if store.is_file else None)
        try:
            yield verifier
        finally:
            verifier.cancelled = True


def _prepare(connection: sqlite3.Connection) -> None:
    """Make text that is not UTF-8 readable, so that the check finds it."""
    connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
