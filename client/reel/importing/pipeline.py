"""A client that sends commands without waiting for each reply, so that many of them are one commit."""

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeAlias

from reel.errors import NotRunning, ParseError, ReelError, from_wire
from reel.frames import InvalidFrame, Response
from reel.requests import Call
from reel.requests.calls import require_size
from reel.sync.client import Client

# The requests and bytes sent before waiting for a reply. The daemon accepts 256 and 32 MiB.
_REQUESTS = 64
_BYTES = 4 << 20
_CHUNK = 1 << 18

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


class Pipeline(Client):
    """A connection with many commands in flight.

    If the connection is lost, unanswered commands may or may not have been carried out.
    """

    # For each reply: its parser, the length of the request, and the receiver. Not the call: it holds the messages.
    _waiting: dict[int, tuple[Callable[[Any], Any], int, Taker]]
    _waiting_bytes = 0

    def __init__(self, path: str, name: str) -> None:
        super().__init__(path, name=name, patience=0)
        self._waiting = {}

    def submit(self, call: Call[Any], take: Taker) -> None:
        """Send a command; ``take`` receives its reply, or a ``ReelError``, at a later call of any method.

        Raises:
            TooLarge: the request exceeds the daemon's limit; nothing was sent.
            NotRunning: the daemon went away.
        """
        if self._socket is None:
            self.connect()
        assert self._socket is not None  # noqa: S101 - it has just connected
        number = self._next_id + 1
        request = self._framing.request(number, call.method, [call.params])
        require_size(request, self.server)
        self._next_id = number
        if len(self._waiting) >= _REQUESTS or self._waiting_bytes + len(request) > _BYTES:
            self.drain(_REQUESTS // 2)
        self._waiting[number] = (call.read, len(request), take)
        self._waiting_bytes += len(request)
        try:
            self._socket.sendall(request)
        except OSError as error:
            raise self._lost(error) from error

    def call(self, call: Call[Any]) -> Any:
        """Send a request and wait for its reply, after those of all submitted commands."""
        self.drain()
        return super().call(call)

    def drain(self, left: int = 0) -> None:
        """Wait until at most ``left`` requests are unanswered.

        Raises:
            NotRunning: the daemon went away.
        """
        while len(self._waiting) > left:
            try:
                data = self._socket.recv(_CHUNK) if self._socket is not None else b""
            except OSError as error:
                raise self._lost(error) from error
            if not data:
                raise self._lost(EOFError("connection closed"))
            for frame in self._framing.feed(data):
                if type(frame) is InvalidFrame:
                    raise ParseError(f"what {self.path} sent is not a reply: {frame.error.message}")
                if type(frame) is Response:
                    self._answer(frame)

    def _answer(self, frame: Response) -> None:
        if type(frame.id) is not int or frame.id not in self._waiting:
            return
        read, size, take = self._waiting.pop(frame.id)
        self._waiting_bytes -= size
        reply: Any | ReelError = from_wire(frame.error) if frame.error is not None else read(frame.result)
        take(reply)

    def _lost(self, error: Exception) -> NotRunning:
        self._waiting.clear()
        self._waiting_bytes = 0
        self.close()
        return NotRunning(
            f"the daemon on {self.path} went away: {error}; what was imported is there, repeat the command"
        )
