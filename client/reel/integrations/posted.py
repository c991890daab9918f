"""A command whose reply nobody waits for until the next call."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from reel.base.errors import Timeout
from reel.base.light_typing import NamedTuple
from reel.requests import Call
from reel.sync.client import Client
from reel.sync.exchange import Exchange

R = TypeVar("R")


class _Posted(NamedTuple):
    """A command that was sent: its exchange, and what is done with its reply."""

    exchange: Exchange
    then: Callable[[Any], object]


class Posted:
    """The newest command of a client, if it was posted: sent, and not waited for.

    The daemon carries it out even if the program ends. If the daemon refuses it, or is killed within the next
    millisecond, nobody is told, and the command is not repeated: the next call may be for another agent, and may come
    much later, after others have written. So post only what a program can do without.

    The client is busy until the reply is read. So every use of the client goes through this object, one at a time.
    Threads may share it.
    """

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._posted: _Posted | None = None
        self._process = os.getpid()
        self._lock = threading.Lock()

    def run(self, client: Client, work: Callable[[Client], R]) -> R:
        """Read the reply of what was posted; then run a function with the client, and return what it returns."""
        with self._turn:
            self._settle()
            return work(client)

    def post(self, client: Client, command: Call[R], then: Callable[[R], object]) -> None:
        """Send a command without waiting for its reply. Call it last in the function that :meth:`run` is given.

        It waits if there is no connection, or if the command is too large for the socket's buffer.

        Args:
            client: the client of :meth:`run`.
            command: the command, of one request.
            then: called with the reply, if there is one, as soon as it is known.

        Raises:
            ReelError: the command cannot be sent.
        """
        exchange = client.begin(command)
        if exchange is None:
            then(client.call(command))
            return
        self._posted = _Posted(exchange, then)
        if not exchange.is_sent:
            self._settle()

    def close(self, client: Client) -> None:
        """Close the client, without waiting for a reply: the daemon may hang."""
        with self._turn:
            if self._posted is not None:
                self._posted.exchange.abandon()
                self._posted = None
            client.close()

    @property
    def _turn(self) -> threading.Lock:
        """The lock of this process. After a fork, the parent's lock may be held, and what it has posted is its own."""
        if self._process != os.getpid():
            self._begin()
        return self._lock

    def _settle(self) -> None:
        posted = self._posted
        if posted is None:
            return
        if not posted.exchange.read():  # its time may be over, and the reply be there
            with suppress(Timeout):
                posted.exchange.wait()
        self._posted = None
        if posted.exchange.is_answered:
            posted.then(posted.exchange.result)
