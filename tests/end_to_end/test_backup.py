"""Backups as docs/operations.md describes them, while clients write."""

import shutil
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

from tests import documents
from tests.daemon import Daemon, until
from tests.end_to_end.shell import run
from tests.end_to_end.writers import Writers, texts


def test_the_documented_backup(prepared: Daemon, home: Path) -> None:
    """The documented backup ends while clients write, and is one private file with all that was acknowledged before."""
    (backup,) = documents.blocks("operations.md", "## Backups", "sh")
    prepared.start()
    with prepared.client() as client:
        client.add("large", ["x" * 500_000] * 20, create=True)
    with Writers(prepared) as writers:
        before = set(writers.texts)
        run(backup)
        writers.wait_for_more(1)
    prepared.close()
    (copy,) = (home / "backups").iterdir()

    assert 0o600 == stat.S_IMODE(copy.stat().st_mode)
    shutil.copy(copy, prepared.database)
    prepared.start()
    assert "nothing is wrong" in run("reel verify")
    assert before <= texts(prepared)


def test_one_a_day(prepared: Daemon, home: Path) -> None:
    """A daemon that is told where makes a backup when it starts."""
    with prepared.start().client() as client:
        client.add("demo", "precious", create=True)
    prepared.end()
    prepared.options = ["--backup-directory", str(home / "backups")]
    prepared.start()
    with prepared.client() as client:
        until(lambda: client.stats()["scheduled_backup_time"] is not None)
    (backup,) = (home / "backups").glob("*/*.db")

    with closing(sqlite3.connect(backup)) as copy:
        assert [("precious",)] == copy.execute("SELECT content FROM events WHERE kind = 'user'").fetchall()
