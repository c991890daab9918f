"""Writes backups, checks them before they get their final names, and tracks progress."""

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import anyio

from reel.base.errors import Storage, from_wire
from reel.base.light_typing import NamedTuple
from reel.base.this_python import this_python, trusted_environment
from reeld.store.backup import Copy
from reeld.store.store import Store


class Written(NamedTuple):
    """A backup: the reply to ``backup``, and how many of the problems found by its check are damage."""

    reply: dict[str, Any]
    damage: int


class Backups:
    """Writes backups of a store, one after the other.

    Args:
        store: the store to copy.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        # For each copy that is being checked: the number of events checked so far, and the total.
        self._checked: dict[str, tuple[int, int]] = {}

    async def write(self, path: str, *, if_damaged: str | None = None) -> Written:
        """Write a copy of all committed data to a new file, and check it.

        A damaged copy also gets a name: the database has the same damage, and all else is in the copy.

        Args:
            path: the new file.
            if_damaged: an alternative name for the file if the check finds damage.

        Raises:
            InvalidParams: there is a file of this name, or it belongs to the database.
            Storage: the copy cannot be written or checked; nothing is left of it.
        """
        report: dict[str, Any] = {}

        async def check(copy: Copy) -> None:
            try:
                report.update(await _check_in_child(copy.part, lambda *done: self._note(path, *done)))
            finally:
                self._checked.pop(path, None)
            if report["damage"] and if_damaged is not None:
                copy.path = if_damaged

        size = await self._store.backup(path, check)
        damage = report.pop("damage")
        name = if_damaged if damage and if_damaged is not None else path
        return Written({"path": name, "bytes": size, **report}, damage)

    async def reply(self, path: str) -> dict[str, Any]:
        """Return the reply to ``backup``; see :meth:`write`."""
        return (await self.write(path)).reply

    def _note(self, path: str, done: int, total: int) -> None:
        self._checked[path] = (done, total)

    def counters(self) -> dict[str, Any]:
        """Return the progress of the oldest running backup: in bytes while copying, in events while checking."""
        copy = next(iter(self._store.copies), None)
        path = None if copy is None else copy.path
        checking = self._checked.get(path or "")
        done, total = checking or ((0, 0) if copy is None else (copy.written, copy.expected))
        step = None if copy is None else "copying" if checking is None else "checking"
        return {"backup_path": path, "backup_step": step, "backup_done": done, "backup_total": total}


async def _check_in_child(path: str, tell: Callable[[int, int], None]) -> dict[str, Any]:
    """Run ``reeld verify`` on a file; return the report.

    A separate process blocks neither the interpreter nor the event loop; it ends with the caller.

    Args:
        tell: called with how many events have been checked, and with their total.

    Raises:
        Storage: it cannot be checked.
    """
    from anyio.streams.text import TextReceiveStream  # noqa: PLC0415 - the daemon starts without it

    command = [*this_python(), "-m", "reeld", "verify", "--background", path]
    last: dict[str, Any] = {}
    try:
        async with await anyio.open_process(
            command, stdin=subprocess.DEVNULL, stderr=None, env=trusted_environment()
        ) as process:
            assert process.stdout is not None  # noqa: S101 - it is a pipe
            rest = ""
            async for text in TextReceiveStream(process.stdout):
                *lines, rest = f"{rest}{text}".split("\n")
                for line in lines:
                    last = json.loads(line)
                    if "done" in last:
                        tell(last["done"], last["total"])
            status = await process.wait()
    except ValueError as error:
        raise Storage(f"{path} was not checked: the process printed something else: {error}") from error
    except (OSError, RuntimeError) as error:  # of a thread that cannot start
        raise Storage(f"{path} cannot be checked: {sys.executable}: {getattr(error, 'strerror', error)}") from error
    if "error" in last:
        raise from_wire(last["error"])
    if "report" not in last:
        raise Storage(f"{path} was not checked: the process ended with status {status}")
    report: dict[str, Any] = last["report"]
    return report
