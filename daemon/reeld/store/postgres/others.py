"""Collects what other daemons wrote, until the rest of this daemon is notified.

A check costs one round trip, which returns the agents to which they wrote. The events themselves are read, in one more
round trip, only for agents that are in memory here, and only if they are few and small: the agents fold them into their
states, and notify their followers. All other agents read the log again as after a start.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import psycopg

from reel.msgpack_codec import packer
from reeld.store.checksums import EVENT_COLUMNS, is_intact
from reeld.store.connection import Numbers
from reeld.store.elsewhere import Elsewhere, ForeignEvent
from reeld.store.history import event_of
from reeld.store.postgres.connection import ServerConnection, ServerError

# The most events that are read at a time, and bytes of their texts.
_FEW = 256
_SMALL = 256 << 10
_MOVED = """
    SELECT moved.agent, newest, events, size, e.seq, e.time, coalesce(a.uid, '')
    FROM (
        SELECT agent, max(id) AS newest, count(*) AS events,
            sum(coalesce(octet_length(content), 0) + coalesce(octet_length(data_json), 0)) AS size
        FROM events WHERE id >= %s GROUP BY agent
    ) AS moved JOIN events e ON e.id = newest LEFT JOIN agents a ON a.id = moved.agent
    ORDER BY newest
"""
_EVENTS = f"SELECT {EVENT_COLUMNS} FROM events e WHERE id >= %s AND id < %s AND agent = ANY(%s) ORDER BY id"  # noqa: S608 - a constant


class Others:
    """What other daemons wrote; only jobs of the writing connection use it."""

    def __init__(self) -> None:
        # Returns whether an agent is in memory; called in the connection's thread.
        self.is_used: Callable[[int], bool] = lambda _: False
        self._rows: set[int] = set()
        # The agents whose new events were not all read.
        self._partly: set[int] = set()
        self._events: list[ForeignEvent] = []
        # The events to read: from which id, before which id, and of which agents.
        self._unread: list[tuple[int, int, Numbers]] = []
        self._pack = packer()

    @property
    def rows(self) -> frozenset[int]:
        """The agents to which others have written."""
        return frozenset(self._rows)

    @staticmethod
    def ask(connection: ServerConnection, first: int) -> "psycopg.Cursor[Any]":
        """Query in a pipeline what others wrote from an id on; :meth:`note` takes the resulting rows."""
        return connection.send(_MOVED, (first,))

    def note(self, moved: list[Any], first: int) -> int:
        """Take note of what others wrote from an id on; return the id after the last event."""
        end: int = max((first, *(newest + 1 for _, newest, *_ in moved)))
        self._rows |= {row for row, *_ in moved}
        wanted = []
        events = size = 0
        for row, _, its_events, its_size, *_ in moved:
            if self.is_used(row) and events + its_events <= _FEW and size + its_size <= _SMALL:
                events, size = events + its_events, size + int(its_size)
                wanted.append(row)
            else:
                self._partly.add(row)
        if wanted:
            self._unread.append((first, end, Numbers(wanted)))
        return end

    def read(self, connection: ServerConnection) -> None:
        """Read the pending events; if that fails, the agents read the log later."""
        with suppress(ServerError):
            while self._unread:
                for *row, stored in connection.send_query(_EVENTS, self._unread[0]).fetchall():
                    event_id, agent, *_ = row
                    if is_intact(self._pack, row, stored):
                        self._events.append(ForeignEvent(agent, event_id, event_of(row, self._pack)))
                    else:
                        self._partly.add(agent)
                del self._unread[0]
        self._partly.update(row for _, _, rows in self._unread for row in rows)
        self._unread.clear()

    def forget(self) -> None:
        """Drop what was collected: the log no longer has it."""
        self._rows, self._partly, self._events, self._unread = set(), set(), [], []

    def take(self) -> Elsewhere:
        """Return what was collected since the last call."""
        whole = [foreign for foreign in self._events if foreign.row not in self._partly]
        taken = Elsewhere(self.rows, whole)
        self._rows, self._partly, self._events = set(), set(), []
        return taken
