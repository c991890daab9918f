"""How a file becomes a reel database, and which files are refused."""

import logging
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import anyio
import pytest

from reel.base.errors import Storage
from reel.wire.msgpack_codec import packer
from reeld.store import checksums, schema
from reeld.store.checksums import checksum
from reeld.store.schema import APPLICATION_ID, VERSION, migrate, prepare
from reeld.store.store import Store, open_store
from tests.patience import PATIENCE
from tests.reeld.store.making import contents, event, made, mode, pragma, query, said, size, spoil, write

pytestmark = pytest.mark.file

FOUR = tuple(f"CREATE TABLE t{number} (x);" for number in range(4))


@pytest.fixture
def connection(path: str) -> Iterator[sqlite3.Connection]:
    """A connection to a new file."""
    with closing(sqlite3.connect(path, isolation_level=None)) as opened:
        yield opened


def version_and_tables(path: str) -> tuple[int, list[str]]:
    """Return the version of a file, and the tables that migrations made."""
    tables = query(path, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    return query(path, "PRAGMA user_version")[0][0], [name for (name,) in tables]


async def refusal(path: str) -> str:
    """Return the error of opening a store."""
    with anyio.fail_after(PATIENCE):
        try:
            async with open_store(path):
                return "it was opened"
        except Storage as error:
            return error.message


@pytest.fixture
async def used(path: str) -> str:
    """The path of a database that was used and closed."""
    with anyio.fail_after(PATIENCE):
        async with open_store(path) as store:
            await write(store, made(1, *(event(seq, content="x" * 500) for seq in range(2, 100))))
    query(path, "PRAGMA wal_checkpoint(TRUNCATE)")
    return path


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("auto_vacuum", 2),
        ("journal_mode", "wal"),
        ("synchronous", 2),
        ("foreign_keys", 1),
        ("recursive_triggers", 1),
        ("wal_autocheckpoint", 0),
        ("application_id", APPLICATION_ID),
        ("user_version", VERSION),
    ],
)
async def test_the_writing_connection(store: Store, name: str, expected: object) -> None:
    """A new file has incremental vacuum, our application id, and a WAL that is synced at each commit."""
    assert expected == await pragma(store, name)


async def test_a_file_and_its_wal_are_for_their_owner_only(store: Store, path: str) -> None:
    """Whatever the umask is, nobody else can read the files."""
    await write(store, made())
    modes = {name: mode(path + name) for name in ("", "-wal", "-shm")}

    assert {"": 0o600, "-wal": 0o600, "-shm": 0o600} == modes


async def test_a_reader_cannot_write(store: Store) -> None:
    """The connections of readers refuse every write."""
    for reader in store._readers:
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            await reader.run(lambda connection: connection.execute("DELETE FROM agents"))


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE events SET content = 'other'",
        "UPDATE events SET id = 99",
        "DELETE FROM events",
        "INSERT OR REPLACE INTO events SELECT * FROM events",
        "REPLACE INTO events (agent, seq, command, kind, time) SELECT agent, seq, command, kind, time FROM events",
        "UPDATE OR REPLACE events SET seq = 1",
    ],
)
async def test_the_log_is_append_only(store: Store, path: str, sql: str) -> None:
    """Triggers refuse every statement that would change or remove an event."""
    await write(store, made())
    before = query(path, "SELECT * FROM events")

    with pytest.raises(sqlite3.IntegrityError, match="the log is append-only"):
        await store._database.run(lambda connection: connection.execute(sql))
    assert before == query(path, "SELECT * FROM events")


async def test_types_are_held(store: Store) -> None:
    """The tables are strict: a text is not accepted as a seq."""
    await write(store, made())

    with pytest.raises(sqlite3.IntegrityError, match="cannot store TEXT"):
        await store._database.run(lambda connection: connection.execute("UPDATE agents SET head = 'x'"))


def test_migrations_are_applied_in_order(connection: sqlite3.Connection, path: str) -> None:
    """A file of version two gets the third and the fourth migration only."""
    migrate(connection, FOUR[:2])
    migrate(connection, FOUR)

    assert (4, ["t0", "t1", "t2", "t3"]) == version_and_tables(path)


def test_a_migration_that_fails_changes_nothing(connection: sqlite3.Connection, path: str) -> None:
    """The migrations before a failed one stay, and the failed one leaves neither changes nor an open transaction."""
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        migrate(connection, (FOUR[0], "CREATE TABLE half (x); INSERT INTO nowhere VALUES (1);", FOUR[2]))

    assert not connection.in_transaction
    assert (1, ["t0"]) == version_and_tables(path)


def test_an_old_file_is_brought_up_to_date(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening a file of an older version migrates it, with its rows."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        prepare(connection, path)
        connection.execute("INSERT INTO agents VALUES (1, 'u', 'old', NULL, '{}', NULL, NULL, 1, 1, NULL, 0)")
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, "ALTER TABLE agents ADD COLUMN more TEXT;"))
    monkeypatch.setattr(schema, "VERSION", VERSION + 1)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        prepare(connection, path)

    assert [("old", None)] == query(path, "SELECT name, more FROM agents")


def test_keys_of_an_old_file_are_put_in_order(connection: sqlite3.Connection, path: str) -> None:
    """Version two orders keys by their commands' events, not by the clock; a key without a command is the oldest."""
    migrate(connection, schema.MIGRATIONS[:1])
    connection.execute("INSERT INTO agents VALUES (1, 'u', 'old', NULL, '{}', NULL, NULL, 1, 1, NULL, 2)")
    event = "INSERT INTO events (agent, seq, command, kind, time) VALUES (1, ?, ?, 'note', 1)"
    connection.executemany(event, [(1, 1), (2, 2)])
    keys = [("first", 1, 99), ("second", 2, 3), ("lost", 7, 98)]
    connection.executemany("INSERT INTO keys VALUES (?, 1, ?, x'01', x'02', ?)", keys)
    migrate(connection, schema.MIGRATIONS[:2])

    assert ["lost", "first", "second"] == [name for (name,) in query(path, "SELECT key FROM keys ORDER BY id")]
    assert [(1, 2, b"\x01", b"\x02")] == query(path, "SELECT agent, command, digest, reply FROM keys WHERE id = 3")


def test_keys_of_an_old_file_are_for_nobody_in_particular(connection: sqlite3.Connection, path: str) -> None:
    """Version three notes the agent of each key; for older keys the agent is unknown."""
    migrate(connection, schema.MIGRATIONS[:2])
    connection.execute("INSERT INTO agents VALUES (1, 'u', 'old', NULL, '{}', NULL, NULL, 1, 1, NULL, 2)")
    connection.execute("INSERT INTO keys VALUES (7, 'k', 1, 2, x'01', x'02')")
    migrate(connection, schema.MIGRATIONS[:3])

    assert [(7, "k", 1, 2, b"\x01", b"\x02", None, None)] == query(path, "SELECT * FROM keys")


def test_events_of_an_old_file_get_their_checksums(
    path: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Version four gives each event a checksum; the log is append-only again, the WAL empty, the progress logged."""
    monkeypatch.setattr(checksums, "_BATCH", 20)
    monkeypatch.setattr(checksums, "_REPORT_EVERY", 0.0)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        with monkeypatch.context() as older:
            older.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:3])
            prepare(connection, path)
        connection.execute("INSERT INTO agents VALUES (1, 'u', 'old', NULL, '{}', NULL, NULL, 1, 1, NULL, 2)")
        rows = [(number, 1, number, number, "user", "x" * 5000, None, None, None, 1) for number in range(1, 50)]
        connection.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        with caplog.at_level(logging.INFO):
            prepare(connection, path)
        wal = size(f"{path}-wal")

        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            connection.execute("UPDATE events SET content = 'other'")
    assert [(checksum(packer(), row),) for row in rows] == query(path, "SELECT checksum FROM events ORDER BY id")
    assert 0 == wal
    assert [
        f"the file of version 3 is kept in {path.removesuffix('.db')}-version-3-event-49.db",
        f"migrating {path} from version 3 to {VERSION}; a large file takes minutes",
        *(f"events have their checksums up to {last} of 49" for last in (20, 40, 49)),
        f"migrated {path} to version {VERSION}",
    ] == caplog.messages


def test_events_of_an_old_file_lose_their_references(connection: sqlite3.Connection, path: str) -> None:
    """Version six changes how the table of events is declared, for every connection at once, and no row of it."""
    migrate(connection, schema.MIGRATIONS[:5])
    connection.execute("INSERT INTO agents VALUES (1, 'u', 'old', NULL, '{}', NULL, NULL, 1, 1, NULL, 3)")
    insert = "INSERT INTO events VALUES (?, 1, ?, 1, 'user', 'hi', NULL, ?, NULL, 1, -1)"
    connection.executemany(insert, [(number, number, None) for number in (1, 2, 3)])
    before = connection.execute("SELECT * FROM events").fetchall()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("SELECT * FROM events").fetchall()
        migrate(connection, schema.MIGRATIONS[:6])

        for number, writer in enumerate((connection, other), 4):
            writer.execute("PRAGMA foreign_keys = ON")
            writer.execute(insert, (number, number, 99))
            assert [] == writer.execute("SELECT 1 FROM sqlite_sequence WHERE name = 'events'").fetchall()
    assert before == query(path, "SELECT * FROM events")[:3]
    assert [("ok",)] == query(path, "PRAGMA integrity_check")
    (declared,) = connection.execute("SELECT sql FROM sqlite_schema WHERE name = 'events'").fetchone()
    assert (False, False) == ("AUTOINCREMENT" in declared, "REFERENCES" in declared)


async def test_events_of_an_old_file_have_no_origin(path: str) -> None:
    """Versions seven and eight leave the rows of an older file as they are, and their checksums are right."""
    row = (1, 1, 1, 1, "user", "hi", None, None, None, 1)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        migrate(connection, schema.MIGRATIONS[:6])
        connection.execute("INSERT INTO agents VALUES (1, 'u', 'old', NULL, '{}', NULL, NULL, 1, 1, NULL, 1)")
        values = (*row, checksum(packer(), row))
        connection.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
    async with open_store(path) as store:
        state = await store.load(1)

    assert [("hi", None)] == [(entry.content, entry.origin) for entry in state.conversation.entries]


async def test_a_newer_file_is_refused(used: str) -> None:
    """The error names both versions and the remedy, and the file stays as it is."""
    query(used, f"PRAGMA user_version = {VERSION + 3}")
    before = contents(used)

    assert (
        f"{used} was written by a newer reeld (its version is {VERSION + 3}, we know {VERSION});"
        " install that version, or name another file with --database"
    ) == await refusal(used)
    assert before == contents(used)


@pytest.mark.parametrize(("durability", "expected"), [("full", 2), ("normal", 1)])
async def test_durability_sets_synchronous(path: str, durability: str, expected: int) -> None:
    """With ``full`` each commit is synced, with ``normal`` each checkpoint, also in a file that is opened again."""
    with anyio.fail_after(PATIENCE):
        for _ in range(2):
            async with open_store(path, durability) as store:
                assert expected == await pragma(store, "synchronous")
                # On a Mac, whose fsync stops at the disk's cache; a checkpoint always goes further.
                assert (durability == "full", True) == (
                    await pragma(store, "fullfsync"),
                    await pragma(store, "checkpoint_fullfsync"),
                )


async def test_a_file_that_was_just_begun(path: str) -> None:
    """A file whose first start was cut short before its first table is treated as new."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for pragma_of_ours in schema._WRITER_PRAGMAS:
            connection.execute(f"PRAGMA {pragma_of_ours}")
    async with open_store(path) as store:
        await write(store, made())

        assert (2, VERSION) == (await pragma(store, "auto_vacuum"), await pragma(store, "user_version"))


@pytest.mark.parametrize("version", range(1, VERSION))
async def test_a_file_whose_tables_were_just_begun(path: str, version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file whose first start was cut short between two of its tables is treated as new, also on a full disk.

    Nothing is in it, so nothing is kept of it.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        migrate(connection, schema.MIGRATIONS[:version])
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_bavail=0, f_frsize=1))
    async with open_store(path) as store:
        await write(store, made())

        assert VERSION == await pragma(store, "user_version")
    assert [] == [found.name for found in Path(path).parent.glob("*-version-*")]


@pytest.mark.parametrize("sql", ["CREATE TABLE bookmarks (x)", "PRAGMA application_id = 7", "PRAGMA user_version = 1"])
async def test_a_foreign_file_is_refused(path: str, sql: str) -> None:
    """Another program's database is not changed, not even its journal mode."""
    query(path, sql)
    before = contents(path)

    assert (f"{path} is another program's database; name a file of reel's own with --database") == await refusal(path)
    assert before == contents(path)


async def test_a_file_that_is_no_database_is_refused(path: str) -> None:
    """A text file is refused: it is not a database."""
    await anyio.Path(path).write_text("Dear diary, " * 200)

    assert (
        f"{path} is damaged or not an SQLite database (file is not a database);"
        " move it away with its -wal and -shm, and put a backup in its place"
    ) == await refusal(path)


@pytest.mark.parametrize("length", [10, 50, 100, 1000, 4096, 4097, 40_000])
async def test_a_truncated_file_is_refused(used: str, length: int) -> None:
    """A truncated file is reported as damaged, wherever it was cut."""
    os.truncate(used, length)

    assert "move it away with its -wal and -shm, and put a backup in its place" in await refusal(used)


@pytest.mark.parametrize("table", ["events", "sqlite_sequence", "sqlite_master"])
async def test_a_damaged_file_is_refused(used: str, table: str) -> None:
    """A page of rubbish at the root of a table is found when the file is opened."""
    sql = "SELECT 1" if table == "sqlite_master" else f"SELECT rootpage FROM sqlite_master WHERE name = '{table}'"
    page = query(used, sql)[0][0]
    spoil(used, page, at=100 if page == 1 else 0)

    assert "move it away with its -wal and -shm, and put a backup in its place" in await refusal(used)


async def test_a_directory_is_refused(tmp_path: Path) -> None:
    """A path that cannot be opened is refused, with the name and the reason."""
    assert f"cannot open {tmp_path}: Is a directory" in await refusal(str(tmp_path))


async def test_a_pipe_is_refused(path: str) -> None:
    """What is neither a file nor a directory is refused as such, and keeps its mode."""
    os.mkfifo(path, 0o644)

    assert f"cannot open {path}: it is not a regular file" == await refusal(path)
    assert 0o644 == mode(path)


async def test_a_symbolic_link_is_refused(tmp_path: Path, path: str) -> None:
    """A symbolic link in place of a database is refused, and nothing is made where it leads."""
    await anyio.Path(path).symlink_to(tmp_path / "elsewhere.db")

    assert f"cannot open {path}: it is a symbolic link; name the file itself" == await refusal(path)
    assert not await anyio.Path(tmp_path / "elsewhere.db").exists()


async def test_a_file_without_room_for_its_wal_is_refused(path: str) -> None:
    """A path of the database's files that is not a regular file is named in the error."""
    await anyio.Path(path + "-wal").mkdir()

    assert f"cannot open {path}-wal: Is a directory" == await refusal(path)


async def test_a_file_that_sqlite_cannot_use_is_refused(path: str) -> None:
    """An operation that SQLite refuses is reported in SQLite's words."""
    await anyio.Path(path + "-journal").mkdir()

    assert f"cannot use {path}: " in await refusal(path)


async def test_a_directory_that_cannot_be_made_is_refused(path: str) -> None:
    """A file in place of the directory is named in the error."""
    await anyio.Path(path).touch()

    assert f"cannot open {path}: File exists" == await refusal(f"{path}/reel.db")


async def test_a_used_file_can_be_opened_again(used: str) -> None:
    """A reopened database has what was written, and takes more."""
    with anyio.fail_after(PATIENCE):
        async with open_store(used) as store:
            (ids,) = await write(store, said(1, event(100)))

    assert [100] == ids
