"""Work for which nobody waits: its failures are logged and shown, and end nothing."""

import logging
import sqlite3
from collections.abc import Callable

import anyio
import pytest

from reel.base.errors import Storage
from reeld.store import housekeeping as module
from reeld.store import store as store_module
from reeld.store.housekeeping import Housekeeping
from reeld.store.store import Store
from tests.patience import PATIENCE
from tests.reeld.store.making import made, write

# Whether SQLite denies an action; see sqlite3_set_authorizer.
_Denies = Callable[[int, str | None, str | None], bool]


def _deletes_keys(action: int, name: str | None, _: str | None) -> bool:
    return (action, name) == (sqlite3.SQLITE_DELETE, "keys")


def _checkpoints(action: int, name: str | None, _: str | None) -> bool:
    return (action, name) == (sqlite3.SQLITE_PRAGMA, "wal_checkpoint")


def _anything(*_: object) -> bool:
    return True


async def _deny(store: Store, denies: _Denies | None) -> None:
    """Let SQLite refuse some statements of the writing connection, as a disk would that fails."""

    def authorize(action: int, name: str | None, more: str | None, *_: object) -> int:
        return sqlite3.SQLITE_DENY if denies is not None and denies(action, name, more) else sqlite3.SQLITE_OK

    await store._database.run(lambda connection: connection.set_authorizer(authorize))


@pytest.mark.file
@pytest.mark.parametrize(
    ("denies", "failed"),
    [
        (_deletes_keys, ["forgetting old keys"]),
        (_checkpoints, ["checkpoint"]),
        (_anything, ["forgetting old keys", "checkpoint"]),
    ],
)
async def test_a_step_that_fails(
    store: Store, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, denies: _Denies, failed: list[str]
) -> None:
    """A step that fails is logged once, shown until it works again, and keeps no other step from being done."""
    monkeypatch.setattr(store_module, "KEYS_KEPT", 0)
    await write(store, made(1))
    await _deny(store, denies)
    await store.tidy()
    await store.tidy()
    problem = store.housekeeping.problem
    await _deny(store, None)
    await store.tidy()

    assert f"{', '.join(f'{what}: not authorized' for what in failed)}; it is tried again" == problem
    assert None is store.housekeeping.problem
    assert [f"{what} failed, and is tried again: not authorized" for what in failed] + [
        f"{what} works again" for what in failed
    ] == caplog.messages
    assert [[2]] == await write(store, made(2))


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (OSError(28, "No space left on device", "/metrics"), "/metrics: No space left on device"),
        (sqlite3.OperationalError("database table is locked"), "database table is locked"),
        (Storage("the server is gone"), "the server is gone"),
        (MemoryError(), "there is not enough memory"),
        (ZeroDivisionError("something that was said"), "a bug, see the log (ZeroDivisionError)"),
    ],
)
async def test_a_task_that_fails(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception, why: str
) -> None:
    """A task is started again whatever it raises; a bug is logged with its traceback, and quotes nothing."""
    monkeypatch.setattr(module, "_AGAIN", 0)
    housekeeping, shown = Housekeeping(), anyio.Event()
    starts: list[str | None] = []

    async def task() -> None:
        starts.append(housekeeping.problem)
        if len(starts) < 3:
            raise error
        shown.set()
        await anyio.sleep_forever()

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(housekeeping.keep_going, "the task", task)
            await shown.wait()
            tasks.cancel_scope.cancel()

    assert [None] * 3 == starts
    assert [f"the task failed, and is tried again: {why}"] * 2 == caplog.messages
    assert ["ZeroDivisionError" in why] * 2 == [record.exc_info is not None for record in caplog.records]
    assert {logging.ERROR} == {record.levelno for record in caplog.records}


async def test_a_task_that_has_nothing_to_do() -> None:
    """A task that returns is not started again."""
    starts = []

    async def task() -> None:
        starts.append(1)

    await Housekeeping().keep_going("the task", task)

    assert [1] == starts
