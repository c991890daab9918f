"""Brings a log in as it is, so that an agent gets the same events under the same seqs.

An event that cannot be there, or is missing in a damaged log, becomes a note in its place. So no later seq changes, and
the log's own references to seqs stay valid.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

from reel import requests
from reel.base.errors import Conflict, InvalidMessage, NotRunning, ReelError, TooLarge
from reel.base.strict_json import Json, encode
from reel.base.values import fit_messagepack
from reel.importing.adding.pipeline import Pipeline
from reel.importing.adding.stretch import BYTES, MOST, size_of
from reel.importing.steps import Problem
from reel.importing.tools.reel_log.tool import Logged, data_of
from reel.said.kinds import ADDABLE, is_conversation_kind

# The maximum number of consecutive missing events. A larger gap is a damaged seq rather than lost lines.
_LONGEST_GAP = 10_000
_LONGEST_REF = 256
# What an event of these kinds is about: the conversation, or the agent that it belongs to.
_MOVES = frozenset({"rewind", "restore", "clear", "mark", "changed"})
_OF_THE_AGENT = frozenset({"agent_killed", "revived"})

# Maps an original agent to its local copy, or to an empty string if it has not been copied.
Finder = Callable[[str], str]


def groups(events: Iterable[Logged]) -> Iterator[list[Logged]]:
    """Yield the events of each command."""
    for _, found in groupby(events, lambda logged: (logged.event.get("agent"), logged.event["command"])):
        yield list(found)


def time_of(event: Json) -> int | None:
    """Return the original time of an event; ``None`` if it is damaged."""
    sent = event["sent"] if event.get("sent") is not None else event.get("time")
    return sent if type(sent) is int else None


def element_of(event: Json) -> Json:
    """Return an event as a record to add, with its time and an id that distinguishes it from others."""
    ref = event.get("ref") or own_ref(event.get("agent"), event["seq"])
    sent = time_of(event)
    found = {**{name: event.get(name) for name in ("kind", "content", "data_json")}, "sent": sent, "ref": ref}
    return {name: value for name, value in found.items() if value is not None}


def own_ref(agent: str | None, seq: int) -> str:
    """Return an id of an event of a log that has none."""
    return f"{agent}:{seq}"[-_LONGEST_REF:]


class Replay:
    """Brings the commands of a log into an agent.

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
        # Whether undo and redo find the same commands as in the original.
        self._same_commands = True
        # The events that are not sent yet, after the head, with their lines, and about how many bytes they take.
        self._waiting: list[tuple[Json, int]] = []
        self._size = 0

    @property
    def _end(self) -> int:
        """The seq of the newest event, sent or not."""
        return self.head + len(self._waiting)

    def take(self, group: list[Logged]) -> None:
        """Bring a command in, unless it exists already."""
        if group[-1].event["seq"] <= self.head or self.failure is not None:
            return
        first, line = group[0].event["seq"], group[0].line
        if first - self._end > _LONGEST_GAP:
            missing = first - self._end - 1
            self.failure = Conflict(f"line {line}: {missing:,} events are missing before seq {first}")
            return
        if first > self._end + 1:
            self._same_commands = False
            self._problem(line, f"the events {self._end + 1} to {first - 1} are missing; notes stand for them")
            self._fill(first - 1)
        events = [logged.event for logged in group]
        if events[0]["kind"] == "clone":
            self._clone(events, line)
        elif (found := self._as_sent(events)) is None:
            self._same_commands = self._same_commands and not _is_undoable(events)
            self._fill(events[-1]["seq"])
        else:
            self._put(found, line)

    def flush(self) -> None:
        """Send what waits; what the daemon refuses becomes notes."""
        while self._waiting and self.failure is None:
            events = [event for event, _ in self._waiting]
            try:
                self._pipeline.call(requests.append(self.agent, events, if_seq=self.head))
            except NotRunning:
                raise
            except InvalidMessage as error:
                self._mend(error.data.get("index", 0), error)
            except TooLarge as error:
                largest = max(range(len(events)), key=lambda index: size_of(events[index]))
                self._mend(largest, error)
            except ReelError as error:
                self.failure = error
            else:
                self.added += sum(is_conversation_kind(event["kind"]) for event in events)
                self.head += len(events)
                self._waiting, self._size = [], 0

    def _put(self, events: list[Json], line: int) -> None:
        """Let the events of a command wait until they are sent with others; a long one is sent by itself, but whole."""
        size = sum(map(size_of, events))
        if self._waiting and (len(self._waiting) + len(events) > MOST or self._size + size > BYTES):
            self.flush()
        self._waiting += [(event, line) for event in events]
        self._size += size

    def _as_sent(self, events: list[Json]) -> list[Json] | None:
        """Return the events of a command as they are sent; ``None`` if they cannot be here."""
        kind, command = events[0]["kind"], events[0]["command"]
        is_own = events[0].get("agent") == self._owner
        rows = events[kind not in ADDABLE :]
        if not all(event["kind"] in ADDABLE for event in rows):
            return None
        if kind in ADDABLE:
            return self._rows(rows, command)
        if kind not in _MOVES and not (kind in _OF_THE_AGENT and is_own):
            return None
        data = self._data_of(kind, data_of(events[0]), is_own=is_own)
        if kind == "changed" and not data:
            return None
        move = {
            "kind": kind,
            "command": command,
            "sent": time_of(events[0]),
            "data_json": encode(data) if data else None,
        }
        return [move, *self._rows(rows, command, events[0]["seq"] + 1)]

    def _data_of(self, kind: str, data: Json, *, is_own: bool) -> Json:
        """Return what the data of an event says here."""
        if kind == "restore" and not self._same_commands:
            return {"to": data.get("to", 0)}
        if kind == "changed" and not is_own:
            return {name: value for name, value in data.items() if name != "name"}
        if kind == "agent_killed":  # what killed it may not be here, and its clones are killed in their own logs
            return {name: value for name, value in data.items() if name == "reason"}
        return data

    def _rows(self, events: list[Json], command: int, expected: int = 0) -> list[Json]:
        """Return messages and records as they are sent; a note replaces a missing one."""
        found: list[Json] = []
        expected = expected or (events[0]["seq"] if events else 0)
        for event in events:
            found += [_note(seq, command) for seq in range(expected, min(event["seq"], expected + _LONGEST_GAP))]
            found.append(fit_messagepack({**element_of(event), "command": command})[0])
            expected = event["seq"] + 1
        return found

    def _fill(self, last: int) -> None:
        """Put notes up to a seq."""
        first = self._end + 1
        for seq in range(first, last + 1):
            self._put([_note(seq, first)], 0)

    def _clone(self, events: list[Json], line: int) -> None:
        """Clone the agent again that was cloned into this one; it is a command of its own."""
        data, last = data_of(events[0]), events[-1]["seq"]
        is_into = events[0].get("agent") == self._owner and events[0]["seq"] != self._cloned + 1
        source = self._find(data.get("from", "")) if is_into else ""
        self.flush()
        if source and self.failure is None:
            try:
                sent = time_of(events[0]) if self._pipeline.knows("clone_sent") else None
                reply = self._pipeline.call(
                    requests.clone(source, at=data.get("at"), into=self.agent, sent=sent, if_seq=self.head)
                )
            except NotRunning:
                raise
            except ReelError as error:
                self._problem(line, f"seq {events[0]['seq']}: not carried out: {error.message}")
            else:
                before, self.head = self.head, reply.head
                if self.head > last:
                    wrote, expected = self.head - before, last - before
                    self.failure = Conflict(f"line {line}: the command wrote {wrote} events, not {expected}")
                return
        elif is_into:
            self._problem(line, f"the conversation {data.get('from')!r}, which was cloned into this one, is not there")
        self._same_commands = False
        self._fill(last)

    def _mend(self, index: int, error: ReelError) -> None:
        """Let notes stand for the command of a refused event, unless it can be here in another form."""
        refused, line = self._waiting[index]
        if error.data.get("field") == "ref":  # another event has it: this one has an id by its place
            self._waiting[index] = {**refused, "ref": own_ref(self._owner, self.head + 1 + index)}, line
            return
        data = data_of(refused)
        self._same_commands = False
        if not {"undoes", "redoes"}.isdisjoint(data):
            self._waiting = [(_without_undo(event), at) for event, at in self._waiting]
            return
        command = refused["command"]
        numbers = [number for number, (event, _) in enumerate(self._waiting) if event["command"] == command]
        self._problem(line, f"seq {self.head + 1 + numbers[0]}: not carried out: {error.message}")
        for number in numbers:
            self._waiting[number] = _note(self.head + 1 + number, command), line

    def _problem(self, line: int, what: str) -> None:
        self.problems.append(Problem(self._path, line, what))


def _note(seq: int, command: int) -> Json:
    return {"kind": "note", "content": f"The event {seq} of the imported log is missing here.", "command": command}


def _without_undo(event: Json) -> Json:
    """Return an event, a plain restore for an undo or a redo."""
    if event["kind"] != "restore":
        return event
    return {**event, "data_json": encode({"to": data_of(event).get("to", 0)})}


def _is_undoable(events: list[Json]) -> bool:
    return any(event["kind"] in ("clone", "rewind", "restore", "clear", "mark") for event in events)
