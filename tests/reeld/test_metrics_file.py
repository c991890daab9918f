"""The file of metrics."""

import logging
import os
import stat
import threading
from pathlib import Path
from typing import Any

import anyio
import pytest
from prometheus_client.parser import text_string_to_metric_families

from reel.base.errors import Storage
from reeld.metrics_file import keep_written, write
from reeld.store.housekeeping import Housekeeping
from tests.patience import PATIENCE


async def collected() -> dict[str, Any]:
    """Return something that a daemon counts."""
    return {"uptime": 1000}


async def wait_for(path: Path) -> None:
    """Wait until there is a file."""
    with anyio.fail_after(PATIENCE):
        while not path.exists():  # noqa: ASYNC110, ASYNC240 - nothing tells of a file
            await anyio.sleep(0.001)


def names(directory: Path) -> list[str]:
    """Return the names of the files in a directory."""
    return [path.name for path in directory.iterdir()]


async def test_it_is_there_while_the_daemon_runs(tmp_path: Path) -> None:
    """The file can be read by everybody, alone in its directory, and is gone at the end."""
    path = tmp_path / "reeld.prom"
    before = os.umask(0o077)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(keep_written, str(path), 60.0, collected, Housekeeping())
            await wait_for(path)
            (family,) = text_string_to_metric_families(path.read_text())
            assert ("reeld_uptime_seconds", 1.0) == (family.name, family.samples[0].value)
            assert 0o644 == stat.S_IMODE(path.stat().st_mode)
            assert ["reeld.prom"] == names(tmp_path)
            tasks.cancel_scope.cancel()
    finally:
        os.umask(before)

    assert [] == names(tmp_path)


async def test_a_failure_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What hinders writing is logged once, and that it works again; the daemon goes on."""
    caplog.set_level(logging.INFO)
    path, asked = tmp_path / "later" / "reeld.prom", 0

    async def collect() -> dict[str, Any]:
        nonlocal asked
        asked += 1
        if asked == 4:
            raise Storage("the disk is gone")
        if asked == 5:
            path.parent.mkdir()
        return await collected()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(keep_written, str(path), 0.001, collect, Housekeeping())
        await wait_for(path)
        with anyio.fail_after(PATIENCE):
            while len(caplog.messages) < 3:  # noqa: ASYNC110 - nothing tells of a line in the log
                await anyio.sleep(0.001)
        tasks.cancel_scope.cancel()

    assert [
        f"writing the metrics failed, and is tried again: {path}.tmp: No such file or directory",
        "writing the metrics failed, and is tried again: the disk is gone",
        "writing the metrics works again",
    ] == caplog.messages


def test_a_reader_never_sees_a_part(tmp_path: Path) -> None:
    """Whoever reads the file while it is replaced gets one of the texts, whole."""
    path, texts = tmp_path / "reeld.prom", ["a" * 100_000, "b" * 100_000]
    write(str(path), texts[0])
    ended = threading.Event()

    def replace() -> None:
        for number in range(100):
            write(str(path), texts[number % 2])
        ended.set()

    writer = threading.Thread(target=replace)
    writer.start()
    seen = set()
    while not ended.is_set():
        seen.add(path.read_text())
    writer.join()

    assert seen <= {*texts}


def test_a_link_of_somebody_else_is_not_followed(tmp_path: Path) -> None:
    """A link at the path of the new file leads nowhere."""
    mine = tmp_path / "mine"
    mine.write_text("kept")
    (tmp_path / "reeld.prom.tmp").symlink_to(mine)
    write(str(tmp_path / "reeld.prom"), "new")

    assert ("kept", "new") == (mine.read_text(), (tmp_path / "reeld.prom").read_text())


def test_nothing_is_left_of_a_failure(tmp_path: Path) -> None:
    """If the file cannot take its place, the new one is removed."""
    (tmp_path / "reeld.prom" / "full").mkdir(parents=True)
    with pytest.raises(OSError, match="directory"):
        write(str(tmp_path / "reeld.prom"), "new")

    assert ["reeld.prom"] == names(tmp_path)
