"""A process's copy of a conversation, so that the next read fetches only new items."""

from typing import Any, TypeAlias

from reel.base.strict_json import parse
from reel.integrations.new_items import NewItems
from reel.replies import AddedItems
from reel.sync.client import Client

# The seq of an item's message, and when it was written. A clone into an agent brings messages with seqs that others in
# its own log may have.
Stamp: TypeAlias = tuple[int, int]
# Characters that are parsed within a millisecond, or within six if all items are tiny.
_SHORT = 1 << 18


class ItemCopy:
    """The items of an agent, for a program that repeatedly reads all of them and may modify them.

    A framework reads the whole history before each turn. Reading 10,000 items takes the client 50 ms of CPU time, and
    the daemon 20 ms, or 200 ms the first time. Reading only the new items, and parsing the rest, takes 20 ms. The copy
    is discarded whenever :class:`NewItems` reads all items again. What the program adds itself, it has already.

    Args:
        agent: the agent's name.
        format: the format of the items.
    """

    def __init__(self, agent: str, format: str) -> None:  # noqa: A002 - the protocol's name
        self._new = NewItems(agent, format)
        # The items of each read, as a JSON list: a caller may modify the result.
        self._read_items: list[str] = []
        self._stamps: list[Stamp] = []
        # How many characters they have.
        self._length = 0

    def read(self, client: Client) -> list[Any]:
        """Return all items, the oldest first; the caller may modify them.

        Raises:
            NotFound: there is no such agent.
        """
        is_everything, found = self._new.read(client)
        if is_everything:
            self._read_items, self._stamps, self._length = [], [], 0
        if found:
            self._keep(f"[{','.join([item['item_json'] for item in found])}]")
            self._stamps += [(item["seq"], item["time"]) for item in found]
        return self._parsed()

    def read_at_once(self, client: Client) -> list[Any] | None:
        """Return all items as :meth:`read` does if they are known and few; else ``None``, to hold up no event loop."""
        return self._parsed() if self._length <= _SHORT and self._new.is_current(client) else None

    def _parsed(self) -> list[Any]:
        return [item for read in self._read_items for item in parse(read)]

    def _keep(self, text: str) -> None:
        self._read_items.append(text)
        self._length += len(text)

    def note(self, text: str, added: AddedItems) -> None:
        """Keep items that this program has added to the end, so that the next read need not fetch them.

        Args:
            text: the items, as the JSON of a list.
            added: the reply.
        """
        if self._new.keep(added):
            self._keep(text)
            self._stamps += [(seq, added.time) for seq in added.seqs]

    def stamps(self) -> tuple[str, list[Stamp]]:
        """Return the agent's id, and the stamp of each item that was read."""
        return self._new.agent, self._stamps

    @property
    def head(self) -> int:
        """The head of the agent when it was read."""
        return self._new.head
