"""The blocking client: the standard library and msgpack, nothing else."""

import _socket as socket  # as in reel.peer
import os
import time
from _thread import allocate_lock  # documented; all of threading takes a millisecond to import
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress

from reel import replies, requests
from reel.address import default_socket
from reel.errors import Exists, NotRunning, ParseError, ReelError, ShuttingDown, Timeout, from_wire
from reel.frames import MAX_REPLY, InvalidFrame, Response
from reel.light_typing import TYPE_CHECKING
from reel.peer import (
    ATTEMPT,
    RECONNECT_SECONDS,
    RETRY_INTERVAL,
    connect_within,
    connection_refused,
    require_trusted,
    was_there,
)
from reel.requests import Call, greeting, next_page, providers, with_idempotency_key
from reel.requests.calls import describe, require_size
from reel.session import MessagePack

if TYPE_CHECKING:
    from _thread import LockType
    from contextlib import AbstractContextManager
    from types import TracebackType
    from typing import Any, Concatenate, ParamSpec, Self, TypeVar

    from reel.messages import Event, Item, Message, Record
    from reel.sync.answer import Answer
    from reel.sync.subscription import Subscription
    from reel.tool_calls import ToolCall

    R = TypeVar("R")
    P = ParamSpec("P")

# How much is read from the socket at once, in bytes.
_CHUNK = 1 << 18


def _method(request: "Callable[P, Call[R]]") -> "Callable[Concatenate[Client, P], R]":
    """Return the method that sends a request, waits for its reply and returns it."""

    def method(self: "Client", /, *args: "P.args", **kwargs: "P.kwargs") -> "R":
        return self.call(request(*args, **kwargs))

    return describe(method, request)


def _subscription(
    request: "Callable[P, Call[replies.Subscribed]]",
) -> "Callable[Concatenate[Client, P], Subscription]":
    """Return the method that subscribes, on a connection of its own."""

    def method(self: "Client", /, *args: "P.args", **kwargs: "P.kwargs") -> "Subscription":
        from reel.subscription_state import SubscriptionState  # noqa: PLC0415 - most clients follow nothing
        from reel.sync.subscription import Subscription  # noqa: PLC0415 - as above

        state = SubscriptionState(request(*args, **kwargs), self._name)
        return Subscription(state, lambda limit: self._reach(_after(limit))[0], self._patience, self._timeout)

    return describe(method, request, "Subscription")


def _answer(
    request: "Callable[P, Call[replies.Rendered]]",
) -> "Callable[Concatenate[Client, P], AbstractContextManager[Answer]]":
    """Return the method that renders a conversation, for a block that feeds the answer."""

    def method(self: "Client", /, *args: "P.args", **kwargs: "P.kwargs") -> "AbstractContextManager[Answer]":
        from reel.sync.answer import answering  # noqa: PLC0415 - most clients answer nothing

        return answering(self.call, request(*args, **kwargs))

    return describe(method, request, "AbstractContextManager[Answer]")


class Client:
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
    ) -> None:
        self.path = path or default_socket()
        self.server: replies.Hello | None = None
        self._autostart = autostart
        self._patience = patience
        self._timeout = timeout
        self._name = name
        self._awaits_restart = awaits_restart
        # For the turns of the threads of one process.
        self._lock = allocate_lock()
        self._process = os.getpid()
        self._socket: socket.socket | None = None
        self._framing = MessagePack(MAX_REPLY)
        self._next_id = 0

    def connect(self) -> "Self":
        """Connect now, rather than at the first call.

        Raises:
            NotRunning: no daemon answers on the socket.
            Timeout: what listens there does not accept the connection or answer within ``timeout``.
            ProtocolMismatch: the daemon has no version of the protocol in common with this client.
        """
        with self._turn:
            try:
                self._open(self._deadline())
            except (OSError, EOFError) as error:
                self._pause(error, until=0)
        return self

    def close(self) -> None:
        """Close the connection, after the call of another thread if there is one; the next call opens another."""
        with self._turn:
            self._disconnect()

    @property
    def _turn(self) -> "LockType":
        """The lock of this process; after a fork, the connection is the parent's, whose threads may hold its lock."""
        if self._process != os.getpid():
            self._lock, self._process = allocate_lock(), os.getpid()
            self._disconnect()
        return self._lock

    def _disconnect(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def __enter__(self) -> "Self":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: "TracebackType | None"
    ) -> None:
        self.close()

    def call(self, call: "Call[R]") -> "R":
        """Send a request, wait for its reply and return that.

        Args:
            call: a call of :mod:`reel.requests`.

        Raises:
            ReelError: the daemon refused the request.
            NotRunning: the daemon cannot be reached.
            Timeout: the call took longer than ``timeout``.
        """
        if call.steps is not None:
            return self._carry_out(call.steps(lambda: self.server))
        try:
            return self._repeat(with_idempotency_key(call), self._deadline())
        except Exists:
            if call.if_exists is None:
                raise
        return self.call(call.if_exists)

    def _carry_out(self, steps: "Generator[Call[Any], Any, R]") -> "R":
        """Send requests one after the other, each depending on the replies before it."""
        reply, refusal = None, None
        while True:
            try:
                step = steps.send(reply) if refusal is None else steps.throw(refusal)
            except StopIteration as end:
                result: R = end.value
                return result
            reply, refusal = None, None
            try:
                reply = self.call(step)
            except ReelError as error:
                refusal = error

    def _repeat(self, call: "Call[R]", deadline: float | None) -> "R":
        """Send a request until its reply arrives, over as many connections as that takes."""
        with self._turn:
            # Only a connection that was lost is worth waiting for; a first one fails at once.
            is_worth_it = self._socket is not None or (self._awaits_restart and self._may_come_back())
            until: float | None = None
            while True:
                began = time.monotonic()
                try:
                    # What listens there now may be something else, which accepts and never answers.
                    deadline = self._open(deadline, max(self._patience, ATTEMPT) if is_worth_it else None)
                    return call.read(self._exchange(call, deadline))
                except (OSError, EOFError, ShuttingDown, NotRunning) as error:
                    self._disconnect()
                    if call.method == "shutdown" and not isinstance(error, NotRunning):
                        return call.read({})
                    was_connected = not isinstance(error, NotRunning)
                    is_worth_it = is_worth_it or was_connected
                    now = time.monotonic()
                    # The time begins anew after a connection that was not short.
                    if until is None or (was_connected and now - began > self._patience):
                        until = now + (self._patience if is_worth_it else 0.0)
                    self._pause(error, until if deadline is None else min(until, deadline))

    def pages(self, call: "Call[R]") -> "Iterator[R]":
        """Yield a reply, and every page after it."""
        following_call: Call[R] | None = call
        while following_call is not None:
            reply = self.call(following_call)
            yield reply
            following_call = next_page(following_call, reply)

    def iter_messages(self, agent: str, since: int | None = None, at: int | None = None) -> "Iterator[Message]":
        """Yield every message of the current conversation, page by page; see :meth:`messages`."""
        for page in self.pages(requests.messages(agent, since=since, at=at)):
            yield from page.messages

    def iter_items(
        self,
        agent: str,
        format: str,  # noqa: A002 - the protocol's name
        since: int | None = None,
        at: int | None = None,
    ) -> "Iterator[Item]":
        """Yield every item of the current conversation, page by page; see :meth:`items`."""
        for page in self.pages(requests.items(agent, format, since=since, at=at)):
            yield from page.items

    def iter_conversation(self, agent: str, since: int | None = None, at: int | None = None) -> "Iterator[Record]":
        """Yield every record of the current conversation, page by page; see :meth:`conversation`."""
        for page in self.pages(requests.conversation(agent, since=since, at=at)):
            yield from page.conversation

    def iter_history(self, agent: str, since: int | None = None, *, inherited: bool = False) -> "Iterator[Event]":
        """Yield every event of an agent's log, page by page; see :meth:`history`."""
        for page in self.pages(requests.history(agent, since=since, inherited=inherited)):
            yield from page.events

    def iter_agents(self, prefix: str | None = None, *, alive: bool | None = None) -> "Iterator[replies.AgentRow]":
        """Yield every agent in the order of their creation, page by page; see :meth:`agents`."""
        for page in self.pages(requests.agents(prefix=prefix, alive=alive)):
            yield from page.agents

    def open_calls(self, agent: str) -> "list[ToolCall]":
        """Return the tool calls without a result, with their arguments.

        Args:
            agent: a name or an id.
        """
        from reel.requests.open_calls import read_open_calls  # noqa: PLC0415 - most clients call no tools

        return self._carry_out(read_open_calls(agent))

    def __repr__(self) -> str:
        return f"<reel.Client of {self.path}, {'not connected' if self._socket is None else 'connected'}>"

    ping = _method(requests.ping)
    methods = _method(requests.methods)
    create = _method(requests.create)
    add = _method(requests.add)
    add_items = _method(requests.add_items)
    clear = _method(requests.clear)
    clone = _method(requests.clone)
    mark = _method(requests.mark)
    rewind = _method(requests.rewind)
    restore = _method(requests.restore)
    undo = _method(requests.undo)
    redo = _method(requests.redo)
    kill = _method(requests.kill)
    revive = _method(requests.revive)
    change = _method(requests.change)
    commit = _method(requests.commit)
    redact = _method(requests.redact)
    purge = _method(requests.purge)
    retention = _method(requests.retention)
    agents = _method(requests.agents)
    agent = _method(requests.agent)
    messages = _method(requests.messages)
    items = _method(requests.items)
    conversation = _method(requests.conversation)
    history = _method(requests.history)
    histories = _method(requests.histories)
    tree = _method(requests.tree)
    difference = _method(requests.difference)
    usage = _method(requests.usage)
    state = _method(requests.state)
    replay = _method(requests.replay)
    search = _method(requests.search)
    render = _method(requests.render)
    answer = _answer(providers.answer)
    ingest = _method(requests.ingest)
    load = _method(requests.load)
    wait = _method(requests.wait)
    draft = _method(requests.draft)
    subscribe = _subscription(requests.subscribe)
    verify = _method(requests.verify)
    backup = _method(requests.backup)
    stats = _method(requests.stats)
    shutdown = _method(requests.shutdown)

    def _deadline(self) -> float | None:
        return _after(self._timeout)

    def _may_come_back(self) -> bool:
        """Whether there was a daemon that was not stopped on purpose, and that this client does not start itself."""
        return not self._autostart and was_there(self.path)

    def _pause(self, error: Exception, until: float) -> None:
        """Wait before the next try, or give up."""
        left = until - time.monotonic()
        if left <= 0:
            if isinstance(error, NotRunning | ShuttingDown):
                raise error
            raise NotRunning(f"the daemon on {self.path} went away: {str(error) or 'connection closed'}") from error
        time.sleep(min(RETRY_INTERVAL, left))  # nothing reports that the socket is listened on again

    def _open(self, deadline: float | None, limit: float | None = None) -> float | None:
        """Connect unless there is a connection; return the deadline, which is later if a daemon had to be started.

        Args:
            deadline: until when the call has to be answered.
            limit: how long this attempt may take without a deadline, in seconds; ``None`` for no limit.
        """
        if self._socket is not None:
            return deadline
        self._socket, started = self._reach(_after(limit) if deadline is None else deadline)
        if started:
            deadline = self._deadline()
        self._framing = MessagePack(MAX_REPLY)
        hello = greeting(self._name)
        try:
            self.server = hello.read(self._exchange(hello, _after(limit) if deadline is None else deadline))
        except ReelError:
            self._disconnect()  # else the next call would skip the greeting
            raise
        if deadline is None:
            self._socket.settimeout(None)  # the greeting had a limit, and the call has none
        return deadline

    def _reach(self, deadline: float | None) -> tuple[socket.socket, bool]:
        """Open a connection; with ``autostart``, start a daemon if none answers, and say so.

        The start of a daemon has its own limit, because migrating an old database may take minutes.
        """
        try:
            return self._dial(deadline), False
        except TimeoutError:
            raise self._unanswered() from None
        except OSError as error:
            if not self._autostart:
                raise connection_refused(self.path, error) from error
        self._start_daemon()
        return self._dial(self._deadline()), True

    def _unanswered(self) -> Timeout | NotRunning:
        if self._timeout is None:
            return NotRunning(f"what listens on {self.path} does not answer")
        return Timeout(f"what listens on {self.path} did not answer within {self._timeout:g} s", seconds=self._timeout)

    def _start_daemon(self) -> None:
        from reel.process import autostart  # noqa: PLC0415 - subprocess is only needed to start a daemon

        autostart(self.path)

    def _dial(self, deadline: float | None = None) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connect_within(connection, self.path, None if deadline is None else deadline - time.monotonic())
            require_trusted(connection, self.path)
        except BaseException:
            connection.close()
            raise
        return connection

    def _exchange(self, call: "Call[Any]", deadline: float | None) -> "dict[str, Any]":
        """Send a request and return its result; close the connection if that is left unfinished."""
        try:
            answer = self._ask(call, deadline)
        except TimeoutError:
            self._disconnect()
            if call.method == "hello":
                raise self._unanswered() from None
            late = f"{call.method} took longer than {self._timeout:g} s; it may still be carried out"
            raise Timeout(late, seconds=self._timeout) from None
        except BaseException:
            self._disconnect()
            raise
        if answer.error is not None:
            raise from_wire(answer.error)
        result: dict[str, Any] = answer.result
        return result

    def _ask(self, call: "Call[Any]", deadline: float | None) -> Response:
        """Send a request, and read until its response arrives; pushes are ignored."""
        assert self._socket is not None  # noqa: S101 - _open has just connected
        self._next_id += 1
        request = self._framing.request(self._next_id, call.method, [call.params])
        require_size(request, self.server)
        self._limit(deadline)
        with suppress(BrokenPipeError):  # the reason why the daemon closed its end may still be there to read
            self._socket.sendall(request)
        while True:
            self._limit(deadline)
            data = self._receive()
            if not data:
                raise EOFError("connection closed")
            for frame in self._framing.feed(data):
                if type(frame) is InvalidFrame:
                    raise ParseError(f"what {self.path} sent is not a reply: {frame.error.message}")
                if type(frame) is Response and frame.id in (self._next_id, None):
                    return frame

    def _receive(self) -> bytes:
        """Wait for bytes from the daemon; an exception ends the connection, and with it the request."""
        assert self._socket is not None  # noqa: S101 - the request has just been sent
        return self._socket.recv(_CHUNK)

    def _limit(self, deadline: float | None) -> None:
        assert self._socket is not None  # noqa: S101 - _open has just connected
        if deadline is None:
            return
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._socket.settimeout(left)


def _after(seconds: float | None) -> float | None:
    """Return the moment after so many seconds; ``None`` for never."""
    return None if seconds is None else time.monotonic() + seconds


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
