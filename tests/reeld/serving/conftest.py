"""A daemon's services over a real store, and connections to it over streams in memory."""

import logging
import math
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import pytest
from anyio.streams.buffered import BufferedByteStream
from anyio.streams.stapled import StapledObjectStream
from msgpack import Unpacker

from reel.base.errors import ReelError, from_wire
from reel.wire.frames import Id, Notification, Response
from reeld.agents.clock import now
from reeld.agents.pruning_old import PruningOld
from reeld.agents.registry import Registry
from reeld.agents.retaining import Retaining
from reeld.backups.schedule import Schedule
from reeld.backups.scheduled import ScheduledBackups
from reeld.backups.service import Backups
from reeld.protocol.signature import Signature
from reeld.search import hit_pages
from reeld.search.service import Search
from reeld.serving.call import Call, Deferred, Result, Services
from reeld.serving.connection import Connection
from reeld.serving.drafts import Drafts
from reeld.serving.flow import Limits, Traffic
from reeld.serving.long_work import LongWork
from reeld.serving.methods import METHODS, Method
from reeld.serving.renderings import RenderCache, UnansweredRenderings
from reeld.store.retention import Retention
from reeld.store.store import open_store
from reeld.wire.framing import Framing
from reeld.wire.msgpack_framing import ServerMessagePack
from tests.empty_database import empty_database
from tests.patience import PATIENCE

Outcome: TypeAlias = dict[str, Any] | ReelError
# What is sent: the name of a method, and its parameters.
Asked: TypeAlias = tuple[Any, ...]
# What is pushed: its name, and its parameter.
Pushed: TypeAlias = tuple[str, Any]


class Peer:
    """The client's end of a connection; calls are numbered from 1.

    Args:
        stream: the bytes.
        connection: the daemon's end.
        load: what all connections have in flight.
        framing: how it speaks.
    """

    def __init__(self, stream: BufferedByteStream, connection: Connection, load: Traffic, framing: Framing) -> None:
        self.stream = stream
        self.connection = connection
        self.load = load
        self.ended = anyio.Event()
        # The pushes that nobody has read.
        self.unread_pushes: list[tuple[str, Any]] = []
        # Whether a bug is what the test is about.
        self.may_fail = False
        self._framing = framing
        self._sent = 0
        self._answers: dict[Id | None, Outcome] = {}

    def encoded(self, *calls: Asked) -> bytes:
        """Return the bytes of calls."""
        return b"".join(self._encoded(method, params) for method, *params in calls)

    def _encoded(self, method: str, params: list[Any]) -> bytes:
        self._sent += 1
        return self._framing.request(self._sent, method, params)

    async def send(self, data: bytes | Iterable[bytes]) -> None:
        """Send bytes, in one piece or in several."""
        for piece in [data] if isinstance(data, bytes) else data:
            await self.stream.send(piece)

    async def ask(self, *calls: Asked) -> list[Outcome]:
        """Send calls in one piece, and return the outcome of each."""
        first = self._sent + 1
        await self.send(self.encoded(*calls))
        return [await self.answer(number) for number in range(first, self._sent + 1)]

    async def call(self, method: str, *params: Any) -> dict[str, Any]:
        """Call a method; return its result or raise its error."""
        (outcome,) = await self.ask((method, *params))
        if isinstance(outcome, ReelError):
            raise outcome
        return outcome

    async def answer(self, number: Id | None) -> Outcome:
        """Wait for the answer to a call; ``None`` means the answer to a frame that could not be read."""
        while number not in self._answers:
            await self._receive()
        return self._answers.pop(number)

    async def push(self) -> Pushed:
        """Wait for the next push."""
        while not self.unread_pushes:
            await self._receive()
        name, (said,) = self.unread_pushes.pop(0)
        return name, said

    async def pushed(self) -> list[Pushed]:
        """Return every push that was queued before now: the answer to a ping comes after them."""
        await self.call("ping")
        pushes, self.unread_pushes = self.unread_pushes, []
        return [(name, said) for name, (said,) in pushes]

    async def events(self, last: int) -> list[dict[str, Any]]:
        """Wait for the events up to a seq, and for nothing else."""
        events: list[dict[str, Any]] = []
        while not events or events[-1]["seq"] < last:
            name, event = await self.push()
            assert "event" == name, event
            events.append(event)
        return events

    async def _receive(self) -> None:
        for frame in self._framing.feed(await self.stream.receive()):
            if isinstance(frame, Notification):
                self.unread_pushes.append((frame.method, frame.params))
                continue
            assert isinstance(frame, Response)
            refused = frame.error is not None
            self._answers[frame.id] = from_wire(frame.error) if refused else frame.result

    async def rest(self) -> bytes:
        """Read bytes until the daemon closes its end."""
        data = b""
        try:
            while True:
                data += await self.stream.receive()
        except anyio.EndOfStream:
            return data


async def texts(peer: Peer, agent: str) -> list[str]:
    """Return the texts of an agent's messages."""
    page = await peer.call("messages", agent)
    return [message["content"][0]["text"] for message in page["messages"]]


def unpacked(data: bytes) -> list[Any]:
    """Return the messages of a stream."""
    unpacker = Unpacker()
    unpacker.feed(data)
    return list(unpacker)


Connect: TypeAlias = Callable[..., Peer]


@pytest.fixture
def stopped() -> list[str]:
    """The requests to stop the daemon."""
    return []


@pytest.fixture
async def services(tmp_path: Path, stopped: list[str], monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Services]:
    """The services of handlers, over a store of the test's own; a page of a search is whole, however long it takes."""
    monkeypatch.setattr(hit_pages, "_PATIENCE", PATIENCE)
    async with open_store(empty_database(tmp_path / "reel.db")) as store, anyio.create_task_group() as tasks:
        registry = Registry(store, tasks)
        drafts = Drafts(registry.bus)
        tasks.start_soon(drafts.run)
        yield Services(
            registry,
            store,
            drafts,
            lambda: stopped.append("stop"),
            dict,
            LongWork(),
            RenderCache(),
            UnansweredRenderings(),
            Search(store),
            list,
            (backups := Backups(store)),
            ScheduledBackups(backups, Schedule(), store.path, now),
            Retaining(Retention()),
            PruningOld(Retention()),
        )
        tasks.cancel_scope.cancel()


@pytest.fixture
async def connect(services: Services) -> AsyncIterator[Connect]:
    """Return a function that opens connections, which end with the test; ``room``: how many unread pieces fit."""
    load = Traffic()
    peers: list[Peer] = []
    async with anyio.create_task_group() as tasks:

        async def serve(peer: Peer) -> None:
            try:
                await peer.connection.serve()
            except Exception:
                if not peer.may_fail:
                    raise
            peer.ended.set()

        def open_connection(
            limits: Limits | None = None,
            *,
            room: float = math.inf,
            framing: Framing | None = None,
            daemon_end: type[BufferedByteStream] = BufferedByteStream,
        ) -> Peer:
            to_daemon, from_peer = anyio.create_memory_object_stream[bytes](math.inf)
            to_peer, from_daemon = anyio.create_memory_object_stream[bytes](room)
            its_end = daemon_end(StapledObjectStream(to_peer, from_peer))
            connection = Connection(its_end, len(peers) + 1, services, load, limits or Limits())
            my_end = BufferedByteStream(StapledObjectStream(to_daemon, from_daemon))
            peer = Peer(my_end, connection, load, framing or ServerMessagePack(64 << 20))
            peers.append(peer)
            tasks.start_soon(serve, peer)
            return peer

        yield open_connection
        for peer in peers:
            await peer.stream.aclose()
        tasks.cancel_scope.cancel()


@pytest.fixture
def errors(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """Return a function that returns the warnings and errors in the log."""
    return lambda: [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


class Blocker:
    """A method whose answer the test releases."""

    def __init__(self) -> None:
        self.released = anyio.Event()
        self.entered = anyio.Event()

    def wait_for_it(self, _services: Services, _call: Call, _: Any) -> Deferred:
        async def run() -> Result:
            self.entered.set()
            await self.released.wait()
            return {}

        return Deferred(run)


@pytest.fixture
def blocker(monkeypatch: pytest.MonkeyPatch) -> Iterator[Blocker]:
    """The method ``wait_for_it``, which blocks until it is released."""
    blocker = Blocker()
    signature = Signature(())
    with monkeypatch.context() as patch:
        patch.setitem(METHODS, "wait_for_it", Method("wait_for_it", signature, "A test's own", blocker.wait_for_it))
        yield blocker
