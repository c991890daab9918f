"""The invariants of an agent's log, checked event by event.

The validator remembers the previous event and the tip, and looks up everything else in the log. So it takes no more
memory for a million events than for one. After a bad event, later events are judged by the stored values, so that one
fault is not reported a thousand times.

This is a third implementation of the rules, beside the fold (:mod:`reeld.core.conversation`) and the walk: a bug in
either of them cannot go unnoticed here.
"""

from collections.abc import Iterator
from typing import Any, Protocol

from reel.base.light_typing import NamedTuple
from reel.said.kinds import CONVERSATION, INERT, KNOWN
from reeld.core.events import UNUSED, Mark
from reeld.core.tree import is_node, tip_after
from reeld.verify.rows import AgentRow, EventRow, Problem, read_event, tags_of

# The kinds that can begin a command of several events, and those that can continue it; clear has its own rule.
_BEGINS = CONVERSATION | INERT | {"created"}
_FOLLOWS = CONVERSATION | INERT
# The kinds of events whose data determines their parent.
_NAMES_PARENT = frozenset({"rewind", "clone", "restore"})


class StoredPrompt(NamedTuple):
    """A system prompt as stored in its event."""

    content: str | None
    data_json: str | None


class LogLookup(Protocol):
    """The questions that the validator can ask about the log."""

    def row_of(self, uid: str) -> int | None:
        """Return the row of the agent with an id."""

    def has_redactions(self) -> bool:
        """Return whether anything was ever redacted or pruned."""

    def was_purged(self, uid: str) -> bool:
        """Return whether the agent with an id was purged."""

    def position(self, row: int, at: int) -> tuple[int, int | None]:
        """Return the end of the command at a position, and the tip there."""

    def begins(self, row: int, seq: int) -> bool:
        """Return whether a command of an agent begins at a seq."""

    def marks(self, tip: int | None, seq: int) -> list[Mark]:
        """Return the marks of a state from its tip down to a seq, the newest first."""

    def prompt(self, tip: int | None) -> StoredPrompt | None:
        """Return the newest system event of a state."""

    def parents(self, tip: int | None, seq: int) -> list[int | None]:
        """Return the parent of the message or prompt of a state with this seq, or an empty list if it has no parent."""


class _UnknownParent(Exception):
    """An event's data does not determine its parent."""


class LogValidator:
    """Validates an agent's log: :meth:`check` takes the events in the order of seqs, :meth:`end` finishes.

    Args:
        agent: the owner of the log.
        log: looks up other parts of the log.
    """

    def __init__(self, agent: AgentRow, log: LogLookup) -> None:
        self.agent = agent
        self._log = log
        self._before: EventRow | None = None
        self._tip: int | None = None
        # The kind that began the command, and whether it rewinds to before a message, so that others may follow.
        self._begun = ""
        self._replaces = False
        # When the agent was killed, if it was.
        self._killed: int | None = None
        # The columns of the agent's row that the log determines.
        self._columns: dict[str, Any] = {}
        # After a clear: the prompt that must follow in its command, if any.
        self._cleared: tuple[StoredPrompt | None] | None = None

    def check(self, event: EventRow) -> list[Problem]:
        """Return the problems of the next event."""
        data, problems = read_event(event)
        if self.agent.is_purged:  # the events that others inherited need not be a complete log
            self._before = event
            problems += self._check_link(event)
            return [problem._replace(seq=event.seq, event_id=event.id) for problem in problems]
        if not problems or event.kind not in _NAMES_PARENT:
            problems += self._check_parent(event, data)
        problems += self._check_place(event, data)
        problems += self._check_command(event)
        problems += self._check_life(event)
        self._advance(event, data)
        return [problem._replace(seq=event.seq, event_id=event.id) for problem in problems]

    def end(self) -> Iterator[Problem]:
        """Yield the problems of the log as a whole, and its contradictions with the agent's row."""
        last, agent = self._before, self.agent
        if last is None or agent.is_purged:
            return
        if self._cleared is not None and self._cleared != (None,):
            yield Problem("command", "the clear does not restate the prompt", last.seq, last.id)
        if self._killed != agent.killed:
            yield Problem("killed", f"its row says {_death(agent.killed)}, its log says {_death(self._killed)}")
        stored = {"name": agent.name, "title": agent.title, "tags": tags_of(agent)}
        for name, logged in self._columns.items():
            if stored[name] != logged:
                yield Problem(name, f"its row says {stored[name]!r}, its log {logged!r}")

    def _advance(self, event: EventRow, data: dict[str, Any]) -> None:
        if event.command == event.seq:
            self._begun = event.kind
            self._replaces = event.kind == "rewind" and "before" in data
        if event.kind == "agent_killed":
            self._killed = event.time
        elif event.kind == "revived":
            self._killed = None
        elif event.kind == "created" and data:
            self._columns = {"title": None, "tags": {}, **_named(data)}
        elif event.kind == "changed":
            self._columns |= _named(data)
        self._cleared = (self._prompt(),) if event.kind == "clear" else None
        self._tip = tip_after(event.id, event.kind, event.parent)
        self._before = event

    def _prompt(self) -> StoredPrompt | None:
        prompt = self._log.prompt(self._tip)
        return prompt if prompt is not None and prompt.content else None

    # --- its place in the log

    def _check_place(self, event: EventRow, data: dict[str, Any]) -> Iterator[Problem]:
        before, at = self._before, 0
        if before is None:
            at = self.agent.source_at or 0
            yield from self._check_first(event, data, at)
        elif event.kind == "clone":
            at = data.get("at", 0)
        elif event.kind == "lost":
            at = data.get("to", 0) + UNUSED
        if before is not None and event.id <= before.id:
            yield Problem("order", f"its id is not larger than {before.id}, that of the event before")
        expected = max(before.seq if before else 0, at) + 1
        if event.seq != expected:
            yield Problem("gap", f"its seq should be {expected}")

    def _check_first(self, event: EventRow, data: dict[str, Any], at: int) -> Iterator[Problem]:
        begins = "created" if self.agent.source is None else "clone"
        if event.kind != begins:
            yield Problem("first", f"the log of this agent should begin with {begins}, not with {event.kind}")
        elif begins == "clone" and data and (data["from"], data["at"]) != (self.agent.source_uid, at):
            yield Problem("first", f"it does not take over the state of the agent's source at {at}")

    def _check_command(self, event: EventRow) -> Iterator[Problem]:
        begins = event.command == event.seq
        if self._cleared is not None:
            said = None if begins else StoredPrompt(event.content, event.data_json)
            if self._cleared != (said,) and not self._may_differ(said):
                yield Problem("command", "the clear before it does not restate the prompt as it was")
        if begins:
            return
        if self._before is None or event.command != self._before.command:
            yield Problem("command", f"it belongs to command {event.command}, and the event before it does not")
        elif event.kind in KNOWN and not self._may_follow(event):
            yield Problem("command", f"{event.kind} cannot be part of a command that begins with {self._begun}")

    def _may_differ(self, said: StoredPrompt | None) -> bool:
        """Return whether one of two prompts, in the pasts of different agents, may have been redacted."""
        return said is not None and self._cleared != (None,) and self._log.has_redactions()

    def _may_follow(self, event: EventRow) -> bool:
        if self._begun == "clear":
            return event.kind == "system" and self._cleared is not None
        return event.kind in _FOLLOWS and (self._begun in _BEGINS or self._replaces or self._begun not in KNOWN)

    def _check_life(self, event: EventRow) -> Iterator[Problem]:
        if self._killed is not None and event.kind not in ("revived", "redacted", "lost"):
            yield Problem("dead", "it was written to a killed agent")
        elif self._killed is None and event.kind == "revived":
            yield Problem("dead", "it brings back an agent that was alive")

    # --- its place in the tree

    def _check_link(self, event: EventRow) -> Iterator[Problem]:
        """Check that the parent exists, and is of a kind that can be a parent."""
        parent, kind = event.parent, event.parent_kind
        if parent is not None and kind is None:
            yield Problem("parent_missing", f"there is no event {parent}, its parent")
        elif parent is not None and parent >= event.id:
            yield Problem("parent_later", f"its parent {parent} is not older than it")
        elif kind is not None and not is_node(kind):
            yield Problem("parent_no_node", f"its parent {parent} is of the kind {kind}")

    def _check_parent(self, event: EventRow, data: dict[str, Any]) -> Iterator[Problem]:
        parent = event.parent
        if wrong := list(self._check_link(event)):
            yield from wrong
        elif event.kind in KNOWN:
            try:
                expected = self._expected(event, data)
            except _UnknownParent as error:
                yield Problem("data", str(error))
                return
            if parent != expected:
                yield Problem("parent", f"its parent is {parent or 'none'}, and should be {expected or 'none'}")

    def _expected(self, event: EventRow, data: dict[str, Any]) -> int | None:
        """Return the parent that an event must have.

        Raises:
            _UnknownParent: its data does not determine it.
        """
        if event.kind == "clear":
            return None
        if event.kind == "rewind" and "before" in data:
            return self._before_message(data["before"])
        if event.kind == "rewind":
            return self._target(data["target"], data.get("label"))
        if event.kind == "clone":
            return self._source_tip(event, data["from"], data["at"])
        if event.kind == "restore":
            return self._restored(event, data)
        return self._tip

    def _target(self, target: int, label: str | None) -> int:
        marks = self._log.marks(self._tip, target)
        if not marks or marks[-1].seq != target:
            raise _UnknownParent(f"target: the state before has no mark {target}")
        if label is not None and next((mark.seq for mark in marks if mark.label == label), None) != target:
            raise _UnknownParent(f"target: {target} is not the newest mark with the label {label}")
        return marks[-1].id

    def _before_message(self, seq: int) -> int | None:
        found = self._log.parents(self._tip, seq)
        if not found:
            raise _UnknownParent(f"before: no message {seq} is in the state before")
        return found[0]

    def _source_tip(self, event: EventRow, source: str, at: int) -> int | None:
        if self._log.was_purged(source):
            return event.parent  # nothing is left to compare it with
        row = self._log.row_of(source)
        if row is None:
            raise _UnknownParent("from: there is no such agent")
        end, tip = self._log.position(row, at)
        if end != at:
            raise _UnknownParent(f"at: no command ends at {at} there")
        return tip

    def _restored(self, event: EventRow, data: dict[str, Any]) -> int | None:
        to, row = data["to"], self.agent.row
        if to >= event.seq:
            raise _UnknownParent(f"to: {to} is not before it")
        for field in ("undoes", "redoes", "undo"):
            if field in data and not self._log.begins(row, data[field]):
                raise _UnknownParent(f"{field}: no command begins at {data[field]}")
        end, tip = self._log.position(row, to)
        if "undoes" in data:
            end = data["undoes"] - 1
        elif "redoes" in data:
            end, _ = self._log.position(row, data["redoes"])
        if end != to:
            raise _UnknownParent(f"to: it is {to}, and should be {end}")
        return tip


def _named(data: dict[str, Any]) -> dict[str, Any]:
    return {name: data[name] for name in ("name", "title", "tags") if name in data}


def _death(time: int | None) -> str:
    return "alive" if time is None else f"killed at {time}"
