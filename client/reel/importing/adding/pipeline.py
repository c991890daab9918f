"""Commands that are sent without waiting for each reply, so that many of them are one commit."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from threading import RLock
from typing import Any, Protocol, TypeAlias, TypeVar

from reel.base.errors import NotRunning, ReelError, ShuttingDown, from_wire
from reel.base.light_typing import NamedTuple
from reel.replies import Hello
from reel.requests import Call, with_idempotency_key
from reel.requests.calls import require_size
from reel.sync.client import Client
from reel.sync.connection import Connection, Deadline
from reel.sync.methods import Methods
from reel.wire.frames import MAX_REPLY, Response
from reel.wire.session import MessagePack

R = TypeVar("R")

# The requests and bytes sent before waiting for a reply. The daemon accepts 256 and 32 MiB.
_REQUESTS = 64
_BYTES = 4 << 20

# Receives the reply to a command, or the error.
Taker: TypeAlias = Callable[[Any], None]


class Commands(Protocol):
    """The interface for sending commands."""

    def submit(self, call: Call[Any], take: Taker, /) -> None:
        """Send a command; ``take`` receives its reply, or a ``ReelError``, now or at a later call of any method."""
        ...

    def call(self, call: Call[Any], /) -> Any:
        """Send a request and wait for its reply, after those of all submitted commands."""
        ...

    def pages(self, call: Call[Any], /) -> Iterator[Any]:
        """Yield a reply, and every page after it."""
        ...

    def knows(self, feature: str, /) -> bool:
        """Return whether the daemon has a feature."""
        ...


class OneByOne:
    """Waits for each command, and repeats it if the daemon is restarted.

    Args:
        client: sends them.
    """

    def __init__(self, client: Client) -> None:
        self._client = client

    def call(self, call: Call[Any]) -> Any:
        """Send a request and wait for its reply."""
        return self._client.call(call)

    def pages(self, call: Call[Any]) -> Iterator[Any]:
        """Yield a reply, and every page after it."""
        return self._client.pages(call)

    def knows(self, feature: str) -> bool:
        """Return whether the daemon has a feature."""
        return _knows(self._client.server, feature)

    def submit(self, call: Call[Any], take: Taker) -> None:
        """Send a command and wait for its reply; ``take`` receives it, or the error.

        Raises:
            NotRunning: the daemon cannot be reached.
        """
        reply: Any | ReelError
        try:
            reply = self._client.call(call)
        except NotRunning:
            raise
        except ReelError as error:
            reply = error
        take(reply)


def _knows(server: Hello | None, feature: str) -> bool:
    return server is not None and feature in server.features


class _Unanswered(NamedTuple):
    """A request without a response: its bytes, how to read its reply, and who receives that."""

    request: bytes
    read: Callable[[Any], Any]
    take: Taker


class Pipeline(Methods):
    """Has a client, and leaves many of its commands in flight.

    It keeps the promises of the client. If the connection is lost, what is unanswered is sent again on the next one, in
    its order, commands under their keys. Threads take turns. After a fork, the child has nothing in flight.

    Args:
        client: whose connection is used. It belongs to the pipeline, which alone makes calls with it, and closes it.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._framing = MessagePack(MAX_REPLY)
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        # For the turns of the threads of one process. A receiver of a reply may make calls.
        self._lock = RLock()
        # The id of the newest request.
        self._number = 0
        # The requests without a response, by their ids.
        self._unanswered: dict[int, _Unanswered] = {}
        # The newest connection, and the id of the newest request that was sent on it.
        self._connection: Connection | None = None
        self._sent = 0
        # Responses that their receivers have not got, by the ids of their requests; each with the error, if it is one.
        self._responses: dict[int, tuple[_Unanswered, Response, ReelError | None]] = {}

    @property
    def _turn(self) -> AbstractContextManager[object]:
        """The lock of this process; after a fork, what is in flight is the parent's."""
        if self._process != os.getpid():
            self._begin()
        return self._lock

    @property
    def _size(self) -> int:
        """The bytes of the requests without a response; there are few."""
        return sum(len(unanswered.request) for unanswered in self._unanswered.values())

    @property
    def server(self) -> Hello | None:
        """What the daemon said of itself at the newest connection; ``None`` before the first one."""
        return self._client.server

    def knows(self, feature: str) -> bool:
        """Return whether the daemon has a feature."""
        return _knows(self.server, feature)

    def close(self) -> None:
        """Close the connection. What is unanswered may or may not be carried out."""
        with self._turn:
            self._unanswered.clear()
            self._client.close()

    def submit(self, call: Call[Any], take: Taker) -> None:
        """Send a command; ``take`` receives its reply, or a ``ReelError``, at a later call of any method.

        Receivers are called in the order in which the commands were submitted.

        Raises:
            TooLarge: the request exceeds the daemon's limit; nothing was sent.
            NotRunning: the daemon went away and did not come back in time.
        """
        call = with_idempotency_key(call)
        with self._turn:
            if self.server is None:
                self._client.connect()
            number = self._number + 1
            request = self._framing.request(number, call.method, [call.params])
            require_size(request, self.server)
            self._number = number
            self._unanswered[number] = _Unanswered(request, call.read, take)
            is_full = len(self._unanswered) > _REQUESTS or self._size > _BYTES
            self._converse(_REQUESTS // 2 if is_full else _REQUESTS, _BYTES // 2 if is_full else _BYTES)

    def send(self, call: Call[R]) -> R:
        """Send one request and wait for its reply, after those of all submitted commands."""
        replies: list[Any] = []
        with self._turn:
            self.submit(call, replies.append)
            self.drain()
        (reply,) = replies
        if isinstance(reply, ReelError):
            raise reply
        found: R = reply
        return found

    def drain(self) -> None:
        """Wait until no request is unanswered.

        Raises:
            NotRunning: the daemon went away and did not come back in time.
        """
        with self._turn:
            self._converse(0, 0)

    def _converse(self, most: int, size: int) -> None:
        """Send what is not sent, and wait until at most so many requests, of so many bytes, are unanswered."""

        def exchange(connection: Connection, deadline: Deadline) -> None:
            if connection is not self._connection:
                self._connection, self._sent = connection, 0
            for number, unanswered in self._unanswered.items():
                if number > self._sent:
                    connection.send(unanswered.request, deadline)
                    self._sent = number
            while len(self._unanswered) > most or self._size > size:
                for response in connection.receive(deadline):
                    self._answer(response)

        if self._unanswered:
            try:
                self._client.converse(exchange, None)
            except NotRunning as error:
                self._unanswered.clear()
                raise NotRunning(f"{error.message}; what was imported is there, repeat the command") from error
            except ReelError:
                self._unanswered.clear()
                raise
        self._deliver()

    def _deliver(self) -> None:
        """Hand over replies in the order of their requests. One that cannot be read is in the way of no other.

        Responses may come in another order: that to a command which is sent again needs a look into the log for its
        key, and later ones may not.
        """
        while self._responses:
            number = min(self._responses)  # again each time: a receiver may make calls
            if number > next(iter(self._unanswered), self._number):
                return
            asked, response, error = self._responses.pop(number)
            asked.take(error or asked.read(response.result))

    def _answer(self, response: Response) -> None:
        """Take a response; what a daemon that is stopping has not carried out is sent again."""
        error = None if response.error is None else from_wire(response.error)
        if isinstance(error, ShuttingDown) or (error is not None and response.id is None):
            raise error
        number = response.id
        if type(number) is int and (unanswered := self._unanswered.pop(number, None)) is not None:
            self._responses[number] = unanswered, response, error
