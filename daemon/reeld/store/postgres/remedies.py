"""Explains failures to use a server, with remedies."""

import re

from reel.database_url import printable
from reel.errors import Storage
from reeld.store.postgres.pooler import SESSIONS

_PGPASS = "put the right one into ~/.pgpass, as host:port:database:user:password; the file needs mode 0600"
_SERVER = "see whether the server runs, and whether it listens at the host and the port of the URL"
_CERTIFICATE = "sslrootcert must name the file with the CA's certificate, and the host be one that the server's has"
# Messages of the server or libpq, and their remedies.
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
    (r"connection slots|too many (?:connections|clients)", "a daemon has up to eight; raise the limit"),
    (r"read-only", "all hosts of the URL are standbys; name the primary as well"),
    (r"[Cc]onnection|server|resolve|host", _SERVER),
)


def explained(error: Exception, url: str) -> Storage:
    """Explain a failure to open a database, with the remedy."""
    return Storage(f"cannot use {printable(url)}: {with_remedy(error)}")


def with_remedy(error: Exception) -> str:
    """Return the message of an error, with the remedy if the server cannot be reached."""
    if isinstance(error, Storage):
        return error.message
    text = str(error).rstrip(".")
    return next((f"{text}; {remedy}" for said, remedy in _REMEDIES if re.search(said, text)), text)
