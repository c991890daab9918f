"""An import that goes on with what the tools write.

A unit of the system runs it for years, and nobody looks. So whatever may pass is waited for, one tool keeps no other
from being read, and what fails is tried again less and less often.
"""

import os
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

import reel.version
from reel.base.errors import NotRunning, ReelError
from reel.cli.commands.shared.histories import History, note_failure
from reel.cli.commands.shared.reconnecting import retry_until_running, wait_for_daemon
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.cli.line.exits import INTERRUPTED
from reel.importing.adding.importer import Totals, fault
from reel.importing.adding.trials import Trials
from reel.importing.steps import Tool
from reel.replies import Hello

# Seconds between two looks at what the tools wrote, at least and at most: in between, as many times as long as a look
# took, so that looking through thousands of files takes a fiftieth of a processor.
_SHORTEST, _LONGEST, _TIMES = 2.0, 60.0, 50
# Seconds between two attempts to reach a daemon, at most.
_PATIENT = 60.0
# How many problems are remembered as told.
_MOST_TOLD = 1000
P = TypeVar("P")


def connected(ctx: Context) -> Hello | None:
    """Return what the daemon says of itself; wait until there is one."""
    try:
        return ctx.client.connect().server
    except NotRunning as error:
        ctx.out.warn(f"{error.message}; waiting until it runs")
    wait_for_daemon(ctx, _PATIENT)
    ctx.out.warn("the daemon is here")
    return ctx.client.connect().server


class Watch:
    """Imports whatever is written, until Ctrl-C.

    Args:
        ctx: the command's context.
        look: finds the conversations of a tool.
        bring_in: imports them.
        report: prints what became of them.
    """

    def __init__(
        self,
        ctx: Context,
        look: Callable[[Tool], History],
        bring_in: Callable[[History], Totals],
        report: Callable[[History, Totals], None],
    ) -> None:
        self._ctx = ctx
        self._look = look
        self._bring_in = bring_in
        self._report = report
        self._trials = Trials()
        # What was said of what could not be read.
        self._told: set[str] = set()
        # The installation that this process runs, and the last one that was there.
        self._begun = self._found = _installed()

    def run(self, tools: Iterable[Tool]) -> int:
        """Import everything, and then what is new; return the exit status."""
        tools, first = list(tools), True
        try:
            while True:
                began = time.monotonic()
                for tool in tools:
                    if self._trials.is_due(tool.name) and self._is_interrupted(tool, first=first):
                        return INTERRUPTED
                if first:
                    self._ctx.out.hint("waiting for what the tools write; Ctrl-C ends it")
                first = False
                pause = min(max(_SHORTEST, _TIMES * (time.monotonic() - began)), _LONGEST)
                time.sleep(pause)  # nothing signals a write to a file in every file system
                self._follow_upgrade()
        except KeyboardInterrupt:
            return INTERRUPTED

    def _is_interrupted(self, tool: Tool, *, first: bool) -> bool:
        """Import what a tool wrote; return whether Ctrl-C ended that."""
        try:
            history, totals = retry_until_running(self._ctx, partial(self._read, tool), longest=_PATIENT)
        except Exception as error:  # told, noted, and tried again; the other tools are read
            self._fail(tool, error)
            return False
        self._trials.succeed(tool.name)
        history = history._replace(problems=self._news(history.problems))
        totals.counts.problems = self._news(totals.counts.problems)
        if not first:  # that was told when it was read, or at the first look
            totals.still_broken.clear()
        if (first and history.sources) or totals.messages:
            self._report(history, totals)
        else:
            for problem in (*history.problems, *totals.counts.problems):
                self._ctx.out.warn(str(problem))
        sys.stdout.flush()
        return totals.interrupted

    def _read(self, tool: Tool) -> tuple[History, Totals]:
        history = self._look(tool)
        return history, self._bring_in(history)

    def _fail(self, tool: Tool, error: Exception) -> None:
        self._trials.fail(tool.name)
        why = _why(error)
        for problem in self._news([f"{tool.title}: {why}"]):
            self._ctx.out.warn(problem)
        note_failure(self._ctx, tool, why)

    def _news(self, problems: Iterable[P]) -> list[P]:
        """Return the problems that were not told before: they are found again at each look."""
        news = [problem for problem in problems if str(problem) not in self._told]
        if len(self._told) > _MOST_TOLD:
            self._told.clear()
        self._told.update(map(str, news))
        return news

    def _follow_upgrade(self) -> None:
        """Begin again as the version of reel that was installed meanwhile, once its installation has ended."""
        before, self._found = self._found, _installed()
        if self._found not in (None, self._begun) and self._found == before:
            self._ctx.out.warn("another version of reel was installed; beginning again as that")
            os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - this command itself


def _why(error: Exception) -> str:
    if isinstance(error, ReelError):
        return error.message
    if isinstance(error, UsageError):
        return str(error)
    if isinstance(error, OSError):
        return f"{error.filename or 'a file'}: {error.strerror or error}"
    return fault(error)


def _installed() -> tuple[int, int, int] | None:
    """Return what changes when another version of reel is installed; ``None`` if the program's file is missing."""
    with suppress(OSError):
        status = Path(reel.version.__file__).stat()
        return status.st_ino, status.st_size, status.st_mtime_ns
    return None
