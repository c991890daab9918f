"""The connection over which a daemon hears of others, when it cannot be opened or breaks."""

import errno
from contextlib import closing
from functools import partial
from typing import Any

import anyio
import psycopg
import pytest

from reeld.poller import open_poller
from reeld.store.connection import DatabaseError
from reeld.store.postgres import listening as listening_module
from reeld.store.postgres.commit_statement import CHANNEL
from reeld.store.postgres.connection import connect
from reeld.store.postgres.listening import listening
from tests.patience import PATIENCE
from tests.postgres import own_schema


@pytest.mark.parametrize(
    "failure",
    [
        pytest.param(psycopg.OperationalError("gone"), id="lost"),
        pytest.param(DatabaseError("gone"), id="refused"),
        pytest.param(OSError(errno.EMFILE, "Too many open files"), id="no descriptors"),
        pytest.param(MemoryError(), id="no memory"),
        pytest.param(RuntimeError("gone"), id="a bug"),
    ],
)
async def test_whatever_breaks_it(
    failure: Exception, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever ends the connection, and prevents the next one, is logged once; then what was missed is looked up."""
    monkeypatch.setattr(listening_module, "_PAUSE", 0.01)
    told = anyio.Event()
    failing: list[Exception] = []
    opened: list[psycopg.Connection[Any]] = []

    def open_one(url: str) -> "psycopg.Connection[Any]":
        if failing:
            raise failing.pop()
        opened.append(connect(url, readonly=True, settings={}))
        return opened[-1]

    def notice(_: None) -> None:
        told.set()

    with anyio.fail_after(PATIENCE), own_schema() as url, closing(psycopg.connect(url, autocommit=True)) as other:
        async with open_poller() as poller, listening(partial(open_one, url), poller, 7, "x", notice):
            await told.wait()
            told = anyio.Event()
            failing += [failure, failure]
            other.execute("SELECT pg_terminate_backend(%s)", (opened[0].info.backend_pid,))
            await told.wait()  # though nobody says anything
            told = anyio.Event()
            other.execute(f"NOTIFY {CHANNEL}, '8'")
            await told.wait()

    lost, *again = caplog.messages
    assert lost.startswith("lost the LISTEN connection; retrying every second: ")
    assert ["can hear of other daemons again"] == again
