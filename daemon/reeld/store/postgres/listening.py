"""Messages between daemons: PostgreSQL's LISTEN and NOTIFY, on one connection in a thread.

On one channel a commit only signals that there are new events; they are read from the log. So a lost notification only
costs time, and after a reconnection one read of the log makes up for all that were missed.

On another channel, one per database, daemons send each other texts that are not stored (see
:mod:`reeld.serving.neighbours`). These do not wait for commits of this daemon.
"""

import logging
import os
import selectors
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing
from typing import Any

import anyio
import psycopg

from reeld.answer import Answer
from reeld.poller import Poller
from reeld.store.connection import Error
from reeld.store.postgres.arrays import Strings
from reeld.store.postgres.commit_statement import CHANNEL
from reeld.store.postgres.inbox import Inbox

log = logging.getLogger(__name__)

# Seconds between two attempts to connect.
_PAUSE = 1.0
_WAKES = 64
# What may happen to the connection; everything else is a bug.
_FAILURES = (psycopg.Error, Error, OSError, MemoryError)
_TELL = "SELECT pg_notify(%s, told) FROM unnest(%s) AS told"


class ListenConnection:
    """The connection to the other daemons; see :func:`listening` and :class:`reeld.store.engine.Channel`."""

    def __init__(
        self,
        connect: Callable[[], "psycopg.Connection[Any]"],
        poller: Poller,
        daemon: int,
        database: str,
        on_news: Callable[[None], None],
    ) -> None:
        self.daemon = daemon
        self._on_open: Callable[[None], None] = _ignore
        self._connect = connect
        self._poller = poller
        self._channel = f"{CHANNEL}_{database}"
        self._on_news = on_news
        self._inbox = Inbox(poller, _ignore, _ignore)
        # Whether the event loop is about to be told of commits.
        self._tells_news = False
        # The texts to send, and their callers.
        self._outgoing: deque[tuple[Sequence[str], Answer[None]]] = deque()
        self._is_open = False
        # Whether the connection was lost or cannot be opened.
        self._is_deaf = False
        self._is_ending = threading.Event()
        self._read_end, self._write_end = os.pipe()

    def call(
        self, on_open: Callable[[None], None], on_text: Callable[[str], None], on_missed: Callable[[None], None]
    ) -> None:
        """Call functions with what happens from now on."""
        self._on_open, self._inbox = on_open, Inbox(self._poller, on_text, on_missed)

    async def send(self, texts: Sequence[str]) -> None:
        """Send texts to the others, and wait until they are sent; without a connection they are dropped."""
        if self._is_open:
            sent: Answer[None] = Answer()
            self._outgoing.append((texts, sent))
            os.write(self._write_end, b"\0")
            await sent.wait()

    def listen(self) -> None:
        """Receive and send until :meth:`end`, in a thread of its own."""
        while not self._is_ending.is_set():
            try:
                with closing(self._connect()) as connection:
                    self._serve(connection)
            except Exception as error:  # whatever it is: a daemon must not be deaf without a word
                if not self._is_deaf:
                    reason = str(error).strip().partition("\n")[0] or type(error).__name__
                    bug = None if isinstance(error, _FAILURES) else error
                    log.warning("lost the LISTEN connection; retrying every second: %s", reason, exc_info=bug)
                self._is_deaf = True
                self._is_ending.wait(_PAUSE)
            finally:
                self._is_open = False
                self._drop()

    def _serve(self, connection: "psycopg.Connection[Any]") -> None:
        raw = connection.pgconn
        connection.add_notify_handler(self._take)
        connection.execute(f'LISTEN {CHANNEL}; LISTEN "{self._channel}"')
        if self._is_deaf:
            log.warning("can hear of other daemons again")
        self._is_deaf, self._is_open = False, True
        self._poller.call_soon(self._on_open, None)
        self._poller.call_soon(self._on_news, None)  # there may have been commits without a notification
        with selectors.DefaultSelector() as selector:
            selector.register(self._read_end, selectors.EVENT_READ)
            selector.register(raw.socket, selectors.EVENT_READ)
            while not self._is_ending.is_set():
                if any(key.fd == self._read_end for key, _ in selector.select()):
                    os.read(self._read_end, _WAKES)
                while self._outgoing:
                    texts, sent = self._outgoing[0]
                    connection.execute(_TELL, (self._channel, Strings(texts)))
                    self._outgoing.popleft()
                    self._poller.call_soon(sent.take, None)
                raw.consume_input()
                while heard := raw.notifies():
                    self._take(psycopg.Notify(heard.relname.decode(), heard.extra.decode(), heard.be_pid))

    def _take(self, heard: psycopg.Notify) -> None:
        if heard.channel != CHANNEL:
            self._inbox.put(heard.payload)
        elif heard.payload != str(self.daemon) and not self._tells_news:
            self._tells_news = True
            self._poller.call_soon(self._tell_news, None)

    def _tell_news(self, _: None) -> None:
        self._tells_news = False
        self._on_news(None)

    def _drop(self) -> None:
        """Drop the queued texts: after a reconnection they would be out of date."""
        while self._outgoing:
            self._poller.call_soon(self._outgoing.popleft()[1].take, None)

    def end(self) -> None:
        """End :meth:`listen`."""
        self._is_ending.set()
        os.write(self._write_end, b"\0")

    def close(self) -> None:
        """Close the descriptors, after the end."""
        self._drop()
        os.close(self._read_end)
        os.close(self._write_end)


@asynccontextmanager
async def listening(
    connect: Callable[[], "psycopg.Connection[Any]"],
    poller: Poller,
    daemon: int,
    database: str,
    on_news: Callable[[None], None],
) -> AsyncIterator[ListenConnection]:
    """Call a function in the event loop's thread whenever another daemon has committed, until the block ends.

    Args:
        connect: opens a connection.
        poller: makes the calls.
        daemon: the number of this daemon.
        database: the id of the database.
        on_news: the function.
    """
    opened = ListenConnection(connect, poller, daemon, database, on_news)
    thread = threading.Thread(target=opened.listen, name="reeld-listen")
    thread.start()
    try:
        yield opened
    finally:
        opened.end()
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(thread.join)
        opened.close()


def _ignore(_: str | None) -> None:
    """Ignore it: there is no subscriber yet."""
