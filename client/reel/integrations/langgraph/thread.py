"""A thread of a graph, derived from its agent's log: the conversation, and the checkpoints along it.

Theory of operation
-------------------

The log has messages, which any client may add, and records of the kind ``command`` under the key ``langgraph``, which
the saver adds: one for each checkpoint (``put``), for the writes of a task (``writes``) and for checkpoints that are
hidden (``delete``). A checkpoint and the messages that are new in it are one command.

A :class:`Thread` folds the events of the log in order. So a saver reads each event once, and afterwards only new
events, no matter which saver wrote them. Savers that have read the same events agree on the thread. What the graph goes
on from is in :mod:`reel.integrations.langgraph.current`, and the texts of its values are in
:mod:`reel.integrations.langgraph.stored_values`.

The messages of a checkpoint are the conversation at the moment of its record: its tip, and the parents of that. So
nothing is stored twice, and a checkpoint of an abandoned branch still exists. Messages after the record, in its
command, are those of other programs that the graph has not seen yet: they follow the replaced ones.

If another program takes the conversation back, by an undo, a rewind or a restore, the thread goes back as well: to the
checkpoints and writes that it had then (:mod:`reel.integrations.langgraph.past`). The records in between stay in the
log, and a redo brings them back. A conversation that was cleared, or in which messages were replaced, goes on from the
newest checkpoint.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile
from threading import RLock
from typing import TYPE_CHECKING, Any

from reel.integrations.langgraph.copied import Copied
from reel.integrations.langgraph.current import Current
from reel.integrations.langgraph.deleted import Deleted
from reel.integrations.langgraph.parts import parts_of
from reel.integrations.langgraph.past import Past, is_undo
from reel.integrations.langgraph.posts import Posts
from reel.integrations.langgraph.records import (
    CLIENT,
    KIND,
    Checkpoint,
    FullId,
    are_hidden,
    are_writes,
    data_in,
    is_checkpoint,
    is_part,
)
from reel.integrations.langgraph.stored_values import StoredValues
from reel.reading.log_tree import LogTree, place_of
from reel.said.blocks import InvalidRecord
from reel.said.kinds import NODE_KINDS, ROLES
from reel.said.messages import Event
from reel.said.records import message_from_record

if TYPE_CHECKING:
    from reel.reading.log_tree import Place
    from reel.replies import Hello
    from reel.sync.changes import Fingerprint


class Node:
    """An event that is part of a conversation.

    Args:
        place: its agent and seq.
        command: the command that wrote it.
        record: the event, or its parts that make a message.
    """

    __slots__ = ("command", "kept", "place", "record")

    def __init__(self, place: Place, command: int, record: Mapping[str, Any]) -> None:
        self.place = place
        self.command = command
        self.record = record
        # The messages of the framework that it becomes; cached by the first reader.
        self.kept: list[Any] | None = None

    @property
    def seq(self) -> int:
        """Its seq."""
        return self.place[1]

    def message(self) -> Any:
        """Return its message; ``None`` if it is unreadable."""
        try:
            return message_from_record(self.record)
        except InvalidRecord:
            return None


class Thread:
    """The state that the log of an agent produces, up to its ``head``.

    Args:
        name: the name of the agent.
        tags: the tags that it is created with.
    """

    def __init__(self, name: str, tags: dict[str, str]) -> None:
        self.name = name
        self.tags = tags
        self.lock = RLock()
        # The records that are to be added.
        self.posts = Posts()
        self.deleted = Deleted()
        self.forget()

    def delete(self) -> None:
        """Forget everything because somebody has deleted the thread; a run of it may still go on."""
        if self.agent is not None:
            ids = (each.id for node in self.nodes.values() for each in node.kept or ())
            texts = (self.values.text(made, channel) for made in self.all.values() for channel in made.stored())
            self.deleted.add(self.all, ids, texts)
        self.forget()

    def outlives(self, checkpoints: Iterable[FullId]) -> bool:
        """Return whether a run that follows one of these checkpoints began before the thread was deleted."""
        return self.deleted.is_outlived(checkpoints, self.all)

    def forget(self) -> None:
        """Forget everything, and start over."""
        self.agent: str | None = None
        self.head = 0
        self.is_read = False
        self.thread_id: str | None = None
        self._tree = LogTree()
        self.nodes: dict[Place, Node] = {}
        # The messages of other programs that the framework has received.
        self.given: set[Place] = set()
        self.copied = Copied()
        # All checkpoints, including hidden ones.
        self.all: dict[FullId, Checkpoint] = {}
        self.hidden: set[FullId] = set()
        self.by_seq: dict[int, Checkpoint] = {}
        self.values = StoredValues(self.by_seq)
        self.current = Current()
        # The messages that the framework received of a conversation without a checkpoint.
        self.outset: Checkpoint | None = None
        # The records of checkpoints, by their commands.
        self._puts: dict[int, int] = {}
        self._path: list[Node] | None = []
        # All records, by their seqs; those of an agent that this one was cloned from come before its own.
        self.records: list[tuple[int, Mapping[str, Any]]] = []
        self.inherited = 0
        # What the daemon said of itself when it was read first, and how many erasures there had been, if that is known.
        self.read_from: tuple[Hello | None, int | None] | None = None
        # A head up to which it was read or written here, and the agent's fingerprint then.
        self.seen: tuple[int, Fingerprint | None] = 0, None
        # Whether the last thing that happened to the conversation was an undo, so that a redo may bring something back.
        self.is_undone = False
        # The seqs of what tasks wrote after a checkpoint, and of all records of subgraphs.
        self._written: dict[FullId, list[int]] = {}
        self._nested: list[int] = []
        self._past = Past()
        # The last event, if another program moved the conversation by it.
        self._moved: Event | None = None

    def withdraw_outliving(self) -> None:
        """Leave what was deleted out of the queue, and what follows a checkpoint that is gone: nobody would read it."""
        for post in self.posts.all():
            checkpoint = post.data.get("ns", ""), post.data.get("to", "")
            if self.deleted.has(checkpoint) and checkpoint not in self.all:
                post.is_added = True
                self.posts.withdraw(post)
            elif self.outlives([checkpoint]):
                post.leave()

    @property
    def tip(self) -> Place | None:
        """The last node of the conversation."""
        return self._tree.tip

    def fold(self, event: Event) -> None:
        """Fold the next event of the log."""
        if self._moved is not None and (event["command"] != self._moved["command"] or event["kind"] not in NODE_KINDS):
            self.settle()
        self._moved = None
        if event["agent"] != self.agent:
            self.inherited = max(self.inherited, event["seq"])
        before = self.tip
        if self._tree.fold(event):
            self.is_undone = False
            self._keep(Node(place_of(event), event["command"], event), before)
            return
        # A restore may lead to another state of the graph although nothing was said in between.
        if self.tip != before or event["kind"] == "restore":
            self._path = None
            self._moved = event if event["client"] != CLIENT else None
            self.is_undone = is_undo(event)
        if event["kind"] == KIND and (data := data_in(event["data_json"])) is not None:
            self.take(event["seq"], event["command"], data, is_own=event["agent"] == self.agent)

    def settle(self) -> None:
        """Go back with the conversation if another program moved it by the last event.

        A rewind with messages after it in its command replaces some, as an edit or a summary does: that is no way back.
        """
        if self._moved is not None and self._past.go(self._moved, self.tip, self.current.latest("")):
            self._go_back()
        self._moved = None

    def append(self, node: Node) -> None:
        """Add a node at the tip."""
        before = self.tip
        self.is_undone = False
        self._tree.add(node.place, before)
        self._tree.move(node.place, node.seq, node.command)
        self._keep(node, before)

    def _keep(self, node: Node, before: Place | None) -> None:
        self.nodes[node.place] = node
        if node.record["kind"] in ROLES:
            self.copied.note(node.seq)
            self.copied.learn(node.seq, (each.id for each in node.kept or ()))
        self._past.note(node.seq, self.tip, self.current.latest(""))
        if self._tree.parent(node.place) != before:
            self._path = None
        elif self._path is not None and node.record["kind"] in ROLES:
            self._path.append(node)

    def go_before(self, node: Node, command: int) -> None:
        """Go back to the place before a node, as a command does that replaces it."""
        self._tree.move(self._tree.parent(node.place), command, command)
        self._path = None

    def take(self, seq: int, command: int, data: Mapping[str, Any], *, is_own: bool = True) -> None:
        """Fold a record of the saver.

        Args:
            seq: its seq.
            command: the command that it is part of.
            data: its content.
            is_own: whether it is in the log of this agent, rather than in one that it was cloned from.
        """
        if is_own and type(data.get("thread")) is str:
            self.thread_id = data["thread"]
        if is_checkpoint(data):
            made = self.by_seq[seq] = Checkpoint(seq, data, self.tip)
            self.all[made.full_id] = made
            self.hidden.discard(made.full_id)
            self._puts[command] = seq
            self._past.put(made)
        elif is_part(data):
            self.values.take_part(seq, data["part"])
        self.records.append((seq, data))
        if are_writes(data):
            self._written.setdefault((data["ns"], data["to"]), []).extend([seq, *parts_of(data)])
        if data.get("ns"):
            self._nested.append(seq)
        self._take(seq, data)
        self._past.note(seq, self.tip, self.current.latest(""))

    def _take(self, seq: int, data: Mapping[str, Any]) -> None:
        made = self.by_seq.get(seq)
        if made is not None:
            self.current.put(made)
        elif are_writes(data):
            self.current.write(data, self.values)
        elif are_hidden(data):
            for within, name in data["delete"]:
                self.hidden.add((within, name))
                self.current.hide(within, name)

    def _go_back(self) -> None:
        """Take the records again without those that were taken back; what was hidden stays so."""
        self.current = Current()
        for seq, data in self.records:
            if are_hidden(data) or self._past.has(seq, data):
                self._take(seq, data)

    def is_hidden(self, checkpoint: Checkpoint) -> bool:
        """Whether a checkpoint is hidden."""
        return checkpoint.full_id in self.hidden

    def is_foreign(self, node: Node) -> bool:
        """Whether a message came from a client other than a saver."""
        return node.seq > self._puts.get(node.command, 0)

    def is_unseen(self, node: Node) -> bool:
        """Whether a message came from another client, and the framework has not received it yet."""
        return self.is_foreign(node) and node.place not in self.given

    def path(self) -> list[Node] | None:
        """Return the messages of the current conversation; see :meth:`path_to`."""
        if self._path is None:
            self._path = self.path_to(self.tip)
        return self._path

    def path_to(self, tip: Place | None) -> list[Node] | None:
        """Return the messages up to a node; ``None`` if some are in an unread log, as after a clone into."""
        found = [self.nodes.get(place) for place in self._tree.path(tip)]
        path = [node for node in reversed(found) if node is not None]
        return None if len(path) < len(found) else [node for node in path if node.record["kind"] in ROLES]

    def step(self, checkpoint: Checkpoint) -> list[int]:
        """Return the seqs of the records of the step after a checkpoint, which has what the next checkpoint will add.

        That is the input, if it holds one, what its tasks wrote, and what subgraphs stored meanwhile.
        """
        own = [checkpoint.seq, *parts_of(checkpoint.data)] if checkpoint.is_input() else []
        written = self._written.get(checkpoint.full_id, [])
        return [*own, *written, *self._nested[bisect_right(self._nested, checkpoint.seq) :]]

    def before_first(self) -> list[int]:
        """Return the seqs of what subgraphs stored before the first checkpoint of the graph; none if there is that.

        With the durability ``exit``, the graph's own checkpoint comes after theirs.
        """
        return [] if any(not made.space for made in self.by_seq.values()) else [*self._nested]

    def marked(self) -> Iterator[Checkpoint]:
        """Yield the newest checkpoints of each namespace that marks lead to: there, and before the next message."""
        there = [made for made in self.by_seq.values() if not self.is_hidden(made)]
        for node in self.nodes.values():
            if node.record["kind"] == "mark":
                yield from self._past.newest_at(node.place, there)
                yield from self._past.newest_at_seq(node.seq, there)

    def gone(self) -> list[tuple[int, int]]:
        """Return the stretches of the log that lead back to checkpoints that are hidden.

        Those of a subgraph count if others of it are there, as in the middle of a step that is not over.
        """
        nested = [made for made in self.by_seq.values() if made.space]
        there = {made.space for made in nested if not self.is_hidden(made)}
        return self._past.stretches(self.is_hidden, [made for made in nested if made.space in there])

    def taken_back(self) -> list[Checkpoint]:
        """Return the checkpoints that were taken back with the conversation."""
        return [made for made in self.by_seq.values() if not self._past.has(made.seq, made.data)]

    def tips(self, checkpoints: Iterable[Checkpoint]) -> list[int]:
        """Return seqs from which the messages of checkpoints can be reached that are not in the conversation now."""
        reached = set(self._tree.path(self.tip))
        found = []
        own = {made.tip for made in checkpoints if made.tip is not None and made.tip[0] == self.agent}
        for tip in sorted(own - reached, key=lambda place: place[1], reverse=True):
            if tip not in reached:
                found.append(tip[1])
                reached.update(takewhile(lambda place: place not in reached, self._tree.path(tip)))
        return found
