"""Keeps the WAL at a size at which commits are fast: when it is lengthened, copied into the file, and begun again."""

import logging
from functools import partial

import anyio

from reeld.store.connection_thread import ConnectionThread
from reeld.store.housekeeping import Housekeeping
from reeld.store.presence import DATABASE, WAL, Presence
from reeld.store.wal import checkpoint, lengthen_wal, restart_wal, wal_readers

log = logging.getLogger(__name__)

# Commits between two checkpoints, and bytes of rows; the WAL stays at a few megabytes. Commits write many pages again
# and again, which are copied once. Those of rows are new: to copy more of them at once gains nothing, and holds up
# others for longer.
_COMMITS, _OF_ROWS = 250, 1 << 20
# Commits before the WAL is lengthened by a step: a daemon that is started for a command or two does not need that.
_IN_USE = 10
# Bytes of a row besides its texts, including its index entries.
_ROW = 128
# Overlapping readers prevent the WAL from being overwritten. From half of this size in bytes on, commits wait for the
# readers at each checkpoint, for _GLANCE milliseconds: nobody notices, and most reads of our own are over by then. From
# this size on they wait for _PATIENCE milliseconds, more for a larger WAL, at most _MAX_PATIENCE. Without the glances,
# a replay of 10^6 messages held up other clients for 264 ms.
_LARGE = 64 << 20
_GLANCE = 20
_PATIENCE = 250
_MAX_PATIENCE = 5000


class Checkpoints:
    """Counts what is committed, and does what is due between two commits.

    Args:
        database: the writing connection.
        presence: the files; a server has none, and no WAL that is ours.
        housekeeping: notes what fails.
    """

    def __init__(self, database: ConnectionThread, presence: Presence, housekeeping: Housekeeping) -> None:
        self._database = database
        self._presence = presence
        self._housekeeping = housekeeping
        # The commits since the last checkpoint, and an estimate of the bytes of their rows.
        self.commits = self._of_rows = 0
        # How many commits there were since the WAL was lengthened by a step.
        self._unlengthened = 0
        # Whether the WAL has yet to be lengthened.
        self._is_short = bool(presence.paths)
        self._large = _LARGE

    def note(self, events: int, size: int) -> None:
        """Note a commit of so many events, with so many characters."""
        self._unlengthened += 1
        self.commits += 1
        self._of_rows += events * _ROW + size

    @property
    def is_due(self) -> bool:
        """Whether there is anything to do before the next commit."""
        return self._is_full or (self._is_short and self._unlengthened >= _IN_USE)

    @property
    def _is_full(self) -> bool:
        return self.commits >= _COMMITS or self._of_rows >= _OF_ROWS

    async def do_what_is_due(self) -> None:
        """Do it, unless a file is displaced: see :meth:`reeld.store.displacement.Displacement.watch`."""
        if not self.is_due or self._presence.look() is not None:
            return
        if self._is_short and self._unlengthened >= _IN_USE:
            self._unlengthened = 0
            lengthen = partial(lengthen_wal, wal=self._presence.paths[WAL])
            self._is_short = await self._database.run(lengthen)
        if self._is_full:
            await self.checkpoint()

    async def checkpoint(self) -> None:
        """Copy the WAL into the database file; if readers let it grow, wait for them."""
        self.commits = self._of_rows = 0
        if self._presence.paths:
            await self._housekeeping.attempt("checkpoint", self._copy_wal)

    async def _copy_wal(self) -> None:
        size = (await self._database.run(checkpoint)).size
        if size < self._large // 2:  # it has been overwritten from its beginning since
            self._large = _LARGE
        elif size < self._large:
            await self._database.run(lambda connection: restart_wal(connection, _GLANCE))
        else:
            await self._restart_wal(size)

    async def _restart_wal(self, size: int) -> None:
        """Restart the WAL; the larger it is, the longer commits may wait for it, and the less often it is tried."""
        patience = _PATIENCE * size // _LARGE
        done = await self._database.run(lambda connection: restart_wal(connection, min(patience, _MAX_PATIENCE)))
        self._large = _LARGE if done else 2 * size
        if not done:
            readers = await anyio.to_thread.run_sync(wal_readers, self._presence.paths[DATABASE])
            who = f": {', '.join(readers)}" if readers else ""
            log.warning("a reader is slow%s; the WAL has %d MB and grows", who, size >> 20)
