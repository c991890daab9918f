"""Imports logs that ``reel export`` wrote: each becomes the original agent again."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from reel import requests
from reel.base.errors import NotFound, NotRunning, ReelError
from reel.base.ids import is_name
from reel.base.strict_json import Json
from reel.importing.adding.importer import REDACTED, Totals
from reel.importing.adding.masking import Masking, agent_with
from reel.importing.adding.pipeline import Pipeline
from reel.importing.steps import Problem, Source, Tool
from reel.importing.tools.reel_log.matching import Match, match
from reel.importing.tools.reel_log.replay import Replay, element_of, groups, time_of
from reel.importing.tools.reel_log.tool import LogFile, Logged, data_of, source_of
from reel.importing.values import map_in, text_in
from reel.replies import AgentRow
from reel.said.kinds import ADDABLE
from reel.secrets.finding import anonymous


class LogImporter:
    """Imports logs into the daemon.

    Args:
        pipeline: the connection.
        sources: all logs of the import; clones need agents among them.
        masking: what becomes of keys and passwords.
    """

    def __init__(self, pipeline: Pipeline, sources: Iterable[Source], masking: Masking | None = None) -> None:
        self._pipeline = pipeline
        self._masking = masking or Masking()
        self._sources = {source.about["id"]: source for source in sources if source.about.get("id")}
        # The local agents, by the ids of the original ones; empty while they are being created.
        self._agents: dict[str, str] = {}
        self._done: set[str] = set()
        # The agents that existed before, by their ids and by their names without "@2".
        self._rows: dict[str, AgentRow] = {}
        self._named: dict[str, list[AgentRow]] = {}
        self.totals = Totals()

    def look(self) -> None:
        """List the existing agents."""
        for row in self._pipeline.iter_agents():
            self._rows[row.id] = row
            self._named.setdefault(row.name.partition("@")[0], []).append(row)

    def run(self, _tool: Tool, sources: Iterable[Source]) -> Iterator[Totals]:
        """Import logs; yield the totals whenever one is done.

        Raises:
            NotRunning: the daemon went away.
        """
        for source in sources:
            self._import(source)
            yield self.totals

    def settle(self, _tool: Tool) -> None:
        """Wait for the outstanding replies."""
        self._pipeline.drain()

    def _import(self, source: Source) -> None:
        if source.path in self._done:
            return
        self._done.add(source.path)
        reading = LogFile(source)
        totals = self.totals
        totals.sources += 1
        totals.bytes += source.size
        try:
            self._carry_out(source, reading)
        except NotRunning:
            raise
        except OSError as error:
            totals.incomplete += 1
            reading.counts.problem(Problem(source.path, 0, error.strerror or str(error)))
        except ReelError as error:
            totals.incomplete += 1
            reading.counts.problem(Problem(source.path, 0, f"not imported: {error.message}"))
        totals.counts.add(reading.counts)

    def _carry_out(self, source: Source, reading: LogFile) -> None:
        first = next(reading.events(), None)
        if first is None:
            self.totals.empty += 1
            return
        about = reading.agent
        there = text_in(about, "id") or text_in(first.event, "agent")
        self._agents.setdefault(there, "")
        similar = self._match(_names(about, first.event), there, reading)
        found = similar.row if similar.agrees else None
        about = self._masking.agent(similar.agent(about))
        replay = Replay(
            self._pipeline,
            source.path,
            found.id if found else "",
            found.head if found else 0,
            there,
            source_of(about)[1],
            self._find,
        )
        name = "" if found else self._make(replay, reading, about, similar)
        self._agents[there] = replay.agent
        begun, known, last = replay.head, 0, 0
        for group in groups(self._events(reading, similar)):
            replay.take(group)
            known += sum(logged.event["seq"] <= begun for logged in group)
            last = group[-1].event["seq"]
        replay.flush()
        for problem in dict.fromkeys(replay.problems):
            reading.counts.problem(problem)
        if replay.failure is not None:
            self.totals.incomplete += 1
            reading.counts.problem(Problem(source.path, 0, f"not imported further: {replay.failure.message}"))
        if last >= begun:  # an older log does not know what it is called now
            self._describe(replay, reading, about)
        self.totals.messages += replay.added
        if found is None:
            self.totals.new += 1
            if similar.redacted:
                reading.counts.set_aside(len(similar.redacted), REDACTED)
            if name and name not in _names(about, first.event):
                self.totals.beside.append((text_in(about, "name"), name))
        else:
            reading.counts.know(known + bool(reading.agent))
            self.totals.grown += replay.head > begun
            self.totals.unchanged += replay.head == begun

    def _events(self, reading: LogFile, similar: Match) -> Iterator[Logged]:
        """Yield the events of a log without their secrets, or as they are, and without what was redacted here."""
        for event, line in reading.events():
            yield Logged(self._masking.event(similar.event(event)), line)

    def _make(self, replay: Replay, reading: LogFile, about: Json, similar: Match) -> str:
        """Create the agent with its first command, and return its name."""
        source, at = source_of(about)
        if source and (parent := self._find(source)):
            sent = self._time_after(reading, at) if self._pipeline.knows("clone_sent") else None
            name = self._free_name(text_in(about, "name"))
            info = self._pipeline.call(requests.clone(parent, name, at, sent=sent))
            replay.agent, replay.head = info.id, info.head
            return str(info.name)
        first = next(groups(self._events(reading, similar)))
        events = [logged.event for logged in first]
        begins = events[0]["kind"] == "created"
        if events[0]["seq"] == 1 and not begins and not source:
            what = f"seq 1 begins no log, and is left out: its kind is {events[0]['kind']!r}, not 'created'"
            replay.problems.append(Problem(reading.source.path, first[0].line, what))
        data = data_of(events[0]) if begins and events[0]["seq"] == 1 else {}
        name = text_in(data if not source else {}, "name") or text_in(about, "name")
        name, tags = self._free_name(name), map_in(data, "tags") or None
        rest = [event for event in events[1:] if event["kind"] in ADDABLE] if data else []
        if rest and not data.get("title"):
            elements: list[Any] = [element_of(event) for event in rest]
            added = self._pipeline.call(requests.add(name, elements, create=True, tags=tags, if_seq=0))
            replay.agent, replay.head = added.agent, added.head
            replay.added += len(rest)
            return name
        system = rest[0].get("content") if rest and rest[0]["kind"] == "system" else None
        info = self._pipeline.call(requests.create(name, system, data.get("title"), tags))
        replay.agent, replay.head = info.id, info.head
        return name

    def _time_after(self, reading: LogFile, at: int) -> int | None:
        """Return the original time of the event that follows a seq: that of a clone."""
        return next((time_of(event) for event, _ in reading.events() if event["seq"] == at + 1), None)

    def _describe(self, replay: Replay, reading: LogFile, about: Json) -> None:
        """Set the title and the tags, unless the log does: a clone has those of its source at that time."""
        info = self._pipeline.call(requests.agent(replay.agent))
        title, tags = text_in(about, "title"), map_in(about, "tags")
        here = {**about, "title": info.title or "", "tags": info.tags}
        is_known = agent_with(about, anonymous) == agent_with(here, anonymous)
        if info.alive and not is_known and info.head == replay.head:
            try:
                self._pipeline.call(requests.change(replay.agent, title=title, tags=tags, if_seq=info.head))
            except ReelError as error:
                reading.counts.problem(Problem(reading.source.path, 1, f"title and tags: {error.message}"))

    def _find(self, there: str) -> str:
        """Return the local agent for an original one; import it first if it is among the logs."""
        if there not in self._agents and there in self._sources:
            self._import(self._sources[there])
        return self._agents.get(there, "") or (there if there in self._rows else "")

    def _free_name(self, name: str) -> str:
        name, number = name if is_name(name) else "imported", 2
        found = name
        while self._is_taken(found):
            found, number = f"{name}@{number}", number + 1
        return found

    def _is_taken(self, name: str) -> bool:
        try:
            return bool(self._pipeline.call(requests.agent(name)).alive)
        except NotFound:
            return False

    def _match(self, names: set[str], ident: str, reading: LogFile) -> Match:
        """Return the agent of this log, of its id or one of its names; else one that has redacted some of it."""
        rows = [self._rows[ident]] if ident in self._rows else []
        rows += (
            row for name in sorted({name.partition("@")[0] for name in names}) for row in self._named.get(name, ())
        )
        beside = Match()
        for row in rows:
            here = chain.from_iterable(
                page.events for page in self._pipeline.pages(requests.history(row.id, inherited=True))
            )
            found = match(row, reading.events(), here)
            if found.agrees:
                return found
            if max(found.redacted, default=0) > max(beside.redacted, default=0):
                beside = found
        return beside


def _names(about: Json, first: Json) -> set[str]:
    made = "" if source_of(about)[0] else text_in(data_of(first), "name")
    return {name for name in (text_in(about, "name"), made) if name}
