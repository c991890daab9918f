"""One connection: turns bytes into frames, replies and pushes into bytes, and handles the end of both directions.

Its tasks, while there is a peer:

- the *reader* reads, and submits calls to the dispatcher; it never waits for a handler. For a socket it is a function
  that the poller calls (:mod:`reeld.poller`), and the connection's own task only waits for the end; any other stream is
  read by that task;
- the *sender* sends what is in the outbox and could not be sent at once;
- once the peer sends no more, a task looks each second whether it has closed its end;
- subscriptions that catch up, and detached calls, have a task each.

The dispatcher's worker outlives them: requests that were accepted are carried out even if the peer has vanished; their
replies are then dropped.

A connection ends in one of three ways. The peer closes its end: it still gets its replies, then the stream closes.
The peer is lost, or stops reading: :meth:`Connection.drop`. The daemon stops: the server calls ``refuse_more``,
``finish``, ``say_bye`` and ``drain``, in this order.
"""

import logging
import select
from socket import socket
from traceback import clear_frames
from typing import Any

import anyio
from anyio.abc import ByteStream, SocketAttribute

from reel.daemon.peer import peer_of
from reel.wire.frames import RECEIVED, Frame, InvalidFrame, Notification, Request, Response
from reeld.agents.event_bus import Typist
from reeld.core.state import Profile
from reeld.serving.call import Call, ClientInfo, Services
from reeld.serving.dispatcher import Dispatcher
from reeld.serving.flow import Limits, Traffic
from reeld.serving.handlers.async_call import call_of
from reeld.serving.outbox import Outbox
from reeld.serving.peer_tasks import PeerTasks
from reeld.serving.push_queue import PushQueue
from reeld.serving.replies import ReplyWriter
from reeld.serving.subscriptions import Subscriptions
from reeld.wire.detection import detect
from reeld.wire.framing import Framing

log = logging.getLogger(__name__)

_EXPECTED = (
    b"reeld speaks MessagePack-RPC, and JSON-RPC 2.0 one message a line or behind Content-Length;"
    b" see docs/protocol.md\n"
)
# Consecutive pushes that may fail in Neovim before its subscriptions are ended; otherwise they would fill its log.
_MAX_COMPLAINTS = 10
# Seconds between two checks of a peer that has closed at least one direction.
_LOOK_EVERY = 1.0


class Connection:
    """A connection; :meth:`serve` runs it.

    Args:
        stream: the bytes; closed at the end.
        number: the daemon's number for this connection.
        services: what handlers work with.
        traffic: what all connections have in flight and queued.
        limits: the limits of this connection.
    """

    def __init__(self, stream: ByteStream, number: int, services: Services, traffic: Traffic, limits: Limits) -> None:
        self.number = number
        self.client: str | None = None
        self.limits = limits
        self._stream = stream
        self._socket = stream.extra(SocketAttribute.raw_socket, None)
        self._services = services
        self._traffic = traffic
        # Whether its framing has been detected.
        self._has_spoken = False
        # How much of the limit on incomplete messages this connection counts for.
        self._incomplete = 0
        self._complaints = 0
        self._gone = False
        # Set at the next progress; ``None`` while nobody waits, which is nearly always. Not a Signal, because both the
        # listener and the connection's own task may wait for it.
        self._progress: anyio.Event | None = None
        self._tasks = PeerTasks()
        self._outbox = Outbox(number, limits, traffic, self.drop, self._on_sent)
        self._replies = ReplyWriter(number, self._outbox, limits.unread, self.drop, traffic.warnings)
        self._dispatcher = Dispatcher(
            services,
            traffic,
            limits,
            self._replies.write,
            self._replies.write_all,
            self._replies.order_is_free,
            self._tasks.start_soon,
            self._on_progress,
        )
        pushes = PushQueue(number, self._replies, self._outbox)
        self.subscriptions = Subscriptions(
            pushes, services.registry.bus, services.store, limits.subscriptions, self._tasks.start_soon
        )

    # --- its life

    async def serve(self) -> None:
        """Serve until the peer closes its end or is lost, and all its requests are done."""
        self._traffic.peers.add(self)
        try:
            async with anyio.create_task_group() as tasks:
                self._dispatcher.open(tasks)
                await self._talk()
                await self.drain()
                tasks.cancel_scope.cancel()
        finally:
            self._traffic.peers.discard(self)
            self._dispatcher.close()

    async def _talk(self) -> None:
        """Read and send until the peer has received its replies, or is lost; nothing is sent after that."""
        try:
            async with self._stream, self._tasks:
                self._outbox.open(self._stream, self._tasks.start_soon)
                await self._receive()
                self._tasks.start_soon(self._end_on_close)
                await self.finish()
                self._services.registry.bus.catch_up()
                self.subscriptions.end_all()  # otherwise there might always be more to send
                await self.drain()
        except* (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            log.debug("connection=%d was lost", self.number)
        finally:
            self.drop()

    def drop(self) -> None:
        """End at once, and free the queues."""
        self._gone = True
        self._traffic.waiting -= self._incomplete
        self._incomplete = 0
        self.framing.discard()  # it may be large, and the connection itself may be collected much later
        self._tasks.cancel()
        self._replies.close()
        self._outbox.close()
        self.subscriptions.close()
        self._dispatcher.forget_detached()
        self._services.drafts.end_all(self.number)
        self._on_progress()

    async def _end_on_close(self) -> None:
        """End if the peer, which sends no more requests, also stops reading: nobody waits for the replies then."""
        await until_closed(self._stream)
        self._tasks.cancel()

    def refuse_more(self) -> None:
        """Answer new and detached calls with ``shutting_down`` from now on."""
        self._dispatcher.refuse_more()

    async def finish(self) -> None:
        """Wait until every call is answered, whether the peer reads the replies or not."""
        while self._dispatcher.busy:
            await self._wait_for_progress()

    def say_bye(self, reason: str) -> None:
        """Tell a subscriber that nothing more will come."""
        self._services.registry.bus.catch_up()
        if self.subscriptions:
            self._outbox.push_latest("bye", self.framing.notify("bye", {"reason": reason}))

    async def drain(self) -> None:
        """Wait until every call is answered and every reply sent."""
        while self._dispatcher.busy or self._replies.held or not self._outbox.empty:
            await self._wait_for_progress()

    async def _wait_for_progress(self) -> None:
        if self._progress is None:
            self._progress = anyio.Event()
        await self._progress.wait()

    def _on_progress(self) -> None:
        if self._progress is not None:
            self._progress.set()
            self._progress = None

    def _on_sent(self) -> None:
        """There is room again: tell lagging subscriptions what they missed."""
        if self._outbox.was_full:
            self._outbox.was_full = False
            self.subscriptions.report_lag()
        self._replies.on_sent()
        if self._progress is not None:
            self._on_progress()

    # --- from bytes to calls

    async def _receive(self) -> None:
        """Read until the peer has sent everything, or is lost."""
        try:
            if self._socket is None:
                await self._read_stream()
            else:
                await self._read_socket(self._socket)
        except anyio.EndOfStream:
            with self._traffic.batch:
                self._submit_all(self.framing.end())
                self._services.registry.pump()
        except BaseException as error:
            clear_frames(error.__traceback__)  # see Outbox
            raise

    async def _read_stream(self) -> None:
        goes_on = True
        while goes_on:
            data = await self._stream.receive(RECEIVED)
            with self._traffic.batch:
                goes_on = self._on_data(data)
                self._services.registry.pump()

    async def _read_socket(self, peer: socket) -> None:
        """Let the poller read.

        Raises:
            anyio.EndOfStream: nothing more will come.
        """
        poller, ended = self._services.store.poller, anyio.Event()
        failures: list[Exception] = []

        def on_readable() -> None:
            try:
                if self._read_once(peer):
                    return
            except Exception as error:
                failures.append(error)
            poller.forget(peer)  # now, because otherwise it would be called again before the task runs
            ended.set()

        with poller.reading(peer, on_readable):
            await ended.wait()
        if failures:
            raise failures.pop()  # an error in the list would keep alive the frames that refer to the list

    def _read_once(self, peer: socket) -> bool:
        """Read what has arrived at a socket; return whether the connection goes on.

        Raises:
            anyio.EndOfStream: nothing more will come.
            OSError: the peer is lost.
        """
        if self._gone:
            return False
        try:
            data = peer.recv(RECEIVED)
        except BlockingIOError:
            return True
        if not data:
            raise anyio.EndOfStream
        return self._on_data(data)

    def _on_data(self, data: bytes) -> bool:
        """Submit the calls that these bytes complete; return whether the connection goes on."""
        if not self._has_spoken:
            self._has_spoken = True
            framing = detect(data[0], self.limits.message, self.limits.values)
            if framing is None:
                self._outbox.reply(_EXPECTED)
                return False
            self._replies.framing = framing
        framing = self._replies.framing
        if not self._submit_all(framing.feed(data)):
            return False
        if framing.held != self._incomplete:
            self._count_incomplete(framing.held)
        return True

    def _count_incomplete(self, size: int) -> None:
        more, self._incomplete = size - self._incomplete, size
        self._traffic.buffer(more, self.limits.all_waiting)

    def _submit_all(self, frames: list[Frame]) -> bool:
        """Submit the calls among the frames, in a batch; return whether the connection goes on."""
        alive, settle = True, self._dispatcher.settle
        texts = self._dispatcher.texts
        for frame in frames:
            if isinstance(frame, Request):
                if frame[1] == "add" and texts.take(self, frame):
                    self._complaints = 0
                    continue
                number, method, params, size = frame
                self._submit(Call(self, settle, number, method, size), params)
            elif isinstance(frame, Notification):
                self._submit(*call_of(self, settle, frame))
            elif isinstance(frame, InvalidFrame):
                self._replies.write_invalid_frame(frame.error)
                alive = alive and not frame.fatal
            elif isinstance(frame, Response):
                log.debug("connection=%d answered a call that was never made", self.number)
        texts.end()
        return alive and not self._gone

    def _submit(self, call: Call, params: Any) -> None:
        if call.method[:2] == "$/" and call.number is None and call.token is None:
            return  # a notification of editors, which a server may ignore; a request is answered, as LSP demands
        if call.number is None and call.method == "nvim_error_event":
            self._count_complaint(params)
            return
        self._complaints = 0
        self._replies.expect(call)
        self._dispatcher.submit(call, params)

    def _count_complaint(self, params: Any) -> None:
        """Count a push that Neovim failed on; end its subscriptions if it fails on all of them."""
        self._complaints += 1
        warnings = self._traffic.warnings
        warnings.warn(self.number, "connection=%d its Neovim failed on a push", self.number)
        log.debug("connection=%d its Neovim says %r", self.number, params)
        if self._complaints == _MAX_COMPLAINTS and self.subscriptions:
            text = "connection=%d failed %d times in a row; its subscriptions end"
            warnings.warn(self.number, text, self.number, _MAX_COMPLAINTS)
            self.subscriptions.end_all()

    # --- what handlers and subscriptions use

    @property
    def framing(self) -> Framing:
        """The framing that the peer speaks."""
        return self._replies.framing

    def introduce(self, info: ClientInfo) -> None:
        """Remember what the client says of itself, and talk to it accordingly."""
        self.client = info.name or self.client
        self._replies.introduce(info, self._tasks.start_soon)

    def draft(self, profile: Profile, text: str) -> None:
        """Show subscribers what the peer is writing, while it is connected."""
        if not self._gone:
            self._services.drafts.write(Typist(self.number, self.client), profile, text)

    def end_draft(self, row: int) -> None:
        """End the peer's draft for an agent: its text was added."""
        self._services.drafts.end(self.number, row)

    def as_map(self) -> dict[str, Any]:
        """Describe it in the form of the protocol."""
        return {
            "connection": self.number,
            "client": self.client,
            "pid": None if self._socket is None else peer_of(self._socket).pid,
            "answered": self._dispatcher.answered,
            "in_flight": self._dispatcher.in_flight,
            "bytes_waiting": self.waiting,
            "subscriptions": len(self.subscriptions),
        }

    @property
    def waiting(self) -> int:
        """How many bytes are held: unread by the peer, or of an incomplete message."""
        return self._outbox.waiting + self._incomplete


async def until_closed(stream: ByteStream) -> None:
    """Wait until the peer has closed both directions; forever on a stream that is not a socket.

    A peer that shuts down writing may still read, but a reader cannot tell it from one that has closed its socket.
    poll(2) can: it reports POLLHUP only for a closed socket.
    """
    raw = stream.extra(SocketAttribute.raw_socket, None)
    if raw is None:
        await anyio.sleep_forever()
    else:
        poll = select.poll()
        poll.register(raw, 0)  # POLLHUP is always reported
        while not poll.poll(0):  # noqa: ASYNC110 - a half-closed socket is readable for ever, so it cannot be awaited
            await anyio.sleep(_LOOK_EVERY)
