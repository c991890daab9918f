"""Moving a database from a file to a server, or from a server to a file: opening the two, and copying."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import Any

from reel.base.errors import Conflict, InvalidParams, Storage
from reel.base.installation import install_command
from reel.daemon.database_url import is_url, printable
from reeld.locks import lock_database
from reeld.startup import StartupError
from reeld.store.connection import Error
from reeld.store.copying import End, Tell, copy
from reeld.store.opening import opening
from reeld.store.room import MARGIN, require_room
from reeld.store.schema import prepare


def move(source: str, target: str, copied: Tell, compared: Tell) -> dict[str, Any]:
    """Copy a database to another one; return a summary.

    Args:
        source: the path of a file, or the URL of a database on a server, to copy from.
        target: the path or URL to copy to.
        copied: called with how many events have been copied, and with their total.
        compared: called with how many events have been compared, and with their total.

    Raises:
        Conflict: the target is not empty, or a daemon uses the database on the server.
        InvalidParams: both are files, or both are on a server.
        Storage: one of them cannot be used; the message says what to do.
    """
    if is_url(source) == is_url(target):
        tool = "pg_dump and pg_restore" if is_url(source) else "reel backup"
        raise InvalidParams(f"copy goes from a file to a server, or from a server to a file; use {tool}")
    with _reading(source) as ours, _writing(target) as theirs:
        if not is_url(target):  # the disk of a server cannot be looked at
            needed = max(ours.size() - theirs.size(), 0) + MARGIN
            require_room(os.path.dirname(target), needed, f"nothing was copied to {target}")
        done = copy(ours, theirs, copied, compared)
    return {"from": printable(source), "to": printable(target), "rows": done.rows, "hash": done.hash}


@contextmanager
def _reading(database: str) -> Iterator[End]:
    if not is_url(database):
        if not os.path.lexists(database):
            raise Storage(f"there is no file {database}; name the database with --from")
        with _file(database) as end:
            yield end
        return
    with _server(database, readonly=True) as end:
        yield end


@contextmanager
def _writing(database: str) -> Iterator[End]:
    with _server(database, readonly=False) if is_url(database) else _file(database) as end:
        yield end


@contextmanager
def _file(path: str) -> Iterator[End]:
    """Open a file that no daemon has open; migrate an older one, as a daemon would."""
    try:
        with lock_database(path), opening(path), closing(sqlite3.connect(path, isolation_level=None)) as opened:
            prepare(opened, path)
            yield End(opened, path)
    except StartupError as error:
        raise Storage(str(error)) from error


@contextmanager
def _server(url: str, *, readonly: bool) -> Iterator[End]:
    try:
        # psycopg is needed only with a server.
        from reeld.store.postgres import connection as servers  # noqa: PLC0415
        from reeld.store.postgres import exclusion, schema  # noqa: PLC0415
        from reeld.store.postgres.copying import ServerEnd  # noqa: PLC0415
        from reeld.store.postgres.remedies import explained  # noqa: PLC0415
        from reeld.store.postgres.survey import require_usable  # noqa: PLC0415
    except ImportError as error:
        raise Storage(
            f"to use {printable(url)}, reeld needs psycopg; install it with: {install_command('postgres')}"
        ) from error
    if not readonly:
        require_usable(url)
    # One snapshot of the source throughout, even if others write to it during the copy.
    settings = {"default_transaction_isolation": "repeatable read" if readonly else "read committed"}
    try:
        connecting = partial(servers.connect, url, readonly=readonly, settings=settings)
        with closing(servers.ServerConnection(connecting)) as opened:
            if not readonly:
                schema.prepare(opened, url)
            elif schema.version_of(opened) != schema.VERSION:
                schema.require_known(schema.version_of(opened), url)
                raise Storage(f"{printable(url)} has no tables of this version; a daemon's start there makes them")
            if not exclusion.wait(opened):
                raise Conflict(f"a daemon uses {printable(url)}; end it, and copy again")
            exclusion.give_back(opened)
            yield ServerEnd(opened, printable(url))
    except Error as error:
        raise explained(error, url) from error
