"""A store on a real file."""

import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing

import anyio
import pytest

from reel.daemon.database_url import is_url
from reeld.store.postgres.schema import prepare as prepare_tables
from reeld.store.schema import prepare
from reeld.store.store import Store, open_store
from tests import engines
from tests.empty_database import empty_database
from tests.patience import PATIENCE
from tests.postgres import server_connection
from tests.reeld.store.rows import Rows

engine, path, url = engines.engine, engines.path, engines.url


@pytest.fixture
async def store(path: str) -> AsyncIterator[Store]:
    """A new store, with a time limit."""
    if not is_url(path):
        empty_database(path)
    with anyio.fail_after(PATIENCE):
        async with open_store(path) as opened:
            yield opened


@pytest.fixture
def rows(path: str) -> Iterator[Rows]:
    """A new database that is filled by hand."""
    if is_url(path):
        with closing(server_connection(path)) as server:
            prepare_tables(server, path)
            yield Rows(server)
    else:
        with closing(sqlite3.connect(empty_database(path), isolation_level=None)) as connection:
            prepare(connection, path)
            connection.execute("PRAGMA synchronous = OFF")
            yield Rows(connection)
