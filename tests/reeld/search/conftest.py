"""An index of a log that is filled by hand."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from reeld.search import index_file
from reeld.store.schema import prepare as prepare_log
from reeld.store.sweep import open_descriptor
from tests.reeld.search.indexes import opened
from tests.reeld.store.rows import Rows


@pytest.fixture
def database(tmp_path: Path) -> str:
    """Return the path of the log."""
    return str(tmp_path / "reel.db")


@pytest.fixture
def rows(database: str) -> Iterator[Rows]:
    """A log that is filled by hand."""
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        prepare_log(connection, database)
        yield Rows(connection)


@pytest.fixture
def descriptor(database: str) -> Iterator[int]:
    """A descriptor of the index, which is opened before SQLite opens it and closed after it."""
    with open_descriptor(index_file.path_of(database), os.O_CREAT) as opened:
        yield opened


@pytest.fixture
def connection(rows: Rows, database: str, descriptor: int) -> Iterator[sqlite3.Connection]:
    """The writing connection of a new index."""
    assert descriptor
    assert not rows.connection.in_transaction
    with closing(opened(database)) as connection:
        yield connection
