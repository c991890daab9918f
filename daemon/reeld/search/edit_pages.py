"""What the method ``edits`` answers: pages of what calls did, the newest first."""

import time
from functools import partial
from typing import Any, Protocol

from reel.base.light_typing import NamedTuple
from reeld.search import edits
from reeld.search.edits import WantedEdits
from reeld.search.finding import Paths
from reeld.search.shown_edits import Spot
from reeld.store.connection_thread import Job, T

# Seconds after which a page is returned with what was found so far; the next page continues.
_PATIENCE = 1.0


class Readable(Protocol):
    """An index that can be read."""

    @property
    def touches_behind(self) -> int:
        """The number of events that are not in its table of what calls did yet."""

    async def read(self, job: Job[T]) -> T:
        """Run a job on a connection to the index."""


class EditPage(NamedTuple):
    """A page of edits, the start of the next one, and how many events were not in the table when it began."""

    edits: list[dict[str, Any]]
    next: str | None
    behind: int


class EditPages:
    """The pages of edits of an index.

    Args:
        index: the index.
    """

    def __init__(self, index: Readable) -> None:
        self._index = index

    async def newest(self, wanted: WantedEdits, limit: int, before: Spot) -> EditPage:
        """Return a page of edits.

        Args:
            wanted: the criteria.
            limit: how many edits at most.
            before: only edits before this place.
        """
        behind, paths, found = self._index.touches_behind, Paths(), list[dict[str, Any]]()
        ends, reached, size = time.monotonic() + _PATIENCE, before, 0
        while True:
            job = partial(edits.find, wanted=wanted, paths=paths, before=reached, limit=limit - len(found))
            part = await self._index.read(job)
            found += part.edits
            if part.reached is None:
                return EditPage(found, None, behind)
            reached, size = part.reached, size + part.size
            if len(found) == limit or size > edits.MAX_PAGE or time.monotonic() > ends:
                return EditPage(found, ".".join(map(str, reached)), behind)

    async def agents_with(self, path: str) -> set[int]:
        """Return the rows of the agents that read or wrote a file."""
        return await self._index.read(partial(edits.agents_with, path=path))
