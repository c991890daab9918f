"""A command whose reply nobody waits for until the next call."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from reel.base.light_typing import NamedTuple
from reel.requests import Call, with_idempotency_key
from reel.sync.client import Client
from reel.sync.exchange import Exchange

R = TypeVar("R")


class _Posted(NamedTuple):
    """A command that was sent: its exchange, and what is done with its reply."""

    exchange: Exchange
    command: Call[Any]
    then: Callable[[Any], object]


class Posted:
    """The newest command of a client, if it was posted: sent, and not waited for.

    The daemon carries it out even if the program ends. It is lost if the daemon is killed within the next millisecond,
    and the program ends as well before its next call, which would send it again. So only what a program can do without
    may be posted.

    The client is busy with it until :meth:`settle`, which comes before any other call. Threads may share it.
    """

    def __init__(self) -> None:
        self._posted: _Posted | None = None
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()

    def post(self, client: Client, command: Call[R], then: Callable[[R], object]) -> None:
        """Send a command, and do not wait for its reply, unless the client has no connection or is busy.

        Args:
            client: the client.
            command: the command, of one request.
            then: called with the reply, as soon as it is known.

        Raises:
            ReelError: the command cannot be sent.
        """
        command = with_idempotency_key(command)
        with self._lock:
            exchange = client.begin(command)
            if exchange is not None:
                self._posted = _Posted(exchange, command, then)
                return
        then(client.call(command))

    def settle(self, client: Client) -> None:
        """Wait for the reply of what was posted; if it was lost, send the command again, which is carried out once.

        Raises:
            ReelError: the daemon has refused it, does not answer, or cannot be reached.
        """
        posted = self._answered()
        if posted is not None:
            exchange = posted.exchange
            posted.then(exchange.result if exchange.is_answered else client.call(posted.command))

    def drop(self) -> None:
        """Wait for the reply of what was posted, whatever it is.

        Raises:
            Timeout: there is none.
        """
        self._answered()

    def _answered(self) -> _Posted | None:
        """Return what was posted, once its exchange is over; nothing if it was the parent's, before a fork."""
        if self._process != os.getpid():
            self._posted = None
            self._begin()  # another thread of the parent may have held the lock
        with self._lock:
            posted = self._posted
            if posted is not None and not posted.exchange.read():  # its time may be over, and the reply be there
                posted.exchange.wait()
            self._posted = None
        return posted
