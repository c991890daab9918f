"""The running state, the state read by walking parents, and a naive model of snapshots are always equal."""

from collections.abc import Mapping
from itertools import pairwise, takewhile
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from reel.base.errors import NothingToUndo
from reel.reading.log_tree import LogTree
from reel.said.records import message_from_record
from reel.wire.short_messages import unpacked
from reeld.core import commands
from reeld.core.conversation import Branch, Conversation, Replacement, Takeover
from reeld.core.events import Entry, Node
from reeld.core.milestones import STEP, Extent
from reeld.core.path import Path, Turn
from reeld.core.reading import Reader
from reeld.core.rows import CheckedRow, Row
from reeld.core.stage import Stage
from reeld.core.state import Profile, Source, State
from reeld.core.tree import tip_after
from reeld.core.undo import redoable, undoable
from reeld.core.validation import rows_from
from tests.model import Marked, ModelAgent, Said, refusal
from tests.reeld.core.memory import MemoryLog, Past, pack, profile
from tests.reeld.core.memory import Row as Stored

_IDS = st.sampled_from(["a", "b", "c"])
_ELEMENTS = st.one_of(
    st.text(max_size=8),
    st.builds(lambda text: {"role": "assistant", "content": text}, st.text(max_size=8)),
    st.builds(lambda text: {"role": "system", "content": text}, st.sampled_from(["", "be brief", "be kind"])),
    st.builds(
        lambda i: {"kind": "tool_call", "data_json": f'{{"tool_call_id":"{i}","name":"n","arguments":""}}'}, _IDS
    ),
    st.builds(
        lambda ids: {
            "role": "assistant",
            "content": [{"type": "tool_call", "id": i, "name": "n", "arguments": "{}"} for i in ids],
        },
        st.lists(_IDS, min_size=1, max_size=3),
    ),
    st.builds(
        lambda ids: {
            "role": "tool",
            "content": [{"type": "tool_result", "tool_call_id": i, "content": "out"} for i in ids],
        },
        st.lists(_IDS, min_size=1, max_size=3),
    ),
    st.sampled_from(
        [
            {"kind": "usage", "data_json": '{"input":1}'},
            {"kind": "note"},
            {"kind": "interrupted"},
            {"kind": "state", "content": "k"},
        ]
    ),
    st.sampled_from(
        [
            {"role": "user", "content": "old", "sent": 5},
            {"kind": "note", "content": "old", "sent": 6},
            {
                "role": "tool",
                "content": [{"type": "tool_result", "tool_call_id": "a", "content": "old"}],
                "sent": 7,
            },
        ]
    ),
)
_LABELS = st.sampled_from([None, "one", "two"])
_FRACTION = st.floats(0, 1)
_STEPS = st.tuples(
    st.sampled_from(["add", "add", "mark", "clear", "rewind", "restore", "replace"]),
    _FRACTION,
    _LABELS,
    st.lists(_ELEMENTS, min_size=1, max_size=3),
)
_NONE: Mapping[int, Turn] = {}


class Conversations(RuleBasedStateMachine):
    """Several agents, each with three derivations of its state; all entries are in memory."""

    agents = Bundle("agents")
    # Nodes from one milestone to the next, and the entries that stay in memory; ``None`` for all.
    step = STEP
    least: int | None = None

    def __init__(self) -> None:
        super().__init__()
        self.log = MemoryLog()
        self.states: dict[int, State] = {}
        self.models: dict[int, ModelAgent] = {}

    @property
    def profiles(self) -> dict[int, Profile]:
        return {row: state.profile for row, state in self.states.items()}

    def stage(self, agent: int) -> Stage:
        return Stage(self.states[agent], 1000, pack)

    def both(self, agent: int, real: Any, model: Any) -> None:
        """Apply the same to the live state and to the model; both accept it or both refuse it."""
        stage = self.stage(agent)
        past: list[Any] = []
        refused = refusal(lambda: model(self.models[agent]))

        assert refused == refusal(lambda: past.append(real(stage)))
        if refused is None:
            self.commit(agent, stage, {0: Turn(past[0])} if isinstance(past[0], (Branch, Replacement)) else {})

    def commit(self, agent: int, stage: Stage, turns: Mapping[int, Turn] = _NONE) -> None:
        """Commit a unit of work, and check for each event how long a prefix of the conversation it left unchanged."""
        extents = self.log.commit(self.states[agent], stage, turns)
        if self.least is not None:
            self.states[agent].conversation.trim(self.least)
        states = self.log.states(agent, len(extents))

        assert [(_common(before, now), _extent(now)) for before, now in pairwise(states)] == extents

    @rule(target=agents, system=st.sampled_from([None, "be brief"]))
    def create(self, system: str | None) -> int:
        row = len(self.states) + 1
        self.states[row] = State(profile(row), Conversation(step=self.step))
        self.models[row] = ModelAgent()
        stage = self.stage(row)
        commands.create(stage, system)
        self.commit(row, stage)
        self.models[row].create(system)
        return row

    @rule(agent=agents, elements=st.lists(_ELEMENTS, min_size=1, max_size=4))
    def add(self, agent: int, elements: list[Any]) -> None:
        rows, _ = rows_from(elements)
        self.both(agent, lambda stage: commands.add(stage, rows), lambda model: model.add([row[:3] for row, _ in rows]))

    @rule(agent=agents, fraction=_FRACTION, past=st.booleans(), elements=st.lists(_ELEMENTS, max_size=3))
    def replace(self, agent: int, fraction: float, past: bool, elements: list[Any]) -> None:
        """The seq is of a record, or of any event."""
        model = self.models[agent]
        records = [] if past else model.records
        seq = records[int(fraction * (len(records) - 1))].seq if records else round(model.head * fraction)
        rows = rows_from(elements)[0] if elements else []
        replies: list[dict[str, Any]] = []
        self.both(
            agent,
            lambda stage: self._replace(stage, agent, seq, rows, replies),
            lambda model: model.replace(seq, [row[:3] for row, _ in rows]),
        )
        for reply in replies:
            assert reply["open_calls"] == [call.as_map() for call in self.states[agent].conversation.open_calls]

    def _replace(
        self, stage: Stage, agent: int, seq: int, rows: list[CheckedRow], replies: list[dict[str, Any]]
    ) -> Takeover:
        stage.require_alive()
        state = self.states[agent]
        conversation = state.conversation
        entry = conversation.entry_at(seq)
        if entry is not None:
            tip = conversation.before(entry)
        elif conversation.base is not None and (found := self.reader.before(conversation.base, seq)) is not None:
            tip = found.tip
        else:
            raise commands.not_live(state, seq)
        past = self.takeover(agent, tip)
        before, was = self.log.live(agent), stage.head
        reply = commands.replace(stage, state, seq, tip, past, rows)

        assert reply["dropped"] == len([entry for entry in before.entries if entry.seq >= seq])
        assert (reply["was"], reply["command"], reply["first"]) == (was, was + 1, was + 2 if rows else 0)
        replies.append(reply)
        return past

    @rule(agent=agents, label=_LABELS)
    def mark(self, agent: int, label: str | None) -> None:
        self.both(agent, lambda stage: commands.mark(stage, label), lambda model: model.mark(label))

    @rule(agent=agents, label=_LABELS)
    def rewind(self, agent: int, label: str | None) -> None:
        self.both(agent, lambda stage: self._rewind(stage, agent, label), lambda model: model.rewind(label))

    def _rewind(self, stage: Stage, agent: int, label: str | None) -> Takeover:
        state = self.states[agent]
        target = commands.rewind_target(stage, state, label)
        past = self.takeover(agent, target.id)
        commands.rewind(stage, state, label, past.kept if isinstance(past, Replacement) else None)
        return past

    @rule(agent=agents)
    def clear(self, agent: int) -> None:
        state = self.states[agent]
        self.both(agent, lambda stage: commands.clear(stage, state), lambda model: model.clear())

    @rule(agent=agents, fraction=_FRACTION)
    def restore(self, agent: int, fraction: float) -> None:
        at = round(self.models[agent].head * fraction)
        self.both(agent, lambda stage: self._go(stage, agent, at), lambda model: model.restore(at))

    @rule(agent=agents)
    def undo(self, agent: int) -> None:
        self.both(agent, lambda stage: self._undo(stage, agent), lambda model: model.undo())

    @rule(agent=agents)
    def redo(self, agent: int) -> None:
        self.both(agent, lambda stage: self._redo(stage, agent), lambda model: model.redo())

    def takeover(self, agent: int, tip: int | None) -> Takeover:
        """Return how an agent takes over the state with this tip."""
        return self.reader.takeover(tip, self.states[agent].conversation)

    @property
    def reader(self) -> Reader:
        return Reader(self.log, self.step, self.least or 100)

    def _undo(self, stage: Stage, agent: int) -> Takeover:
        stage.require_alive()
        target = undoable(lambda at: self.log.newest(agent, at), stage.head)
        if target is None:
            raise NothingToUndo("")
        return self._go(stage, agent, target - 1, undoes=target)

    def _redo(self, stage: Stage, agent: int) -> Takeover:
        stage.require_alive()
        target = redoable(lambda at: self.log.newest(agent, at), stage.head)
        if target is None:
            raise NothingToUndo("")
        return self._go(stage, agent, target.command, redoes=target.command, undo=target.undo)

    def _go(self, stage: Stage, agent: int, to: int, **why: int) -> Takeover:
        at, tip = self.log.position(self.profiles, agent, to)
        # An undo names the position before its command, also if that is in a gap that a clone into has left.
        commands.restore(stage, to if "undoes" in why else at, tip, **why)
        return self.takeover(agent, tip)

    @rule(target=agents, source=agents, fraction=_FRACTION)
    def clone(self, source: int, fraction: float) -> int:
        at, tip = self.log.position(self.profiles, source, round(self.models[source].head * fraction))
        row = len(self.states) + 1
        origin = self.states[source].profile
        self.states[row] = State(profile(row, Source(source, origin.uid, at)), Conversation(step=self.step))
        stage = self.stage(row)
        commands.clone_from(stage, origin.uid, at, tip)
        self.commit(row, stage, {0: Turn(self.takeover(row, tip))})
        self.models[row] = self.models[source].clone(round(self.models[source].head * fraction))
        return row

    @rule(source=agents, into=agents, fraction=_FRACTION)
    def clone_into(self, source: int, into: int, fraction: float) -> None:
        if source == into:
            return
        wanted = round(self.models[source].head * fraction)
        at, tip = self.log.position(self.profiles, source, wanted)

        def real(stage: Stage) -> Takeover:
            stage.require_alive()
            stage.head = max(stage.head, at)
            commands.clone_from(stage, self.states[source].profile.uid, at, tip)
            return self.takeover(into, tip)

        self.both(into, real, lambda model: model.take_over(self.models[source], wanted))

    @rule(agent=agents, steps=st.lists(_STEPS, min_size=1, max_size=8))
    def stretch(self, agent: int, steps: list[tuple[str, float, str | None, list[Any]]]) -> None:
        """Several commands are one unit of work: each goes on from those before it, which have no ids yet."""
        if self.models[agent].alive:
            stretch = Stretch(self, agent)
            for step in steps:
                stretch.take(*step)
            self.commit(agent, stretch.stage, stretch.turns)

    @rule(agent=agents)
    def kill_or_revive(self, agent: int) -> None:
        model, stage = self.models[agent], self.stage(agent)
        if model.alive:
            commands.kill(stage, None, None, cascade=False)
        else:
            commands.revive(stage)
        self.commit(agent, stage)
        model.alive = not model.alive
        model.inert()

    @rule(agent=agents, elements=st.lists(_ELEMENTS, min_size=1, max_size=4))
    def fail_to_commit(self, agent: int, elements: list[Any]) -> None:
        """A unit of work that is dropped leaves no trace."""
        stage = self.stage(agent)
        if stage.base.alive:
            commands.add(stage, rows_from(elements)[0])
            commands.mark(stage, "lost")

    def teardown(self) -> None:
        """Verify finds nothing in a log that only commands have written, nor in its milestones."""
        for milestone in self.log.milestones.values():
            assert milestone == self.reader.recomputed(milestone)
        for row in self.states:
            assert [] == Past(self.log, self.profiles).problems(row)
            self.client_folds_the_same(row)

    def client_folds_the_same(self, row: int) -> None:
        """A client that folds the log, the inherited one in front, has the model's state at every seq.

        What a clone into the agent brought is not in that log: there, the path ends at a node that is not in the tree.
        """
        tree, past = LogTree(), self.models[row].past
        for event in self.history(row, self.models[row].head):
            tree.fold(event)
        for seq in past:
            expected = [node.seq for node in self.models[row].state_at(seq)]
            path = list(tree.path(tree.tip_at(seq)))[::-1]
            found = [at for _, at in path]
            assert (expected if not path or path[0] in tree else expected[-len(found) :]) == found
        assert (tree.tip, tree.head) == (tree.tip_at(tree.head), self.models[row].head)

    def history(self, row: int, upto: int) -> list[Any]:
        """Return the events of an agent up to a seq, as the method ``history`` with ``inherited`` gives them."""
        source = self.states[row].profile.source
        inherited = [] if source is None else self.history(source.row, min(source.at, upto))
        return [*inherited, *(self.as_sent(each) for each in self.log.of(row) if each.event.seq <= upto)]

    def as_sent(self, row: Stored) -> Any:
        """Return an event as a client gets it, as far as it matters for the tree."""
        event, parent = row.event, None
        if event.parent is not None:
            found = self.log.rows[event.parent - 1]
            parent = {"agent": self.profiles[found.agent].uid, "seq": found.event.seq}
        uid = self.profiles[row.agent].uid
        return {"agent": uid, "seq": event.seq, "command": event.command, "kind": event.kind, "parent": parent}

    @invariant()
    def all_agree(self) -> None:
        for row, state in self.states.items():
            model, conversation = self.models[row], state.conversation
            records = [Said(entry.seq, entry.kind, entry.content, entry.data_json) for entry in self.entries(row)]

            assert model.head == state.profile.head
            assert model.records == records
            assert model.marks == [Marked(mark.seq, mark.label) for mark in conversation.marks]
            assert self.log.live(row) == conversation
            assert (model.prompt.content or None if model.prompt else None) == conversation.system
            assert [node.seq for node in model.now] == sorted({node.seq for node in model.now})

    @invariant()
    def messages_are_read_from_records(self) -> None:
        for row, state in self.states.items():
            entries = self.entries(row)
            read = [message_from_record(_record(entry)) for entry in entries]
            messages = [unpacked(entry.message) for entry in entries if entry.message is not None]

            assert [message for message in read if message] == messages
            assert len(messages) == state.conversation.message_count

    def entries(self, row: int) -> list[Entry]:
        """Return all entries of a live conversation: those before the ones in memory are read."""
        conversation = self.states[row].conversation
        if conversation.base is None:
            return conversation.entries
        older = list(self.reader.entries(conversation.base, 0, None, bool))
        return older + conversation.entries

    @invariant()
    def states_are_read_through_milestones(self) -> None:
        for row, state in self.states.items():
            read, made = self.reader.state(state.conversation.tip)

            assert state.conversation == read
            assert [] == made
            whole = state.conversation.copy()
            if whole.base is not None:
                older = Conversation(self.reader.whole(whole.base.id), step=self.step)
                older.extend(whole)
                whole = older
            assert (None, self.log.live(row)) == (whole.base, whole)
            if whole.entries:
                middle = whole.entries[len(whole.entries) // 2].id
                whole.cut(middle)
                assert Conversation(self.log.walk(middle)) == whole


class Stretch:
    """Commands of one unit of work, on the model as well.

    Args:
        machine: has the agent.
        agent: the agent.
    """

    def __init__(self, machine: Conversations, agent: int) -> None:
        self._machine = machine
        self._agent = agent
        self._model = machine.models[agent]
        self.stage = machine.stage(agent)
        self._begin = self.stage.head
        self._path = Path(machine.states[agent].conversation, self.stage.events)
        self.turns: dict[int, Turn] = {}
        # The tip after each staged command, by the seqs of its events.
        self._tips: dict[int, int | None] = {}

    def take(self, what: str, fraction: float, label: str | None, elements: list[Any]) -> None:
        """Stage a command, unless the model refuses it."""
        self._path.follow()
        first = self.stage.next_seq
        match what:
            case "mark":
                self.stage.put_mark(first, label)
                self._model.mark(label)
            case "clear":
                self._clear(first)
            case "rewind":
                self._rewind(label)
            case "restore":
                to = round(self.stage.head * fraction)
                self._go("restore", self._tip_at(to), {"to": self._model.ends.get(to, to)})
                self._model.restore(to)
            case "replace" if self._model.records:
                seq = self._model.records[int(fraction * (len(self._model.records) - 1))].seq
                self._go("rewind", self._tip_before(seq), {"before": seq})
                self._model.replace(seq, [])
            case _:
                rows, _ = rows_from(elements)
                self.stage.put_rows(first, rows)
                self._model.add([row[:3] for row, _ in rows])
        for seq in range(first, self.stage.head + 1):
            event = self.stage.events[-1]
            self._tips[seq] = tip_after(-len(self.stage.events), event.kind, event.parent)

    def _clear(self, first: int) -> None:
        prompt = self._model.prompt
        self._go("clear", None, None)
        if prompt is not None and prompt.content:
            self.stage.put_rows(first, [CheckedRow(Row("system", prompt.content, prompt.data_json), None)])
        self._model.clear()

    def _rewind(self, label: str | None) -> None:
        found = self._path.mark_for(label)
        assert (refusal(lambda: self._model.rewind(label)) is None) == (found is not None)
        if found is not None:
            data = {"target": found[1]} if label is None else {"label": label, "target": found[1]}
            self._go("rewind", found[0], data)

    def _go(self, kind: str, tip: int | None, data: dict[str, Any] | None) -> None:
        found = self._path.way_to(tip)
        if not isinstance(found, Turn):
            past = self._machine.reader.takeover(found[0], self._path.committed)
            found = self._path.turn(*found, past)
        self.turns[len(self.stage.events)] = found
        self.stage.put(kind, self.stage.next_seq, None, data, tip)

    def _tip_at(self, seq: int) -> int | None:
        if seq in self._tips:
            return self._tips[seq]
        return self._machine.log.position(self._machine.profiles, self._agent, seq)[1]

    def _tip_before(self, seq: int) -> int | None:
        number = seq - self._begin - 1
        if number >= 0:
            assert self._path.has(number)
            return self.stage.events[number].parent
        if (found := self._path.before(seq)) is not None:
            return found[0]
        assert self._path.base is not None
        before = self._machine.reader.before(self._path.base, seq)
        assert before is not None
        return before.tip


def _common(before: list[Node], now: list[Node]) -> Extent:
    """Return the number of records and messages in the common prefix of two states."""
    return Extent(_alike(_records(before), _records(now)), _alike(_messages(before), _messages(now)))


def _alike(before: list[int], now: list[int]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, now, strict=False)))


def _extent(state: list[Node]) -> Extent:
    return Extent(len(_records(state)), len(_messages(state)))


def _records(state: list[Node]) -> list[int]:
    return [node.id for node in state if isinstance(node, Entry)]


def _messages(state: list[Node]) -> list[int]:
    return [node.id for node in state if isinstance(node, Entry) and node.message is not None]


def _record(entry: Entry) -> dict[str, Any]:
    fields = {name: getattr(entry, name) for name in ("seq", "kind", "content", "data_json", "time")}
    return fields if entry.origin is None else {**fields, **entry.origin.as_map()}


class ShortMemory(Conversations):
    """The same with one entry in memory, or a few, and a milestone after each third node."""

    step = 3
    least = 1


class Briefly(ShortMemory):
    """The same few runs each time, among the fast tests."""


Conversations.TestCase.settings = settings(stateful_step_count=40)
ShortMemory.TestCase.settings = Conversations.TestCase.settings
Briefly.TestCase.settings = settings(max_examples=15, stateful_step_count=40)
TestConversations = pytest.mark.slow(Conversations.TestCase)
TestShortMemory = pytest.mark.slow(ShortMemory.TestCase)
TestBriefly = Briefly.TestCase
