"""The contents of an agent's log: its messages of a source, and the branches of the conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reel.importing.id_tables import IdMap
from reel.importing.values import digest
from reel.reading.log_tree import LogTree
from reel.said.kinds import NODE_KINDS, is_conversation_kind, tip_after

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from reel.reading.log_tree import Place

# Events that change a conversation without being part of it. A clone's first event is one of them.
_MOVES = frozenset({"clear", "rewind", "restore", "clone"})
# The daemon's limit, in bytes.
_LONGEST_REF = 256
# An importer writes into one log, whose seqs go on from those that it inherited: all count as one agent's.
_LINE = ""


class Log:
    """The messages of a log by the source's ids, and the tree that they form.

    A place in the tree is the seq of a message; ``None`` is the beginning.
    """

    def __init__(self) -> None:
        self._refs = IdMap()
        self._tree = LogTree()
        self._marks: set[int] = set()
        self.head = 0
        # Whether a client other than the importer has changed the conversation.
        self.changed = False
        # The newest message on any branch, or 0.
        self.newest = 0

    @property
    def tip(self) -> int | None:
        """The last message of the conversation."""
        return _seq(self._tree.tip)

    def read(self, events: Iterable[Any], client: str) -> None:
        """Process the events of a log, in order.

        Args:
            events: the events, including inherited ones.
            client: the name of the importer, which is stored with its events.
        """
        for event in events:
            seq, kind = event["seq"], event["kind"]
            parent = event["parent"]["seq"] if event["parent"] else None
            if ref := event.get("ref"):
                self._refs[ref] = seq
            if kind in NODE_KINDS:
                self._add(seq, parent, is_mark=not is_conversation_kind(kind))
            if (kind in NODE_KINDS or kind in _MOVES) and event["client"] != client:
                self.changed = True
            self._move(tip_after(seq, kind, parent), seq, event["command"])

    def place_of(self, ref: str) -> int | None:
        """Return the seq of the event with a source's id; ``None`` if no event has it."""
        return self._refs.get(ref_for(ref))

    def add(self, seq: int, command: int, ref: str, *, is_message: bool) -> None:
        """Record an event added at the tip."""
        self._refs[ref_for(ref)] = seq
        tip = self.tip
        if is_message:
            self._add(seq, tip, is_mark=False)
        self._move(seq if is_message else tip, seq, command)

    def go_to(self, place: int | None, command: int) -> None:
        """Record an event that moved the tip."""
        self._move(place, command, command)

    def bring(self, seqs: Sequence[int], end: int) -> None:
        """Record the messages that a clone into the agent brought, in place of the agent's own before it.

        Args:
            seqs: the messages of the conversation up to the last brought one.
            end: the seq of the clone.
        """
        self._tree.bring(_LINE, seqs, end)
        self._marks = {seq for seq in self._marks if seq > end}
        if self.newest <= end:
            self.newest = seqs[-1]

    def after(self, place: int | None) -> int | None:
        """Return the first message after a place on the path to the tip; ``None`` if the place is not on the path."""
        at, found = self._tree.tip, None
        while at is not None and at[1] != place:
            if at in self._tree:
                found = found if at[1] in self._marks else at[1]
                at = self._tree.parent(at)
            else:
                at = self._tree.nearest(at)  # a mark that was brought
        return found if _seq(at) == place else None

    def end_of(self, place: int) -> int | None:
        """Return the last message of the conversation after the command that added a message."""
        return _seq(self._tree.tip_at(place))

    def _add(self, seq: int, parent: int | None, *, is_mark: bool) -> None:
        self._tree.add((_LINE, seq), _place(parent))
        if is_mark:
            self._marks.add(seq)
        else:
            self.newest = seq

    def _move(self, tip: int | None, seq: int, command: int) -> None:
        self.head = seq
        self._tree.move(_place(tip), seq, command)


def _place(seq: int | None) -> Place | None:
    return None if seq is None else (_LINE, seq)


def _seq(place: Place | None) -> int | None:
    return None if place is None else place[1]


def ref_for(given: str) -> str:
    """Return the source's id of a message as a ``ref``, or a hash of it if the daemon would not accept it."""
    if given.isascii() and given.isprintable() and 0 < len(given) <= _LONGEST_REF:
        return given
    return f"hash-{digest(given)}"
