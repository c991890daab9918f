"""The method ``backup``: where it writes, and which paths it refuses."""

import re
import sys
from pathlib import Path

import anyio
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


async def _refuse_thread(*_: object, **__: object) -> None:
    raise RuntimeError("can't start new thread")


@pytest.mark.parametrize(
    ("python", "says"),
    [
        ("/missing/python", "cannot be checked: /missing/python: No such file or directory"),
        ("", f"cannot be checked: {sys.executable}: can't start new thread"),
        ("/bin/echo", "was not checked: the process printed something else: "),
        ("/bin/false", "was not checked: the process ended with status 1"),
    ],
)
async def test_a_copy_that_cannot_be_checked(
    connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, python: str, says: str
) -> None:
    """A copy gets its name only after it was checked; nothing is left of one that cannot be."""
    if python:
        monkeypatch.setattr(sys, "executable", python)
    else:  # the system allows no more, of processes or of the thread that starts one
        monkeypatch.setattr(anyio, "open_process", _refuse_thread)
    peer, before = connect(), names(tmp_path)

    with pytest.raises(Storage, match=re.escape(says)):
        await peer.call("backup", str(tmp_path / "copy.db"))
    assert before == names(tmp_path)


@pytest.mark.parametrize("given", ["copy.db", "", "/tmp/", "~/copy.db", "/tmp/a\0b"])
async def test_a_path_that_names_no_file(connect: Connect, given: str) -> None:
    """A path that would mean another file to the daemon than to its caller is refused."""
    with pytest.raises(InvalidParams):
        await connect().call("backup", given)
