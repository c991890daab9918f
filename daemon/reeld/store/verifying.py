"""Checking the database beside all other work, on a reading connection of its own."""

import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import TypeAlias

import anyio

from reel.msgpack_codec import packer
from reeld.core.conversation import Conversation
from reeld.core.state import Profile
from reeld.core.stored import Problem
from reeld.store.database import Database
from reeld.store.findings import Findings
from reeld.store.soundness import check_file
from reeld.store.sweeping import Sweep, compare

Open: TypeAlias = Callable[[], AbstractAsyncContextManager[Database]]


class Verifier:
    """One check of the database; see :func:`open_verifier`.

    Args:
        database: a reading connection that nobody else uses.
        path: the file.
    """

    def __init__(self, database: Database, path: str) -> None:
        self._database = database
        self._path = path
        self.findings = Findings()
        self.cancelled = False

    async def check_file(self) -> None:
        """Let SQLite check the file."""
        check = partial(check_file, path=self._path, findings=self.findings, cancelled=lambda: self.cancelled)
        await self._database.run(check)

    async def sweep(self, row: int | None) -> None:
        """Check the log of an agent, or of all, and the keys of their commands."""
        sweep = Sweep(self.findings, row)
        more = True
        while more:
            began = time.monotonic()
            more = await self._database.run(sweep.go_on)
            await anyio.sleep(time.monotonic() - began)  # half of the time is for others

    async def compare(self, profile: Profile, living: Conversation) -> None:
        """Compare a copy of a living state with the log."""

        def job(connection: sqlite3.Connection) -> list[Problem]:
            try:
                return compare(connection, profile, living, packer())
            except (sqlite3.DatabaseError, UnicodeError) as error:
                return [Problem("unreadable", str(error))]

        self.findings.note(await self._database.run(job), profile.uid, profile.name)


@asynccontextmanager
async def open_verifier(opened: Open, path: str) -> AsyncIterator[Verifier]:
    """Make ready to check the database; leaving the block, or being cancelled in it, ends what goes on."""
    async with opened() as database:
        await database.run(_prepare)
        verifier = Verifier(database, path)
        try:
            yield verifier
        finally:
            verifier.cancelled = True


def _prepare(connection: sqlite3.Connection) -> None:
    """Give text that is no UTF-8 as well, to find it; and go through a large file without having all of it mapped."""
    connection.execute("PRAGMA mmap_size = 0")
    connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
