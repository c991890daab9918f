"""Reads logs that ``reel export --format jsonl`` wrote: the agent on the first line, then one event on each line."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json
from reel.importing.sources.discovery import each_read
from reel.importing.sources.files import files_below, is_whole, lines_of, open_regular, parse_line
from reel.importing.steps import NOT_JSON, Counts, Found, Kept, Part, Problem, Said, Source, Step, Tool, nowhere
from reel.importing.values import parse_record, text_in
from reel.said.kinds import KNOWN, ROLES, is_conversation_kind

# The supported version of the format; the export writes it on the first line.
_VERSION = 1


class Logged(NamedTuple):
    """An event of a log, and the line that it is on."""

    event: Json
    line: int


class LogFile:
    """A log that is being read.

    Args:
        source: the location of the log.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.counts = Counts()
        # The facts about the agent on the first line; empty if it is damaged.
        self.agent: Json = {}

    def steps(self) -> Iterator[Step]:
        """Yield the messages and records of the log, to count them.

        Raises:
            OSError: the file cannot be read.
        """
        for event, line in self.events():
            kind: str = event["kind"]
            if is_conversation_kind(kind):
                yield Said(ROLES.get(kind, "system"), (Part(str(event["seq"]), []),), {}, None, line)
            else:
                yield Kept("note", str(event["seq"]), None, {}, None, line)

    def events(self) -> Iterator[Logged]:
        """Yield the events in order, from the first one; report and skip anything else.

        Raises:
            OSError: the file cannot be read.
        """
        # The seq of the newest event, and of the one before it.
        self.counts, self.agent, last, before = Counts(), {}, 0, 0
        for found, line in self._records():
            if line == 1 and not self.agent:
                if not self._take_head(found):
                    return
            elif self._is_event(found, line, last, before):
                # A seq may be damaged, and too high. The events after it are not out of order for that.
                before = last if found["seq"] > last else before
                last = found["seq"]
                self.counts.map()
                yield Logged(found, line)

    def _records(self) -> Iterator[tuple[Json, int]]:
        with open_regular(self.source.path) as file:
            for line in lines_of(file):
                if not line.complete and not is_whole(line):
                    self._report(NOT_JSON, line.number, "the last line is not complete; export the log again")
                    continue
                for found in parse_line(line, self.source, self.counts):
                    yield found, line.number

    def _take_head(self, found: Json) -> bool:
        version = found.get("reel")
        if version != _VERSION or type(found.get("agent")) is not dict:
            newer = type(version) is int and version > _VERSION
            why = (
                f"the log has version {version}, and this reel reads version {_VERSION}; upgrade reel"
                if newer
                else "not the first line of a log; write one with reel export NAME --format jsonl"
            )
            self._report("not a log", 1, why)
            return False
        self.agent = found["agent"]
        self.counts.map()
        return True

    def _is_event(self, found: Json, line: int, last: int, before: int) -> bool:
        seq, command, kind, data = found.get("seq"), found.get("command"), found.get("kind"), found.get("data_json")
        if (
            type(seq) is not int
            or type(command) is not int
            or not 0 < command <= seq
            or type(kind) is not str
            or type(data) not in (str, type(None))
            or type(found.get("content", 0)) not in (str, type(None))
        ):
            self._report("not an event", line, "not an event: it has no valid seq, command, kind, content or data_json")
        elif seq <= before or seq == last:
            self._report("out of order", line, f"seq {seq} is not after {last}, the one before it")
        elif kind not in KNOWN:
            self._report(f"kind {kind}", line, f"unknown kind {kind!r}")
        else:
            return True
        return False

    def _report(self, kind: str, line: int, what: str) -> None:
        self.counts.refuse(kind, Problem(self.source.path, line, what))


def head_of(path: str) -> Json:
    """Return the facts about the agent on the first line of a file; empty if it is not a log of this version."""
    reading = LogFile(Source(path, "", 0, 0))
    for _ in reading.events():
        break
    return reading.agent


def _discover(root: Path) -> Found:
    problems: list[Problem] = []
    sources = []
    entries = files_below(root, (".jsonl",), problems)
    for entry, about in each_read(entries, lambda entry: head_of(str(entry.path)), problems):
        name = text_in(about, "name") or entry.path.stem
        ident = {"id": text_in(about, "id")}
        sources.append(Source(str(entry.path), name, entry.size, entry.modified, about=ident))
    return Found(sources, problems)


def source_of(about: Json) -> tuple[str, int]:
    """Return the source of a clone, and the seq at which it was cloned; an empty id and 0 if it is not a clone."""
    match about.get("source"):
        case {"agent": str(agent), "at": int(at)}:
            return agent, at
    return "", 0


def data_of(event: Json) -> dict[str, Any]:
    """Return the data of an event; empty if it has none or they are unreadable."""
    try:
        return parse_record((event.get("data_json") or "{}").encode("utf-8", "replace")) or {}
    except (ValueError, RecursionError):
        return {}


TOOL = Tool("reel", "reel", nowhere, _discover, LogFile)
