"""Subscriptions: what a connection follows, and up to which event it has been notified.

A subscription begins live, or by catching up from a position in the log that the peer names. While it catches up, it
reads the log as fast as the peer reads the pushes. Events that are committed meanwhile are not pushed, because they are
in the log as well. At the end of the log the subscription goes live. So no event is missed or pushed twice.

A live subscription whose peer does not read *lags*: events that find no room are dropped, and as soon as there is room
again the peer is told which range it missed. Then the subscription ends, and the peer subscribes again.

A published event says how much of the conversation it left unchanged. The log does not have this; so while a
subscription catches up, events are folded again (:mod:`reeld.serving.log_replayer`). If several daemons write, a
subscription catches up after each event of another one; so it keeps the folded states until it has been notified of a
later event of their agents.
"""

import logging
from collections.abc import Callable, Iterable
from functools import partial
from itertools import count
from typing import Any, Protocol, TypeVar

import anyio

from reel.base.errors import Busy, NotFound, ReelError
from reel.said.kinds import CONVERSATION
from reel.wire.msgpack_codec import packer
from reel.wire.short_messages import unabridged
from reeld.agents.event_bus import CommittedEvent, EventBus, Typist, Whose
from reeld.agents.packing import loop_packer
from reeld.serving.flow import do_nothing
from reeld.serving.log_replayer import LogReplayer
from reeld.serving.pages import record
from reeld.store import history
from reeld.store.store import Store
from reeld.wire.framing import Framing
from reeld.wire.shared_pushes import SharedPush

log = logging.getLogger(__name__)

# Events, and bytes of their texts, per page of the log: a page is kept until the peer has read it.
_PAGE = 256
_PAGE_BYTES = 1 << 20


class PushSink(Protocol):
    """The destination of pushes: a connection."""

    number: int

    @property
    def framing(self) -> Framing:
        """The framing that the peer speaks."""

    def push(self, data: bytes) -> bool:
        """Queue a push if there is room; return whether there was."""

    def push_latest(self, key: object, data: bytes) -> None:
        """Queue a push as soon as there is room; of several with one key, only the newest."""

    async def wait_for_room(self) -> None:
        """Wait until something of what was queued has been sent."""


class Subscription:
    """One subscription of a connection.

    Args:
        number: the peer's name for it.
        sink: the connection.
        bus: publishes events.
        whose: the agent; ``None`` for all, and positions are then ids instead of seqs.
        view: ``messages``, ``conversation`` or ``none``.
        kinds: only events of these; ``None`` for all.
    """

    draws = False

    def __init__(
        self, number: int, sink: PushSink, bus: EventBus, whose: Whose | None, view: str, kinds: frozenset[str] | None
    ) -> None:
        self.number = number
        self.connection: int | None = sink.number
        # Cancels the task that catches up; each task has its own.
        self._scope = anyio.CancelScope()
        self._sink = sink
        # It is settled: the peer has spoken.
        self._framing = sink.framing
        self._bus = bus
        self._whose = whose
        self._row = None if whose is None else whose.row
        self._kinds = kinds
        self._view = view
        # Whether the peer keeps a copy, and so needs to know how much of it each event leaves unchanged.
        self._wants_extents = kinds is None and view != "none"
        # Subscriptions with the same one get the same fields.
        self._shape = (view, self._wants_extents)
        # The position of the last event that was pushed, or that the peer did not want.
        self._cursor = 0
        self._live = False
        # Starts the task that catches up.
        self._start_catching_up: Callable[[], object] = do_nothing
        # Folds events of the log; kept once other daemons have written some, because they may write more.
        self._replayer: LogReplayer | None = None
        self._hears_of_others = False
        # Whether something was committed since the log was last read.
        self._log_has_more = False
        # Whether events were lost since the log was last read.
        self._has_lost = False
        # The time of the event that the peer had last, which the log may have lost; ``None`` to check nothing.
        self._remembered: int | None = None
        # The first and the last position for which there was no room.
        self._lagged: tuple[int, int] | None = None

    def remember(self, time: int) -> None:
        """Check, before it begins, that the log has an event of this time at the position after which it begins."""
        self._remembered = time

    def begin(self, position: int, start_catching_up: Callable[[], object], *, live: bool) -> None:
        """Take events after a position.

        Args:
            position: the position.
            start_catching_up: starts :meth:`catch_up`.
            live: whether the log has none of them yet.
        """
        self._cursor = position
        self._live = live
        self._start_catching_up = start_catching_up
        self._bus.subscribe(self, self._row)
        if not live:
            start_catching_up()

    def end(self) -> None:
        """Take no more events, not even those that are already published."""
        self._live = False
        self._bus.unsubscribe(self, self._row)
        self._start_catching_up = do_nothing
        self._scope.cancel()

    def on_elsewhere(self) -> None:
        """Read from the log what other daemons have written."""
        self._log_has_more = self._hears_of_others = True
        if self._live and self._lagged is None:
            self._live = False
            self._scope = anyio.CancelScope()
            self._start_catching_up()

    async def catch_up(self, store: Store) -> None:
        """Push events from the log as fast as the peer reads, then go live."""
        with self._scope:
            await self._check_remembered(store)
            while not self._live:
                if self._replayer is None or self._has_lost:  # what was folded may be gone
                    self._replayer = LogReplayer(store, with_extents=self._wants_extents)
                self._log_has_more = self._has_lost = False
                page = await store.read_long(history.after, self._row, self._cursor, _PAGE, _PAGE_BYTES, packer())
                for logged in page:
                    await self._push_from_log(await self._replayer.event(logged))
                    if self._has_lost:
                        break
                # What this daemon knows of is pushed: of whatever is later, it will be notified.
                is_all = not page or page[-1].event_id >= self._bus.newest
                self._live = is_all and not self._log_has_more
            if not self._hears_of_others:
                self._replayer = None
            elif self._replayer is not None:
                self._replayer.rest()

    async def _check_remembered(self, store: Store) -> None:
        """Tell the peer to read everything again, if the log does not have the event that the peer had last."""
        time, self._remembered = self._remembered, None
        if time is None:
            return
        head, found = await store.read(history.time_at, self._row, self._cursor)
        if found != time:
            self._cursor = min(self._cursor, head)
            data = self._framing.notify("reset", {"agent": None if self._whose is None else self._whose.uid})
            self._sink.push_latest(("reset", self._row), data)

    async def _push_from_log(self, committed: CommittedEvent) -> None:
        """Push an event as soon as there is room, unless events are lost before that: it may be one of them."""
        if self._kinds is None or committed.event.kind in self._kinds:
            data = self._encode(committed)
            while not (self._has_lost or self._sink.push(data)):
                await self._sink.wait_for_room()
        if not self._has_lost:
            self._cursor = committed.event_id if self._row is None else committed.event.seq

    def on_event(self, committed: CommittedEvent) -> None:
        """Push a committed event."""
        if not self._live:
            self._log_has_more = True
            return
        position = committed.event_id if self._row is None else committed.event.seq
        if position <= self._cursor:
            return
        self._cursor = position
        if self._replayer is not None:
            self._replayer.forget(committed.profile.row)
        if self._kinds is not None and committed.event.kind not in self._kinds:
            return
        if self._lagged is not None:
            self._lagged = (self._lagged[0], position)
        elif not self._sink.push(self._encode(committed)):
            self._lagged = (position, position)

    def report_lag(self) -> bool:
        """Tell the peer what it missed, if it did and there is room; return whether the subscription has ended."""
        if self._lagged is None:
            return False
        first, last = self._lagged
        lagged = {"sub": self.number, "from": first, "to": last}
        if not self._sink.push(self._framing.notify("lagged", lagged)):
            return False
        self._bus.note_lag()
        self.end()
        return True

    def abort(self) -> None:
        """Stop catching up: everything from here on counts as missed."""
        self._live, self._lagged = True, (self._cursor + 1, self._cursor + 1)

    def on_reset(self, whose: Whose) -> None:
        """Tell the peer that the live state was replaced, so that it reads the conversation again."""
        data = self._framing.notify("reset", {"agent": whose.uid})
        self._sink.push_latest(("reset", whose.row), data)

    def on_loss(self, lost: Iterable[Whose]) -> None:
        """Tell the peer to read the conversations again, and go on with what the log has after them."""
        for whose in lost if self._whose is None else (self._whose,):
            self.on_reset(whose)
        self._has_lost = True
        self.on_elsewhere()

    def on_draft(self, whose: Whose, writer: Typist, text: str) -> None:
        """Tell the peer what ``writer`` is writing; an empty text ends its draft."""
        draft = {"agent": whose.uid, "connection": writer.connection, "client": writer.client, "text": text}
        self._sink.push_latest(("draft", whose.row, writer.connection), self._framing.notify("draft", draft))

    def _encode(self, committed: CommittedEvent) -> bytes:
        """Encode a push; what all subscriptions of one view share is encoded once for each framing."""
        shared = committed.encoded.get(self._shape)
        if shared is None:
            shared = committed.encoded[self._shape] = _fields(committed, self._view, with_extents=self._wants_extents)
        return self._framing.push("event", self.number, shared)


def _fields(committed: CommittedEvent, view: str, *, with_extents: bool) -> SharedPush:
    profile, event = committed.profile, committed.event
    fields: dict[str, Any] = {
        "agent": profile.uid,
        "name": profile.name,
        "id": committed.event_id,
        "seq": event.seq,
        "command": event.command,
        "kind": event.kind,
        "time": event.time,
        **({} if event.origin is None else event.origin.as_map()),
    }
    if with_extents:
        everything = view == "conversation"
        fields["keep"] = committed.kept.records if everything else committed.kept.messages
        fields["count"] = committed.extent.records if everything else committed.extent.messages
    packed: dict[str, bytes] = {}
    if view == "messages" and event.message is not None:
        packed["message"] = unabridged([event.message])[0]
    elif view == "conversation" and event.kind in CONVERSATION:
        packed["record"] = record(event, loop_packer.pack)
    return SharedPush(fields, packed)


S = TypeVar("S", bound=Subscription)


class Subscriptions:
    """The subscriptions of a connection, by their numbers.

    Args:
        sink: the connection.
        bus: publishes events.
        store: read by subscriptions that catch up.
        limit: how many there may be.
        start_soon: starts a task that ends with the peer; returns whether there is still a peer.
    """

    def __init__(
        self, sink: PushSink, bus: EventBus, store: Store, limit: int, start_soon: Callable[..., bool]
    ) -> None:
        self._sink = sink
        self._bus = bus
        self._store = store
        self._limit = limit
        self._start_soon = start_soon
        self._begun: dict[int, Subscription] = {}
        self._numbers = count(1)
        self._closed = False

    def __len__(self) -> int:
        return len(self._begun)

    def make(self, kind: Callable[..., S], *about: Any) -> S:
        """Return a subscription that has not begun.

        Args:
            kind: the class.
            about: its arguments after the bus.

        Raises:
            Busy: the connection has as many as it may have.
        """
        if len(self._begun) >= self._limit:
            raise Busy(f"this connection has {self._limit} subscriptions; end some, or open another connection")
        return kind(next(self._numbers), self._sink, self._bus, *about)

    def begin(self, subscription: Subscription, position: int, *, live: bool) -> None:
        """Begin a subscription that the peer has been told of."""
        if self._closed:
            return
        self._begun[subscription.number] = subscription
        subscription.begin(position, partial(self._start_soon, self._catch_up, subscription), live=live)

    async def _catch_up(self, subscription: Subscription) -> None:
        try:
            await subscription.catch_up(self._store)
        except Exception as error:
            what = f"connection={self._sink.number} subscription={subscription.number} cannot catch up"
            if isinstance(error, ReelError):
                self._store.reads.failed(f"{what}: {error.message}")
            else:
                log.exception(what)
            subscription.abort()
        else:
            self._store.reads.succeeded()
        self.report_lag()

    def report_lag(self) -> None:
        """Notify the subscriptions that missed something, if there is room; these end."""
        for number, subscription in list(self._begun.items()):
            if subscription.report_lag():
                self._begun.pop(number, None)  # the push may have exceeded a limit and ended the connection

    def end(self, number: int) -> None:
        """End a subscription.

        Raises:
            NotFound: this connection has no subscription with this number.
        """
        subscription = self._begun.pop(number, None)
        if subscription is None:
            raise NotFound(f"sub: this connection has no subscription {number}", field="sub")
        subscription.end()

    def end_all(self) -> None:
        """End every subscription."""
        for subscription in self._begun.values():
            subscription.end()
        self._begun.clear()

    def close(self) -> None:
        """End every subscription, and begin no more: the peer is gone."""
        self._closed = True
        self.end_all()
