"""The method ``backup``: where it writes, and which paths it refuses."""

import sys
from pathlib import Path

import pytest

from reel.base.errors import InvalidParams, Storage
from tests.reeld.serving.conftest import Connect
from tests.reeld.store.making import names, query, size


async def test_what_was_asked_for_before_is_in_it(connect: Connect, tmp_path: Path) -> None:
    """A backup has every command that was answered before it."""
    path = str(tmp_path / "copy.db")
    peer = connect()
    await peer.call("add", "demo", "hi", True)
    written = await peer.call("backup", path)

    report = {"agents": 1, "events": 2, "problems": [], "omitted": 0}
    assert {"path": path, "bytes": size(path), **report} == written
    assert [(None,), ("hi",)] == query(path, "SELECT content FROM events ORDER BY id")


async def test_a_copy_that_cannot_be_checked(connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy gets its name only after it was checked; nothing is left of one that cannot be."""
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no-python"))
    peer, before = connect(), names(tmp_path)

    with pytest.raises(Storage, match=r"cannot be checked: .*No such file or directory"):
        await peer.call("backup", str(tmp_path / "copy.db"))
    assert before == names(tmp_path)


@pytest.mark.parametrize("given", ["copy.db", "", "/tmp/", "~/copy.db", "/tmp/a\0b"])
async def test_a_path_that_names_no_file(connect: Connect, given: str) -> None:
    """A path that would mean another file to the daemon than to its caller is refused."""
    with pytest.raises(InvalidParams):
        await connect().call("backup", given)
