"""What is said to a PostgreSQL server: translated statements, escaped texts, and URLs without passwords."""

from collections.abc import Iterable, Iterator
from contextlib import closing, nullcontext
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.base.errors import Storage
from reel.daemon.database_url import has_password, is_url, printable
from reel.wire.msgpack_codec import packer
from reeld.store.checksums import checksum
from reeld.store.connection import Numbers, Texts
from reeld.store.postgres import exclusion
from reeld.store.postgres.arrays import Blobs, Integers, Strings
from reeld.store.postgres.connection import ServerConnection
from reeld.store.postgres.dialect import escaped, only_reads, translated, unescaped
from reeld.store.postgres.schema import prepare
from reeld.store.postgres.writer import ServerEventWriter
from reeld.store.sealed import change_key
from reeld.store.store import open_store
from tests.daemon import until
from tests.patience import PATIENCE
from tests.postgres import own_schema, server_connection
from tests.reeld.store.making import event, made, said, write


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT a FROM t WHERE b = ? AND c = :name", "SELECT a FROM t WHERE b = %s AND c = %(name)s"),
        ("SELECT '?:x%', d::text, 5 % 2", "SELECT '?:x%%', d::text, 5 %% 2"),
        ("BEGIN IMMEDIATE", "BEGIN"),
        ("x IN (SELECT value FROM json_each(:seqs))", "x IN (SELECT value FROM unnest(%(seqs)s) AS listed (value))"),
        ("x IN ()", "x IN (NULL)"),
        ("a CROSS JOIN b ON c", "a JOIN b ON c"),
        ("instr(lower(x), ?) > 0", "strpos(lower(x), %s) > 0"),
        ("group_concat(x, ',')", "string_agg(x, ',')"),
        ("length(CAST(a || b AS BLOB))", "octet_length(a || b)"),
    ],
)
def test_statements_are_translated(sql: str, expected: str) -> None:
    """What SQLite says otherwise is translated; literals stay as they are."""
    assert expected == translated(sql)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (" SELECT 1", True),
        ("\nWITH a AS (SELECT 1) SELECT * FROM a", True),
        ("WITH a AS (VALUES (1)) UPDATE t SET b = 1", False),
        ("INSERT INTO t VALUES (1) RETURNING id", False),
        ("COMMIT", False),
    ],
)
def test_what_only_reads(sql: str, expected: bool) -> None:
    """A query waits until somebody asks for its rows; a change does not."""
    assert expected == only_reads(sql)


TEXTS = st.text(st.characters(codec="utf-8") | st.sampled_from("\0\1\0021 "), max_size=6)


@given(TEXTS, TEXTS)
def test_any_text_can_be_stored(one: str, other: str) -> None:
    """A stored text has no NUL, is read as what it was, and has its place in the order of texts."""
    assert "\0" not in escaped(one)
    assert one == unescaped(escaped(one))
    assert (one < other) == (escaped(one) < escaped(other))
    assert (one in other) <= (escaped(one) in escaped(other))


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgresql://ada:secret@host:5432/reel", "postgresql://ada@host:5432/reel"),
        ("postgres://ada:s%40@a:1,b:2/reel?password=x&sslmode=require", "postgres://ada@a:1,b:2/reel?sslmode=require"),
        ("postgresql://ada:a/b@host/reel?sslpassword=x", "postgresql://ada@host/reel"),
        ("postgresql:///reel?host=%2Frun", "postgresql:///reel?host=%2Frun"),
        ("postgresql://", "postgresql://"),
        ("/home/ada/reel.db", "/home/ada/reel.db"),
    ],
)
def test_a_password_is_not_printed(url: str, expected: str) -> None:
    """What is printed of a URL has no password, and otherwise says what it said."""
    assert expected == printable(url)
    assert (expected != url) == has_password(url)
    assert url.startswith("postgres") == is_url(url)


@pytest.fixture
def server() -> Iterator[ServerConnection]:
    """A connection to tables of the test's own."""
    with own_schema() as url, closing(server_connection(url)) as connection:
        yield connection


@pytest.mark.slow
@pytest.mark.parametrize(
    "values",
    [
        Texts(["a", '"', "\\", "%s ?", "\0{}", "NULL", ""]),
        Numbers([1, -(1 << 63)]),
        Texts(),
        Strings(["a", None, "\0", ""]),
        Integers([None, 1, None]),
        Blobs([b"\0\xff", None, b""]),
    ],
)
def test_a_list_is_an_array(server: ServerConnection, values: Iterable[Any]) -> None:
    """A statement gets a list of any length as one parameter, and makes rows of it."""
    found = [value for (value,) in server.execute("SELECT value FROM json_each(?)", (values,))]

    assert [*values] == found


@pytest.mark.slow
@pytest.mark.parametrize("is_in_pipeline", [True, False])
def test_rows_of_a_query(server: ServerConnection, is_in_pipeline: bool) -> None:
    """A query has its rows, also in a pipeline, whose results come later; a change has none."""
    with server.pipeline() if is_in_pipeline else nullcontext():
        changed = server.execute("SET lock_timeout = 0")
        one, several = server.execute("SELECT 1").fetchone(), server.cursor().execute("SELECT 1 UNION SELECT 2")
        assert ((1,), [(1,), (2,)]) == (one, sorted(several.fetchall()))
        assert (None, []) == (changed.fetchone(), changed.fetchall())


def test_an_older_daemon_redacts_what_a_key_repeats(server: ServerConnection) -> None:
    """It knows of no checksum, so the key has none any more; what this version changes has the one that it writes."""
    prepare(server, "postgresql:")
    server.execute("INSERT INTO agents VALUES (1, 'u', 'a', NULL, '{}', NULL, NULL, 1, 1, NULL, 1)")
    pack = packer()
    for name in ("one", "two"):
        row = (name, 1, 1, b"digest", b"reply", "a", 1)
        columns = "key, agent, command, digest, reply, address, about, checksum"
        insert = f"INSERT INTO keys ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        server.execute(insert, (*row, checksum(pack, row)))
    server.execute("UPDATE keys SET reply = ?, address = 'b' WHERE key = 'one'", (b"other",))
    server.execute("BEGIN")
    change_key(server.cursor(), 2, b"other", "b", pack)
    server.execute("COMMIT")
    stored = server.execute("SELECT checksum FROM keys ORDER BY id").fetchall()

    assert [(None,), (checksum(pack, ("two", 1, 1, b"digest", b"other", "b", 1)),)] == stored


async def test_a_look_that_began_before_does_not_count() -> None:
    """Who asks while a look for others is under way waits for the next one."""
    answered = "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'SELECT newest = %' AND state = 'idle'"
    with own_schema() as url:
        async with open_store(url) as store, anyio.create_task_group() as tasks:
            with closing(server_connection(url)) as other:
                tasks.start_soon(store.be_current)
                for _ in range(6):
                    await anyio.lowlevel.checkpoint()  # the look begins
                until(lambda: bool(other.execute(answered).fetchall()))  # and its answer is not seen yet
                # As if from this daemon, so that no notification helps.
                writer = ServerEventWriter(other, "")
                writer.daemon = store.channel.daemon if store.channel else 0
                (outcome,) = writer.commit(other, [made(1)])
                assert not isinstance(outcome, Exception), outcome
                await store.be_current()

            assert 1 == store.writer.newest


@pytest.mark.slow
def test_another_daemon_writes_between_two_commits() -> None:
    """A daemon that expects to be alone notices under the lock what another one wrote, and writes behind it."""
    with own_schema() as url, closing(server_connection(url)) as one, closing(server_connection(url)) as two:
        prepare(one, url)
        writer, other = (ServerEventWriter(each, "") for each in (one, two))
        outcomes = [
            *writer.commit(one, [made(1)]),
            *writer.commit(one, [said(1, event(2))]),
            *other.commit(two, [made(2)]),
            *writer.commit(one, [said(1, event(3))]),
        ]

        assert [[1], [2], [3], [4]] == outcomes
        assert {2} == writer.take_moved()


@pytest.mark.slow
async def test_a_start_beside_another_daemon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon that starts while another one is there waits for nothing if no erasure was interrupted."""
    monkeypatch.setattr(exclusion, "_PAUSE", PATIENCE)
    with own_schema() as url, anyio.fail_after(PATIENCE):
        async with open_store(url), open_store(url) as store:
            assert [[1]] == await write(store, made(1))


def lose(connection: ServerConnection, url: str) -> int:
    """End a connection at the server; return the number of its process there."""
    (process,) = connection.execute("SELECT pg_backend_pid()").fetchone()
    with closing(server_connection(url)) as other:
        other.execute("SELECT pg_terminate_backend(CAST(? AS integer), 60000)", (process,)).fetchall()
    return int(process)


@pytest.mark.slow
@pytest.mark.parametrize("fails", [False, True], ids=["finds less", "fails"])
async def test_a_job_reads_from_one_server(fails: bool) -> None:
    """A job whose connection is lost begins again on the new one, whose server may lack what the job has found."""
    begun: list[int] = []

    with own_schema() as url, anyio.fail_after(PATIENCE):

        def job(connection: ServerConnection) -> tuple[int, int]:
            (first,) = connection.execute("SELECT pg_backend_pid()").fetchone()
            begun.append(first)
            if len(begun) == 1:
                lose(connection, url)
            (second,) = connection.execute("SELECT pg_backend_pid()").fetchone()
            if fails and first != second:
                raise TypeError
            return first, second

        async with open_store(url) as store:
            one, other = await store.read(job)

    assert one == other == begun[1]
    assert 2 == len(begun)


@pytest.mark.slow
async def test_a_connection_that_is_lost_again_and_again() -> None:
    """A job whose connection is lost once more is refused, and the next one is done."""
    with own_schema() as url, anyio.fail_after(PATIENCE):

        def job(connection: ServerConnection) -> Any:
            lose(connection, url)
            return connection.execute("SELECT 1").fetchone()

        async with open_store(url) as store:
            with pytest.raises(Storage, match="the connection was lost again and again"):
                await store.read(job)

            assert (1,) == await store.read(lambda connection: connection.execute("SELECT 1").fetchone())
