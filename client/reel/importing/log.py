"""The contents of an agent's log: its messages of a source, and the branches of the conversation."""

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any

from reel.importing.id_tables import IdMap
from reel.importing.values import digest
from reel.kinds import is_conversation_kind

# Events that change a conversation without being part of it. A clone's first event is one of them.
_MOVES = frozenset({"clear", "rewind", "restore", "clone"})
_MARK = "mark"


# The daemon's limit, in bytes.
_LONGEST_REF = 256
# Represents the beginning in lists of integers.
_NONE = -1


class Log:
    """The messages of a log by the source's ids, and the tree that they form.

    A place in the tree is the seq of a message; ``None`` is the beginning. A log may have a hundred thousand messages,
    so each one is stored as two numbers and its id.
    """

    def __init__(self) -> None:
        self._refs = IdMap()
        self.head = 0
        # The last message of the conversation.
        self.tip: int | None = None
        # Whether a client other than the importer has changed the conversation.
        self.changed = False
        # The messages, in ascending order, and the predecessor of each.
        self._nodes = array("q")
        self._before = array("q")
        self._marks: set[int] = set()
        # The first seq of each command, in ascending order, and the last message after each.
        self._commands = array("q")
        self._ends = array("q")

    def read(self, events: Iterable[Any], client: str) -> None:
        """Process the events of a log, in order.

        Args:
            events: the events, including inherited ones.
            client: the name of the importer, which is stored with its events.
        """
        for event in events:
            seq, kind = event["seq"], event["kind"]
            is_node = is_conversation_kind(kind) or kind == _MARK
            parent = event["parent"]["seq"] if event["parent"] else None
            if ref := event.get("ref"):
                self._refs[ref] = seq
            if kind == _MARK:
                self._marks.add(seq)
            if (is_node or kind in _MOVES) and event["client"] != client:
                self.changed = True
            self.tip = parent
            self._note(seq, event["command"], is_node=is_node)

    def place_of(self, ref: str) -> int | None:
        """Return the seq of the event with a source's id; ``None`` if no event has it."""
        return self._refs.get(ref_for(ref))

    def add(self, seq: int, command: int, ref: str, *, is_message: bool) -> None:
        """Record an event added at the tip."""
        self._refs[ref_for(ref)] = seq
        self._note(seq, command, is_node=is_message)

    def go_to(self, place: int | None, command: int) -> None:
        """Record an event that moved the tip."""
        self.tip = place
        self._note(command, command, is_node=False)

    def bring(self, seqs: Sequence[int], end: int) -> None:
        """Record the messages that a clone into the agent brought, in place of the agent's own before it.

        Args:
            seqs: the messages of the conversation up to the last brought one.
            end: the seq of the clone.
        """
        kept, ended = bisect_right(self._nodes, end), bisect_right(self._commands, end)
        self._nodes[:kept] = array("q", seqs)
        self._before[:kept] = array("q", [_NONE, *seqs[:-1]])
        self._commands[:ended] = self._ends[:ended] = array("q", seqs)
        self._marks = {seq for seq in self._marks if seq > end}

    def _note(self, seq: int, command: int, *, is_node: bool) -> None:
        self.head = seq
        if is_node:
            self._nodes.append(seq)
            self._before.append(_NONE if self.tip is None else self.tip)
            self.tip = seq
        if not self._commands or self._commands[-1] != command:
            self._commands.append(command)
            self._ends.append(_NONE)
        self._ends[-1] = _NONE if self.tip is None else self.tip

    def after(self, place: int | None) -> int | None:
        """Return the first message after a place on the path to the tip; ``None`` if the place is not on the path."""
        seq, found = self.tip, None
        while seq != place:
            if seq is None:
                return None
            number = bisect_right(self._nodes, seq) - 1
            if self._nodes[number] != seq:
                seq = self._nodes[number]  # a mark that was brought
                continue
            found = found if seq in self._marks else seq
            seq = _place(self._before[number])
        return found

    @property
    def newest(self) -> int:
        """The seq of the newest message on any branch, or 0 if the log has no messages."""
        return next((seq for seq in reversed(self._nodes) if seq not in self._marks), 0)

    def end_of(self, place: int) -> int | None:
        """Return the last message of the conversation after the command that added a message."""
        return _place(self._ends[bisect_right(self._commands, place) - 1])


def _place(number: int) -> int | None:
    return None if number == _NONE else number


def ref_for(given: str) -> str:
    """Return the source's id of a message as a ``ref``, or a hash of it if the daemon would not accept it."""
    if given.isascii() and given.isprintable() and 0 < len(given) <= _LONGEST_REF:
        return given
    return f"hash-{digest(given)}"
