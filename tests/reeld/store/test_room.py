"""What needs much room is refused before it begins, with the numbers, and nothing has changed."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reel.base.errors import Storage
from reeld.store import room, schema
from reeld.store.backup import keep_copy
from reeld.store.erasures import Change, room_for
from reeld.store.store import Store, open_store
from reeld.store.unavailable import Unavailable
from tests.reeld.store.making import names, open_connection
from tests.reeld.store.test_eraser import ORDER, filled

pytestmark = pytest.mark.file


@pytest.fixture
def no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the disk look nearly full."""
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_bavail=1 << 20, f_frsize=1))


@pytest.mark.usefixtures("no_room")
async def test_no_room_for_a_backup(store: Store, tmp_path: Path) -> None:
    """A backup that does not fit is not begun."""
    before = names(tmp_path)
    with pytest.raises(Storage, match=r"no copy was written to .*: it needs \d+ bytes of room .* 1048576 are free"):
        await store.backup(str(tmp_path / "copy.db"))

    assert before == names(tmp_path)


@pytest.mark.usefixtures("no_room")
async def test_no_room_for_an_erasure(store: Store) -> None:
    """An erasure for which there is no room is not begun."""
    await filled(store)
    with pytest.raises(Storage, match=r"nothing was erased: it needs \d+ bytes of room on .*, and 1048576 are free"):
        await store.eraser.stage(ORDER, [])

    assert [] == await store.read(lambda opened: opened.execute("SELECT * FROM erasures").fetchall())


@pytest.mark.usefixtures("no_room")
@pytest.mark.parametrize("version", [2, schema.VERSION - 1])
def test_no_room_for_a_migration(path: str, version: int) -> None:
    """The file stays as it was, and who starts the daemon is told that it may be possible later."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
        schema.migrate(connection, schema.MIGRATIONS[:version])
        connection.execute("INSERT INTO agents VALUES (1, 'u', 'old', NULL, '{}', NULL, NULL, 1, 1, NULL, 1)")
        with pytest.raises(Unavailable, match=r"it needs \d+ bytes of room .* make room"):
            schema.prepare(connection, path)

        assert (version,) == connection.execute("PRAGMA user_version").fetchone()
    assert [] == [*Path(path).parent.glob("*-version-*")]


def _size(store: Store) -> int:
    return Path(store.path).stat().st_size


@pytest.mark.parametrize("of_each", [{"is_gone": True}, {"ref": "r" * 256}, {"content": "x" * 60, "ref": "r"}])
async def test_what_an_erasure_takes_beside_the_log(store: Store, of_each: dict[str, Any]) -> None:
    """However many events are erased, and whatever their ids, the room that is asked for is more than the file grows.

    Without the margin, which is for the WAL and for what happens meanwhile.
    """
    changes = [Change((1 << 33) + number, **of_each) for number in range(10_000)]
    before = _size(store)
    await store.eraser.stage(ORDER, changes)

    assert _size(store) - before < room_for(changes) - room.MARGIN


def test_a_copy_of_a_version_before_it(path: str, tmp_path: Path) -> None:
    """A start that continues an interrupted migration keeps no second copy: the first one has everything."""
    with open_connection(path) as connection:
        connection.execute("CREATE TABLE events (id)")
        first = keep_copy(connection, path, 1)  # type: ignore[arg-type]  # it is SQLite's
        second = keep_copy(connection, path, 4)  # type: ignore[arg-type]
        connection.execute("INSERT INTO events VALUES (7)")
        third = keep_copy(connection, path, 4)  # type: ignore[arg-type]

    assert (first, True) == (second, third != first)
    assert {"reel.db", Path(first).name, Path(third).name} == names(tmp_path)


async def test_room_on_a_disk(path: str, tmp_path: Path) -> None:
    """There is room in the directory of a database, and beside it."""
    async with open_store(path):
        assert room.free_room(path) > 0
    assert room.free_room(str(tmp_path)) > 0
