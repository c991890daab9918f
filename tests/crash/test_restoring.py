"""A restore that is killed leaves a whole database, and what it leaves beside it is cleared away."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest

from reeld.backups.restoring import prepared
from tests.crash.dying_restore import BACKUP, DATABASE, STEP, nothing
from tests.forkserver import ForkedDaemon, ForkServer
from tests.reeld.store.making import names

# The steps between which the files are exchanged; a daemon is started after each of them.
_NAMING = {"os.link", "os.remove", "os.rename", "os.rmdir"}


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    """A server of restores."""
    with ForkServer("tests.crash.dying_restore") as opened:
        yield opened


@pytest.fixture
def origin(directory: Path) -> Path:
    """A directory with a database whose newest event is in the WAL of a daemon that was killed, and an older backup."""
    origin = directory / "origin"
    origin.mkdir()
    daemon = ForkedDaemon(origin).start()
    with daemon.client() as client:
        client.add("demo", "before", create=True)
        client.backup(str(origin / BACKUP))
        client.add("demo", "after")
    daemon.kill()
    for name in names(origin) - {BACKUP, DATABASE, f"{DATABASE}-wal"}:
        (origin / name).unlink()
    return origin


def said(directory: Path) -> list[str]:
    """Return what a daemon finds in the database of a directory, and end it."""
    with closing(ForkedDaemon(directory).start()) as daemon, daemon.client() as client:
        return [record["content"] or "" for record in client.iter_conversation("demo")]


def restored(directory: Path) -> None:
    """Restore the backup of a directory."""
    backup, database = str(directory / BACKUP), str(directory / DATABASE)
    with prepared(backup, database, force=True, copied=nothing, checked=nothing) as restore:
        restore.finish()


def dies_at(server: ForkServer, directory: Path, step: int) -> str:
    """Let a restore die before a step; return what that was, nothing if the restore came to its end."""
    code = server.start({"directory": str(directory), "step": step, "log": f"{directory}.log"}).wait()
    return Path(f"{directory}.{STEP}").read_text() if code else ""


def test_death_at_every_step(server: ForkServer, origin: Path) -> None:
    """After kill -9 at any step, the database is the old one or the backup, and the next start clears the rest away."""
    old, new = ["before", "after"], ["before"]
    events = []
    for step in count(1):
        directory = origin.with_name(f"s{step}")
        shutil.copytree(origin, directory)
        event = dies_at(server, directory, step)
        if not event:
            break
        events.append(event)
        if event in _NAMING:
            found = said(directory)
            assert found in (old, new)
            kept = [name for name in names(directory) if "-before-" in name]
            assert bool(kept) == (found == new)
        else:
            restored(directory)
        assert not [name for name in names(directory) if name.startswith(".reel")]
        assert {1} == {path.stat().st_nlink for path in directory.glob("*.db*")}

    assert set(events) >= _NAMING
    assert new == said(directory)
