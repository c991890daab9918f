"""Looks for what other daemons have committed to the same database.

A look takes one round trip if they have committed nothing. It serves all who asked before it began; those who ask
meanwhile are served by the next one, so that there is never more than one at a time.
"""

from collections.abc import Callable
from typing import TypeAlias

import anyio

from reel.base.errors import ReelError, Storage, no_memory
from reel.base.wakeup import Signal
from reeld.answer import Answer
from reeld.core.batch import Batch
from reeld.store import queries
from reeld.store.connection import Error
from reeld.store.connection_thread import ConnectionThread
from reeld.store.transactions import Outcome, Transaction
from reeld.store.writer import Writer

# Seconds that a server may take to return the newest event.
_ANSWERS = 10

# Is called when all is known, or with the error; it must neither wait nor fail.
Take: TypeAlias = Callable[[ReelError | None], None]


class Looks:
    """Looks for what other daemons have committed.

    Args:
        writer: knows what is known.
        reader: a reading connection, for short jobs.
        batch: what is done for all who asked is one batch.
    """

    def __init__(self, writer: Writer, reader: ConnectionThread, batch: Batch) -> None:
        self._writer = writer
        self._reader = reader
        self._batch = batch
        self._asked: list[Take] = []
        self._wake = Signal()
        self._scope = anyio.CancelScope()
        # Whether a look that nobody waits for is pending, and another one after it.
        self._is_pending = self._is_pending_again = False

    def ask(self, take: Take) -> None:
        """Call a function once everything is known that any daemon committed before this, and whatever is gone."""
        self._asked.append(take)
        self._wake.set()

    async def wait(self) -> None:
        """Wait until everything is known that any daemon committed before this, and whatever is gone.

        Raises:
            Storage: the server cannot be reached, or does not respond.
            Busy: there is not enough memory.
        """
        answer: Answer[None] = Answer()
        self.ask(answer.take)
        await answer.wait()

    def hear(self, _: None = None) -> None:
        """Take note of what other daemons have committed, which they have signalled, without waiting for it."""
        self._is_pending_again = self._is_pending
        if not self._is_pending:
            self._is_pending = True
            self._writer.submit(Transaction([], []), self._heard)

    def _heard(self, _: Outcome) -> None:
        self._is_pending = False
        if self._is_pending_again:  # a commit that was signalled meanwhile may be later than the look
            self.hear()

    async def look(self) -> None:
        """Wait until everything is known that other daemons committed before this, whether there is anything or not.

        Raises:
            Storage: the server could not be queried.
        """
        answer: Answer[Outcome] = Answer()
        self._writer.submit(Transaction([], []), answer.take)
        try:
            await answer.wait()
        except Exception as error:
            raise Storage("the database server was lost before it said what is new; retry when it is back") from error

    async def run(self) -> None:
        """Look whenever somebody asks, until :meth:`end`."""
        with self._scope:
            while True:
                await self._wake.wait()
                asked, self._asked = self._asked, []
                error = await self._look()
                with self._batch:
                    for take in asked:
                        take(error)

    def end(self) -> None:
        """Look no more."""
        self._scope.cancel()

    async def _look(self) -> ReelError | None:
        """Learn what others have committed; return why that is impossible."""
        writer = self._writer
        try:
            with anyio.fail_after(_ANSWERS):
                newest, known = writer.newest, writer.known
                if not await self._reader.run(lambda connection: queries.is_current(connection, newest, known)):
                    await self.look()
        except TimeoutError:
            return Storage(f"the database server has not answered for {_ANSWERS} s; retry when it does")
        except Error as error:
            return Storage(f"the database cannot be read: {error}")
        except MemoryError:
            return no_memory()
        except Storage as error:
            return error
        return None
