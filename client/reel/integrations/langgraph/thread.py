"""A thread of a graph, derived from its agent's log: the conversation, and the checkpoints along it.

Theory of operation
-------------------

The log has messages, which any client may add, and records of the kind ``command`` under the key ``langgraph``, which
the saver adds: one for each checkpoint (``put``), for the writes of a task (``writes``) and for checkpoints that are
hidden (``delete``). A checkpoint and the messages that are new in it are one command.

A :class:`Thread` folds the events of the log in order. So a saver reads each event once, and afterwards only new
events, no matter which saver wrote them. Savers that have read the same events agree on the thread.

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
from reel.integrations.langgraph.deleted import Deleted
from reel.integrations.langgraph.parts import parts_of
from reel.integrations.langgraph.past import Past, is_undo
from reel.integrations.langgraph.posts import Posts
from reel.integrations.langgraph.records import (
    CLIENT,
    KIND,
    Checkpoint,
    Write,
    are_hidden,
    are_writes,
    data_in,
    grown_by,
    is_checkpoint,
    is_part,
    is_value,
)
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
            texts = (self._text(made, channel) for made in self.all.values() for channel in made.stored())
            self.deleted.add(self.all, ids, texts)
        self.forget()

    def outlives(self, places: Iterable[tuple[str, str]]) -> bool:
        """Return whether a run that follows one of these checkpoints began before the thread was deleted."""
        return self.deleted.is_outlived(places, self.all)

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
        # By namespace and id: all checkpoints, including hidden ones.
        self.all: dict[tuple[str, str], Checkpoint] = {}
        # The namespaces and ids of those that are hidden.
        self.hidden: set[tuple[str, str]] = set()
        self.by_seq: dict[int, Checkpoint] = {}
        # The messages that the framework received of a conversation without a checkpoint.
        self.outset: Checkpoint | None = None
        # Of each channel whose values grow, the one that was read last: its checkpoint and its text.
        self._grown: dict[tuple[str, str], tuple[int, str]] = {}
        # The records of checkpoints, by their commands.
        self._puts: dict[int, int] = {}
        self._path: list[Node] | None = []
        # The parts of texts, by their seqs.
        self._parts: dict[int, str] = {}
        # All records, by their seqs; those of an agent that this one was cloned from come before its own.
        self.records: list[tuple[int, Mapping[str, Any]]] = []
        self.inherited = 0
        # What the daemon said of itself when it was read first, and how many erasures there had been, if that is known.
        self.read_from: tuple[Hello | None, int | None] | None = None
        # A head up to which it was read or written here, and the agent's fingerprint then.
        self.seen: tuple[int, Fingerprint | None] = 0, None
        # Whether the last thing that happened to the conversation was an undo, so that a redo may bring something back.
        self.is_undone = False
        # What tasks wrote, by the namespace and id of the checkpoint; and all records of subgraphs.
        self._written: dict[tuple[str, str], list[int]] = {}
        self._nested: list[int] = []
        self._past = Past()
        # The last event, if another program moved the conversation by it.
        self._moved: Event | None = None
        self._begin()

    def _begin(self) -> None:
        """Begin with no checkpoint and no write."""
        self.checkpoints: dict[str, dict[str, Checkpoint]] = {}
        # By namespace: the one with the newest record, and the one with the greatest id.
        self.newest: dict[str, Checkpoint] = {}
        self._latest: dict[str, Checkpoint] = {}
        self.writes: dict[tuple[str, str], dict[tuple[str, int], Write]] = {}

    def withdraw_outliving(self) -> None:
        """Leave what was deleted out of the queue, and what follows a checkpoint that is gone: nobody would read it."""
        for post in self.posts.all():
            place = post.data.get("ns", ""), post.data.get("to", "")
            if self.deleted.has(place) and place not in self.all:
                post.is_added = True
                self.posts.withdraw(post)
            elif self.outlives([place]):
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
        if self._moved is not None and self._past.go(self._moved, self.tip, self._latest.get("")):
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
        self._past.note(node.seq, self.tip, self._latest.get(""))
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
            self.by_seq[seq] = Checkpoint(seq, data, self.tip)
            self.all[data["ns"], data["put"]] = self.by_seq[seq]
            self.hidden.discard((data["ns"], data["put"]))
            self._puts[command] = seq
            self._past.put(self.by_seq[seq])
        elif is_part(data):
            self._parts[seq] = data["part"]
        self.records.append((seq, data))
        if are_writes(data):
            self._written.setdefault((data["ns"], data["to"]), []).extend([seq, *parts_of(data)])
        if data.get("ns"):
            self._nested.append(seq)
        self._take(seq, data)
        self._past.note(seq, self.tip, self._latest.get(""))

    def _take(self, seq: int, data: Mapping[str, Any]) -> None:
        made = self.by_seq.get(seq)
        if made is not None:
            self.checkpoints.setdefault(made.space, {})[made.id] = self.newest[made.space] = made
            known = self._latest.get(made.space)
            if known is None or made.id >= known.id:
                self._latest[made.space] = made
        elif are_writes(data):
            written = self.writes.setdefault((data["ns"], data["to"]), {})
            task = data["task"]
            for index, channel, text in data["writes"]:
                seqs = data.get("parts", {}).get(str(index))
                value = text if seqs is None else self.joined(seqs)
                # The first write counts, except for special channels, such as that of an error.
                if is_value(value) and (index < 0 or (task, index) not in written):
                    written[task, index] = Write(task, data["path"], index, channel, value)
        elif are_hidden(data):
            for within, name in data["delete"]:
                self.hidden.add((within, name))
                self._hide(within, name)

    def _go_back(self) -> None:
        """Take the records again without those that were taken back; what was hidden stays so."""
        self._begin()
        for seq, data in self.records:
            if are_hidden(data) or self._past.has(seq, data):
                self._take(seq, data)

    def _hide(self, space: str, name: str) -> None:
        there = self.checkpoints.get(space, {})
        if there.pop(name, None) is not None and self._latest[space].id == name:
            if there:
                self._latest[space] = there[max(there)]
            else:
                del self._latest[space]

    def drop(self, checkpoint: Checkpoint) -> None:
        """Skip an unreadable checkpoint."""
        space = checkpoint.space
        self._hide(space, checkpoint.id)
        if self.newest[space] is checkpoint:
            del self.newest[space]
            if there := self.checkpoints[space]:
                self.newest[space] = max(there.values(), key=lambda each: each.seq)

    def latest(self, space: str) -> Checkpoint | None:
        """Return the checkpoint of a namespace with the greatest id that is not hidden."""
        return self._latest.get(space)

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

    def written(self, space: str, checkpoint_id: str) -> list[Write]:
        """Return the writes of tasks after a checkpoint, in the order in which the framework applies them."""
        found = self.writes.get((space, checkpoint_id), {})
        return sorted(found.values(), key=lambda write: (write.path, write.task, write.index))

    def step(self, checkpoint: Checkpoint) -> list[int]:
        """Return the seqs of the records of the step after a checkpoint, which has what the next checkpoint will add.

        That is the input, if it holds one, what its tasks wrote, and what subgraphs stored meanwhile.
        """
        own = [checkpoint.seq, *parts_of(checkpoint.data)] if checkpoint.is_input() else []
        written = self._written.get((checkpoint.space, checkpoint.id), [])
        return [*own, *written, *self._nested[bisect_right(self._nested, checkpoint.seq) :]]

    def before_first(self) -> list[int]:
        """Return the seqs of what subgraphs stored before the first checkpoint of the graph; none if there is that.

        With the durability ``exit``, the graph's own checkpoint comes after theirs.
        """
        return [] if any(not made.space for made in self.by_seq.values()) else [*self._nested]

    def holder(self, checkpoint: Checkpoint, channel: str) -> tuple[Checkpoint, str] | None:
        """Return the checkpoint that stores a channel's value, and the value as text, or ``None`` if none stores it."""
        seq = checkpoint.data["same"].get(channel)
        found = checkpoint if seq is None else self.by_seq.get(seq)
        value = None if found is None else self._value(found, channel)
        return None if found is None or value is None else (found, value)

    def _value(self, checkpoint: Checkpoint, channel: str) -> str | None:
        """Return a value that a checkpoint stores itself, or as what it adds to that of an earlier one."""
        place = checkpoint.space, channel
        rests: list[str] = []
        at: Checkpoint | None = checkpoint
        while at is not None and (grown := at.data.get("more", {}).get(channel)) is not None:
            known, text = self._grown.get(place, (0, ""))
            if at.seq == known:
                break
            rests.append(grown[1])
            at = self.by_seq.get(grown[0]) if grown[0] < at.seq else None
        else:
            text = "" if at is None else self._text(at, channel)
        if not rests or not text:
            return text or None
        self._grown[place] = checkpoint.seq, grown_by(text, rests[::-1])
        return self._grown[place][1]

    def _text(self, made: Checkpoint, channel: str) -> str:
        """Return the text of a value that a checkpoint stores itself; an empty one if it is not there."""
        seqs = made.data.get("parts", {}).get(channel)
        return str(made.data["values"].get(channel, "")) if seqs is None else self.joined(seqs)

    def joined(self, seqs: Iterable[int]) -> str:
        """Return the text whose parts have these seqs; an empty one if it is not there."""
        found = [self._parts.get(seq) for seq in seqs]
        return "" if None in found else "".join(filter(None, found))

    def marked(self) -> Iterator[Checkpoint]:
        """Yield the newest checkpoints of each namespace that marks lead to: there, and before the next message."""
        there = [made for made in self.by_seq.values() if (made.space, made.id) not in self.hidden]
        for node in self.nodes.values():
            if node.record["kind"] == "mark":
                yield from self._past.newest_at(node.place, there)
                yield from self._past.newest_at_seq(node.seq, there)

    def gone(self) -> list[tuple[int, int]]:
        """Return the stretches of the log that lead back to checkpoints that are hidden.

        Those of a subgraph count if others of it are there, as in the middle of a step that is not over.
        """

        def is_hidden(made: Checkpoint) -> bool:
            return (made.space, made.id) in self.hidden

        nested = [made for made in self.by_seq.values() if made.space]
        there = {made.space for made in nested if not is_hidden(made)}
        return self._past.stretches(is_hidden, [made for made in nested if made.space in there])

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

    def listed(self, space: str | None) -> list[Checkpoint]:
        """Return the checkpoints of a namespace, or of all, that are not hidden."""
        spaces = self.checkpoints.values() if space is None else [self.checkpoints.get(space, {})]
        return [made for there in spaces for made in there.values()]
