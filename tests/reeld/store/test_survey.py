"""What is found on a server before a daemon uses it, and what is said about it."""

import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import anyio
import psycopg
import pytest

from reel.base.errors import Storage
from reeld.store.postgres.connection import ServerError
from reeld.store.postgres.remedies import explained
from reeld.store.postgres.schema import VERSION, prepare
from reeld.store.postgres.survey import Facts, judged, require_usable, survey
from reeld.store.postgres.writer import ServerEventWriter
from reeld.store.store import open_store
from tests.patience import PATIENCE
from tests.postgres import pooler, server_connection, shared
from tests.reeld.store.making import made

URL = "postgresql:///reel"
GOOD = Facts(
    version="15.4",
    number=15_00_04,
    user="ada",
    database="reel",
    encoding="UTF8",
    schema="reel",
    may_create_schema=False,
    is_standby=False,
    fsync="on",
    synchronous_commit="on",
    standbys="",
    may_use=True,
    may_create=True,
    time_outs=[],
    denied=[],
    tables=VERSION,
    newest=7,
    missing=[],
    has_pooler=False,
)


@pytest.fixture
def owner(url: str) -> Iterator["psycopg.Connection[Any]"]:
    """A connection of the tables' owner, which commits each statement; the tables are there."""
    with closing(server_connection(url)) as server:
        prepare(server, url)
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"version": "12.5", "number": 12_00_05},
            "the server is PostgreSQL 12.5, and reeld needs 13 or newer; upgrade",
        ),
        (
            {"encoding": "SQL_ASCII"},
            "the encoding of the database reel is SQL_ASCII, which cannot store every text; make",
        ),
        ({"is_standby": True}, "this server is a standby, which takes no writes; name the primary"),
        ({"tables": VERSION + 1}, f"(their version is {VERSION + 1}, we know {VERSION}); install that version"),
        ({"may_use": None}, "; have its owner run: CREATE SCHEMA reel AUTHORIZATION ada"),
        ({"may_use": False}, "; have its owner run: GRANT USAGE ON SCHEMA reel TO ada"),
        (
            {"denied": [("keys", "DELETE, INSERT")]},
            "ada has no right to DELETE, INSERT on keys; have their owner run: GRANT",
        ),
        ({"tables": 0, "may_create": False}, "ada may not make tables in the schema reel; have its owner run: ALTER"),
    ],
)
def test_what_keeps_a_daemon_from_starting(changes: dict[str, Any], expected: str) -> None:
    """Each problem is one sentence with the value and what to do."""
    (problem,) = judged(GOOD._replace(**changes), URL).problems

    assert expected in problem
    assert ([], []) == judged(GOOD, URL)[1:]


def test_what_to_think_about() -> None:
    """What endangers the data or ends long work is a warning; a daemon starts nevertheless."""
    facts = GOOD._replace(fsync="off", time_outs=[("lock_timeout", "1s")], missing=["agents_by_name", "keys.key"])
    found = judged(facts, URL)

    assert [] == found.problems
    assert [True, True, True] == [
        beginning in warning
        for beginning, warning in zip(
            [
                "fsync is off",
                "the server ends what takes longer, long checks and searches as well: lock_timeout = 1s; to turn",
                "the schema reel has no agents_by_name, no keys.key, or they are disabled; restore",
            ],
            found.warnings,
            strict=True,
        )
    ]


def test_what_is_told_of_a_usable_server() -> None:
    """The version, the tables and what a commit waits for are told, and a pooler that does no harm."""
    told = judged(GOOD._replace(standbys="ANY 1 (b, c)", has_pooler=True), URL).facts

    assert [
        "PostgreSQL 15.4, database reel, user ada, schema reel",
        f"the tables are of version {VERSION}, with events up to 7",
        "durability: fsync is on, and synchronous_commit is on; reeld sets synchronous_commit itself",
        "a commit waits for these standbys: ANY 1 (b, c) (synchronous_standby_names)",
        "a pooler is in between; it keeps sessions, as required",
    ] == told


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ('FATAL: password authentication failed for user "ada"', "put the right one into ~/.pgpass"),
        ("fe_sendauth: no password supplied", "put the right one into ~/.pgpass"),
        ('FATAL: Peer authentication failed for user "root"', "postgresql://ROLE@…"),
        ('FATAL: role "root" does not exist', "make it: createuser NAME"),
        ('FATAL: database "x" does not exist', "make it: createdb --owner ROLE NAME"),
        ('no pg_hba.conf entry for host "10.0.0.1", user "ada", no encryption', "add sslmode=require"),
        ('no pg_hba.conf entry for host "10.0.0.1", user "ada", SSL encryption', "let the server's pg_hba.conf admit"),
        ('server certificate for "db" does not match host name "10.0.0.1"', "sslrootcert must name"),
        ("server does not support SSL, but SSL was required", "turn ssl on in the server"),
        ("FATAL: unsupported startup parameter: options", "ALTER ROLE"),
        ("FATAL: sorry, too many clients already", "a daemon has up to eight; raise the limit"),
        ("session is read-only", "name the primary"),
        ('connection to server at "::1", port 1 failed: Connection refused', "see whether the server runs"),
        ("failed to resolve host 'db': [Errno -2] Name or service not known", "see whether the server runs"),
        ("division by zero", ""),
    ],
)
def test_a_server_that_cannot_be_used(said: str, remedy: str) -> None:
    """What the server or libpq says is followed by what to do."""
    message = explained(ServerError(said), URL).message

    assert message.startswith(f"cannot use {URL}: {said}")
    assert remedy in message
    assert bool(remedy) == ("; " in message)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ada:rose/bud@/reel",
        "postgresql://ada:rose@bud@/reel",
        "postgresql://ada:%zzrosebud@/reel",
        "postgresql://ada:rosebud@/reel?nonsense=1",
    ],
)
def test_a_url_that_cannot_be_read(url: str) -> None:
    """What to do is told; the password is not, which libpq would quote."""
    with pytest.raises(Storage, match="write special characters of its password as %XX") as refused:
        require_usable(url)

    assert not {"bud", "rose"} & {*re.findall("bud|rose", refused.value.message)}


def test_a_url_with_an_unknown_parameter() -> None:
    """Without a password, what libpq says of a URL is told."""
    assert ['invalid URI query parameter: "nonsense"'] == survey("postgresql:///reel?nonsense=1").problems


@pytest.mark.slow
def test_a_role_without_rights(url: str, owner: "psycopg.Connection[Any]") -> None:
    """Whatever is missing is told, with the statement that gives it; after the last of them a daemon starts."""
    owner.execute("CREATE ROLE guest LOGIN")
    guest, runs = url.replace("reel@", "guest@"), []
    try:
        while problems := survey(guest).problems:
            runs.append(problems[0].rpartition(" run: ")[2])
            owner.execute(runs[-1])
        usable = survey(guest)
    finally:
        owner.execute("DROP OWNED BY guest; DROP ROLE guest")

    assert ["GRANT USAGE ON SCHEMA", "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL"] == [
        "".join(re.findall("^GRANT .*? (?:SCHEMA|ALL)", run)) for run in runs
    ]
    assert f"the tables are of version {VERSION}, with events up to 0" in usable.facts


@pytest.mark.slow
async def test_settings_of_a_role(url: str) -> None:
    """A session that is read-only by default does not matter; what ends long statements is told."""
    limited = f"{url}%20-cdefault_transaction_read_only%3Don%20-cstatement_timeout%3D5s"
    async with open_store(limited) as store:
        assert 0 == store.writer.newest

    (warning,) = [each for each in survey(limited).warnings if "fsync" not in each]
    assert "statement_timeout = 5s" in warning


@pytest.mark.slow
def test_what_is_missing_in_the_schema(url: str, owner: "psycopg.Connection[Any]") -> None:
    """A dropped index or constraint and a disabled trigger are named; nothing is missing in new tables."""
    assert [] == [each for each in survey(url).warnings if "schema" in each]
    owner.execute("DROP INDEX agents_by_name")
    owner.execute("ALTER TABLE keys DROP CONSTRAINT keys_about_fkey")
    owner.execute("ALTER TABLE events DISABLE TRIGGER events_are_never_changed")
    (warning,) = [each for each in survey(url).warnings if "schema" in each]

    assert "has no agents_by_name, no keys_about_fkey, no events_are_never_changed, or" in warning


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (
            "transaction",
            "gives one session of the server to several connections in turns; let each connection keep its",
        ),
        ("transaction\nserver_round_robin=1", "gives one session of the server to several connections in turns"),
        ("statement", "transaction blocks not allowed in statement pooling mode; let each connection keep its session"),
    ],
)
def test_a_pooler_that_takes_sessions_away(mode: str, expected: str) -> None:
    """It is found before anything was done through it, however it chooses a session."""
    with pooler(mode) as url:
        (problem,) = survey(url).problems
        with psycopg.connect(url, autocommit=True) as other:
            left = other.execute(
                "SELECT current_setting('search_path'), count(*) FROM pg_locks WHERE locktype = 'advisory'"
            )

            assert ('"$user", public', 0) == left.fetchone()
    assert expected in problem


@pytest.mark.slow
async def test_a_pooler_that_keeps_sessions() -> None:
    """A daemon works through it, and hears of what others commit."""
    with pooler("session") as url:
        async with open_store(url) as store:
            heard = anyio.Event()
            store.writer.report(lambda _moved, _newest: heard.set())
            with closing(server_connection(shared().url)) as other:
                ServerEventWriter(other, "").commit(other, [made(1)])
            with anyio.fail_after(PATIENCE):
                await heard.wait()

        assert any("a pooler is in between" in told for told in survey(url).facts)
    with psycopg.connect(shared().url) as server:
        server.execute("DROP SCHEMA reel CASCADE")


@pytest.mark.slow
def test_an_encoding_that_cannot_store_every_text() -> None:
    """A database with another encoding than UTF8 is refused before anything is made in it."""
    with psycopg.connect(shared().url, autocommit=True) as server:
        server.execute("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
        try:
            (problem,) = survey(shared().url.replace("/postgres?", "/latin?")).problems
        finally:
            server.execute("DROP DATABASE latin")

    assert problem.startswith("the encoding of the database latin is LATIN1")
