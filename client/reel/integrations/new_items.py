"""Fetches the items of a conversation that were added since a process last read it."""

from typing import Any

from reel import requests
from reel.base.errors import NotFound
from reel.base.light_typing import NamedTuple
from reel.integrations.unchanged import after_events, is_unchanged
from reel.replies import Added, AddedItems, ItemsPage
from reel.said.kinds import REPLACING
from reel.sync.client import Client

# The maximum number of messages on a page.
_PAGE = 10_000
_REPLACING = sorted(REPLACING)


class _State(NamedTuple):
    """What was read: the agent, its head and newest item, the connection, and the number of erasures until then.

    A daemon counts its erasures from its start, and the next daemon may have the same process id, as in a container.
    As long as the client has the same fingerprint of the agent, nothing has changed; ``None`` if that is not known.
    """

    agent: str
    head: int
    seq: int
    connection: Any
    erasures: int
    fingerprint: Any = None


class NewItems:
    """The items of an agent, for a program that repeatedly reads all of them.

    All are read again if the conversation was changed other than by appending, if anything was erased, in any agent, or
    if the client has reconnected. Nothing is asked if nothing has changed (:meth:`reel.Client.fingerprint`).

    Args:
        agent: the agent's name.
        format: the format of the items.
    """

    def __init__(self, agent: str, format: str) -> None:  # noqa: A002 - the protocol's name
        self._agent = agent
        self._format = format
        self._state: _State | None = None

    def is_current(self, client: Client) -> bool:
        """Return whether what was read is known to be everything, without a request."""
        known = self._state
        return known is not None and is_unchanged(client, known.connection, known.agent, known.fingerprint)

    def read(self, client: Client) -> tuple[bool, list[Any]]:
        """Return whether all items were read, not only the new ones, and what was read, as the daemon sends it.

        Raises:
            NotFound: there is no such agent; if there is one again, all its items are read.
        """
        if self.is_current(client):
            return False, []
        try:
            return self._read(client)
        except NotFound:
            self._state = None
            raise

    def _read(self, client: Client) -> tuple[bool, list[Any]]:
        if client.server is None:
            client.ping()
        connection = client.server
        known = self._state
        # Before the request: what changes later is noticed.
        before, fingerprint = self.agent, client.fingerprint(connection, self.agent)
        pages = self._pages(client, 0 if known is None else known.seq)
        if known is not None and not self._is_extended(client, known, pages[0]):
            known = self._state = None
            pages = self._pages(client, 0)
        found: list[Any] = [item for page in pages for item in page.items]
        seq = found[-1]["seq"] if found else 0 if known is None else known.seq
        agent = pages[0].agent
        fingerprint = fingerprint if agent == before and client.server is connection else None
        self._state = _State(agent, pages[0].head, seq, connection, pages[0].erasures, fingerprint)
        return known is None, found

    def note(self, added: Added | AddedItems) -> bool:
        """Note what this program has added to the end, and return whether all before it is known.

        Then the next read need not ask for that. If somebody else has written before it, it does.
        """
        known = self._state
        if known is None or (added.agent, added.command) != (known.agent, known.head + 1):
            return False
        self._state = known._replace(head=added.head)
        return True

    def keep(self, added: Added | AddedItems) -> bool:
        """Note what this program has added to the end, and return whether it may keep it.

        If so, the next read does not return it. If somebody else has written before it, it does.
        """
        known = self._state
        if known is None or not self.note(added):
            return False
        after = after_events(known.fingerprint, added.head - known.head)
        self._state = known._replace(head=added.head, seq=added.head, fingerprint=after)
        return True

    @property
    def agent(self) -> str:
        """The id of the agent that was read; empty if none was."""
        return "" if self._state is None else self._state.agent

    @property
    def head(self) -> int:
        """The head of the agent when it was read."""
        return 0 if self._state is None else self._state.head

    def _pages(self, client: Client, since: int) -> list[ItemsPage]:
        call = requests.items(self._agent, self._format, since or None, _PAGE)
        # The items stay JSON: parsing a whole page at once takes half the time.
        # All pages show one state: the client reads the later pages at the head of the first.
        return [*client.pages(call._replace(read=lambda result: ItemsPage(**result)))]

    def _is_extended(self, client: Client, known: _State, page: ItemsPage) -> bool:
        """Return whether a newly read page continues what was read."""
        if client.server is not known.connection:
            return False
        if (page.agent, page.erasures) != (known.agent, known.erasures):
            return False
        return page.head == known.head or not client.history(known.agent, known.head, 1, _REPLACING).events
