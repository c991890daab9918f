"""The interface of connections, for jobs that run on any database.

A job is written once, in SQL that SQLite and PostgreSQL understand. A :mod:`sqlite3` connection implements the
interface as it is: there is no wrapper between a job and SQLite.

Failures raise the exceptions of PEP 249, under the names of this module. They are those of :mod:`sqlite3`.
"""

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeAlias
from urllib.parse import quote

Parameters: TypeAlias = Sequence[Any] | Mapping[str, Any]

Error = sqlite3.Error
DatabaseError = sqlite3.DatabaseError
IntegrityError = sqlite3.IntegrityError
OperationalError = sqlite3.OperationalError


def uri_of(path: str, mode: str) -> str:
    """Return the URI with which SQLite opens a file: to read (``ro``), or to write one that exists (``rw``)."""
    return f"file:{quote(os.fsencode(os.path.abspath(path)))}?mode={mode}"


class Texts(tuple[str, ...]):
    """Texts as one parameter, of which ``json_each(?)`` makes rows."""

    __slots__ = ()

    def __conform__(self, _: Any) -> str:
        """Return the JSON text that SQLite binds."""
        return json.dumps(self)


class Numbers(tuple[int, ...]):
    """Integers as one parameter, of which ``json_each(?)`` makes rows."""

    __slots__ = ()

    def __conform__(self, _: Any) -> str:
        """Return the JSON text that SQLite binds."""
        return json.dumps(self)


class Cursor(Protocol):
    """Runs statements, and returns the rows of the last one, reading them lazily."""

    @property
    def rowcount(self) -> int:
        """How many rows the last statement changed."""

    def execute(self, sql: str, parameters: Parameters = ..., /) -> "Cursor":
        """Run a statement."""

    def executemany(self, sql: str, parameters: Sequence[Parameters], /) -> "Cursor":
        """Run a statement with each of several parameters."""

    def fetchone(self) -> Any:
        """Return the next row as a tuple; ``None`` after the last one."""

    def fetchall(self) -> list[Any]:
        """Return all remaining rows."""

    def __iter__(self) -> Iterator[Any]:
        """Return the remaining rows, read while they are used."""

    def close(self) -> None:
        """Read no more rows."""


class Connection(Protocol):
    """A connection to a database; each statement is a transaction of its own, unless one was begun."""

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""

    def cursor(self) -> Cursor:
        """Return what runs several statements, one after the other."""

    def execute(self, sql: str, parameters: Parameters = ..., /) -> Cursor:
        """Run a statement."""

    def executemany(self, sql: str, parameters: Sequence[Parameters], /) -> Cursor:
        """Run a statement with each of several parameters."""


@contextmanager
def transaction(connection: Connection, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
    """Make the statements of the block one transaction, which is rolled back if the block fails."""
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
