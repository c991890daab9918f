"""How far long work on a file is: that of the daemon, or that of its program in a process of its own."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from reel.base.errors import NotRunning, ReelError, from_wire
from reel.base.light_typing import TYPE_CHECKING
from reel.base.this_python import trusted_environment
from reel.cli.screen.output import Output
from reel.daemon.program import executable
from reel.reading.wording import count, size
from reel.sync.client import Client

if TYPE_CHECKING:
    from typing import Any

    from reel.cli.line.context import Context

# The steps whose reports are in bytes.
_BYTES = frozenset({"copying"})


class Progress:
    """How far something is, and how fast it goes, in words.

    Args:
        doing: what is done at first.
    """

    def __init__(self, doing: str) -> None:
        self._doing = doing
        self._step: str | None = None
        self._began = time.monotonic()
        self._figures = ""

    def note(self, step: str | None, done: int, total: int) -> None:
        """Take a report: ``done`` of ``total`` bytes of a copy, or else of events."""
        now = time.monotonic()
        if step != self._step:
            self._step, self._began = step, now
        rate = done / max(now - self._began, 0.001)
        if step in _BYTES:
            self._figures = f", {size(done)} of {size(total)}, {size(int(rate))}/s"
        else:
            self._figures = f", {done:,} of {count(total, 'event')}, {int(rate):,}/s"

    def __str__(self) -> str:
        return f"{self._step or self._doing}{self._figures}"


def work_on_file(out: Output, doing: str, *arguments: str, ready: Callable[[], None] | None = None) -> dict[str, Any]:
    """Let the daemon's program work on a file, and show its progress; return its report.

    Args:
        out: where to show it.
        doing: what is done.
        arguments: the program's.
        ready: called when the program says that it is ready; then it is told to go on.

    Raises:
        ReelError: what the program says; ``NotRunning`` if it is not installed or says nothing.
    """
    command = [*executable(), *arguments]
    progress, last = Progress(doing), {}
    with (
        out.waiting(lambda: str(progress)),
        subprocess.Popen(  # noqa: S603 - our own executable
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=trusted_environment()
        ) as process,
    ):
        assert process.stdin is not None  # noqa: S101 - it is a pipe
        assert process.stdout is not None  # noqa: S101 - as above
        for line in process.stdout:
            last = json.loads(line)
            if "ready" in last and ready is not None:
                ready()
                process.stdin.write("go on\n")
                process.stdin.flush()
            elif "done" in last:
                progress.note(last.get("step") or doing, last["done"], last["total"])
    if "error" in last:
        raise from_wire(last["error"])
    if "report" not in last:
        raise NotRunning(f"{' '.join(command)} ended with status {process.returncode}, without a result")
    report: dict[str, Any] = last["report"]
    return report


@contextmanager
def watch_backup(ctx: Context, path: str) -> Iterator[None]:
    """Show how far a backup is while the block waits for it: the daemon counts it in ``stats``.

    Args:
        ctx: what the command runs with.
        path: the new file.
    """
    progress = Progress("writing the copy")
    with Client(ctx.socket, patience=0, timeout=1, name="reel") as other:

        def look() -> str:
            with suppress(ReelError):
                stats = other.stats()
                if stats.get("backup_path") == path:
                    progress.note(stats["backup_step"], stats["backup_done"], stats["backup_total"])
            return str(progress)

        with ctx.out.waiting(look):
            yield
