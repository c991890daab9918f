"""An empty database for a test that is not about its creation.

Eleven migrations create a database, which takes 7 ms of CPU, and the fast tests need 1,500 databases. So it is created
once in each process, and copied.
"""

import sqlite3
import tempfile
from contextlib import closing
from functools import cache
from pathlib import Path

from reeld.store.schema import prepare
from tests.places import FILES


def empty_database(path: str | Path) -> str:
    """Write a database without agents to a path; return the path."""
    Path(path).write_bytes(_content())
    return str(path)


@cache
def _content() -> bytes:
    with tempfile.TemporaryDirectory(prefix="reel-", dir=FILES) as directory:
        path = f"{directory}/reel.db"
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            prepare(connection, path)
        # With its last connection, the WAL has been copied into the file.
        return Path(path).read_bytes()
