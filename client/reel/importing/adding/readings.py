"""Remembers when the history of each tool was read last, and what could not be read: people are told from this alone.

An import writes it, and ``reel status`` and ``reel doctor`` read one small file, however much was imported.
"""

import json
import time
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json
from reel.importing.adding import state_file
from reel.importing.steps import Problem

# The file, in the state directory.
NAME = "readings.json"
# How many problems of a tool are kept; the others are counted.
_MOST = 20
# Milliseconds in which nothing but the time of a reading has changed, and is not written.
_MINUTE = 60_000


class Unread(NamedTuple):
    """What could not be read, and why; of a file, or of a place where files are looked for."""

    path: str
    why: str
    is_file: bool = True


class Reading(NamedTuple):
    """The last reading of a tool's history.

    Args:
        time: when it ended, in milliseconds since the epoch.
        conversations: how many conversations the tool had.
        unread: what could not be read.
        more: how much more could not be.
        failure: why it was broken off; empty if it was not.
    """

    time: int
    conversations: int = 0
    unread: tuple[Unread, ...] = ()
    more: int = 0
    failure: str = ""


def after(
    before: Reading | None, now: Reading, *, there: Collection[str], read: Collection[str], places: Iterable[Problem]
) -> Reading:
    """Return a reading with what is still unread of the files that were not read again, because they are unchanged.

    Args:
        before: the reading before it.
        now: this reading, with what could not be read of the files that it read.
        there: the files that are there.
        read: those of them that it read.
        places: what it could not look at.
    """
    kept = (
        [one for one in before.unread if one.is_file and one.path in there and one.path not in read] if before else []
    )
    found = [Unread(problem.path, _why(problem), is_file=False) for problem in places]
    unread = list(dict.fromkeys([*found, *kept, *now.unread]))
    more = now.more + max(len(unread) - _MOST, 0) + (before.more if before and kept else 0)
    return now._replace(unread=tuple(unread[:_MOST]), more=more)


def unread_in(problems: Iterable[Problem]) -> tuple[Unread, ...]:
    """Return problems of files as what could not be read."""
    return tuple(Unread(problem.path, _why(problem)) for problem in problems)


def _why(problem: Problem) -> str:
    return f"line {problem.line}: {problem.what}" if problem.line else problem.what


class Readings:
    """The last readings for a daemon.

    Args:
        path: the file that stores them.
        daemon: the address of the daemon: each has its own.
    """

    def __init__(self, path: str, daemon: str) -> None:
        self._path = path
        self._daemon = daemon
        self.tools = _stored(path).get(daemon, {})

    def note(self, tool: str, reading: Reading) -> None:
        """Store the newest reading of a tool; not if only its time is another one, by less than a minute.

        Raises:
            OSError: the file cannot be written.
        """
        before = self.tools.get(tool)
        is_same = before is not None and before == reading._replace(time=before.time)
        if before is not None and is_same and 0 <= reading.time - before.time < _MINUTE:
            return
        stored = _stored(self._path)  # another import may have written meanwhile
        self.tools = {**stored.get(self._daemon, {}), tool: reading}
        state_file.replace(self._path, _plain({**stored, self._daemon: self.tools}))


def _stored(path: str) -> dict[str, dict[str, Reading]]:
    """Return the readings in a file, by daemon and by tool; none if it is not there or not readable."""
    with suppress(OSError, ValueError, TypeError, AttributeError):
        kept = json.loads(Path(path).read_text(encoding="utf-8"))
        return {daemon: {tool: _reading(**one) for tool, one in tools.items()} for daemon, tools in kept.items()}
    return {}


def _reading(unread: Iterable[Mapping[str, Any]], **fields: Any) -> Reading:
    return Reading(unread=tuple(Unread(**one) for one in unread), **fields)


def _plain(stored: Mapping[str, Mapping[str, Reading]]) -> Json:
    return {
        daemon: {
            tool: {**reading._asdict(), "unread": [one._asdict() for one in reading.unread]}
            for tool, reading in tools.items()
        }
        for daemon, tools in stored.items()
    }


def now() -> int:
    """Return the time, in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000
