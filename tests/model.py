"""A naive model of conversations: it keeps every state whole, and nothing in it is clever.

It shares no code with the implementation.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from reel.base.errors import ReelError


class Said(NamedTuple):
    """A record of a conversation."""

    seq: int
    kind: str
    content: str | None
    data_json: str | None


class Marked(NamedTuple):
    """A mark of a conversation."""

    seq: int
    label: str | None


Snapshot = tuple[Said | Marked, ...]


class Refused(Exception):
    """The command is not possible; ``name`` is the name of the error."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def refusal(action: Callable[[], Any]) -> str | None:
    """Call a function; return the name of the error that refused it, or ``None``."""
    try:
        action()
    except (Refused, ReelError) as error:
        return error.name
    return None


@dataclass
class ModelAgent:
    """One agent: its state, every state before, and what can be undone."""

    head: int = 0
    now: Snapshot = ()
    alive: bool = True
    past: dict[int, Snapshot] = field(default_factory=lambda: {0: ()})
    # The last seq of the command that each seq belongs to.
    ends: dict[int, int] = field(default_factory=dict)
    undoable: list[tuple[int, Snapshot, Snapshot]] = field(default_factory=list)
    redoable: list[tuple[int, Snapshot, Snapshot]] = field(default_factory=list)

    # --- its state

    @property
    def records(self) -> list[Said]:
        """The conversation."""
        return [node for node in self.now if isinstance(node, Said)]

    @property
    def marks(self) -> list[Marked]:
        """The current marks."""
        return [node for node in self.now if isinstance(node, Marked)]

    @property
    def prompt(self) -> Said | None:
        """The newest system record."""
        return next((node for node in reversed(self.records) if node.kind == "system"), None)

    # --- its commands

    def create(self, system: str | None) -> None:
        """Begin; the first state cannot be undone."""
        self.head += 1
        if system:
            self.head += 1
            self.now = (Said(self.head, "system", system, None),)
        self._keep(1)

    def add(self, rows: list[tuple[str, str | None, str | None]], *, create: bool = False) -> None:
        """Add rows, and begin with them if ``create`` is true; inert rows leave the conversation as it is."""
        self._alive()
        command, before = self.head + 1, self.now
        self.head += create
        self._say(rows)
        counts = self.now != before
        self._done(command, before, counts=counts)

    def replace(self, seq: int, rows: list[tuple[str, str | None, str | None]]) -> None:
        """Replace what there is from a record on by rows."""
        self._alive()
        kept = [index for index, node in enumerate(self.now) if isinstance(node, Said) and node.seq == seq]
        if not kept:
            raise Refused("invalid_params")
        command, before = self.head + 1, self.now
        self.head += 1
        self.now = self.now[: kept[0]]
        self._say(rows)
        self._done(command, before)

    def mark(self, label: str | None) -> None:
        """Set a mark."""
        self._alive()
        before = self.now
        self.head += 1
        self.now = (*self.now, Marked(self.head, label))
        self._done(self.head, before)

    def rewind(self, label: str | None) -> None:
        """Go back to a mark."""
        self._alive()
        for index in reversed(range(len(self.now))):
            node = self.now[index]
            if not isinstance(node, Marked):
                continue
            said_after = any(isinstance(later, Said) for later in self.now[index:])
            if said_after if label is None else node.label == label:
                self._move(self.now[: index + 1])
                return
        raise Refused("no_such_mark")

    def clear(self) -> None:
        """Remove everything but the prompt."""
        self._alive()
        command, before, prompt = self.head + 1, self.now, self.prompt
        self.head += 1
        self.now = ()
        if prompt is not None and prompt.content:
            self.head += 1
            self.now = (prompt._replace(seq=self.head),)
        self._done(command, before)

    def restore(self, at: int) -> None:
        """Return to an earlier state."""
        self._alive()
        self._move(self.state_at(at))

    def undo(self) -> None:
        """Take back the newest command."""
        self._alive()
        if not self.undoable:
            raise Refused("nothing_to_undo")
        step = self.undoable.pop()
        self.redoable.append(step)
        self.head += 1
        self.now = step[1]
        self._keep(self.head)

    def redo(self) -> None:
        """Redo the command that was undone last."""
        self._alive()
        if not self.redoable:
            raise Refused("nothing_to_undo")
        step = self.redoable.pop()
        self.undoable.append(step)
        self.head += 1
        self.now = step[2]
        self._keep(self.head)

    def clone(self, at: int) -> "ModelAgent":
        """Return a clone of its current state, or of an earlier one."""
        end = self._end(at)
        past = {seq: state for seq, state in self.past.items() if seq <= end}
        ends = {seq: last for seq, last in self.ends.items() if seq <= end}
        twin = ModelAgent(head=end, now=self.past[end], past=past, ends=ends)
        twin.head += 1
        twin._keep(twin.head)
        return twin

    def take_over(self, source: "ModelAgent", at: int) -> None:
        """Take over the state of another agent."""
        self._alive()
        before = self.now
        end = source._end(at)
        self.head = max(self.head, end) + 1
        self.now = source.past[end]
        self._done(self.head, before)

    def inert(self) -> None:
        """Write an event that leaves the conversation as it is: a kill, a new name."""
        self.head += 1
        self._keep(self.head)

    def state_at(self, at: int) -> Snapshot:
        """Return the state at a seq."""
        return self.past[self._end(at)]

    # --- details

    def _say(self, rows: list[tuple[str, str | None, str | None]]) -> None:
        for kind, content, data_json in rows:
            self.head += 1
            if kind in ("system", "user", "assistant", "tool_call", "tool_result"):
                self.now = (*self.now, Said(self.head, kind, content, data_json))

    def _alive(self) -> None:
        if not self.alive:
            raise Refused("killed")

    def _move(self, to: Snapshot) -> None:
        before = self.now
        self.head += 1
        self.now = to
        self._done(self.head, before)

    def _done(self, command: int, before: Snapshot, *, counts: bool = True) -> None:
        self._keep(command)
        if counts:
            self.undoable.append((command, before, self.now))
            self.redoable.clear()

    def _keep(self, command: int) -> None:
        """Remember the state under every seq of the command, and where the command ends."""
        for seq in range(command, self.head + 1):
            self.past[seq] = self.now
            self.ends[seq] = self.head

    def _end(self, at: int) -> int:
        """Return the end of the command that a seq is in; in a gap, that of the command before."""
        nearest = max(seq for seq in self.past if seq <= at)
        return self.ends.get(nearest, nearest)
