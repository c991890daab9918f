"""A log in a list: the store's rules in memory, in their simplest form, for tests of the pure core."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from reel.said.kinds import CONVERSATION
from reel.wire.msgpack_codec import packer
from reeld.core.conversation import Conversation
from reeld.core.events import Entry, Event, Mark, Node, entry, label_of, read
from reeld.core.milestones import Extent, Milestone, Waypoint
from reeld.core.path import Turn
from reeld.core.stage import Stage
from reeld.core.state import Profile, Source, State
from reeld.core.undo import Command
from reeld.verify.rows import AgentRow, EventRow, Problem, check_agent
from reeld.verify.rules import LogValidator, StoredPrompt

pack = packer()
_NONE: Mapping[int, Turn] = {}


@dataclass
class Row:
    """An event as it was committed."""

    id: int
    agent: int
    event: Event


@dataclass
class MemoryLog:
    """Every event of every agent, in the order of their ids."""

    rows: list[Row] = field(default_factory=list)
    milestones: dict[int, Milestone] = field(default_factory=dict)

    def commit(self, state: State, stage: Stage, turns: Mapping[int, Turn] = _NONE) -> list[tuple[Extent, Extent]]:
        """Write a unit of work, and apply it to the live state.

        Return for each event how much of the conversation it kept, and how long that was after it.
        """
        first = len(self.rows) + 1
        for event in stage.events:
            parent = event.parent
            if parent is not None and parent < 0:
                parent = first + ~parent
            self.rows.append(Row(len(self.rows) + 1, state.profile.row, event._replace(parent=parent)))
        state.profile = stage.profile
        extents = []
        for number, row in enumerate(self.rows[first - 1 :]):
            past = turns[number].takeover(first, stage.events) if number in turns else None
            kept = state.conversation.apply(row.id, row.event, past)
            extents.append((kept, state.conversation.extent))
            self.note(state.conversation.take_new_milestones())  # a later event may leave them behind
        return extents

    def note(self, milestones: list[Milestone]) -> None:
        """Store milestones."""
        self.milestones |= {milestone.id: milestone for milestone in milestones}

    def of(self, agent: int) -> list[Row]:
        """Return the events of one agent."""
        return [row for row in self.rows if row.agent == agent]

    def position(self, profiles: dict[int, Profile], agent: int, at: int) -> tuple[int, int | None]:
        """Return the end of the command that a position is in, and the tip there."""
        own = [row for row in self.of(agent) if row.event.seq <= at]
        if not own:
            source = profiles[agent].source
            return (0, None) if source is None else self.position(profiles, source.row, at)
        last = [row for row in self.of(agent) if row.event.command == own[-1].event.command][-1]
        return last.event.seq, self._tip_after(last)

    def _tip_after(self, row: Row) -> int | None:
        return row.id if row.event.kind in CONVERSATION or row.event.kind == "mark" else row.event.parent

    def walk(self, tip: int | None) -> list[Node]:
        """Return the nodes from the root to a tip, found by their parents alone."""
        return self.nodes([*self.ids(tip)][::-1])

    def ids(self, tip: int | None) -> Iterator[int]:
        """Yield the ids of the nodes from a tip to the root."""
        while tip is not None:
            yield tip
            tip = self.rows[tip - 1].event.parent

    def path(self, tip: int) -> Iterator[tuple[Node, bool]]:
        """Yield the nodes from a tip to the root, and whether each has a milestone."""
        for node_id in self.ids(tip):
            yield self.nodes([node_id])[0], node_id in self.milestones

    def nodes(self, ids: Sequence[int]) -> list[Node]:
        """Return nodes by their ids."""
        return [self._node(node_id, self.rows[node_id - 1].event) for node_id in ids]

    def _node(self, node_id: int, event: Event) -> Node:
        if event.kind == "mark":
            return Mark(node_id, event.seq, label_of(event.data_json))
        values = (event.kind, event.content, event.data_json)
        message, tools = read(pack, *values, event.seq, event.time, event.origin)
        return entry(node_id, event.seq, *values, event.time, message, tools)._replace(origin=event.origin)

    def milestone(self, node_id: int) -> Milestone | None:
        """Return the milestone at a node."""
        return self.milestones.get(node_id)

    def chain(self, node_id: int) -> Iterator[Waypoint]:
        """Yield where the milestone at a node is, and those before it."""
        at: int | None = node_id
        while at is not None and (milestone := self.milestones.get(at)) is not None:
            yield milestone.waypoint
            at = milestone.previous

    def live(self, agent: int) -> Conversation:
        """Return the live conversation of an agent, walked."""
        return Conversation(self.states(agent)[-1])

    def states(self, agent: int, newest: int = 1) -> list[list[Node]]:
        """Return the states after the newest events of an agent, walked, and the state before them."""
        own = self.of(agent)[-newest - 1 :]
        walked = [self.walk(self._tip_after(row)) for row in own]
        return walked if len(own) > newest else [[], *walked]

    def newest(self, agent: int, at: int) -> Command | None:
        """Return the newest undoable command at or before a seq."""
        own = self.of(agent)
        first = own[0].event.command
        begun = [row.event.kind for row in own if row.event.command == first]
        floor = own[1].event.seq if begun == ["created", "system"] else own[0].event.seq
        for row in reversed(own):
            event = row.event
            if event.seq <= floor or event.seq > at:
                continue
            if event.kind in CONVERSATION or event.kind in ("clear", "mark", "rewind", "clone"):
                return Command(event.command)
            if event.kind == "restore":
                data = json.loads(event.data_json or "")
                return Command(event.command, data.get("undoes"), data.get("redoes"), data.get("undo"))
        return None


@dataclass
class Past:
    """The lookups that a check needs of a log, answered by a full scan."""

    log: MemoryLog
    profiles: dict[int, Profile]

    def has_redactions(self) -> bool:
        return False

    def was_purged(self, uid: str) -> bool:
        return uid not in {profile.uid for profile in self.profiles.values()}

    def row_of(self, uid: str) -> int | None:
        return next((row for row, profile in self.profiles.items() if profile.uid == uid), None)

    def position(self, row: int, at: int) -> tuple[int, int | None]:
        return self.log.position(self.profiles, row, at)

    def begins(self, row: int, seq: int) -> bool:
        return any(seq == own.event.seq == own.event.command for own in self.log.of(row))

    def marks(self, tip: int | None, seq: int) -> list[Mark]:
        return [node for node in reversed(self.log.walk(tip)) if isinstance(node, Mark) and node.seq >= seq]

    def parents(self, tip: int | None, seq: int) -> list[int | None]:
        found = [node for node in self.log.walk(tip) if isinstance(node, Entry) and node.seq == seq]
        return [self.log.rows[node.id - 1].event.parent for node in found]

    def prompt(self, tip: int | None) -> StoredPrompt | None:
        systems = [node for node in self.log.walk(tip) if isinstance(node, Entry) and node.kind == "system"]
        return StoredPrompt(systems[-1].content, systems[-1].data_json) if systems else None

    def problems(self, row: int) -> list[Problem]:
        """Return the problems of an agent's log."""
        agent, own = self.profiles[row], self.log.of(row)
        at, uid = (agent.source.at, agent.source.uid) if agent.source else (None, None)
        found = AgentRow(
            row,
            agent.uid,
            agent.name,
            agent.title,
            json.dumps(agent.tags),
            agent.source.row if agent.source else None,
            at,
            agent.killed,
            agent.head,
            uid,
            self.profiles[agent.source.row].head if agent.source else None,
            own[-1].event.seq,
            1,
        )
        fold = LogValidator(found, self)
        events = [problem for event in own for problem in fold.check(self._row(event))]
        return [*check_agent(found), *events, *fold.end()]

    def _row(self, row: Row) -> EventRow:
        event = row.event
        parent_kind = None if event.parent is None else self.log.rows[event.parent - 1].event.kind
        return EventRow(
            row.id,
            event.seq,
            event.command,
            event.kind,
            event.content,
            event.data_json,
            event.parent,
            event.time,
            parent_kind,
        )


def profile(row: int, source: Source | None = None) -> Profile:
    """Return a new agent's profile."""
    head = 0 if source is None else source.at
    return Profile(row, f"{row:032x}", f"agent-{row}", None, {}, source, 0, 0, None, head)
