"""The method ``backup``: where it writes, and which paths it refuses."""

from pathlib import Path

import pytest

from reel.errors import InvalidParams
from tests.reeld.serving.conftest import Connect
from tests.reeld.store.making import query, size


async def test_what_was_asked_for_before_is_in_it(connect: Connect, tmp_path: Path) -> None:
    """A backup has every command that was answered before it."""
    path = str(tmp_path / "copy.db")
    peer = connect()
    await peer.call("add", "demo", "hi", True)
    written = await peer.call("backup", path)

    assert {"path": path, "bytes": size(path)} == written
    assert [(None,), ("hi",)] == query(path, "SELECT content FROM events ORDER BY id")


@pytest.mark.parametrize("path", ["copy.db", "", "/tmp/", "~/copy.db", "/tmp/a\0b"])
async def test_a_path_that_names_no_file(connect: Connect, path: str) -> None:
    """A path that would mean another file to the daemon than to its caller is refused."""
    with pytest.raises(InvalidParams):
        await connect().call("backup", path)
