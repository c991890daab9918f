"""Restoring a backup as docs/operations.md describes it, while clients try to start the daemon."""

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import reel
from tests import documents
from tests.daemon import Daemon
from tests.end_to_end.shell import run
from tests.end_to_end.writers import texts
from tests.patience import PATIENCE

# Takes its time, as with a large file: until clients were refused several times, or the daemon is back.
_CP = """#!/bin/sh
before=$(wc -c < {refusals})
until [ -S "$REEL_SOCKET" ] || [ "$(wc -c < {refusals})" -gt $((before + 9)) ]; do sleep 0.01; done
exec {cp} "$@"
"""


@contextmanager
def hammering(refusals: Path) -> Iterator[None]:
    """Run clients that start the daemon wherever they find none; each refusal is a byte in a file."""
    ended = threading.Event()

    def hammer() -> None:
        while not ended.is_set():
            try:
                with reel.connect(autostart=True) as client:
                    client.add("hammer", "hi", create=True)
            except reel.ReelError:
                with refusals.open("a") as file:
                    file.write(".")

    threads = [threading.Thread(target=hammer) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join(PATIENCE)


@pytest.fixture
def refusals(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where refusals are counted; a ``cp`` that waits for them goes before all others. No daemon is left at the end."""
    path = home / "refusals"
    (home / "bin").mkdir(parents=True)
    path.touch()
    (home / "bin" / "cp").write_text(_CP.format(refusals=path, cp=shutil.which("cp")))
    (home / "bin" / "cp").chmod(0o755)
    monkeypatch.setenv("PATH", f"{home}/bin:{os.environ['PATH']}")
    yield path
    run("reel stop")


@pytest.mark.parametrize("number", [0, 1], ids=["command", "by hand"])
def test_the_documented_restore(prepared: Daemon, home: Path, refusals: Path, number: int) -> None:
    """What is restored is what the backup had: no client brings the daemon back on an empty file in between."""
    run("reel start && reel add demo precious --create && reel backup ~/copy.db && reel add demo later")
    procedure = documents.blocks("operations.md", "### Restoring a backup", "sh")[number]
    with hammering(refusals):
        run(procedure.replace("/where/backups/are", str(home)).replace("copy.db\n", "copy.db --force\n"))

    assert "nothing is wrong" in run("reel verify")
    assert {"precious"} == texts(prepared) - {None, "hi"}
