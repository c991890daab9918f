"""The interface between the store and its database, be it a file or on a server."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from reel.base.light_typing import NamedTuple
from reeld.store.connection import Connection
from reeld.store.connection_thread import SQLITE, ConnectionThread, Job
from reeld.store.pace import Pace
from reeld.store.presence import Presence
from reeld.store.sweep import Ground
from reeld.store.traces import Recovered
from reeld.store.transactions import EventWriter

# Reading connections. The first one only does short work, so that no command's look-up waits behind long pages; two do
# long work, so that a page does not wait until a whole log has been read.
READERS = 3


class Exclusion(NamedTuple):
    """Exclusive use of the database: how a daemon keeps others out.

    Args:
        take: keeps others out, and returns whether there is none.
        require: checks that they are still kept out.
        give_back: lets others in again.
    """

    take: Job[bool]
    require: Job[None]
    give_back: Job[None]


class Channel(Protocol):
    """A channel to the other daemons that use the same database, for texts that are not stored.

    Args:
        daemon: the number of this one.
    """

    daemon: int

    def call(
        self, on_open: Callable[[None], None], on_text: Callable[[str], None], on_missed: Callable[[None], None]
    ) -> None:
        """Call functions with what happens.

        Args:
            on_open: called when the channel is open, and again after each reconnection: texts may have been lost
                meanwhile.
            on_text: called with each text, in the order of its sender, including our own.
            on_missed: called if more texts came than could be taken, after some were dropped.
        """

    async def send(self, texts: Sequence[str]) -> None:
        """Send texts to all, and wait until they are sent; without a connection they are lost."""


class Engine(NamedTuple):
    """An open database: what differs between a file and a database on a server, as values and functions.

    The jobs are the same for both. What one of them does not have is ``None``: only a file can be copied and cleared,
    and only a server has other daemons.

    Args:
        database: the writing connection.
        readers: the reading connections.
        reader: opens another reading connection.
        copier: the connection that copies it; ``None`` if that is not possible.
        events: writes events.
        presence: its files.
        next_row: the row of the next agent.
        row_step: the distance between two such rows.
        recovered: what the start found of an unfinished erasure.
        listen: calls a function whenever another daemon has committed, and opens a channel to these; ``None`` for a
            file.
        name: the name and the version of what keeps the database.
        id: the id of a database on a server; empty for a file.
        open_log: opens a connection that only reads, in the thread that calls it; ``None`` for a file.
        lone: keeps other daemons out; ``None`` if there can be none.
        ground: what an erasure clears the file with; ``None`` if that is not possible.
        pace: decides which commits may hold up the event loop; ``None`` if none may.
    """

    database: ConnectionThread
    readers: Sequence[ConnectionThread]
    reader: Callable[[], AbstractAsyncContextManager[ConnectionThread]]
    copier: ConnectionThread | None
    events: EventWriter
    presence: Presence
    next_row: int
    recovered: Recovered
    listen: Callable[[Callable[[None], None]], AbstractAsyncContextManager[Channel]] | None = None
    row_step: int = 1
    name: str = f"SQLite {SQLITE}"
    id: str = ""
    open_log: Callable[[], Connection] | None = None
    lone: Exclusion | None = None
    ground: Ground | None = None
    pace: Pace | None = None

    @property
    def is_file(self) -> bool:
        """Whether it is a file."""
        return not self.id
