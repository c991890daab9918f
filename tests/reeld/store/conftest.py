"""A store on a real file."""

import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from reeld.store.schema import prepare
from reeld.store.store import Store, open_store
from tests.patience import PATIENCE
from tests.reeld.store.rows import Rows


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Return a path for a database."""
    return str(tmp_path / "reel.db")


@pytest.fixture
async def store(path: str) -> AsyncIterator[Store]:
    """A new store, with a time limit."""
    with anyio.fail_after(PATIENCE):
        async with open_store(path) as opened:
            yield opened


@pytest.fixture
def rows(path: str) -> Iterator[Rows]:
    """A new database that is filled by hand."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        prepare(connection, path)
        connection.execute("PRAGMA synchronous = OFF")
        yield Rows(connection)
