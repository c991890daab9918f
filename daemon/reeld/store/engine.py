"""What a store needs of its database, whether that is a file or on a server."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol

from reeld.store.connection import Connection
from reeld.store.database import Database, Job
from reeld.store.presence import Presence
from reeld.store.traces import Carried
from reeld.store.transactions import EventWriter

# Reading connections. The first never does anything that may take long, so that no command waits for a look-up behind
# somebody's long pages; two do, so that a page does not wait for the whole of a long log.
READERS = 3


class Lone(NamedTuple):
    """How a daemon makes sure that no other one uses the database.

    Args:
        take: keeps others out, and returns whether there is none.
        give_back: lets others in again.
    """

    take: Job[bool]
    give_back: Job[None]


class Channel(Protocol):
    """The way to other daemons that use the same database, for texts that nobody stores.

    Args:
        daemon: the number of this one.
        on_open: is called when there is a way, and again when there is one again: texts may have been lost meanwhile.
        on_text: is called with each text that somebody has sent, in the order of its sender; also with the own ones.
    """

    daemon: int
    on_open: Callable[[None], None]
    on_text: Callable[[str], None]

    async def send(self, texts: Sequence[str]) -> None:
        """Send texts to all, and wait until they are sent; if there is no way, they are lost."""


class Engine(NamedTuple):
    """An open database.

    Args:
        database: the writing connection.
        readers: the reading connections.
        reader: opens another one.
        copier: the connection that copies it; ``None`` if that is not possible.
        events: writes events.
        presence: its files.
        next_row: the row of the next agent.
        row_step: how much more the row of the one after it is.
        carried: what was left of an erasure.
        listen: calls a function whenever another daemon has committed, and opens a channel to these; ``None`` if there
            can be no other.
        id: the id of a database on a server; empty for a file.
        open_log: opens a connection that only reads, in the thread that calls it; ``None`` for a file.
        lone: keeps other daemons out; ``None`` if there can be none.
    """

    database: Database
    readers: Sequence[Database]
    reader: Callable[[], AbstractAsyncContextManager[Database]]
    copier: Database | None
    events: EventWriter
    presence: Presence
    next_row: int
    carried: Carried
    listen: Callable[[Callable[[None], None]], AbstractAsyncContextManager[Channel]] | None = None
    row_step: int = 1
    id: str = ""
    open_log: Callable[[], Connection] | None = None
    lone: Lone | None = None
