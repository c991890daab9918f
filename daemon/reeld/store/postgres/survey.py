"""Examines a database on a server: whether a daemon can use it, and what to do if not.

A daemon does this before it starts, and so does ``reeld --check``: both report the same.
"""

from collections.abc import Iterator
from contextlib import closing

from reel.base.errors import Storage
from reel.base.light_typing import NamedTuple
from reel.daemon.database_url import printable
from reeld.store.connection import Connection, Error, Texts
from reeld.store.postgres.connection import ServerConnection, connect
from reeld.store.postgres.pooler import has_pooler
from reeld.store.postgres.remedies import explained, with_remedy
from reeld.store.postgres.schema import VERSION, missing, newer, version_of
from reeld.store.unavailable import Unavailable

# As two digits for the part after the point, which it is since version 10.
_OLDEST = 13_00_00
_TIME_OUTS = (
    "statement_timeout",
    "lock_timeout",
    "idle_in_transaction_session_timeout",
    "idle_session_timeout",
    "transaction_timeout",
)
_FOUND = """
    SELECT current_setting('server_version'), current_setting('server_version_num')::bigint, current_user::text,
        current_database()::text, pg_encoding_to_char(encoding)::text, current_setting('search_path'),
        has_database_privilege(current_database(), 'CREATE'), pg_is_in_recovery(),
        current_setting('fsync'), current_setting('synchronous_commit'), current_setting('synchronous_standby_names'),
        (SELECT has_schema_privilege(to_regnamespace(current_setting('search_path'))::oid, 'USAGE')),
        (SELECT has_schema_privilege(to_regnamespace(current_setting('search_path'))::oid, 'CREATE'))
    FROM pg_database WHERE datname = current_database()
"""
_LIMITS = """
    SELECT value, current_setting(value, true) FROM json_each(?) WHERE current_setting(value, true) <> '0'
"""
_DENIED = """
    SELECT relname::text, string_agg(privilege, ', ' ORDER BY privilege)
    FROM pg_class, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS privilege
    WHERE relnamespace = to_regnamespace(?) AND relkind = 'r' AND NOT has_table_privilege(pg_class.oid, privilege)
        AND NOT (relname = 'log' AND privilege IN ('INSERT', 'DELETE'))
    GROUP BY relname
    UNION ALL SELECT relname::text, 'USAGE' FROM pg_class
    WHERE relnamespace = to_regnamespace(?) AND relkind = 'S' AND relname = 'daemons'
        AND NOT has_sequence_privilege(pg_class.oid, 'USAGE')
    ORDER BY 1
"""
# It may be promoted.
_STANDBY = (
    "this server is a standby, which takes no writes; name the primary, or all hosts with"
    " target_session_attrs=read-write"
)
_GRANT = (
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {0} TO {1};"
    " GRANT USAGE ON ALL SEQUENCES IN SCHEMA {0} TO {1}"
)


class Facts(NamedTuple):
    """The facts that were found on a server."""

    version: str
    number: int
    user: str
    database: str
    encoding: str
    schema: str
    may_create_schema: bool
    is_standby: bool
    fsync: str
    synchronous_commit: str
    standbys: str
    # Whether the role may use the schema, and create tables in it; ``None`` if there is no schema.
    may_use: bool | None
    may_create: bool | None
    time_outs: list[tuple[str, str]]
    # The missing privileges, and on what.
    denied: list[tuple[str, str]]
    # The version of the tables, 0 if there are none, and the newest event.
    tables: int
    newest: int
    # What is missing from the tables.
    missing: list[str]
    has_pooler: bool


class Survey(NamedTuple):
    """The findings as sentences: facts, warnings, and problems that keep a daemon from starting."""

    facts: list[str]
    warnings: list[str]
    problems: list[str]


def survey(url: str) -> Survey:
    """Examine a database on a server without changing anything."""
    try:
        return _examine(url)
    except (Error, Storage) as error:
        return Survey([], [], [with_remedy(error)])


def _examine(url: str) -> Survey:
    pooled = has_pooler(url)
    with closing(connect(url, readonly=True, settings={})) as raw:
        return judged(_look(ServerConnection(lambda: raw), has_pooler=pooled), url)


def require_usable(url: str) -> None:
    """Examine a database before it is used.

    Raises:
        Unavailable: a daemon cannot use it now: the server is down, is starting, or is still a standby.
        Storage: a daemon cannot use it; it says what to do.
    """
    try:
        problems = _examine(url).problems
    except (Error, Storage) as error:
        raise explained(error, url) from error
    if problems:
        passes = problems[0] == _STANDBY
        raise (Unavailable if passes else Storage)(f"cannot use {printable(url)}: {problems[0]}")


def _look(connection: Connection, *, has_pooler: bool) -> Facts:
    found = connection.execute(_FOUND).fetchone()
    version, number, user, database, encoding, schema, may_create_schema, is_standby, *others = found
    fsync, commit, standbys, may_use, may_create = others
    tables = newest = 0
    denied: list[tuple[str, str]] = []
    lacking: list[str] = []
    if may_use:
        denied = connection.execute(_DENIED, (schema, schema)).fetchall()
        if ("log", "SELECT") not in [(name, each) for name, rights in denied for each in rights.split(", ")]:
            tables = version_of(connection)
    if tables:
        (newest,) = connection.execute("SELECT newest FROM log").fetchone()
    if tables == VERSION:
        lacking = missing(connection)
    time_outs = connection.execute(_LIMITS, (Texts(_TIME_OUTS),)).fetchall()
    return Facts(
        *(version, number, user, database, encoding, schema, may_create_schema, is_standby, fsync, commit, standbys),
        *(may_use, may_create, time_outs, denied, tables, newest, lacking, has_pooler),
    )


def judged(facts: Facts, url: str) -> Survey:
    """Judge the facts for a daemon."""
    return Survey([*_told(facts)], [*_warnings(facts)], [*_problems(facts, url)])


def _told(facts: Facts) -> Iterator[str]:
    yield f"PostgreSQL {facts.version}, database {facts.database}, user {facts.user}, schema {facts.schema}"
    if facts.tables:
        later = f"; the next start brings them to version {VERSION}" if facts.tables < VERSION else ""
        yield f"the tables are of version {facts.tables}, with events up to {facts.newest}{later}"
    elif facts.may_use is not False and not facts.denied:
        yield "there are no tables yet; the first start makes them"
    yield (
        f"durability: fsync is {facts.fsync}, and synchronous_commit is {facts.synchronous_commit}; reeld sets"
        " synchronous_commit itself"
    )
    if facts.standbys:
        yield f"a commit waits for these standbys: {facts.standbys} (synchronous_standby_names)"
    if facts.has_pooler:
        yield "a pooler is in between; it keeps sessions, as required"


def _warnings(facts: Facts) -> Iterator[str]:
    if facts.fsync == "off":
        yield "fsync is off: a crash of the server's machine may lose or damage everything; turn it on there"
    if facts.time_outs:
        limits = ", ".join(f"{name} = {value}" for name, value in facts.time_outs)
        yield (
            f"the server ends what takes longer, long checks and searches as well: {limits}; to turn one off:"
            f" ALTER ROLE {facts.user} SET {facts.time_outs[0][0]} = 0"
        )
    if facts.missing:
        yield (
            f"the schema {facts.schema} has no {', no '.join(facts.missing)}, or they are disabled; restore the"
            " schema from a backup, or copy everything into a new one (reel copy)"
        )


def _problems(facts: Facts, url: str) -> Iterator[str]:
    user, schema = facts.user, facts.schema
    if facts.number < _OLDEST:
        yield f"the server is PostgreSQL {facts.version}, and reeld needs 13 or newer; upgrade it, or name another one"
    if facts.encoding != "UTF8":
        yield (
            f"the encoding of the database {facts.database} is {facts.encoding}, which cannot store every text; make"
            " one with: createdb --encoding UTF8 --template template0 NAME"
        )
    if facts.is_standby:
        yield _STANDBY
    if facts.tables > VERSION:
        yield newer(facts.tables, url)
    owner = f"ALTER SCHEMA {schema} OWNER TO {user}"
    if facts.may_use is None and not facts.may_create_schema:
        yield (
            f"{user} may not make the schema {schema} in the database {facts.database}; have its owner run:"
            f" CREATE SCHEMA {schema} AUTHORIZATION {user}"
        )
    elif facts.may_use is False:
        yield f"{user} may not use the schema {schema}; have its owner run: GRANT USAGE ON SCHEMA {schema} TO {user}"
    elif facts.denied:
        rights = " and ".join(f"{each} on {name}" for name, each in facts.denied)
        yield f"{user} has no right to {rights}; have their owner run: {_GRANT.format(schema, user)}"
    elif facts.tables < VERSION and facts.may_create is False:
        yield f"{user} may not make tables in the schema {schema}; have its owner run: {owner}"
