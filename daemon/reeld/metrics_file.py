"""The file of metrics that node_exporter's textfile collector reads.

The collector may read the file at any moment, so the file is never modified: it is replaced atomically. The temporary
file's name does not end in ``.prom``, so the collector ignores it. The collector runs as another user, so the file is
readable by everybody; it contains nothing of any conversation.
"""

import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio

from reel.base.light_typing import NamedTuple
from reel.stats.metrics import PROMETHEUS, exposition
from reeld.store.housekeeping import Housekeeping

_MODE = 0o644


class Metrics(NamedTuple):
    """Where the metrics are written, if anywhere, and how many seconds pass between two files."""

    file: str | None = None
    every: float = 15.0


async def keep_written(
    path: str, every: float, collect: Callable[[], Awaitable[dict[str, Any]]], housekeeping: Housekeeping
) -> None:
    """Rewrite the file periodically until cancelled; then remove it, because its content would be stale.

    Args:
        every: seconds between two files.
        collect: returns what the daemon counts.
        housekeeping: logs and shows a failure; the next file is written all the same.
    """

    async def renew() -> None:
        await anyio.to_thread.run_sync(write, path, exposition(await collect(), PROMETHEUS))

    try:
        while True:
            await housekeeping.attempt("writing the metrics", renew)
            await anyio.sleep(every)
    finally:
        _remove(path)


def _remove(path: str) -> None:
    with suppress(OSError):
        Path(path).unlink()


def write(path: str, text: str) -> None:
    """Replace the file atomically.

    Raises:
        OSError: it cannot be written.
    """
    made = Path(f"{path}.tmp")
    made.unlink(missing_ok=True)
    # In a directory that others can write to, a link at this path would lead to a file of ours.
    descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, _MODE)
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            os.fchmod(descriptor, _MODE)  # whatever the umask is
            file.write(text)
        made.replace(path)
    except OSError:
        made.unlink(missing_ok=True)
        raise
