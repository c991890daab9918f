"""Steps on a connection: how many of them one job takes, and what becomes of a result or an error."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import TypeVar

import pytest

from reeld.search import turns
from reeld.search.turns import Steps
from tests.patience import PATIENCE

T = TypeVar("T")


class Counting:
    """Runs jobs where it is, and counts them."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.jobs = 0

    async def read(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """Run a job."""
        self.jobs += 1
        return job(self._connection)


def _sum(numbers: int) -> Steps[int]:
    found = 0
    for number in range(numbers):
        found += (yield).execute("SELECT ?", (number,)).fetchone()[0]
    return found


@pytest.mark.parametrize(("seconds", "jobs"), [(PATIENCE, 1), (-1.0, 5)])
async def test_turns(monkeypatch: pytest.MonkeyPatch, seconds: float, jobs: int) -> None:
    """One job takes all steps that there is time for; others have their turn after a long one."""
    monkeypatch.setattr(turns, "_SECONDS", seconds)
    with closing(sqlite3.connect(":memory:")) as connection:
        counting = Counting(connection)

        assert (10, jobs) == (await turns.take(_sum(5), counting), counting.jobs)


async def test_an_error_in_a_step() -> None:
    """An error ends the steps, and is raised where the result is awaited."""

    def steps() -> Steps[int]:
        (yield).execute("SELECT 1 FROM missing")
        return 1

    missing = pytest.raises(sqlite3.OperationalError, match="no such table: missing")
    with closing(sqlite3.connect(":memory:")) as connection, missing:
        await turns.take(steps(), Counting(connection))
