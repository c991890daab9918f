"""What an answer says of the events that are not in the index yet."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import pytest

from reeld.search import index
from reeld.search.criteria import Criteria
from reeld.search.finding import Look
from reeld.search.hit_pages import HitPage, HitPages, Start
from reeld.search.lengths import Known
from reeld.search.query import parse_query
from reeld.search.volumes import Place
from tests.reeld.search.test_ranking import ALL, Index

T = TypeVar("T")


class Growing:
    """An index that grows right after it was read for the first time."""

    def __init__(self, made: Index) -> None:
        self._made = made
        self.indexed, self.known = index.progress(made.connection), Known()

    @property
    def behind(self) -> int:
        """The number of events that are not in the index yet."""
        return self._made.events[-1] - self.indexed

    async def read(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """Run a job, and fill the index."""
        found = job(self._made.connection)
        self._made.fill()
        self.indexed = index.progress(self._made.connection)
        return found


@pytest.fixture
def growing(tmp_path: Path) -> Iterator[Growing]:
    """An index that lacks the last event."""
    with closing(Index(tmp_path, ["tape"])) as made:
        made.events.append(made.rows.event(made.agent, content="deck"))
        yield Growing(made)


@pytest.mark.parametrize(
    "ask",
    [
        lambda pages, wanted: pages.newest(wanted, 10, None, Look()),
        lambda pages, wanted: pages.latest(wanted, 10, Place(ALL, 0), Look()),
        lambda pages, wanted: pages.best(wanted, 10, Start(None, 0, None), Look()),
    ],
)
async def test_what_comes_into_the_index_meanwhile(
    growing: Growing, ask: Callable[[HitPages, Criteria], "object"]
) -> None:
    """An answer counts what was not in the index when the search began: it may be missing, though it is there now."""
    page: HitPage = await ask(HitPages(growing), Criteria(parse_query("deck")))  # type: ignore[misc]

    assert 0 == growing.behind
    assert 1 == page.behind
