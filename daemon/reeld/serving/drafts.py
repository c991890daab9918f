"""Drafts: texts that are still being written. Subscribers see them; they are never stored.

Each connection has one draft per agent. A draft is replaced by the next one, and ends with the connection's next
``add`` or with the connection. Bursts are throttled, but the last text is always pushed.
"""

import math
from collections import Counter
from collections.abc import Callable

import anyio

from reel.base.errors import Busy, TooLarge
from reel.base.light_typing import NamedTuple
from reel.base.wakeup import Signal
from reeld.agents.event_bus import EventBus, Subscriber, Typist, Whose

# Seconds between two pushes of one draft: more frequent ones are not visible on a screen.
_GAP = 1 / 30
# The limits: characters of one draft, drafts of one connection, and characters of all drafts.
MAX_DRAFT = 1 << 20
MAX_DRAFTS = 64
MAX_ALL = 16 << 20


class _Key(NamedTuple):
    connection: int
    row: int


class _Draft:
    """A draft, the text that was pushed last, and when; an empty text means that the draft has ended."""

    def __init__(self, writer: Typist, whose: Whose) -> None:
        self.writer = writer
        self.whose = whose
        self.text = ""
        self.shown = ""
        self.pushed = -math.inf


class Drafts:
    """The drafts of all connections.

    Args:
        bus: knows the subscribers.
    """

    def __init__(self, bus: EventBus) -> None:
        self._bus = bus
        self._drafts: dict[_Key, _Draft] = {}
        # Drafts that changed too soon after their last push, in the order in which they are due.
        self._due: dict[_Key, None] = {}
        self._wake = Signal()
        # The characters of all drafts, and how many have not ended, by their connection.
        self.characters = 0
        self._open = Counter[int]()
        self._on_text: Callable[[Typist, Whose, str], None] = _ignore

    def share(self, on_text: Callable[[Typist, Whose, str], None]) -> None:
        """Call a function with each new text, also with those of other daemons; an empty one ends the draft."""
        self._on_text = on_text

    async def run(self) -> None:
        """Push the last text of each burst when it is due, and forget drafts that have ended."""
        while True:
            await self._wake.wait()
            while self._due:
                key = next(iter(self._due))
                due = self._drafts[key].pushed + _GAP
                if anyio.current_time() < due:
                    await anyio.sleep_until(due)
                else:
                    del self._due[key]
                    self._push(key)

    def write(self, writer: Typist, whose: Whose, text: str) -> None:
        """Replace a connection's draft; an empty text ends it.

        Raises:
            TooLarge: the text is too long.
            Busy: the connection has drafts of too many agents, or all drafts are too long.
        """
        if len(text) > MAX_DRAFT:
            raise TooLarge(
                f"text: a draft may have {MAX_DRAFT} characters, this one has {len(text)}; show only its end",
                field="text",
                limit=MAX_DRAFT,
            )
        key = _Key(writer.connection, whose.row)
        draft = self._drafts.get(key)
        if text and (draft is None or not draft.text):
            self._require_room(writer.connection)
        others = self.characters - (0 if draft is None else len(draft.text))
        if text and others + len(text) > MAX_ALL:
            raise Busy(
                f"all drafts together may have {MAX_ALL} characters; add what is finished, show the end of the rest"
            )
        if draft is None:
            draft = self._drafts[key] = _Draft(writer, whose)
        draft.writer, draft.whose = writer, whose
        self._set_text(key, draft, text)
        self._on_text(writer, whose, text)
        if key not in self._due and anyio.current_time() >= draft.pushed + _GAP:
            self._push(key)
        else:
            self._push_later(key)

    def _set_text(self, key: _Key, draft: _Draft, text: str) -> None:
        self.characters += len(text) - len(draft.text)
        self._open[key.connection] += bool(text) - bool(draft.text)
        if not self._open[key.connection]:
            del self._open[key.connection]
        draft.text = text

    def _require_room(self, connection: int) -> None:
        if self._open[connection] >= MAX_DRAFTS:
            raise Busy(f"a connection may have drafts of {MAX_DRAFTS} agents; end some with an empty text")

    def _push_later(self, key: _Key) -> None:
        self._due[key] = None
        self._wake.set()

    def end(self, connection: int, row: int) -> None:
        """End a connection's draft for an agent, if there is one, before anything else is pushed."""
        if not self._drafts:
            return
        key = _Key(connection, row)
        if key in self._drafts:
            draft = self._drafts[key]
            self._set_text(key, draft, "")
            self._on_text(draft.writer, draft.whose, "")
            self._push(key)

    def end_all(self, connection: int) -> None:
        """End every draft of a connection."""
        for key in [key for key in self._drafts if key.connection == connection]:
            self.end(*key)

    def forget(self, rows: set[int] | None = None, touches: Callable[[str], bool] = lambda _: True) -> None:
        """End those drafts of some agents, or of all, for whose text a predicate is true."""
        for key, draft in list(self._drafts.items()):
            if (rows is None or key.row in rows) and touches(draft.text):
                self.end(*key)

    def writers(self) -> dict[int, list[str | None]]:
        """Return the names of the clients that are writing, by the agent's row; ``None`` for one without a name."""
        writing: dict[int, list[str | None]] = {}
        for key, draft in self._drafts.items():
            if draft.text:
                writing.setdefault(key.row, []).append(draft.writer.client)
        return writing

    def __len__(self) -> int:
        return self._open.total()

    def show_to(self, subscriber: Subscriber, row: int | None) -> None:
        """Push the current drafts to a new subscriber, as the others see them: a newer text comes when it is due."""
        for key, draft in self._drafts.items():
            if draft.shown and row in (None, key.row) and key.connection != subscriber.connection:
                subscriber.on_draft(draft.whose, draft.writer, draft.shown)

    def _push(self, key: _Key) -> None:
        """Push a draft if its text has changed; an ended one is kept until the gap is over, for the throttling."""
        draft = self._drafts[key]
        if draft.text != draft.shown:
            draft.shown, draft.pushed = draft.text, anyio.current_time()
            self._show(draft)
            if not draft.text:
                self._push_later(key)
        elif not draft.text and key not in self._due:
            del self._drafts[key]

    def _show(self, draft: _Draft) -> None:
        """Push a draft to every other subscribed connection, once, and to each subscriber that draws it."""
        shown: set[int | None] = {draft.writer.connection, None}
        self._bus.catch_up()
        for subscriber in self._bus.subscribers(draft.whose.row):
            if subscriber.draws and subscriber.connection != draft.writer.connection:
                subscriber.on_draft(draft.whose, draft.writer, draft.text)
            elif subscriber.connection not in shown:
                shown.add(subscriber.connection)
                subscriber.on_draft(draft.whose, draft.writer, draft.text)


def _ignore(_writer: Typist, _whose: Whose, _text: str) -> None:
    """Ignore it: there is no other daemon."""
