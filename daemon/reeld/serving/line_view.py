"""A subscription to lines: its pushes are patches, and applied in order to an empty buffer they are the conversation.

It does not push what happened. Whatever happens wakes its task, which looks at the conversation as it is now, compares
it with what the subscriber has (:mod:`reeld.serving.line_sheet`), and pushes the difference as fast as the peer reads.
So nothing is missed, and a conversation that changes faster than it can be sent is shown as it is at last. An entry of
the log determines all that precedes it; so the messages that two states share are found by their ids alone.

The newest messages of a long conversation come first, so that they are on the screen at once.

A draft that has ended is shown a moment longer, until a message comes: that then takes its place in one patch. So who
reads the draft does not lose the place, and no editor has to know about this.

The event loop is never held up: messages are laid out in slices of a few milliseconds, one subscriber at a time, and
large ones in a thread.
"""

import math
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import partial
from operator import attrgetter
from time import perf_counter

import anyio
from anyio.lowlevel import checkpoint

from reel.base.errors import NotFound
from reel.base.wakeup import Signal
from reel.reading.approvals import KINDS
from reel.reading.layout import Section
from reel.said.kinds import REPLACING
from reel.said.messages import Message
from reel.wire.short_messages import unpacked
from reeld.agents.event_bus import CommittedEvent, EventBus, Typist, Whose
from reeld.core.events import Entry
from reeld.core.paging import take_page
from reeld.core.state import Profile
from reeld.serving.line_sheet import Patch, Sheet, patches
from reeld.serving.long_work import LongWork
from reeld.serving.pages import View, Window, is_message, read_entries
from reeld.serving.subscriptions import PushSink, Subscription
from reeld.store.store import Store

# The messages that one subscription may have: 24 bytes of each are kept.
MOST_MESSAGES = 150_000
# Seconds for which messages are laid out in one turn of the event loop, and then encoded, which takes about as
# long. An add of another client needs two or three turns, and so waits for as many slices.
_SLICE = 0.001
# Seconds for which a draft that has ended is shown, if no message takes its place.
_GRACE = 1.0
# Messages that are read at once, and their bytes; and the bytes from which on a message is laid out in a thread.
_PAGE, _PAGE_BYTES, _LARGE = 500, 1 << 18, 1 << 16
# How many of the newest messages come first, if a conversation has some times as many.
_NEWEST, _LONG = 100, 4
# The kinds of events after which the conversation may wait for something else, whatever the messages say.
_MAY_ASK = REPLACING | frozenset(KINDS)
_id = attrgetter("id")


class LineView(Subscription):
    """A subscription to the lines of one agent.

    Args:
        number: the peer's name for it.
        sink: the connection.
        bus: tells it that something happened.
        whose: the agent.
        look: returns the conversation as it is.
        waits: returns the words for what it waits for; none if it does not.
        long_work: runs what takes milliseconds.
        is_past: whether it is the conversation at an earlier seq, which only an erasure changes.
    """

    draws = True

    def __init__(
        self,
        number: int,
        sink: PushSink,
        bus: EventBus,
        whose: Profile,
        look: Callable[[], Awaitable[View]],
        waits: Callable[[], Awaitable[str]],
        long_work: LongWork,
        *,
        is_past: bool,
    ) -> None:
        super().__init__(number, sink, bus, whose, "none", None)
        self._agent, self._name = whose.uid, whose.name
        self._look, self._waits = look, waits
        # Whether something happened, other than a message, after which it may wait for something else.
        self._may_wait = True
        self._long_work = long_work
        self._is_past = is_past
        self._changed = Signal()
        self._changed.set()
        self._sheet = Sheet()
        # Whether what was sent may not be what the log has, although it has the same ids.
        self._is_doubtful = False
        # The drafts that have changed, by their connection; and until when those are shown that have ended.
        self._typed: dict[int, tuple[str | None, str]] = {}
        self._ended: dict[int, float] = {}
        # The patch that is sent next, as soon as it is known whether more follow; and whether one must follow.
        self._next: Patch | None = None
        self._owes = True

    def on_event(self, committed: CommittedEvent) -> None:
        """Look at the conversation again."""
        self._cursor = committed.event.seq
        if not self._is_past:
            self._may_wait |= committed.event.kind in _MAY_ASK
            self._changed.set()

    def on_elsewhere(self) -> None:
        """Look at the conversation again."""
        self._may_wait = True
        self._changed.set()

    def on_reset(self, _whose: Whose) -> None:
        """Send all messages again."""
        self._is_doubtful = True
        self._may_wait = True
        self._changed.set()

    def on_loss(self, _lost: Iterable[Whose]) -> None:
        """Send all messages again."""
        self._is_doubtful = True
        self._may_wait = True
        self._changed.set()

    def on_draft(self, _whose: Whose, writer: Typist, text: str) -> None:
        """Show what ``writer`` is writing."""
        if text:
            self._typed[writer.connection] = (writer.client, text)
            self._ended.pop(writer.connection, None)
        else:
            self._typed.pop(writer.connection, None)
            self._ended[writer.connection] = anyio.current_time() + _GRACE
        self._changed.set()

    async def catch_up(self, store: Store) -> None:
        """Push whatever differs, for as long as the subscription lasts."""
        with self._scope:
            while True:
                with anyio.CancelScope(deadline=min(self._ended.values(), default=math.inf)):
                    await self._changed.wait()
                try:
                    await self._update(store)
                except NotFound:  # it was purged
                    await self._clear()
                    return
                if self._sheet.messages > MOST_MESSAGES:  # its client subscribes again, and is told the reason
                    self.abort()
                    return

    async def _update(self, store: Store) -> None:
        shown = await self._look()
        self._owes |= shown.profile.name != self._name
        self._name = shown.profile.name
        count = 0 if self._is_doubtful else _shared(self._sheet, shown)
        self._is_doubtful = False
        await self._hold(self._sheet.keep(count))
        await self._hold(self._sheet.prompt(shown.system))
        if not self._sheet.messages and not self._sheet.writers and shown.messages > _LONG * _NEWEST:
            await self._begin_at_end(store, shown)
        while entries := await self._read(store, shown):
            while entries and not self._is_doubtful:
                await self._append(entries)
            if self._is_doubtful or self._sheet.messages > MOST_MESSAGES:
                return
        self._sheet.join()
        await self._end_drafts([each for each, until in self._ended.items() if until <= anyio.current_time()])
        while self._typed:
            connection = next(iter(self._typed))
            client, text = self._typed.pop(connection)
            await self._hold(self._sheet.draft(connection, client, text))
        if (self._may_wait or self._sheet.may_wait) and not self._is_past:
            self._may_wait = False
            await self._hold(self._sheet.waiting(await self._waits()))
        await self._complete()

    async def _end_drafts(self, ended: Iterable[int]) -> None:
        for connection in ended:
            self._ended.pop(connection, None)
            await self._hold(self._sheet.draft(connection, None, ""))

    async def _read(self, store: Store, shown: View) -> list[Entry]:
        """Return the next messages that the subscriber does not have, the last one first."""
        window = Window(since=self._sheet.seq)
        page = await read_entries(store, shown, window, is_message, _page, self._long_work.in_turn)
        return [entry for entry in reversed(page) if entry.seq < self._sheet.missing]

    async def _begin_at_end(self, store: Store, shown: View) -> None:
        """Show the newest messages, before all others are read."""
        window = Window(last=_NEWEST)
        newest = await read_entries(store, shown, window, is_message, _newest, self._long_work.in_turn)
        first = self._sheet.end
        await self._hold(patches(first, first, self._sheet.begin_at_end(newest)))

    async def _append(self, entries: list[Entry]) -> None:
        """Lay out some of the messages at the end of a list, and remove them from it."""
        first = self._sheet.end
        if len(entries[-1].message or b"") > _LARGE:
            large = entries.pop()
            sections = [await self._long_work.in_thread(partial(_append, self._sheet, large))]
        else:
            sections = await self._long_work.in_turn(partial(_slice, self._sheet, entries))
        rows, drafts = self._sheet.settle(self._ended)
        self._ended.clear()
        await self._hold(patches(first, first + rows, sections + drafts))

    async def _clear(self) -> None:
        """Leave nothing in the buffer, and say that the agent is gone."""
        await self._end_drafts(self._sheet.writers)
        await self._hold(self._sheet.keep(0))
        await self._hold(self._sheet.prompt(None))
        await self._hold(self._sheet.waiting(""))
        await self._complete()
        data = self._sink.framing.notify("reset", {"sub": self.number, "agent": self._agent})
        self._sink.push_latest(("reset", self._row, self.number), data)

    async def _hold(self, changes: Iterator[Patch]) -> None:
        """Send patches, but the last one only with the next."""
        for patch in changes:
            if self._next is not None:
                await self._send(self._next, more=True)
            self._next = patch
            await checkpoint()  # a large message is many patches

    async def _complete(self) -> None:
        """Send the last patch, after which the buffer is the conversation; a new name needs one as well."""
        last, self._next = self._next, None
        if last is not None or self._owes:
            await self._send(last or Patch(0, 0, Section([], [], [], [])), more=False)

    async def _send(self, patch: Patch, *, more: bool) -> None:
        self._owes = more
        about = {"sub": self.number, "agent": self._agent, "name": self._name}
        data = self._sink.framing.notify("lines", {**about, **patch.fields(), "more": more})
        while not self._sink.push(data):
            await self._sink.wait_for_room()


def _shared(sheet: Sheet, shown: View) -> int:
    """Return how many of the messages that were sent are still the first ones of a conversation."""
    before = 0 if shown.base is None else shown.base.id

    def has(event_id: int) -> bool:
        # Of what is not in memory it is known only that it precedes what is.
        index = bisect_left(shown.entries, event_id, key=_id)
        return event_id <= before or (index < len(shown.entries) and shown.entries[index].id == event_id)

    count = sheet.shared(has)
    return count if not count or sheet.id_of(count - 1) >= before else 0


def _page(entries: Iterable[Entry]) -> list[Entry]:
    """Return the first messages, at least one; it may run in a thread."""
    page, _ = take_page(filter(is_message, entries), _PAGE, _PAGE_BYTES, lambda entry: len(entry.message or b""))
    return page


def _newest(entries: Iterable[Entry]) -> list[tuple[int, Message]]:
    """Return the last messages that are not many bytes together; it may run in a thread."""
    messages, size = [], 0
    for entry in reversed(list(filter(is_message, entries))):
        size += len(entry.message or b"")
        if size > _LARGE:
            break
        messages.append((entry.id, unpacked(entry.message or b"")))
    return messages[::-1]


def _append(sheet: Sheet, entry: Entry) -> Section:
    return sheet.append(entry.id, unpacked(entry.message or b""))


def _slice(sheet: Sheet, entries: list[Entry]) -> list[Section]:
    """Lay out messages until the time is over or a large one comes, at least one."""
    sections, end = [], perf_counter() + _SLICE
    while entries and len(entries[-1].message or b"") <= _LARGE:
        sections.append(_append(sheet, entries.pop()))
        if perf_counter() > end:
            break
    return sections
