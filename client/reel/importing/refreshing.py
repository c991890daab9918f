"""Brings in what tools wrote since: of the sources that were imported before, and of one conversation more.

A look at 2,000 files takes 5 ms; only the tools of files that have changed are asked for their sources. What the tools
keep elsewhere is left alone: nobody asked for it.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeAlias

from reel.base.light_typing import NamedTuple
from reel.daemon.address import state_directory
from reel.importing import MODULES, tool_named
from reel.importing.adding.importer import Importer
from reel.importing.adding.masking import Masking
from reel.importing.adding.pipeline import Pipeline
from reel.importing.adding.seen import Seen
from reel.importing.adding.target import CLIENT
from reel.importing.adding.tombstones import NAME as TOMBSTONES
from reel.importing.adding.tombstones import Tombstones
from reel.importing.cleared import beginnings_in, begins_cleared
from reel.importing.sources.databases import WAL
from reel.importing.steps import About, Reading, Source, Step, Tool
from reel.sync.client import Client

# Where a history of ours comes from: an import of it is no matter of what tools write.
_OWN = "reel"

# How long ago a transcript of the caller was written to, in nanoseconds: as long as :mod:`reel.mcp.tools.own_session`
# takes one for live.
_LIVE = 15 * 60 * 10**9
# The time and the size of a file and of the log beside it.
_Print: TypeAlias = tuple[int, ...]


class Caller(NamedTuple):
    """Whose transcript is brought in although it was not imported before.

    Args:
        conversation: its name, if the caller says that; empty if not.
        tool: the tool that asks, whose newest transcripts count if it names none; empty if that is not known.
        directories: where these were written.
        transcript: its file, if that is known.
        may_be_cleared: whether it may have gone on in another conversation of these directories, which began with
            ``/clear``.
    """

    conversation: str = ""
    tool: str = ""
    directories: tuple[str, ...] = ()
    transcript: str = ""
    may_be_cleared: bool = False


class Stopped(BaseException):
    """Nobody waits for the import any more.

    It is no ``Exception``, because an import goes on after one: that is a fault of a reader.
    """


class Refresher:
    """Looks what has changed, and imports it; one call at a time.

    Args:
        socket: the path of the daemon's socket.
        environment: says where the tools keep their histories.
        is_stopped: whether to end.
        new_masking: makes what is done with keys and passwords, as for every import.
    """

    def __init__(
        self,
        socket: str,
        environment: Mapping[str, str],
        is_stopped: Callable[[], bool] = lambda: False,
        new_masking: Callable[[], Masking] = Masking,
    ) -> None:
        self._socket = socket
        self._environment = environment
        self._new_masking = new_masking
        self._is_stopped = is_stopped
        # What the files were like when everything had been brought in.
        self._prints: dict[str, _Print] = {}
        # The conversation that is being read in.
        self.at = ""

    def run(self, caller: Caller) -> bool:
        """Import what has changed since the last time; the first time, all that has changed since it was imported.

        Returns:
            Whether the conversation is there that the caller says is its own, if it says that.

        Raises:
            ReelError: the daemon went away.
            Stopped: nobody waits for it any more.
        """
        seen = Seen(f"{state_directory()}/imported.json")
        known = seen.places()
        prints = {path: (*_print_of(path), *_print_of(path + WAL)) for path in {place.path for place in known}}
        own = {os.path.dirname(place.path) for place in known if place.conversation == caller.conversation}
        if caller.may_be_cleared:  # a new transcript is a change of the directory, and so is the beginning of one
            prints |= {directory: (*_print_of(directory), *beginnings_in(directory)) for directory in own}
        changed = {path for path, now in prints.items() if self._prints.get(path) != now}
        tools = {place.tool for place in known if place.path in changed}
        if not own or own & changed:
            tools.add(caller.conversation.partition("/")[0] or caller.tool)
        for name in sorted(tools & {*MODULES} - {_OWN}):
            tool = tool_named(name)
            roots = {place.path for place in known if place.tool == name and place.path in changed}
            sources = [each for each in self._sources(tool, roots) if self._is_wanted(tool, each, seen, caller)]
            self._import(tool, sources, seen)
        self._prints = prints  # at the end: what an import that fails has left is looked for again
        return not caller.conversation or any(place.conversation == caller.conversation for place in seen.places())

    def _sources(self, tool: Tool, changed: set[str]) -> Iterator[Source]:
        """Yield the sources of a tool in its usual places, and those files of it that are elsewhere."""
        places = [place.absolute() for place in tool.places(self._environment) if place.exists()]
        elsewhere = [Path(path) for path in changed if not any(Path(path).is_relative_to(place) for place in places)]
        for place in [*places, *elsewhere]:
            self._go_on()
            yield from tool.discover(place).sources

    def _is_wanted(self, tool: Tool, source: Source, seen: Seen, caller: Caller) -> bool:
        if caller.transcript:  # a hook is about this one alone
            return source.path == caller.transcript
        if seen.has(source):
            return True
        if caller.conversation:
            return f"{source.conversation}/".startswith(f"{caller.conversation}/") or (
                caller.may_be_cleared
                and _directory_of(tool, source) in caller.directories
                and begins_cleared(source.path)
            )
        return tool.name == caller.tool and _directory_of(tool, source) in caller.directories

    def _import(self, tool: Tool, sources: list[Source], seen: Seen) -> None:
        if not sources:
            return
        stones = Tombstones(f"{state_directory()}/{TOMBSTONES}", self._socket)
        with Pipeline(Client(self._socket, name=CLIENT, patience=0)) as pipeline:
            importer = Importer(pipeline, seen, stones, masking=self._new_masking())
            importer.look()
            try:
                for _ in importer.run(tool._replace(open=partial(self._open, tool)), sources):
                    self._go_on()
            finally:
                self.at = ""
                seen.save()

    def _open(self, tool: Tool, source: Source) -> Reading:
        self.at = source.conversation
        return _Stopping(tool.open(source), self._go_on)

    def _go_on(self) -> None:
        if self._is_stopped():
            raise Stopped


class _Stopping:
    """A reading that ends as soon as nobody waits for it any more."""

    def __init__(self, reading: Reading, go_on: Callable[[], None]) -> None:
        self._reading = reading
        self._go_on = go_on
        self.counts = reading.counts

    def steps(self) -> Iterator[Step]:
        """Yield the steps."""
        for step in self._reading.steps():
            self._go_on()
            yield step


def _print_of(path: str) -> _Print:
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_size


def _directory_of(tool: Tool, source: Source) -> str:
    """Return where a conversation is held, if something was written in the last minutes; else an empty string."""
    if time.time_ns() - source.modified > _LIVE:
        return ""
    if known := source.about.get("cwd"):
        return known
    with suppress(OSError):
        for step in tool.open(source).steps():
            return step.tags.get("cwd", "") if isinstance(step, About) else ""
    return ""
