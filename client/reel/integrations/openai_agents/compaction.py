"""The interface that the SDK's compaction expects: reading the newest items, and replacing the last with a summary.

With it, ``OpenAIResponsesCompactionSession`` can also summarize a history of which it has seen only a part, such as a
limited or encrypted one. What others add while the model writes the summary is no part of it, and stays.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from reel.base.errors import Conflict, NotFound
from reel.base.light_typing import NamedTuple
from reel.sync.client import Client


class Snapshot(NamedTuple):
    """The newest items of a session, as the SDK's ``_CompactionSnapshot`` has them.

    Args:
        items: the items, the oldest first.
        complete: whether there are no older ones.
        replace_suffix: replaces the items from an index on, unless another client wrote in the meantime;
            returns whether it did.
    """

    items: list[Any]
    complete: bool
    replace_suffix: Callable[[int, list[Any]], Awaitable[bool]]


class Read(NamedTuple):
    """All items of an agent at a head, with the seq of each item's message."""

    agent: str
    head: int
    items: list[Any]
    seqs: list[int]

    def replace_until(self, client: Client, head: int, output: list[Any]) -> bool:
        """Replace the items up to a head, in one command, and keep those after it; return whether nobody came first.

        Args:
            client: asks the daemon.
            head: the head at which the items were summarized.
            output: the summary.
        """
        if not self.seqs or self.seqs[0] > head:
            return True  # what was summarized is gone meanwhile, and so the summary is of nothing
        later = [item for item, seq in zip(self.items, self.seqs, strict=True) if seq > head]
        return self._add(client, [*output, *later], self.seqs[0])

    def replace(self, client: Client, begin: int, output: list[Any], is_expired: Callable[[Any], bool] | None) -> bool:
        """Replace the items from an index on, in one command; return whether it was done.

        Args:
            client: asks the daemon.
            begin: the index of the first item that is replaced.
            output: the new items.
            is_expired: which of the oldest items are removed as well.
        """
        if begin >= len(self.items):
            return False
        expired = self._expired(begin, is_expired)
        # A message may be several items; those before the first replaced one are kept.
        first = 0 if expired else self.seqs.index(self.seqs[begin])
        kept = self.items[max(first, expired) : begin]
        return self._add(client, [*kept, *output], self.seqs[first])

    def _add(self, client: Client, items: list[Any], begin: int) -> bool:
        try:
            client.add_items(self.agent, items, "openai-responses", from_=begin, if_seq=self.head)
        except (Conflict, NotFound):
            return False
        return True

    def _expired(self, end: int, is_expired: Callable[[Any], bool] | None) -> int:
        """Return how many of the oldest items are expired."""
        if is_expired is None:
            return 0
        return next((place for place, item in enumerate(self.items[:end]) if not is_expired(item)), end)
