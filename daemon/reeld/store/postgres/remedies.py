"""Explains failures to use a server, with remedies."""

import re
from collections.abc import Iterable

from reel.base.errors import Storage
from reel.daemon.database_url import printable
from reeld.store.connection import OperationalError
from reeld.store.postgres.pooler import SESSIONS
from reeld.store.unavailable import Unavailable

_PGPASS = "put the right one into ~/.pgpass, as host:port:database:user:password; the file needs mode 0600"
_SERVER = "see whether the server runs, and whether it listens at the host and the port of the URL"
_CERTIFICATE = "sslrootcert must name the file with the CA's certificate, and the host be one that the server's has"
# Messages of the server or libpq that somebody has to do something about, and what.
_REMEDIES = (
    (r"password authentication failed|no password supplied", _PGPASS),
    (
        r"(?:Peer|Ident) authentication failed",
        "the server knows another role for your user; name it (postgresql://ROLE@…), or make one: createuser NAME",
    ),
    (r"\brole .* does not exist", "make it: createuser NAME"),
    (r"\bdatabase .* does not exist", "make it: createdb --owner ROLE NAME"),
    (r"no encryption", "add sslmode=require to the URL, or let the server's pg_hba.conf admit this connection"),
    (r"pg_hba\.conf", "let the server's pg_hba.conf admit this user from this host"),
    (r"certificate", _CERTIFICATE),
    (r"does not support SSL", "turn ssl on in the server, or leave sslmode out of the URL"),
    (
        r"unsupported startup parameter: options",
        "a pooler refuses it; name the schema with ALTER ROLE … SET search_path = … in its place",
    ),
    (r"statement pooling mode", SESSIONS),
    (r"\binvalid (?:port number|\w+ value)", "correct the URL"),
)
# Messages of what may pass by itself.
_PASSING = (
    (r"connection slots|too many (?:connections|clients)", "a daemon has up to eight; raise the limit"),
    (r"read-only", "all hosts of the URL are standbys; name the primary as well"),
    (r"[Cc]onnection|server|resolve|host", _SERVER),
)


def explained(error: Exception, url: str) -> Storage:
    """Explain a failure to open a database, with the remedy; the result tells whether it may pass by itself."""
    passes = isinstance(error, OperationalError) and _remedy(error, _REMEDIES) is None
    return (Unavailable if passes else Storage)(f"cannot use {printable(url)}: {with_remedy(error)}")


def with_remedy(error: Exception) -> str:
    """Return the message of an error, with the remedy if the server cannot be reached."""
    if isinstance(error, Storage):
        return error.message
    remedy = _remedy(error, _REMEDIES + _PASSING)
    text = str(error).rstrip(".")
    return text if remedy is None else f"{text}; {remedy}"


def _remedy(error: Exception, remedies: Iterable[tuple[str, str]]) -> str | None:
    return next((remedy for said, remedy in remedies if re.search(said, str(error))), None)
