"""A process's copy of a conversation, so that the next read fetches only new items."""

from typing import Any, NamedTuple, TypeAlias

from reel import requests
from reel.base.strict_json import parse
from reel.replies import AddedItems, ItemsPage
from reel.said.kinds import REPLACING
from reel.sync.client import Client

# The maximum number of messages on a page.
_PAGE = 10_000
_REPLACING = sorted(REPLACING)

# The seq of an item's message, and when it was written. A clone into an agent brings messages with seqs that others in
# its own log may have.
Stamp: TypeAlias = tuple[int, int]


class _State(NamedTuple):
    """The position of a copy: its agent, head and newest item, its connection, and the number of erasures until then.

    A daemon counts its erasures from its start, and the next daemon may have the same process id, as in a container.
    """

    agent: str
    head: int
    seq: int
    connection: Any
    erasures: int


class ItemCopy:
    """The items of an agent, for a program that repeatedly reads all of them.

    A framework reads the whole history before each turn. Reading 10,000 items takes the client 50 ms of CPU time, and
    the daemon 20 ms, or 200 ms the first time. Reading only the new items, and parsing the rest, takes 20 ms. The copy
    is discarded if the conversation was changed other than by appending, if anything was erased, in any agent, or if
    the client has reconnected.

    Args:
        agent: the agent's name.
        format: the format of the items.
        keeps: whether :meth:`read` is called, and not :meth:`update`.
    """

    def __init__(self, agent: str, format: str, *, keeps: bool = True) -> None:  # noqa: A002 - the protocol's name
        self._agent = agent
        self._format = format
        self._keeps = keeps
        self._state: _State | None = None
        # The items of each read, as a JSON list: a caller may modify the result.
        self._read_items: list[str] = []
        self._stamps: list[Stamp] = []

    def read(self, client: Client) -> list[Any]:
        """Return all items, the oldest first; the caller may modify them.

        Raises:
            NotFound: there is no such agent.
        """
        self.update(client)
        return [item for read in self._read_items for item in parse(read)]

    def update(self, client: Client) -> tuple[bool, list[Any]]:
        """Read what is new; return whether that is everything, and the items as the daemon sends them.

        It is everything the first time, and if the conversation was changed other than by appending.

        Raises:
            NotFound: there is no such agent.
        """
        if client.server is None:
            client.ping()
        is_new = self._state is None
        connection = client.server
        pages = self._read(client, 0 if self._state is None else self._state.seq)
        if self._state is not None and not self._is_extended(client, pages[0]):
            self._state, self._read_items, self._stamps = None, [], []
            pages, is_new = self._read(client, 0), True
        found: list[Any] = [item for page in pages for item in page.items]
        if found:
            if self._keeps:
                self._read_items.append(f"[{','.join([item['item_json'] for item in found])}]")
            self._stamps += [(item["seq"], item["time"]) for item in found]
        seq = self._stamps[-1][0] if self._stamps else 0
        self._state = _State(pages[0].agent, pages[0].head, seq, connection, pages[0].erasures)
        return is_new, found

    def note(self, added: AddedItems) -> None:
        """Note items that this program has added to the end: what is known by then is as it was.

        The next read need not ask for that. If somebody else has written before them, it does.
        """
        known = self._state
        if known is not None and (added.agent, added.command) == (known.agent, known.head + 1):
            self._state = known._replace(head=added.head)

    def stamps(self) -> tuple[str, list[Stamp]]:
        """Return the agent's id, and the stamp of each item that was read."""
        return "" if self._state is None else self._state.agent, self._stamps

    @property
    def head(self) -> int:
        """The head of the agent when it was read."""
        return 0 if self._state is None else self._state.head

    def _read(self, client: Client, since: int) -> list[ItemsPage]:
        call = requests.items(self._agent, self._format, since or None, _PAGE)
        # The items stay JSON: parsing a whole page at once takes half the time.
        # All pages show one state: the client reads the later pages at the head of the first.
        return [*client.pages(call._replace(read=lambda result: ItemsPage(**result)))]

    def _is_extended(self, client: Client, page: ItemsPage) -> bool:
        """Whether a newly read page continues the copy."""
        known = self._state
        if known is None or client.server is not known.connection:
            return False
        if (page.agent, page.erasures) != (known.agent, known.erasures):
            return False
        return page.head == known.head or not client.history(known.agent, known.head, 1, _REPLACING).events
