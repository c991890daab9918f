"""A connection to a server, with the interface of :mod:`sqlite3` that the jobs use.

It uses psycopg's synchronous connection, in a thread of its own, as with SQLite: the same jobs run on both. psycopg's
asyncio connection would require a second version of each job.

A query is sent when its rows are fetched. ``fetchone`` and ``fetchall`` take one round trip; iterating fetches pages
lazily. So a job may read just the beginning of a long path, as with SQLite.

A lost connection is reopened for the next statement that is not inside a transaction.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from itertools import count
from typing import Any, NoReturn, TypeVar

import psycopg
from psycopg import pq
from psycopg.adapt import Buffer, Dumper, Loader
from psycopg.types.numeric import Int8Dumper

from reel.daemon.database_url import has_password
from reeld.store import connection as classes
from reeld.store.connection import Parameters
from reeld.store.postgres.arrays import DUMPERS
from reeld.store.postgres.dialect import escaped, only_reads, translated, unescaped
from reeld.store.postgres.exclusion import ENTER

log = logging.getLogger(__name__)
T = TypeVar("T")
# It warns of each pipeline that a failed statement aborts; the error of that statement already says so.
logging.getLogger("psycopg").setLevel(logging.ERROR)

# Seconds until a server that does not answer counts as gone, unless the URL says otherwise.
_PATIENCE = 10
# An unreachable host is noticed within half a minute, also while sending; without these settings it takes hours.
_ALIVE = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 4, "tcp_user_timeout": 30_000}
# Rows of the first page of a query, and of a later one at most.
_FIRST, _MOST = 64, 512
# The settings of every connection.
_SETTINGS = {
    "client_encoding": "UTF8",
    "default_transaction_isolation": "read committed",
    # SQLite has only nested loops, and the queries are written for them. The planner cannot know how early a walk ends:
    # it would read the whole table of events to walk ten of them.
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "enable_seqscan": "off",
    "jit": "off",
    "cursor_tuple_fraction": "0.01",
}
# The schema `reel`, unless the URL or the role names another one.
_SEARCH_PATH = r"""
    SELECT set_config('search_path', coalesce(
        substring(current_setting('search_path') FROM '^\s*((?!"?\$user|public\M)("[^"]*"|[^",]+?))\s*(?:,|$)'), 'reel'
    ), false)
"""


class ServerError(classes.OperationalError):
    """The server failed or cannot be reached; ``is_lost`` tells whether the connection is gone."""

    is_lost = False


class LostError(ServerError):
    """The connection is gone."""

    is_lost = True


class _TextDumper(Dumper):
    oid = psycopg.adapters.types["text"].oid

    def dump(self, obj: Any) -> Buffer:
        return escaped(obj).encode()


class _TextLoader(Loader):
    def load(self, data: Buffer) -> str:
        return unescaped(str(data, "utf-8"))


def connect(url: str, *, readonly: bool, settings: dict[str, str]) -> "psycopg.Connection[Any]":
    """Open a psycopg connection.

    Args:
        url: says where the database is.
        readonly: whether it only reads.
        settings: more settings than every connection has.

    Raises:
        ServerError: it cannot be opened.
    """
    made = open_raw(url)
    try:
        for kind, dumper in DUMPERS.items():
            made.adapters.register_dumper(kind, dumper)
        made.adapters.register_dumper(str, _TextDumper)
        made.adapters.register_dumper(int, Int8Dumper)
        made.adapters.register_loader("text", _TextLoader)
        wanted = {**_SETTINGS, "default_transaction_read_only": "on" if readonly else "off", **settings}
        with _translating():
            made.execute("".join(f"SET {name} = '{value}'; " for name, value in wanted.items()) + _SEARCH_PATH)
            if not readonly:
                made.execute(ENTER)
    except BaseException:
        made.close()
        raise
    return made


def open_raw(url: str) -> "psycopg.Connection[Any]":
    """Open a connection without any settings.

    Raises:
        ServerError: it cannot be opened.
        DatabaseError: the URL is invalid.
    """
    defaults: dict[str, Any] = {"connect_timeout": _PATIENCE, "application_name": "reeld", **_ALIVE}
    with _translating():
        given = _read(url)
        return psycopg.connect(url, autocommit=True, **{k: v for k, v in defaults.items() if k not in given})


def _read(url: str) -> dict[str, Any]:
    """Parse a URL.

    Raises:
        DatabaseError: it is invalid; unlike libpq's, the message does not contain the password.
    """
    given: dict[str, Any] = {}
    with suppress(psycopg.ProgrammingError) if has_password(url) else nullcontext():
        given = psycopg.conninfo.conninfo_to_dict(url)
    is_read = {"password", "sslpassword"} & {*given} and "@" not in str(given.get("host", ""))
    if has_password(url) and not is_read:
        raise classes.DatabaseError(
            "the URL is invalid; write special characters of its password as %XX, or put the password into ~/.pgpass"
        )
    return given


@contextmanager
def _translating() -> Iterator[None]:
    """Translate errors into the PEP 249 classes that the jobs know; the details are left out, as they quote content."""
    try:
        yield
    except psycopg.Error as error:
        _raise(error)


def _raise(error: psycopg.Error) -> NoReturn:
    text = error.diag.message_primary or _said(error) or type(error).__name__
    state = error.sqlstate or ""
    if isinstance(error, psycopg.IntegrityError):
        raise classes.IntegrityError(text) from error
    # SQLSTATE classes: connection exceptions, and the server shuts down or has crashed; without one, the socket failed.
    is_lost = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError) and not state
    if is_lost or state[:2] == "08" or state in {"57P01", "57P02", "57P03", "57P05"}:
        raise LostError(text) from error
    if isinstance(error, psycopg.OperationalError | psycopg.InternalError):
        raise ServerError(text) from error
    raise classes.DatabaseError(text) from error


def _said(error: psycopg.Error) -> str:
    """Return libpq's message without duplicate lines, because it reports every attempt, and without its advice."""
    lines = (line.removeprefix("connection failed: ") for line in str(error).splitlines() if not line.startswith("\t"))
    return " ".join(" ".join(dict.fromkeys(lines)).split())


class ServerConnection:
    """A connection; see :class:`reeld.store.connection.Connection`.

    Args:
        open_raw: opens a psycopg connection.
    """

    def __init__(self, open_raw: Callable[[], "psycopg.Connection[Any]"]) -> None:
        self._open_raw = open_raw
        self._raw = open_raw()
        # How many times it was opened.
        self.opened = 1
        self._names = count(1)
        # How many queries are being iterated in a transaction of their own.
        self._reading = 0

    @property
    def raw(self) -> "psycopg.Connection[Any]":
        """The psycopg connection, reopened if it was lost."""
        if self._raw.closed:
            self._reading = 0
            self._raw = self._open_raw()
            self.opened += 1
        return self._raw

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        raw = self._raw
        return not (raw.closed or self._reading or raw.info.transaction_status == pq.TransactionStatus.IDLE)

    def cursor(self) -> "Rows":
        """Return what runs several statements."""
        return Rows(self, "", ())

    def execute(self, sql: str, parameters: Parameters = (), /) -> "Rows":
        """Run a statement; a query runs when its rows are fetched."""
        text = translated(sql)
        return Rows(self, text, parameters, None if only_reads(sql) else self.send(text, parameters))

    def executemany(self, sql: str, parameters: Sequence[Parameters], /) -> "Rows":
        """Run a statement with each of several parameters."""
        text = translated(sql)
        return Rows(self, text, (), self.send_each(text, parameters))

    def send(self, sql: str, parameters: Parameters = ()) -> "psycopg.Cursor[Any]":
        """Run a translated statement at once."""
        with _translating():
            return self.raw.execute(sql, parameters)

    def send_query(self, sql: str, parameters: Parameters) -> "psycopg.Cursor[Any]":
        """Run a translated query at once; if the connection turns out to be lost, on a new one."""
        is_alone = not (self._reading or self.in_transaction)
        try:
            return self.send(sql, parameters)
        except LostError:
            if not is_alone:
                raise
            return self.send(sql, parameters)

    def send_each(self, sql: str, parameters: Sequence[Parameters]) -> "psycopg.Cursor[Any]":
        """Run a translated statement with each of several parameters."""
        with _translating():
            cursor = self.raw.cursor()
            cursor.executemany(sql, parameters)
            return cursor

    @contextmanager
    def pipeline(self) -> Iterator[None]:
        """Send the statements of the block without waiting for their results."""
        with _translating(), self.raw.pipeline():
            yield

    def abandon(self, savepoint: str = "") -> None:
        """Roll back what failed in a pipeline, all of it or back to a savepoint.

        After a failure psycopg believes that skipped statements have been prepared. Running this statement makes it
        forget all prepared statements, if its text is new.
        """
        if not self._raw.closed:
            if self.in_transaction:
                self.send(f"ROLLBACK TO {savepoint}" if savepoint else "ROLLBACK")
            self.send(f"DEALLOCATE ALL -- {next(self._names)}")

    def read_whole(self, job: "Callable[[ServerConnection], T]") -> T:
        """Return the result of a job that only reads; if the connection is lost meanwhile, the job begins again, once.

        After a loss the next statement runs on a new connection. That may lead to another server, which lacks what the
        job has already found.
        """
        for is_last in (False, True):
            raw = self.raw
            try:
                result = job(self)
            except Exception as error:
                if self._is_still(raw) or (is_last and isinstance(error, classes.Error)):
                    raise
            else:
                if self._is_still(raw):
                    return result
        raise LostError("the connection was lost again and again")

    def _is_still(self, raw: "psycopg.Connection[Any]") -> bool:
        return self._raw is raw and not raw.closed

    def is_open(self) -> bool:
        """Whether the connection is open, as far as is known without asking the server."""
        with suppress(psycopg.Error):
            self._raw.pgconn.consume_input()
        return not self._raw.closed

    def pages(self, sql: str, parameters: Parameters) -> Iterator[list[Any]]:
        """Yield the rows of a translated query in pages, the first ones small."""
        name, size = f"reel{next(self._names)}", _FIRST
        is_inside = self.in_transaction
        page = self._declare(name, sql, parameters, begins=not (is_inside or self._reading))
        self._reading += not is_inside
        try:
            while True:
                yield page
                if len(page) < size:
                    return
                size = min(4 * size, _MOST)
                with _translating():
                    page = self.send(f"FETCH {size} FROM {name}").fetchall()
        finally:
            self._reading = max(0, self._reading - (not is_inside))
            with suppress(classes.Error):  # after an error the cursor no longer exists
                self.send(f"CLOSE {name}" if is_inside or self._reading else "COMMIT")

    def _declare(self, name: str, sql: str, parameters: Parameters, *, begins: bool) -> list[Any]:
        """Open a cursor, and return its first page: in one round trip, even if a transaction has to be begun."""
        try:
            return self._declare_once(name, sql, parameters, begins=begins)
        except LostError:
            if not begins:
                raise
        return self._declare_once(name, sql, parameters, begins=begins)  # the connection turned out to be lost

    def _declare_once(self, name: str, sql: str, parameters: Parameters, *, begins: bool) -> list[Any]:
        try:
            with self.pipeline():
                if begins:
                    self.send("BEGIN")
                self.send(f"DECLARE {name} NO SCROLL CURSOR FOR {sql}", parameters)
                first = self.send(f"FETCH {_FIRST} FROM {name}")
        except classes.Error:
            if begins and not self._raw.closed:
                self.send("ROLLBACK")
            raise
        with _translating():
            return first.fetchall()

    def close(self) -> None:
        """Close the connection."""
        self._raw.close()


class Rows:
    """The rows of a statement; see :class:`reeld.store.connection.Cursor`."""

    def __init__(
        self,
        connection: ServerConnection,
        sql: str,
        parameters: Parameters,
        cursor: "psycopg.Cursor[Any] | None" = None,
    ) -> None:
        self._connection = connection
        self._sql = sql
        self._parameters = parameters
        self._cursor = cursor
        self._pages: Iterator[list[Any]] | None = None
        # Whether it has rows for certain. In a pipeline psycopg knows that only when it has fetched one.
        self._is_query = cursor is None

    @property
    def rowcount(self) -> int:
        """How many rows the statement changed."""
        return self.run().rowcount

    def run(self) -> "psycopg.Cursor[Any]":
        """Run the statement, if it has not run yet."""
        if self._cursor is None:
            self._cursor = self._connection.send_query(self._sql, self._parameters)
        return self._cursor

    def execute(self, sql: str, parameters: Parameters = (), /) -> "Rows":
        """Run a statement."""
        return self._connection.execute(sql, parameters)

    def executemany(self, sql: str, parameters: Sequence[Parameters], /) -> "Rows":
        """Run a statement with each of several parameters."""
        return self._connection.executemany(sql, parameters)

    def fetchone(self) -> Any:
        """Return the next row; ``None`` also of a statement that has none."""
        cursor = self.run()
        with _translating():
            return cursor.fetchone() if self._is_query or cursor.description else None

    def fetchall(self) -> list[Any]:
        """Return all remaining rows; none of a statement that has none."""
        cursor = self.run()
        with _translating():
            return cursor.fetchall() if self._is_query or cursor.description else []

    def __iter__(self) -> Iterator[Any]:
        """Return the rows, read while they are used."""
        if self._cursor is not None:
            return iter(self.fetchall())
        self._pages = self._connection.pages(self._sql, self._parameters)
        return (row for page in self._pages for row in page)

    def close(self) -> None:
        """Read no more rows."""
        if self._pages is not None:
            self._pages.close()  # type: ignore[attr-defined]  # it is a generator
