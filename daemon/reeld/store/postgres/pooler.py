"""Detects a pooler between a daemon and its server, and whether each connection keeps its session, as a daemon needs.

Locks, settings, prepared statements and channels belong to a session. A pooler that gives the session to another
connection after each transaction silently breaks all of them.
"""

from contextlib import closing

from reel.base.errors import Storage
from reeld.store.postgres.connection import ServerConnection, open_raw

SESSIONS = "let each connection keep its session (in PgBouncer: pool_mode = session)"
# How often two connections try to get the same session. The first attempt succeeds, unless others use the pool.
_ROUNDS = 5


def has_pooler(url: str) -> bool:
    """Return whether there is a pooler: it reports another process id than the server does.

    The connections have no settings, because a pooler may give their sessions to another program.

    Raises:
        ServerError: the server cannot be reached.
        Storage: the pooler shares a session among connections.
    """
    with closing(ServerConnection(lambda: open_raw(url))) as first:
        if first.raw.info.backend_pid == _process(first):
            return False
        with closing(ServerConnection(lambda: open_raw(url))) as second:
            if any(_meet(first, second) for _ in range(_ROUNDS)):
                raise Storage(
                    f"a pooler in between gives one session of the server to several connections in turns; {SESSIONS},"
                    " or connect to the server itself"
                )
    return True


def _meet(first: ServerConnection, second: ServerConnection) -> bool:
    """Whether the first connection leaves its session to the second one, which holds it for a transaction."""
    before = _process(first)
    second.send("BEGIN")
    held, after = _process(second), _process(first)
    second.send("ROLLBACK")
    return held in {before, after} or before != after


def _process(connection: ServerConnection) -> int:
    """Return the number of the server's process behind a connection."""
    (number,) = connection.send("SELECT pg_backend_pid()").fetchone() or (0,)
    return int(number)
