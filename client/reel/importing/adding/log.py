"""The contents of an agent's log: its messages of a source, and the branches of the conversation."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from reel.importing.adding.described import Described
from reel.importing.adding.markers import has_marker, is_certain
from reel.importing.adding.usages import Usages
from reel.importing.id_tables import IdMap
from reel.importing.values import AS_WRITTEN, digest, text_in
from reel.providers.blocks import text
from reel.reading.log_tree import LogTree
from reel.said.kinds import NODE_KINDS, is_conversation_kind, tip_after
from reel.said.records import read_row

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from reel.base.strict_json import Json
    from reel.reading.log_tree import Place

# Events that change a conversation without being part of it. A clone's first event is one of them.
MOVES = frozenset({"clear", "rewind", "restore", "clone"})
# What the daemon says of a removal of what nothing can reach any more.
_PRUNED = "prune"
# The id of a message that ends with a part that may not have been finished. Earlier versions had a digest of the part.
_UNFINISHED = re.compile(f"(.*?){AS_WRITTEN}(?:[0-9]+|[0-9a-f]{{16}})?(?:@.*)?")
# What is no longer than a number.
_ROOM = "9" * 16
# The daemon's limit, in bytes.
_LONGEST_REF = 256
# An importer writes into one log, whose seqs go on from those that it inherited: all count as one agent's. What a clone
# brought has seqs that events of the log may have as well: it counts as that of an agent named by the clone's seq.
_LINE = ""


class Log:
    """The messages of a log by the source's ids, and the tree that they form.

    A place in the tree is the seq of a message; ``None`` is the beginning.
    """

    def __init__(self) -> None:
        self._refs = IdMap()
        # The messages that end with a part that may not have been finished, and their ids.
        self.unfinished: dict[int, str] = {}
        self.tree = LogTree()
        self._marks: set[Place] = set()
        # The messages that clones brought, by their seqs.
        self._brought: dict[int, Place] = {}
        self.head = 0
        # Whether a client other than the importer has changed the conversation.
        self.changed = False
        # Whether an answer was in the log when it was read.
        self.is_answered = False
        # Whether words of it were redacted, here or in a log that has it as well, so that it says something else than
        # the source; and the events that have markers.
        self.is_redacted = False
        # Whether the log itself says so: a marker may be in what somebody has quoted.
        self.was_redacted_here = False
        self._marked: set[int] = set()
        # Whether something of it was pruned, so that not every state can be brought back.
        self.is_pruned = False
        # The newest message on any branch, or 0.
        self.newest = 0
        # The usage that the importer counted in this log: what it inherited is counted in another one.
        self.usages = Usages()
        self.described = Described()

    @property
    def tip(self) -> int | None:
        """The last message of the conversation."""
        tip = self.tree.tip
        return None if tip is None else tip[1]

    def read(self, events: Iterable[Any], client: str) -> None:
        """Process the events of a log, in order.

        Args:
            events: the events, including inherited ones.
            client: the name of the importer, which is stored with its events.
        """
        for event in events:
            self.take(event, in_log(event["parent"]["seq"]) if event["parent"] else None, client)

    def take(self, event: Any, parent: Place | None, client: str) -> Place:
        """Process the next event, and return where it is.

        Args:
            event: the event.
            parent: its parent.
            client: as for :meth:`read`.
        """
        seq, kind = event["seq"], event["kind"]
        place = in_log(seq)
        if ref := event.get("ref"):
            self._refs[ref] = seq
            if AS_WRITTEN in ref and _UNFINISHED.fullmatch(ref) is not None:
                self.unfinished[seq] = ref
        self._note_markers(seq, event.get("content"), event.get("data_json"))
        if kind == "usage":
            self.usages.note(event, self._refs.get)
        elif kind == "clone":
            self.usages = Usages()
        elif kind == "redacted":
            is_pruned = is_of_prune(event)
            self.is_pruned, self.is_redacted = self.is_pruned or is_pruned, self.is_redacted or not is_pruned
            self.was_redacted_here = self.was_redacted_here or not is_pruned
        self.is_answered = self.is_answered or kind == "assistant"
        if kind in NODE_KINDS:
            self._add(place, parent, is_mark=not is_conversation_kind(kind))
        self.described.note(event, is_importer=event["client"] == client)
        if (kind in NODE_KINDS or kind in MOVES) and event["client"] != client:
            self.changed = True
        self._move(tip_after(place, kind, parent), seq, event["command"])
        return place

    def place_of(self, ref: str) -> int | None:
        """Return the seq of the event with a source's id; ``None`` if no event has it."""
        return self._refs.get(ref_for(ref))

    def unfinished_of(self, ref: str) -> list[int]:
        """Return the seqs of the messages that end with a part that may go on under an id."""
        return [seq for seq, found in self.unfinished.items() if id_at_end(found) == ref]

    def was_redacted(self, place: int) -> bool:
        """Return whether words of an event were redacted before it was read."""
        return self.is_redacted and place in self._marked

    def _note_markers(self, seq: int, *texts: str | None) -> None:
        for each in texts:
            if each is not None and has_marker(each):
                self._marked.add(seq)
                self.is_redacted = self.is_redacted or is_certain(each)

    def add(self, seq: int, command: int, ref: str, *, is_message: bool) -> None:
        """Record an event added at the tip; ``ref`` is as it was sent."""
        self._refs[ref] = self.head = seq
        tip = self.tree.tip
        if is_message:
            before, tip = tip, (_LINE, seq)
            self.tree.add(tip, before)
            self.newest = seq
        self.tree.move(tip, seq, command)

    def go_to(self, place: int | None, command: int) -> None:
        """Record an event that moved the tip."""
        self._move(None if place is None else self._at(place), command, command)

    def bring(self, place: Place, before: Place | None) -> None:
        """Add a message that a clone into the agent brought, after another one."""
        self.tree.add(place, before)
        self._brought[place[1]] = place

    def settle(self) -> None:
        """After all events: of several messages with one seq, that of the conversation counts, else the log's own."""
        live = {place[1]: place for place in self.tree.path(self.tree.tip)}
        own = {seq: in_log(seq) for seq in self._brought if in_log(seq) in self.tree}
        self._brought |= own | {seq: live[seq] for seq in self._brought.keys() & live.keys()}

    def has(self, place: Place) -> bool:
        """Whether a message is the one that counts for its seq."""
        return self._at(place[1]) == place

    def after(self, place: int | None) -> int | None:
        """Return the first message after a place on the path to the tip; ``None`` if the place is not on the path."""
        at, found = self.tree.tip, None
        while at is not None and at[1] != place:
            if at in self.tree:
                found = found if at in self._marks else at[1]
                at = self.tree.parent(at)
            else:
                at = self.tree.nearest(at)  # what a clone brought, if nobody has read it
        return found if _seq(at) == place else None

    def leads(self, place: int, to: int | None) -> bool:
        """Return whether a message is on the path to another one, or is it."""
        return to is not None and self._at(place) in self.tree.path(self._at(to))

    def before(self, place: int) -> int | None:
        """Return what is right before a message; ``None`` if that is the beginning."""
        return _seq(self.tree.parent(self._at(place)))

    def is_message(self, place: int) -> bool:
        """Return whether a seq is that of a message or a mark, rather than of a record beside the conversation."""
        return self._at(place) in self.tree

    def following(self, place: int | None, head: int) -> list[int]:
        """Return the messages that come right after a place, on any branch, up to a head."""
        at = None if place is None else self._at(place)
        return [seq for agent, seq in self.tree.children(at) if agent == _LINE and seq <= head]

    def state_with(self, place: int) -> tuple[int, int | None]:
        """Return the seq of a state with a message, after the command that added it, and the last message there."""
        agent = self._at(place)[0]
        seq = place if agent == _LINE else int(agent)
        return seq, _seq(self.tree.tip_at(seq))

    def _at(self, seq: int) -> Place:
        return self._brought.get(seq, in_log(seq))

    def _add(self, place: Place, parent: Place | None, *, is_mark: bool) -> None:
        self.tree.add(place, parent)
        if is_mark:
            self._marks.add(place)
        else:
            self.newest = place[1]

    def _move(self, tip: Place | None, seq: int, command: int) -> None:
        self.head = seq
        self.tree.move(tip, seq, command)


def in_log(seq: int) -> Place:
    """Return the place of an event of the log."""
    return _LINE, seq


def is_of_prune(event: Any) -> bool:
    """Return whether an event tells of a prune; of one that is damaged nobody knows, so that it may be a redaction."""
    try:
        return text_in(json.loads(event["data_json"] or "{}"), "by") == _PRUNED
    except ValueError:
        return False


def blocks_in(event: Any) -> list[Json]:
    """Return the blocks of a message, as an event of the log has them."""
    if event["kind"] == "system":
        return [text(event["content"])]
    parts = read_row(event["kind"], event["content"], event["data_json"])
    return [] if parts is None else [{**block} for block in parts.content]


def brought_by(clone: int, seq: int) -> Place:
    """Return the place of a message that a clone into the agent brought."""
    return str(clone), seq


def order_of(place: Place) -> tuple[int, int]:
    """Return what sorts places by when they came to the log; the second number is 0 for an event of the log."""
    return (place[1], 0) if place[0] == _LINE else (int(place[0]), place[1])


def _seq(place: Place | None) -> int | None:
    return None if place is None else place[1]


def id_at_end(ref: str) -> str:
    """Return the id that a part has once it is finished."""
    found = _UNFINISHED.fullmatch(ref)
    return ref if found is None else str(found[1])


def id_before_number(ref: str) -> str:
    """Return the id of a part as that of one that may go on begins; a long one leaves room for a number."""
    return ref if ref_for(f"{ref}{AS_WRITTEN}{_ROOM}") == f"{ref}{AS_WRITTEN}{_ROOM}" else f"hash-{digest(ref)}"


def ref_for(given: str) -> str:
    """Return the source's id of a message as a ``ref``, or a hash of it if the daemon would not accept it."""
    if given.isascii() and given.isprintable() and 0 < len(given) <= _LONGEST_REF:
        return given
    return f"hash-{digest(given)}"
