"""What a process has read of a conversation, so that it reads only what is new the next time."""

import pickle
from typing import Any, NamedTuple

from reel import requests
from reel.kinds import REPLACING
from reel.messages import Item
from reel.replies import ItemsPage
from reel.sync.client import Client

# The most messages on a page.
_PAGE = 10_000
_REPLACING = sorted(REPLACING)


class _State(NamedTuple):
    """What was read: of which agent, up to which head and which item, and on which connection after how many erasures.

    A daemon counts its erasures from its start, and the next one may have its process id, as in a container.
    """

    agent: str
    head: int
    seq: int
    connection: Any
    erasures: int


class ItemCopy:
    """The items of an agent, for a program that reads all of them again and again.

    A framework reads the whole history before each turn. To read and convert 10,000 items takes the daemon and the
    client 390 ms; to read what is new, and to copy the rest, 13. The copy is given up if the conversation was anything
    but extended, if something was erased, in whatever agent, or if the client has connected anew.

    Args:
        agent: the agent's name.
        format: the format of the items.
    """

    def __init__(self, agent: str, format: str) -> None:  # noqa: A002 - the protocol's name
        self._agent = agent
        self._format = format
        self._state: _State | None = None
        # The items as they were read, page by page. A caller may change what it gets.
        self._pages: list[bytes] = []

    def read(self, client: Client) -> list[Any]:
        """Return all items, the oldest first; they are the caller's own.

        Raises:
            NotFound: there is no such agent.
        """
        if client.server is None:
            client.ping()
        connection = client.server
        pages = self._read(client, 0 if self._state is None else self._state.seq)
        if self._state is not None and not self._is_extended(client, pages[0]):
            self._state, self._pages = None, []
            pages = self._read(client, 0)
        found: list[Item] = [item for page in pages for item in page.items]
        if found:
            self._pages.append(pickle.dumps([item["item"] for item in found]))
        seq = found[-1]["seq"] if found else 0 if self._state is None else self._state.seq
        self._state = _State(pages[0].agent, pages[0].head, seq, connection, pages[0].erasures)
        return [item for page in self._pages for item in pickle.loads(page)]  # noqa: S301 - made above

    def _read(self, client: Client, since: int) -> list[ItemsPage]:
        # All pages are of one state: the client reads the later ones as of the first.
        return [*client.pages(requests.items(self._agent, self._format, since or None, _PAGE))]

    def _is_extended(self, client: Client, page: ItemsPage) -> bool:
        """Whether a page that was just read begins where the copy ends."""
        known = self._state
        if known is None or client.server is not known.connection:
            return False
        if (page.agent, page.erasures) != (known.agent, known.erasures):
            return False
        return page.head == known.head or not client.history(known.agent, known.head, 1, _REPLACING).events
