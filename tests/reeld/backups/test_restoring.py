"""Putting a backup in the place of a database: what is refused, what is kept, and what a crash leaves."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from reel.base.errors import Conflict, Storage
from reeld import app
from reeld.backups import remains
from reeld.backups.comparing import Loss, compare
from reeld.backups.restoring import prepared
from reeld.locks import lock
from tests.reeld.store.making import mode, names, query, size, spoil

_EVENTS = "SELECT id, agent, seq, content FROM events ORDER BY id"


def restore(backup: str, path: str, *, force: bool = False) -> dict[str, Any]:
    """Restore a backup while no daemon runs."""
    told: list[tuple[int, int]] = []
    tell: Callable[[int, int], None] = lambda *done: told.append(done)  # noqa: E731 - two are needed
    with prepared(backup, path, force=force, copied=tell, checked=tell) as prepared_restore:
        return prepared_restore.finish()


def test_what_would_be_lost(path: str, backup: str) -> None:
    """Each agent with events that the backup does not have is named, the largest loss first."""
    difference = compare(path, backup)

    assert [Loss(f"{1:032x}", "agent-1", 2), Loss(f"{4:032x}", "agent-4", 2)] == difference.lost
    assert "lose 4 events that are not in the backup (2 of agent-1, 2 of agent-4)" == str(difference)
    assert not compare(backup, path).lost
    assert not compare(path, path)


def test_an_event_with_another_content(path: str, backup: str) -> None:
    """An event whose content differs counts as one that the backup does not have."""
    query(path, "DROP TRIGGER events_are_never_changed")
    query(path, "UPDATE events SET content = NULL WHERE id = 2")

    assert Loss(f"{1:032x}", "agent-1", 3) in compare(path, backup).lost


def test_an_agent_that_was_removed(path: str, backup: str) -> None:
    """A backup that has an agent which was removed from the database would bring it back."""
    query(path, "DROP TRIGGER events_are_never_deleted")
    query(path, "DELETE FROM events WHERE agent = 2")
    query(path, "DELETE FROM agents WHERE id = 2")

    assert str(compare(path, backup)).endswith(", and bring back agents that were removed (agent-2)")


def test_newer_data_is_not_lost(path: str, backup: str) -> None:
    """A restore that would lose something is refused, and nothing has changed."""
    before, there = query(path, _EVENTS), names(Path(path).parent)

    with pytest.raises(Conflict, match=r"would lose 4 events that are not in the backup .*--force"):
        restore(backup, path)
    assert (before, there) == (query(path, _EVENTS), names(Path(path).parent))


def test_a_forced_restore(path: str, backup: str) -> None:
    """The backup is in the place of the database, private and without a WAL, and the replaced file is kept."""
    before = query(path, _EVENTS)
    Path(backup).chmod(0o644)
    report = restore(backup, path, force=True)

    assert query(backup, _EVENTS) == query(path, _EVENTS)
    assert before == query(report["kept"], _EVENTS)
    assert (3, [2, 2]) == (report["agents"], [loss["events"] for loss in report["lost"]])
    assert 0o600 == mode(path)
    assert {"reel.db", "reel.db.lock", "backups", Path(report["kept"]).name} == names(Path(path).parent)


def test_what_is_in_the_wal_is_kept(path: str, backup: str) -> None:
    """What a daemon that was killed has left in its WAL is in the file that is kept, and not in the new one."""
    killed = sqlite3.connect(path, isolation_level=None)
    killed.execute("UPDATE agents SET title = 'late' WHERE id = 1")
    wal = Path(f"{path}-wal").read_bytes()
    killed.close()
    Path(f"{path}-wal").write_bytes(wal)
    report = restore(backup, path, force=True)

    assert [("late",)] == query(report["kept"], "SELECT title FROM agents WHERE id = 1")
    assert [(None,)] == query(path, "SELECT title FROM agents WHERE id = 1")
    assert 0 == size(f"{path}-wal") if Path(f"{path}-wal").exists() else True


def test_a_database_that_is_missing(path: str, backup: str) -> None:
    """A backup needs no database to replace, nor its directory."""
    Path(path).unlink()
    elsewhere = str(Path(path).parent / "new" / "reel.db")

    assert [None, None] == [restore(backup, place)["kept"] for place in (path, elsewhere)]
    assert query(backup, _EVENTS) == query(elsewhere, _EVENTS)


def test_a_database_that_cannot_be_read(path: str, backup: str) -> None:
    """A damaged database is replaced only on request; it is kept as it is, with its WAL."""
    spoil(path, 1)
    Path(f"{path}-wal").write_bytes(b"rubbish")
    damaged = Path(path).read_bytes()

    with pytest.raises(Conflict, match=r"cannot be read .*--force"):
        restore(backup, path)
    kept = restore(backup, path, force=True)["kept"]
    assert (damaged, b"rubbish") == (Path(kept).read_bytes(), Path(f"{kept}-wal").read_bytes())
    assert query(backup, _EVENTS) == query(path, _EVENTS)


@pytest.mark.parametrize("force", [False, True])
def test_a_damaged_backup(path: str, backup: str, *, force: bool) -> None:
    """A backup that is damaged is refused, unless there is nothing better."""
    query(backup, "DROP INDEX agents_by_name")
    Path(path).unlink()
    if force:
        assert 3 == restore(backup, path, force=True)["agents"]
    else:
        with pytest.raises(Storage, match=r"is damaged \(see reel verify --database"):
            restore(backup, path)
        assert not Path(path).exists()


@pytest.mark.parametrize("content", [b"", b"rubbish " * 999, None, "directory"])
def test_what_is_no_backup(path: str, backup: str, tmp_path: Path, content: bytes | str | None) -> None:
    """An empty file, another one, half a backup or a directory is refused by its name; the database is not blamed."""
    other = tmp_path / "other.db"
    if content == "directory":
        other.mkdir()
    else:
        whole = Path(backup).read_bytes()
        other.write_bytes(whole[: len(whole) // 2] if content is None else os.fsencode(content))
    before = query(path, _EVENTS)

    with pytest.raises(Storage, match=rf"^storage: {other} is not a backup, or is damaged "):
        restore(str(other), path)
    assert before == query(path, _EVENTS)


def test_a_daemon_runs(path: str, backup: str) -> None:
    """A database that a daemon has open is not replaced."""
    with lock(path, "the database"), pytest.raises(Storage, match=r"another reeld is running .*reel stop"):
        restore(backup, path, force=True)


def test_the_database_itself(path: str) -> None:
    """The database is no backup of itself."""
    with pytest.raises(Storage, match="is the database itself"):
        restore(path, path)


def test_a_link(path: str, backup: str) -> None:
    """A link in the place of the database is not followed."""
    Path(path).rename(f"{path}.elsewhere")
    Path(path).symlink_to(f"{path}.elsewhere")

    with pytest.raises(Storage, match="is a link"):
        restore(backup, path, force=True)


def test_a_crash_at_any_step(path: str, backup: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At every step of the exchange there is a whole database at the path: the old one, or the backup."""
    old, new = query(path, _EVENTS), query(backup, _EVENTS)
    seen: list[list[Any]] = []

    def look(_: int) -> None:
        with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as connection:
            seen.append(connection.execute(_EVENTS).fetchall())

    monkeypatch.setattr(os, "fsync", look)
    restore(backup, path, force=True)

    assert all(rows in (old, new) for rows in seen)
    assert (old, new) == (seen[0], seen[-1])


def test_two_restores(path: str, backup: str) -> None:
    """While one restore prepares, another one of the same database is refused, and a start clears nothing away."""
    tell: Callable[[int, int], None] = lambda *_: None  # noqa: E731 - two are needed
    with prepared(backup, path, force=True, copied=tell, checked=tell) as first:
        remains.clear_away(path)
        with pytest.raises(Storage, match=r"another restore goes on in .*; wait for it"):
            restore(backup, path, force=True)
        assert first.finish()["kept"]
    assert not [name for name in names(Path(path).parent) if name.startswith(".reel")]


def test_a_wal_that_is_nowhere_else(path: str, caplog: pytest.LogCaptureFixture) -> None:
    """Second names go when a start clears away; a WAL stays that is no longer beside the database, and it says so."""
    second, wal = f"{path.removesuffix('.db')}-before-x.db", Path(f"{path}-wal")
    for content in (b"", b"lost"):
        wal.write_bytes(b"same")
        os.link(path, second)
        os.link(wal, f"{second}-wal")
        remains.clear_away(path)
        assert {"reel.db", "reel.db-wal", "reel.db.lock"} >= names(Path(path).parent)
        os.link(path, second)
        Path(f"{second}-wal").write_bytes(content)
        remains.clear_away(path)
    assert ["reel-before-x.db-wal"] == [name for name in names(Path(path).parent) if "before" in name]
    assert "it is not the WAL of the database" in caplog.text


def test_what_cannot_be_cleared_away(path: str, caplog: pytest.LogCaptureFixture) -> None:
    """A daemon starts although it cannot clear away, and logs why."""
    Path(path).with_name(".reel-restore-reel.db").write_text("a file")
    app._clear_away(path)

    assert "what is left of a restore cannot be removed" in caplog.text
