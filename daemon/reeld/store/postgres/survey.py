"""What there is on a server before a daemon uses it: for ``reeld --check``."""

from contextlib import closing
from typing import NamedTuple

from reel.errors import Storage
from reeld.store.connection import Error
from reeld.store.postgres.connection import ServerConnection, connect
from reeld.store.postgres.schema import VERSION, require_known, version_of

# As two digits for the part after the point, which it is since version 10.
_OLDEST = 13_00_00
_FOUND = """
    SELECT current_setting('server_version'), current_setting('server_version_num')::bigint, current_user,
        current_database(), current_setting('search_path'),
        has_database_privilege(current_database(), 'CREATE'), pg_is_in_recovery(),
        current_setting('synchronous_commit'), current_setting('fsync'), current_setting('statement_timeout')
"""


class Survey(NamedTuple):
    """What was found, as sentences, and whether a daemon can use it."""

    lines: list[str]
    is_usable: bool


def survey(url: str) -> Survey:
    """Look at a database on a server, and change nothing."""
    try:
        with closing(connect(url, readonly=True, settings={})) as raw:
            return _survey(ServerConnection(lambda: raw), url)
    except (Error, Storage) as error:
        return Survey([f"cannot be used: {error.message if isinstance(error, Storage) else error}"], is_usable=False)


def _survey(connection: ServerConnection, url: str) -> Survey:
    version, number, user, database, schema, may_create, is_standby, commit, fsync, limit = connection.execute(
        _FOUND
    ).fetchone()
    lines = [f"PostgreSQL {version}, database {database}, user {user}, schema {schema}"]
    problems = []
    if number < _OLDEST:
        problems.append("reeld needs PostgreSQL 13 or newer")
    if is_standby:
        problems.append("this server is a standby, which takes no writes; name the primary")
    found = version_of(connection)
    require_known(found, url)
    if found:
        (newest,) = connection.execute("SELECT newest FROM log").fetchone()
        about = "" if found == VERSION else f"; the next start brings them to version {VERSION}"
        lines.append(f"the tables are of version {found}, with events up to {newest}{about}")
    else:
        lines.append("there are no tables yet; the first start makes them")
        (exists,) = connection.execute("SELECT to_regnamespace(?) IS NOT NULL", (schema,)).fetchone()
        if not (may_create or exists):
            problems.append(f"{user} may not make them: CREATE SCHEMA {schema} AUTHORIZATION {user}")
    lines.append(f"durability: fsync is {fsync}, and synchronous_commit is {commit}; reeld sets the second for itself")
    if limit != "0":
        lines.append(f"statements are ended after {limit} (statement_timeout), long checks as well")
    return Survey([*lines, *(f"problem: {problem}" for problem in problems)], is_usable=not problems)
