"""SQLite with a low limit of variables in a statement.

Debian's SQLite allows 250,000 of them, others 32,766, and PostgreSQL 65,535. All tests run with a limit that only
statements whose variables do not grow with the data keep. So a statement that would fail elsewhere fails here.
"""

import sqlite3
from functools import wraps
from typing import Any

# Those of the widest statement: 128 events, which have 13 values each.
MOST = 128 * 13


def allow_few_variables() -> None:
    """Let all connections of this process that are opened from now on have the limit."""
    connect = sqlite3.connect

    @wraps(connect)
    def limited(*args: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **options)
        connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, MOST)
        return connection

    sqlite3.connect = limited  # type: ignore[assignment]  # it has many forms
