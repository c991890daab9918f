"""What the tools have kept: where it is looked for, and what is noted of a reading."""

import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from reel.base.light_typing import NamedTuple
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.daemon.address import state_directory
from reel.importing.adding import readings
from reel.importing.adding.importer import Totals, fault
from reel.importing.adding.readings import Reading, Readings
from reel.importing.steps import Problem, Source, Tool


class History(NamedTuple):
    """The conversations that a tool has kept."""

    tool: Tool
    sources: list[Source]
    problems: list[Problem]

    @property
    def conversations(self) -> int:
        """How many there are; several files may have parts of one."""
        return sum({source.conversation: source.conversations for source in self.sources}.values())


def look(tool: Tool, paths: Collection[Path] = ()) -> History:
    """Find the conversations of a tool, at these paths or in its usual places.

    Raises:
        UsageError: a path does not exist.
    """
    sources: list[Source] = []
    problems: list[Problem] = []
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path} does not exist")
    for path in paths or tool.places(os.environ):
        try:
            path.stat()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:  # one tool's directory must not keep those of others from being read
            problems.append(Problem(str(path), 0, error.strerror or str(error)))
            continue
        try:
            found = tool.discover(path.absolute())
        except Exception as error:  # a fault of one reader does not keep other tools from being read
            problems.append(Problem(str(path), 0, fault(error)))
            continue
        sources += found.sources
        problems += found.problems
    return History(tool, sources, problems)


def readings_of(ctx: Context) -> Readings:
    """Return what is noted of the last readings for this daemon."""
    return Readings(f"{state_directory()}/{readings.NAME}", ctx.socket)


def note(ctx: Context, history: History, totals: Totals) -> None:
    """Note that the usual places of a tool were read, if it has ever been used here."""
    if ctx.words[1:]:  # other places
        return
    noted = readings_of(ctx)
    before = noted.tools.get(history.tool.name)
    if before is None and not history.sources and not history.problems:
        return
    counts = totals.counts
    unread = readings.unread_in(counts.problems)
    reading = readings.after(
        before,
        Reading(readings.now(), history.conversations, unread, counts.more_problems),
        there={source.path for source in history.sources},
        read=totals.read,
        places=history.problems,
    )
    _store(noted, history.tool, reading)


def note_failure(ctx: Context, tool: Tool, why: str) -> None:
    """Note that the reading of a tool's usual places was broken off; the time of the last whole one stays."""
    if ctx.words[1:]:
        return
    noted = readings_of(ctx)
    _store(noted, tool, noted.tools.get(tool.name, Reading(0))._replace(failure=why))


def _store(noted: Readings, tool: Tool, reading: Reading) -> None:
    with suppress(OSError):  # the disk is full, perhaps: what was imported is more important than what is said of it
        noted.note(tool.name, reading)
