"""A pass over a file that others read and change meanwhile."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from reel.base.errors import Storage
from reeld.store import sweep as sweeping
from reeld.store.sweep import Ground, Sweep, clean, give_back_room, open_descriptor, open_guard
from reeld.store.wal import checkpoint, truncate_wal
from tests.reeld.store.making import contents, size, spoil
from tests.reeld.store.scrap import Scrap, scrap, words_in

pytestmark = pytest.mark.file

# Turns of a pass after which nothing more is written, so that it ends.
_TURNS = 300


@contextmanager
def ground(path: Path, seed: int = 1) -> Iterator[tuple[Scrap, Ground]]:
    """Make a database, and all that a pass over it needs."""
    with (
        open_descriptor(str(path), os.O_CREAT) as descriptor,
        scrap(str(path), seed, "secure_delete = FAST") as made,
        closing(open_guard(str(path))) as guard,
    ):
        yield made, Ground(str(path), descriptor, guard)


def test_ten_thousand_rows(tmp_path: Path) -> None:
    """Of ten thousand random rows in three tables that were deleted nothing is in any file."""
    with ground(tmp_path / "scrap.db") as (made, place):
        made.fill(10_000)
        made.change(1000)
        gone = made.words()
        made.empty()
        gone -= made.words()
        assert gone & words_in(tmp_path)
        clean(made.connection, place.path, place.descriptor)

        assert len(gone) > 9000
        assert made.words() == words_in(tmp_path)
        assert made.is_sound()


@pytest.mark.parametrize("seed", range(3))
def test_commits_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """What was deleted before is gone at the end, though others wrote between any two pages that were cleared."""
    monkeypatch.setattr(sweeping, "_SLICE", 0)
    monkeypatch.setattr(sweeping, "_LAST", 5)
    with ground(tmp_path / "scrap.db", seed) as (made, place):
        made.fill(3000)
        gone = made.words()
        made.empty()
        gone -= made.words()
        sweep, turns = Sweep(place), 0
        while not sweep.finish(made.connection):
            turns += 1
            for _ in range(10):
                sweep.clear_some()
                if turns < _TURNS:
                    made.change(3)
                    checkpoint(made.connection)

        assert turns > 10
        assert set() == gone & words_in(tmp_path)
        # Pages that were in memory are written again.
        made.change(1000)
        checkpoint(made.connection)
        assert set() == gone & words_in(tmp_path)
        assert made.is_sound()


def test_the_file_does_not_change_while_it_is_held(tmp_path: Path) -> None:
    """Whoever copies the WAL, the file stays as it is until it is let go; commits and readers go on."""
    path = tmp_path / "scrap.db"
    with ground(path) as (made, place), closing(sqlite3.connect(path, isolation_level=None)) as other:
        made.change(100)
        sweep = Sweep(place)
        assert sweep.hold(made.connection)
        before = contents(str(path))
        made.change(100)
        other.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        other.execute("INSERT INTO third VALUES ('other', 'other')")
        checkpoint(made.connection)
        held = contents(str(path))
        sweep.let_go()
        checkpoint(made.connection)

        assert before == held
        assert before != contents(str(path))


def test_somebody_reads_an_old_state(tmp_path: Path) -> None:
    """While a reader needs the WAL the file cannot be held; afterwards it can."""
    path = tmp_path / "scrap.db"
    with ground(path) as (made, place), closing(sqlite3.connect(path, isolation_level=None)) as reader:
        sweep = Sweep(place)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM first").fetchone()
        made.change(100)
        during = sweep.finish(made.connection), sweep.is_held
        with pytest.raises(sqlite3.OperationalError, match="another program reads it"):
            clean(made.connection, place.path, place.descriptor)
        reader.execute("ROLLBACK")

        assert ((False, False), True) == (during, sweep.finish(made.connection))


def test_pages_that_are_damaged(tmp_path: Path) -> None:
    """All other pages are cleared, and the error names those that may have traces."""
    path = tmp_path / "scrap.db"
    with ground(path) as (made, place):
        made.change(1000)
        assert truncate_wal(made.connection, 0)
        spoil(str(path), 5)
        with pytest.raises(Storage, match="pages 5 are damaged"):
            clean(made.connection, place.path, place.descriptor)


def test_room_is_given_back_in_steps(tmp_path: Path) -> None:
    """The file shrinks by what was deleted, and the WAL stays small."""
    path = tmp_path / "scrap.db"
    with ground(path) as (made, place):
        made.fill(10_000)
        truncate_wal(made.connection, 0)
        before = size(str(path))
        made.empty()
        truncate_wal(made.connection, 0)
        (free,) = made.connection.execute("PRAGMA freelist_count").fetchone()
        given = [size(f"{path}-wal")]
        while give_back_room(made.connection):
            given.append(size(f"{path}-wal"))
            truncate_wal(made.connection, 0)
        clean(made.connection, place.path, place.descriptor)

        assert size(str(path)) < before / 4
        assert free // 256 == len(given) - 1
        assert max(given) < 4 << 20
