"""Replays the commands of a log, so that an agent gets the same events under the same seqs.

A command that cannot be replayed, or is missing in a damaged log, becomes a note in its place. So no later seq changes,
and the log's own references to seqs stay valid.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any

from reel import requests
from reel.base.errors import Conflict, NotRunning, ReelError
from reel.base.strict_json import Json
from reel.importing.adding.pipeline import Pipeline
from reel.importing.steps import Problem
from reel.importing.tools.reel_log.tool import Logged, data_of
from reel.requests import Call
from reel.said.kinds import ADDABLE, is_conversation_kind

# The maximum number of consecutive missing events. A larger gap is a damaged seq rather than lost lines.
_LONGEST_GAP = 10_000
# The maximum number of notes in one command.
_NOTES = 500
_LONGEST_REF = 256

# Maps an original agent to its local copy, or to an empty string if it has not been copied.
Finder = Callable[[str], str]


def groups(events: Iterable[Logged]) -> Iterator[list[Logged]]:
    """Yield the events of each command."""
    for _, found in groupby(events, lambda logged: (logged.event.get("agent"), logged.event["command"])):
        yield list(found)


def element_of(event: Json) -> Json:
    """Return an event as a record to add, with its time and an id that distinguishes it from others."""
    ref = event.get("ref") or f"{event.get('agent')}:{event['seq']}"[-_LONGEST_REF:]
    sent = event["sent"] if event.get("sent") is not None else event.get("time")
    found = {**{name: event.get(name) for name in ("kind", "content", "data_json")}, "sent": sent, "ref": ref}
    return {name: value for name, value in found.items() if value is not None}


class Replay:
    """Replays the commands of a log in an agent.

    Args:
        pipeline: the connection.
        path: the file, for errors.
        agent: the id of the agent, if it exists.
        head: its head; events of the log up to this seq exist already.
        owner: the original id of the agent.
        cloned: the seq of its source at which the original was cloned; 0 if it is not a clone.
        find: finds the agent for a clone.
    """

    def __init__(
        self, pipeline: Pipeline, path: str, agent: str, head: int, owner: str, cloned: int, find: Finder
    ) -> None:
        self._pipeline = pipeline
        self._path = path
        self.agent = agent
        self.head = head
        self._owner = owner
        self._cloned = cloned
        self._find = find
        self.added = 0
        self.problems: list[Problem] = []
        self.failure: ReelError | None = None
        # Whether to wait for each reply, so that only refused commands become notes.
        self.careful = False
        # Whether undo and redo find the same commands as in the original.
        self._same_commands = True

    def take(self, group: list[Logged]) -> None:
        """Carry out a command, unless it exists already."""
        if group[-1].event["seq"] <= self.head or self.failure is not None:
            return
        first = group[0].event["seq"]
        if first - self.head > _LONGEST_GAP:
            missing = first - self.head - 1
            self.failure = Conflict(f"line {group[0].line}: {missing:,} events are missing before seq {first}")
            return
        if first > self.head + 1:
            self._same_commands = False
            self._problem(group[0].line, f"the events {self.head + 1} to {first - 1} are missing; notes stand for them")
            self._fill(first - 1)
        events = [logged.event for logged in group]
        call = self._call(events, group[0].line)
        if call is None:
            self._same_commands = self._same_commands and not _is_undoable(events)
            self._fill(events[-1]["seq"])
        else:
            self._send(call, events, group[0].line)

    def _call(self, events: list[Json], line: int) -> Call[Any] | None:
        """Return the command that wrote events; ``None`` if it cannot be carried out here."""
        kinds = [event["kind"] for event in events]
        if all(kind in ADDABLE for kind in kinds):
            return requests.add(self.agent, self._elements(events), if_seq=self.head)
        data, is_own = data_of(events[0]), events[0].get("agent") == self._owner
        match kinds[0]:
            case "rewind" if "before" in data:
                return requests.add(self.agent, self._elements(events[1:]), from_=data["before"], if_seq=self.head)
            case "rewind":
                return requests.rewind(self.agent, data.get("label"), if_seq=self.head)
            case "mark":
                return requests.mark(self.agent, data.get("label"), if_seq=self.head)
            case "clear":
                return requests.clear(self.agent, if_seq=self.head)
            case "restore":
                return self._restore(data)
            case "agent_killed" if is_own:
                return requests.kill(self.agent, data.get("reason"), if_seq=self.head)
            case "revived" if is_own:
                return requests.revive(self.agent, if_seq=self.head)
            case "changed":
                return self._change(data, is_own=is_own)
            case "clone" if is_own and events[0]["seq"] != self._cloned + 1:
                if source := self._find(data.get("from", "")):
                    return requests.clone(source, at=data.get("at"), into=self.agent, if_seq=self.head)
                self._problem(line, f"the agent {data.get('from')!r}, which was cloned into this one, is not there")
        return None

    def _restore(self, data: Json) -> Call[Any]:
        if self._same_commands and "undoes" in data:
            return requests.undo(self.agent, if_seq=self.head)
        if self._same_commands and "redoes" in data:
            return requests.redo(self.agent, if_seq=self.head)
        return requests.restore(self.agent, data.get("to", 0), if_seq=self.head)

    def _change(self, data: Json, *, is_own: bool) -> Call[Any] | None:
        given: dict[str, Any] = {"name": data["name"]} if is_own and data.get("name") else {}
        if "title" in data:
            given["title"] = data["title"] or ""
        if "tags" in data:
            given["tags"] = data["tags"]
        return requests.change(self.agent, **given, if_seq=self.head) if given else None

    def _elements(self, events: list[Json]) -> list[Any]:
        """Return events as records to add; a note replaces a missing one."""
        found: list[Any] = []
        expected = events[0]["seq"] if events else 0
        for event in events:
            found += [_note(seq) for seq in range(expected, min(event["seq"], expected + _NOTES))]
            found.append(element_of(event))
            expected = event["seq"] + 1
        return found

    def _fill(self, last: int) -> None:
        """Add notes up to a seq."""
        while self.head < last and self.failure is None:
            notes: list[Any] = [_note(seq) for seq in range(self.head + 1, min(last, self.head + _NOTES) + 1)]
            end = self.head + len(notes)
            self._submit(requests.add(self.agent, notes, if_seq=self.head), end, 0)
            self.head = end

    def _send(self, call: Call[Any], events: list[Json], line: int) -> None:
        end = events[-1]["seq"]
        added = sum(is_conversation_kind(event["kind"]) for event in events)
        if not self.careful:
            self._submit(call, end, added)
            self.head = end
            return
        before = self.head
        try:
            self._pipeline.call(call)
            self.added += added
        except NotRunning:
            raise
        except ReelError as error:
            self._problem(line, f"seq {events[0]['seq']}: not carried out: {error.message}")
            self._same_commands = False
        self.head = self._pipeline.call(requests.agent(self.agent)).head
        if self.head > end:
            self.failure = Conflict(f"line {line}: the command wrote {self.head - before} events, not {end - before}")
            return
        self._fill(end)

    def _submit(self, call: Call[Any], end: int, added: int) -> None:
        def take(reply: Any) -> None:
            if isinstance(reply, ReelError):
                self.failure = self.failure or reply
            elif reply.head != end:
                self.failure = self.failure or Conflict(f"the head is {reply.head} where {end} was expected")
            else:
                self.added += added

        try:
            self._pipeline.submit(call, take)
        except NotRunning:
            raise
        except ReelError as error:
            self.failure = self.failure or error

    def _problem(self, line: int, what: str) -> None:
        self.problems.append(Problem(self._path, line, what))


def _note(seq: int) -> Json:
    return {"kind": "note", "content": f"The event {seq} of the imported log is missing here."}


def _is_undoable(events: list[Json]) -> bool:
    return any(event["kind"] in ("clone", "rewind", "restore", "clear", "mark") for event in events)
