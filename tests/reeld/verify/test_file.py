"""Checking a file that is no daemon's."""

import os
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from reel.base.errors import Storage
from reeld.store.schema import VERSION
from reeld.store.store import open_store
from reeld.verify.file import check
from tests.reeld.store.making import event, names, query, sound, write


@pytest.fixture
async def copy(path: str, tmp_path: Path) -> str:
    """A backup of an agent with two messages."""
    copied = str(tmp_path / "copy.db")
    async with open_store(path) as store:
        await write(store, sound(1, event(2), event(3)))
        await store.backup(copied)
    return copied


async def test_a_sound_copy(copy: str, tmp_path: Path) -> None:
    """A sound copy has no problems, and nothing is written beside it."""
    before, told = names(tmp_path), list[tuple[int, int]]()
    report = check(copy, lambda *done: told.append(done))

    assert (1, 3, []) == (report.agents, report.events, report.listed)
    assert before == names(tmp_path)
    assert {3} == {total for _, total in told}


async def test_a_damaged_copy(copy: str) -> None:
    """Damage is told from what is harmless."""
    query(copy, "DROP TRIGGER events_are_never_changed")
    query(copy, "UPDATE events SET content = 'other' WHERE seq = 3")
    report = check(copy)

    assert {"schema", "checksum"} == {found.problem.what for found in report.listed}
    assert 2 == report.damage


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (f"PRAGMA user_version = {VERSION + 1}", "was written by a newer reeld"),
        ("PRAGMA application_id = 7", "is another program's database"),
    ],
)
async def test_a_file_that_is_not_ours(copy: str, change: str, reason: str) -> None:
    """A file that this version cannot read is refused."""
    query(copy, change)

    with pytest.raises(Storage, match=reason):
        check(copy)


def test_a_file_without_tables(tmp_path: Path) -> None:
    """A file that was only begun is refused, and an empty one."""
    (tmp_path / "empty.db").touch()

    with pytest.raises(Storage, match="has no tables yet"):
        check(str(tmp_path / "empty.db"))


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_what_is_no_regular_file(tmp_path: Path, make: Callable[[str], None]) -> None:
    """A directory and a pipe are refused as what they are, and at once."""
    make(path := str(tmp_path / "copy.db"))

    with pytest.raises(Storage, match=f"cannot open {path}: it is not a regular file"):
        check(path)


async def test_a_path_of_any_bytes(copy: str) -> None:
    """A file whose name is not UTF-8 is checked like any other."""
    named = f"{copy}{os.fsdecode(bytes([255]))}"
    await anyio.Path(copy).rename(named)

    assert not check(named).damage
