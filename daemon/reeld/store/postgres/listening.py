"""Hearing that another daemon has committed: PostgreSQL's LISTEN, on a connection and in a thread of its own.

A notification says only that there is something; the log says what. So a lost one costs nothing but time, and after a
connection was lost one look makes up for all that were missed meanwhile.
"""

import logging
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from typing import Any

import anyio
import psycopg

from reeld.poller import Poller
from reeld.store.postgres.commit_statement import CHANNEL
from reeld.store.postgres.connection import ServerError

log = logging.getLogger(__name__)

# Seconds after which the thread looks whether it is to end, and between two attempts to connect.
_LOOK_EVERY = 0.5
_PAUSE = 1.0


@asynccontextmanager
async def listening(
    connect: Callable[[], "psycopg.Connection[Any]"], poller: Poller, daemon: str, on_news: Callable[[None], None]
) -> AsyncIterator[None]:
    """Call a function in the event loop's thread whenever another daemon has committed, until the block ends.

    Args:
        connect: opens a connection.
        poller: makes the calls.
        daemon: what this daemon calls itself in what it sends.
        on_news: the function.
    """
    ending = threading.Event()

    def listen() -> None:
        is_deaf = False
        while not ending.is_set():
            try:
                with closing(connect()) as connection:
                    connection.execute(f"LISTEN {CHANNEL}")
                    poller.call_soon(on_news, None)  # there may be something that nobody has told
                    if is_deaf:
                        log.warning("can hear of other daemons again")
                    is_deaf = False
                    while not ending.is_set():
                        if any(heard.payload != daemon for heard in connection.notifies(timeout=_LOOK_EVERY)):
                            poller.call_soon(on_news, None)
            except (psycopg.Error, ServerError) as error:
                if not is_deaf:
                    reason = str(error).strip().partition("\n")[0]
                    log.warning("cannot hear of other daemons, and tries again each second: %s", reason)
                is_deaf = True
                ending.wait(_PAUSE)

    thread = threading.Thread(target=listen, name="reeld-listen")
    thread.start()
    try:
        yield
    finally:
        ending.set()
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(thread.join)
