"""One connection of the blocking client: a socket, and the framing of the messages that go over it."""

from __future__ import annotations

import _socket as socket  # as in reel.daemon.peer
import math
import time
from contextlib import suppress

from reel.base.errors import ParseError, from_wire
from reel.base.light_typing import TYPE_CHECKING
from reel.daemon.peer import connect_within, require_trusted
from reel.requests import greeting
from reel.requests.calls import require_size
from reel.wire.frames import MAX_REPLY, RECEIVED, RECEIVED_AMID, InvalidFrame, Response
from reel.wire.session import MessagePack

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from reel.replies import Hello
    from reel.requests import Call
    from reel.sync.changes import Changes, Fingerprint


# How many seconds the daemon may take between two pieces of a message, before a client does other things meanwhile.
_SOON = 1.0


class Deadline:
    """The moment until which something has to be answered.

    Args:
        seconds: how long it may take from now on; ``None`` for no limit.
    """

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self.renew()

    def renew(self) -> None:
        """Let the time begin anew."""
        # On the monotonic clock.
        self.at = math.inf if self.seconds is None else time.monotonic() + self.seconds

    def left(self) -> float | None:
        """Return how many seconds are left; ``None`` for no limit.

        Raises:
            TimeoutError: none are left.
        """
        if self.seconds is None:
            return None
        left = self.at - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left


def dial(path: str, deadline: Deadline) -> socket.socket:
    """Connect to the socket of a daemon of this user; if nobody listens there, to where the database's lock says.

    Raises:
        NotRunning: the daemon belongs to another user.
        TimeoutError: what listens there did not accept the connection in time.
        OSError: nobody is listening.
    """
    try:
        return _dial(path, deadline)
    except TimeoutError:
        raise
    except OSError:
        from reel.daemon.lock_file import sockets_by_lock  # noqa: PLC0415 - only if the socket is not there

        for other in sockets_by_lock(path):
            with suppress(ConnectionError, FileNotFoundError):
                return _dial(other, deadline)
        raise


def _dial(path: str, deadline: Deadline) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connect_within(connection, path, deadline.left())
        require_trusted(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


class Connection:
    """A connection to the daemon. What keeps a request or a response from going over it whole also closes it.

    Args:
        connection: the socket, just opened.
        path: its path, for errors.
        wait: waits until there is something to read from a file descriptor, for so many seconds; may raise.
    """

    def __init__(
        self, connection: socket.socket, path: str, wait: Callable[[int, float | None], None] | None = None
    ) -> None:
        self._socket = connection
        self._path = path
        self._wait = wait
        self._framing = MessagePack(MAX_REPLY)
        # The id of the newest request of ``ask``.
        self._number = 0
        # What the socket has not taken of the newest request of ``post``.
        self._unsent = b""
        # Whether the socket has a time limit.
        self._is_limited = False
        # The daemon's ``hello``; ``None`` before the greeting.
        self.server: Hello | None = None
        self.is_closed = False
        # The daemon's counters of changes, and whether they were asked for.
        self._changes: Changes | None = None
        self._has_asked = False

    def close(self) -> None:
        """Close it; after a fork, it stays open in the other process."""
        self._socket.close()
        self.is_closed = True

    @property
    def is_quiet(self) -> bool:
        """Whether it is open and has nothing to read: what there is without a request is the daemon's farewell."""
        if self.is_closed:
            return False
        try:
            self._limit(0.0)
            self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            pass
        return False

    def fingerprint(self, agent: str) -> Fingerprint | None:
        """Return the numbers that change with an agent of this id; ``None`` if they cannot be read here."""
        if not self._has_asked and self.server is not None:
            from reel.sync.changes import share  # noqa: PLC0415 - few programs ask for it

            self._changes, self._has_asked = share(self.server.changes), True
        return None if self._changes is None else self._changes.fingerprint(agent)

    def greet(self, name: str, deadline: Deadline) -> Hello:
        """Send ``hello`` with the client's name, and return the daemon's reply."""
        hello = greeting(name)
        try:
            server = self.server = hello.read(self.ask(hello, deadline))
        except BaseException:
            self.close()
            raise
        return server

    def ask(self, call: Call[Any], deadline: Deadline) -> dict[str, Any]:
        """Send a request and return its result; pushes are ignored.

        Raises:
            ReelError: the daemon refused the request.
            TimeoutError: the time is over.
            OSError, EOFError: the connection was lost.
        """
        self.send(self._next(call), deadline)
        return self._awaited(deadline)

    def post(self, call: Call[Any]) -> bool:
        """Send a request without waiting; return whether the socket took it whole. The reply is to be read next.

        Raises:
            OSError: the connection was lost.
        """
        request = self._next(call)
        try:
            self._limit(0.0)
            with suppress(BlockingIOError):
                request = request[self._socket.send(request) :]
        except BaseException:
            self.close()
            raise
        self._unsent = request
        return not request

    def answer(self, deadline: Deadline) -> dict[str, Any]:
        """Send the rest of the request that was posted, and return its result; raise as :meth:`ask` does."""
        unsent, self._unsent = self._unsent, b""
        if unsent:
            self.send(unsent, deadline)
        return self._awaited(deadline)

    def answer_at_once(self) -> dict[str, Any] | None:
        """Return the result of the request that was posted whole; ``None`` if it has not arrived."""
        try:
            responses = self._read(0.0)
        except BlockingIOError:
            return None
        except BaseException:
            self.close()
            raise
        return self._result_in(responses)

    def fileno(self) -> int:
        """Return the descriptor of the socket."""
        return self._socket.fileno()

    def _next(self, call: Call[Any]) -> bytes:
        """Return the bytes of the next request."""
        self._number += 1
        request = self._framing.request(self._number, call.method, [call.params])
        require_size(request, self.server)
        return request

    def _result_in(self, responses: list[Response]) -> dict[str, Any] | None:
        """Return the result of the newest request, if it is there; raise its error."""
        for response in responses:
            if response.id not in (self._number, None):
                continue
            if response.error is not None:
                raise from_wire(response.error)
            result: dict[str, Any] = response.result
            return result
        return None

    def _awaited(self, deadline: Deadline) -> dict[str, Any]:
        """Wait for the result of the newest request."""
        while (result := self._result_in(self.receive(deadline))) is None:
            if self._framing.is_amid and (result := self._completed(deadline)) is not None:
                break
        return result

    def _completed(self, deadline: Deadline) -> dict[str, Any] | None:
        """Read on until a message is complete; return it if it is the result of the newest request.

        The garbage collector is paused until then, not only while each piece is decoded. Between the pieces it would
        run thirty times for 10,000 messages, and look at everything in the program at every fourth such reply. If
        nothing comes for a second, other threads may need it, and ``None`` is returned.
        """
        from reel.base.garbage import uncollected  # noqa: PLC0415 - the replies of a short command come whole

        result, room = None, memoryview(bytearray(RECEIVED_AMID))
        with uncollected():
            while result is None and self._framing.is_amid:
                if (responses := self._receive_soon(deadline, room)) is None:
                    break
                result = self._result_in(responses)
        return result

    def send(self, request: bytes, deadline: Deadline) -> None:
        """Send the bytes of a request."""
        try:
            self._limit(deadline.left())
            with suppress(BrokenPipeError):  # the reason why the daemon closed its end may still be there to read
                self._socket.sendall(request)
        except BaseException:
            self.close()
            raise

    def receive(self, deadline: Deadline) -> list[Response]:
        """Wait for bytes from the daemon; return the responses that they complete."""
        try:
            return self._read(deadline.left())
        except BaseException:
            self.close()
            raise

    def _receive_soon(self, deadline: Deadline, room: memoryview) -> list[Response] | None:
        """Receive bytes into a buffer; return the responses that they complete, or ``None`` if none come soon."""
        try:
            left = deadline.left()
            return self._read(_SOON if left is None else min(left, _SOON), room)
        except TimeoutError:
            return None
        except BaseException:
            self.close()
            raise

    def _read(self, left: float | None, room: memoryview | None = None) -> list[Response]:
        self._limit(left)
        if self._wait is not None and left != 0.0:
            self._wait(self._socket.fileno(), left)
        data = self._socket.recv(RECEIVED) if room is None else room[: self._socket.recv_into(room)]
        if not data:
            raise EOFError("connection closed")
        frames = self._framing.feed(data)
        for frame in frames:
            if type(frame) is InvalidFrame:
                raise ParseError(f"what {self._path} sent is not a reply: {frame.error.message}")
        return [frame for frame in frames if type(frame) is Response]

    def _limit(self, left: float | None) -> None:
        """Set the time limit of the socket, unless it has none and needs none: that saves two system calls."""
        if left is not None or self._is_limited:
            self._socket.settimeout(left)
            self._is_limited = left is not None
