"""URLs of databases: recognizing them, and printing them without the password."""

import re
from urllib.parse import unquote

_SCHEMES = ("postgresql://", "postgres://")
_SECRETS = ("password", "sslpassword")
# A user and a password, up to the last @ before the parameters, so that an unencoded password is hidden as well. To
# libpq, a "?" does not begin the parameters if an @ follows before the first "/".
_USER = re.compile(r"://([^:/?@]*):(?:[^/]*@[^?]*|[^?]*|[^/]*)@")


def is_url(database: str) -> bool:
    """Return whether a database is on a server, and not a file."""
    return database.startswith(_SCHEMES)


def has_password(database: str) -> bool:
    """Return whether a URL contains a password."""
    return printable(database) != database


def printable(database: str) -> str:
    """Return a database in printable form: a URL without its passwords, a path unchanged."""
    if not is_url(database):
        return database
    address, question, query = _USER.sub(r"://\1@", database, count=1).partition("?")
    kept = [each for each in query.split("&") if unquote(each.partition("=")[0]) not in _SECRETS]
    return f"{address}{question if kept else ''}{'&'.join(kept)}"
