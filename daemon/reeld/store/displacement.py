"""What is done about a file of the database that was removed or replaced while it is open."""

import logging
import os
from tempfile import TemporaryDirectory

from reeld.store.backup import sync
from reeld.store.connection_thread import ConnectionThread
from reeld.store.presence import DATABASE, WAL, Displaced, Presence

log = logging.getLogger(__name__)


class Displacement:
    """Notices that a file was displaced, saves what would be lost, and knows whether a backup has it.

    Args:
        path: the database.
        presence: checks whether the files are still there.
        database: the writing connection.
    """

    def __init__(self, path: str, presence: Presence, database: ConnectionThread) -> None:
        self._path = path
        self._presence = presence
        self._database = database
        self._noticed: Displaced | None = None
        # Whether a backup that was written after a file was displaced has everything.
        self._saved = False

    @property
    def displaced(self) -> Displaced | None:
        """The database file that was removed or replaced, by the last check; commands are refused then."""
        return self._presence.displaced

    @property
    def unsaved(self) -> Displaced | None:
        """The file that was displaced, if its content would be lost with the process.

        The content of a WAL would not be lost: closing the database copies it into the file.
        """
        lost = self.displaced is not None and self.displaced.kind == DATABASE and not self._saved
        return self.displaced if lost else None

    async def watch(self) -> None:
        """Check whether a file of the database was removed or replaced; if it was the WAL, put a copy at its path.

        Without the copy, everything since the last checkpoint would be lost if the process were killed. A checkpoint
        instead would be worse: if the process were killed during it, the database would be damaged, without a WAL to
        repair it.
        """
        displaced = self._presence.look()
        if displaced == self._noticed:
            return
        self._noticed, self._saved = displaced, False
        if displaced is not None and displaced.kind == WAL:
            try:
                await self._put_wal_back()
            except OSError as error:
                log.error("no copy of the WAL could be put to its path: %s", error)  # noqa: TRY400 - it says all

    async def _put_wal_back(self) -> None:
        directory = os.path.dirname(self._path)
        with TemporaryDirectory(prefix=".reel-wal-", dir=directory) as place:
            copy = f"{place}/copy"
            await self._database.run(lambda _: self._presence.copy_wal(copy))
            self._presence.put_wal_back(copy)
        sync(directory)
        log.warning("a copy of the WAL is at its path, and is read at the next start")

    def note_backup(self, displaced: Displaced | None) -> None:
        """Note that a backup has everything that was committed.

        Args:
            displaced: the file that was displaced when it was begun: nothing was committed since, if it still is.
        """
        self._saved = displaced is not None and displaced == self.displaced
