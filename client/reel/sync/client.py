"""The blocking client: the standard library and msgpack, nothing else.

A :class:`Client` sends requests over one :class:`~reel.sync.connection.Connection` after the other, and has the
:class:`~reel.sync.methods.Methods` of the protocol. What sends several requests at once, or changes them first, has a
client: it is no subclass.
"""

import os
import time
from _thread import allocate_lock  # documented; all of threading takes a millisecond to import

from reel import requests
from reel.base.errors import NotRunning, ShuttingDown, Timeout
from reel.base.light_typing import TYPE_CHECKING
from reel.daemon.address import default_socket
from reel.daemon.peer import ATTEMPT, RECONNECT_SECONDS, RETRY_INTERVAL, connection_refused, was_there
from reel.requests import with_idempotency_key
from reel.requests.calls import describe
from reel.sync.connection import Connection, Deadline, dial
from reel.sync.methods import Methods

if TYPE_CHECKING:
    from _socket import socket
    from _thread import LockType
    from collections.abc import Callable
    from typing import Any, Concatenate, ParamSpec, Self, TypeVar

    from reel.replies import Hello, Subscribed
    from reel.requests import Call
    from reel.sync.changes import Fingerprint
    from reel.sync.exchange import Exchange
    from reel.sync.handle import Handle
    from reel.sync.subscription import Subscription

    R = TypeVar("R")
    P = ParamSpec("P")


def _subscription(
    request: "Callable[P, Call[Subscribed]]",
) -> "Callable[Concatenate[Client, P], Subscription]":
    """Return the method that subscribes, on a connection of its own."""

    def method(self: "Client", /, *args: "P.args", **kwargs: "P.kwargs") -> "Subscription":
        from reel.machines.subscription_state import SubscriptionState  # noqa: PLC0415 - most clients follow nothing
        from reel.sync.subscription import Subscription  # noqa: PLC0415 - as above

        state = SubscriptionState(request(*args, **kwargs), self.name)
        return Subscription(state, self.dial, self.patience, self.timeout, self._wait)

    return describe(method, request, "Subscription")


def _start(path: str) -> None:
    from reel.daemon.starting import autostart  # noqa: PLC0415 - subprocess is only needed to start a daemon

    autostart(path)


class Client(Methods):
    """A connection to the daemon, with a method for each method of the protocol.

    If the daemon is restarted, the client reconnects, and repeats the call that had no reply: questions as they are,
    commands under a key, so that nothing is done twice. Threads may share a client; their calls take turns. After a
    fork, the child gets a connection of its own at its next call.

    Args:
        path: the socket. Default: ``$REEL_SOCKET``, else the usual one.
        autostart: start a daemon if none answers.
        patience: how long to try to reconnect after the connection was lost, in seconds.
        timeout: how long one call may take, in seconds, not counting the start of a daemon. Default: no limit.
        name: the name of this client, which the daemon stores with its events.
        awaits_restart: be as patient with the first connection, if a daemon was on the socket before.
        start: what starts a daemon on a socket, with ``autostart``.
        wait: called before each read with the connection's file descriptor and the seconds that are left, if there is a
            limit; it returns when there is something to read. What it raises ends the connection, and the call. A
            subscription goes on after it: what it raises leaves ``next()``.
    """

    def __init__(
        self,
        path: str | None = None,
        *,
        autostart: bool = False,
        patience: float = RECONNECT_SECONDS,
        timeout: float | None = None,
        name: str = "python",
        awaits_restart: bool = False,
        start: "Callable[[str], None]" = _start,
        wait: "Callable[[int, float | None], None] | None" = None,
    ) -> None:
        self.path = path or default_socket()
        self.patience = patience
        self.timeout = timeout
        self.name = name
        self._server: Hello | None = None
        self._autostart = autostart
        self._awaits_restart = awaits_restart
        self._start = start
        self._wait = wait
        # For the turns of the threads of one process.
        self._lock = allocate_lock()
        self._process = os.getpid()
        self._connection: Connection | None = None

    @property
    def server(self) -> "Hello | None":
        """What the daemon said of itself at the newest connection; ``None`` before the first one."""
        return self._server

    def connect(self) -> "Self":
        """Connect now, rather than at the first call.

        Raises:
            NotRunning: no daemon answers on the socket.
            Timeout: what listens there does not accept the connection or answer within ``timeout``.
            ProtocolMismatch: the daemon has no version of the protocol in common with this client.
        """
        with self._turn:
            try:
                self._open(Deadline(self.timeout))
            except (OSError, EOFError) as error:
                raise self._gone(error) from error
        return self

    def close(self) -> None:
        """Close the connection, after the call of another thread if there is one; the next call opens another."""
        with self._turn:
            self._disconnect()

    def is_still(self, server: "Hello | None") -> bool:
        """Whether the connection on which the daemon said this of itself is still there.

        If not, there may be another log now: that of a backup, for example. There, a head that a program remembers
        means nothing, even if the log has come to the same number.

        Args:
            server: what :attr:`server` was on the connection.
        """
        with self._turn:
            return self._server is server is not None and self._connection is not None and self._connection.is_quiet

    def fingerprint(self, server: "Hello | None", agent: str) -> "Fingerprint | None":
        """Return numbers that change when an agent does; no request is needed to read them.

        Read them before the conversation itself. If they are the same later, so is the conversation. They change as
        well when any agent is renamed, created, killed, revived or purged.

        Args:
            server: what :attr:`server` was on the connection; on another one, numbers have another meaning.
            agent: the id of the agent.

        Returns:
            the numbers; ``None`` if that connection is gone, or the daemon's memory cannot be read from here.
        """
        with self._turn:
            connection = self._connection
            if server is None or connection is None or connection.server is not server:
                return None
            found = connection.fingerprint(agent)
            # Looked at last: the numbers of a daemon that is gone stay as they were.
            return found if connection.is_quiet else None

    def __repr__(self) -> str:
        return f"<reel.Client of {self.path}, {'connected' if self._is_connected else 'not connected'}>"

    subscribe = _subscription(requests.subscribe)

    def handle(self, agent: str) -> "Handle":
        """Return a handle of one conversation, which has the methods about it without the name; it need not exist yet.

        Args:
            agent: a name or an id.
        """
        from reel.sync.handle import Handle  # noqa: PLC0415 - most programs need none

        return Handle(self, agent)

    def send(self, call: "Call[R]") -> "R":
        """Send one request, wait for its reply and return that; a command has a key, and is repeated under it."""
        return self.send_within(self.timeout, call)

    def send_within(self, seconds: float | None, call: "Call[R]") -> "R":
        """Send one request that may take so many seconds, instead of ``timeout``; ``None`` for no limit."""
        call = with_idempotency_key(call)

        def ask(connection: Connection, deadline: Deadline) -> "R":
            try:
                return call.read(connection.ask(call, deadline))
            except TimeoutError:
                late = f"{call.method} took longer than {seconds:g} s; it may still be carried out"
                raise Timeout(late, seconds=seconds) from None
            except (OSError, EOFError, ShuttingDown):
                if call.method != "shutdown":
                    raise
                self._disconnect()
                return call.read({})

        return self.converse(ask, seconds)

    def converse(self, exchange: "Callable[[Connection, Deadline], R]", seconds: float | None) -> "R":
        """Carry out an exchange of requests and responses, and return what it returns, while other threads wait.

        If the connection is lost meanwhile, the exchange is carried out again on the next one, until ``patience`` is
        over: its commands need keys. What it wants to raise of its own is no ``OSError``.

        Args:
            exchange: sends and receives; the deadline is for both.
            seconds: how long it may take on all connections together; ``None`` for no limit.

        Raises:
            NotRunning: the daemon cannot be reached.
            Timeout: what listens on the socket does not accept the connection or answer.
        """
        deadline = Deadline(seconds)
        with self._turn:
            # Only a connection that was lost is worth waiting for, perhaps by an exchange; a first one fails at once.
            is_worth_it = self._connection is not None or (self._awaits_restart and self._may_come_back())
            until: float | None = None
            while True:
                began = time.monotonic()
                try:
                    # What listens there now may be something else, which accepts and never answers.
                    connection = self._open(deadline, max(self.patience, ATTEMPT) if is_worth_it else None)
                    return exchange(connection, deadline)
                except (OSError, EOFError, ShuttingDown, NotRunning) as error:
                    self._disconnect()
                    was_connected = not isinstance(error, NotRunning)
                    is_worth_it = is_worth_it or was_connected
                    now = time.monotonic()
                    # The time begins anew after a connection that was not short.
                    if until is None or (was_connected and now - began > self.patience):
                        until = now + (self.patience if is_worth_it else 0.0)
                    self._pause(error, min(until, deadline.at))

    def begin(self, call: "Call[Any]") -> "Exchange | None":
        """Send a request without waiting, and return the exchange; until it is over no other call is sent.

        Args:
            call: a call of one request. A command has a key if it is sent again after the connection was lost.

        Returns:
            the exchange; ``None`` if nothing was sent, as there is no connection, or another thread uses it.

        Raises:
            ReelError: it cannot be sent at all.
        """
        from reel.sync.exchange import Exchange  # noqa: PLC0415 - few programs need it

        lock = self._turn
        if not lock.acquire(blocking=False):
            return None
        begun: Exchange | None = None
        try:
            connection = self._connection
            if connection is not None and connection.is_quiet:
                begun = Exchange(connection, call, Deadline(self.timeout), lock.release)
        except OSError:
            pass
        finally:
            if begun is None:
                lock.release()
        return begun

    def dial(self, limit: float | None) -> "socket":
        """Open another connection to the daemon, which may take so many seconds; ``None`` for no limit."""
        try:
            return self._reach(Deadline(limit))
        except TimeoutError:
            raise self._unanswered(self.timeout) from None

    @property
    def _turn(self) -> "LockType":
        """The lock of this process; after a fork, the connection is the parent's, whose threads may hold its lock."""
        if self._process != os.getpid():
            self._lock, self._process = allocate_lock(), os.getpid()
            self._disconnect()
        return self._lock

    @property
    def _is_connected(self) -> bool:
        return self._connection is not None and not self._connection.is_closed

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _may_come_back(self) -> bool:
        """Whether there was a daemon that was not stopped on purpose, and that this client does not start itself."""
        return not self._autostart and was_there(self.path)

    def _pause(self, error: Exception, until: float) -> None:
        """Wait before the next try, or give up."""
        left = until - time.monotonic()
        if left <= 0:
            if isinstance(error, NotRunning | ShuttingDown):
                raise error
            raise self._gone(error) from error
        time.sleep(min(RETRY_INTERVAL, left))  # nothing reports that the socket is listened on again

    def _open(self, deadline: Deadline, limit: float | None = None) -> Connection:
        """Return the connection; connect and greet first unless there is one.

        Args:
            deadline: until when the call has to be answered; it is renewed if a daemon had to be started.
            limit: how long this attempt may take without a deadline, in seconds; ``None`` for no limit.
        """
        if self._connection is not None and not self._connection.is_closed:
            return self._connection
        opening = Deadline(limit) if deadline.seconds is None else deadline
        try:
            connection = Connection(self._reach(opening), self.path, self._wait)
            self._server = connection.greet(self.name, opening)
        except TimeoutError:
            raise self._unanswered(deadline.seconds) from None
        self._connection = connection
        return connection

    def _reach(self, deadline: Deadline) -> "socket":
        """Open a socket; with ``autostart``, start a daemon if none answers, which has a limit of its own."""
        try:
            return dial(self.path, deadline)
        except TimeoutError:
            raise
        except OSError as error:
            if not self._autostart:
                raise connection_refused(self.path, error) from error
        self._start(self.path)
        deadline.renew()  # migrating an old database may take minutes
        return dial(self.path, deadline)

    def _gone(self, error: Exception) -> NotRunning:
        return NotRunning(f"the daemon on {self.path} went away: {str(error) or 'connection closed'}")

    def _unanswered(self, seconds: float | None) -> Timeout | NotRunning:
        if seconds is None:
            return NotRunning(f"what listens on {self.path} does not answer")
        return Timeout(f"what listens on {self.path} did not answer within {seconds:g} s", seconds=seconds)


def connect(
    path: str | None = None,
    *,
    autostart: bool = False,
    patience: float = RECONNECT_SECONDS,
    timeout: float | None = None,
    name: str = "python",
) -> Client:
    """Connect to the daemon.

    Args:
        path: the socket. Default: ``$REEL_SOCKET``, else the usual one.
        autostart: start a daemon if none answers.
        patience: how long to try to reconnect after the connection was lost, in seconds.
        timeout: how long one call may take, in seconds, not counting the start of a daemon. Default: no limit.
        name: the name of this client, which the daemon stores with its events.

    Raises:
        NotRunning: no daemon answers on the socket.
        Timeout: what listens there does not accept the connection or answer within ``timeout``.
    """
    return Client(path, autostart=autostart, patience=patience, timeout=timeout, name=name).connect()
