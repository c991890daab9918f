"""Reading a log through its milestones gives what a walk over all of it gives."""

from collections.abc import Iterator, Sequence
from itertools import islice, permutations, takewhile

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reeld.core import commands
from reeld.core.conversation import Conversation, Replacement
from reeld.core.events import Entry
from reeld.core.reading import Before, Reader
from reeld.core.stage import Stage
from reeld.core.state import State
from reeld.core.validation import rows_from
from tests.reeld.core.memory import MemoryLog, pack, profile

CALL = {"type": "tool_call", "id": "c1", "name": "look", "arguments": "{}"}
ELEMENTS = {
    "user": "hi",
    "system": {"role": "system", "content": "Be kind."},
    "call": {"role": "assistant", "content": [CALL]},
    "result": {
        "role": "tool",
        "content": [{"type": "tool_result", "tool_call_id": "c1", "content": "done", "is_error": False}],
    },
    "note": {"kind": "note"},
}
STEPS = st.lists(st.sampled_from([*ELEMENTS, "mark"]), min_size=1, max_size=12)


def made(steps: Sequence[str], step: int) -> tuple[MemoryLog, State]:
    """Return a log with a command for each step, and the state after them."""
    log, state = MemoryLog(), State(profile(1), Conversation(step=step))
    go_on(log, state, steps)
    return log, state


def go_on(log: MemoryLog, state: State, steps: Sequence[str]) -> None:
    """Carry out a command for each step."""
    for name in steps:
        stage = Stage(state, 1, pack)
        if name == "mark":
            commands.mark(stage, None)
        else:
            commands.add(stage, rows_from([ELEMENTS[name]])[0])
        log.commit(state, stage)


def _is_message(entry: Entry) -> bool:
    return entry.message is not None


@example(["user"], 1, 0, 4)
@given(STEPS, st.integers(1, 3), st.integers(0, 12), st.none() | st.integers(1, 4))
def test_entries_up_to_a_milestone(steps: list[str], step: int, since: int, last: int | None) -> None:
    """They are those of the walk that are later than a seq; of the newest, so many that count, and what is between."""
    log, _ = made(steps, step)
    reader = Reader(log, step=step, least=0)
    for base in log.milestones.values():
        walked = [node for node in log.walk(base.id) if isinstance(node, Entry) and node.seq > since]
        if last is not None:
            messages = [entry.seq for entry in walked if _is_message(entry)][-last:]
            begin = messages[0] if len(messages) == last else 0
            walked = [entry for entry in walked if entry.seq >= begin]

        assert walked == [*reader.entries(base, since, last, _is_message)]


@example(["user"] * 7, 3, 1, 4)
@given(STEPS, st.integers(1, 3), st.integers(1, 12), st.integers(0, 12))
def test_entries_if_a_seq_is_damaged(steps: list[str], step: int, since: int, place: int) -> None:
    """Only the entry whose seq is damaged may be missing, not those before it."""
    log, _ = made(steps, step)
    row = log.rows[place % len(log.rows)]
    row.event = row.event._replace(seq=0)
    for base in log.milestones.values():
        walked = [node for node in log.walk(base.id) if isinstance(node, Entry) and node.seq > since]

        assert walked == [*Reader(log, step=step, least=0).entries(base, since, None, _is_message)]


@given(STEPS, st.integers(1, 3))
def test_the_state_before_an_entry(steps: list[str], step: int) -> None:
    """Its tip is the node before the entry; what is no entry of the path has none."""
    log, state = made(steps, step)
    reader = Reader(log, step=step, least=0)
    for base in log.milestones.values():
        path = log.walk(base.id)
        before = {
            node.seq: Before(path[number - 1].id if number else None)
            for number, node in enumerate(path)
            if isinstance(node, Entry)
        }

        assert [before.get(seq) for seq in range(base.seq + 1)] == [
            reader.before(base, seq) for seq in range(base.seq + 1)
        ]
    assert Conversation(log.walk(state.conversation.tip), step=step) == reader.state(state.conversation.tip)[0]


def branched(steps: Sequence[str], branches: Sequence[tuple[int, list[str]]], step: int) -> tuple[MemoryLog, list[int]]:
    """Return a log with a state that is left at some places for others, and the tips of all."""
    log, state = made(steps, step)
    tips = [state.conversation.tip]
    for place, more in branches:
        nodes = [None, *(row.id for row in log.rows if row.event.kind != "note")]
        state.conversation.become(Reader(log, step=step).state(nodes[place % len(nodes)])[0])
        go_on(log, state, more)
        tips.append(state.conversation.tip)
    return log, [tip for tip in tips if tip is not None]


BRANCHES = st.lists(st.tuples(st.integers(0, 20), STEPS), min_size=1, max_size=3)


@given(STEPS, BRANCHES, st.integers(1, 4), st.integers(0, 4))
def test_what_two_states_share(steps: list[str], branches: list[tuple[int, list[str]]], step: int, least: int) -> None:
    """What a state keeps if another is taken over is what their walks have in common, whatever is in memory."""
    log, tips = branched(steps, branches, step)
    reader = Reader(log, step=step, least=least)
    for mine, other in permutations(tips, 2):
        conversation, _ = reader.state(mine)
        past = reader.takeover(other, conversation)
        kept = past.kept if isinstance(past, Replacement) else conversation.extent_at(past.base)
        pairs = zip(log.walk(mine), log.walk(other), strict=False)
        shared = [one for one, two in takewhile(lambda pair: pair[0].id == pair[1].id, pairs)]

        assert Conversation(shared).extent == kept


def test_what_two_states_share_is_found_without_reading_all_of_one() -> None:
    """If a long state is left for a younger one of another agent, only the milestones of the long one are read."""
    log, long = made(["user"] * 400, 4)
    short = State(profile(2), Conversation(step=4))
    go_on(log, short, ["user"] * 20)
    reader, ids, walked = Reader(log, step=4, least=4), log.ids, list[int]()
    conversation, _ = reader.state(long.conversation.tip)

    def counted(tip: int | None) -> Iterator[int]:
        for node_id in ids(tip):
            walked.append(node_id)
            yield node_id

    log.ids = counted  # type: ignore[method-assign]

    assert (0, 0) == reader._shared(conversation, reader.state(short.conversation.tip)[0])
    assert len(walked) < 40


@given(STEPS, BRANCHES, st.integers(1, 4), st.integers(0, 4))
def test_a_state_near_another(steps: list[str], branches: list[tuple[int, list[str]]], step: int, least: int) -> None:
    """It is the same whether all of it is read or only what the other one has not; the other one stays as it was."""
    log, tips = branched(steps, branches, step)
    reader = Reader(log, step=step, least=least)
    for mine, other in permutations(tips, 2):
        near, _ = reader.state(mine)
        read, made_again = reader.state(other, near)

        assert reader.state(other)[0] == read == Conversation(log.walk(other))
        assert [*log.milestones.values()] == [*(log.milestones | {each.id: each for each in made_again}).values()]
        assert near == reader.state(mine)[0]


def test_a_state_near_another_is_not_read_again() -> None:
    """Of a long state that differs in its last node from another, one more node than that one is read."""
    log, (mine, other) = branched(["user"] * 30, [(30, ["user"])], 4)
    reader = Reader(log, step=4, least=20)
    near, _ = reader.state(mine)
    path = log.path(other)
    log.path = lambda tip: islice(path if tip == other else [], 2)  # type: ignore[method-assign]

    assert Conversation(log.walk(other)) == reader.state(other, near)[0]


def test_a_state_near_another_that_has_too_little_in_memory() -> None:
    """If the other state has only a few entries in memory of what both have, more of them are read."""
    log, (mine, other) = branched(["user"] * 30, [(11, ["user"])], 4)
    reader = Reader(log, step=4, least=20)
    near, _ = reader.state(mine)
    assert near.has(log.rows[other - 1].event.parent)

    assert 12 == len(reader.state(other, near)[0].entries)


@given(STEPS)
def test_prefixes_of_what_is_in_memory(steps: list[str]) -> None:
    """The length, the prompt and the open calls of a prefix are those of the state that it is."""
    log, state = made(steps, 1000)
    whole = state.conversation
    for entry in whole.entries:
        tip = whole.before(entry)
        prefix = Conversation(log.walk(tip), step=1000)

        assert tip == prefix.tip
        assert prefix.extent == whole.extent_at(tip)
        assert prefix.prompt == whole.prompt_at(tip)
        assert [*prefix.open_calls] == [*whole.open_calls_at(tip)]


def test_a_log_without_its_milestones() -> None:
    """If a walk goes far without a milestone, all are made again."""
    log, state = made(["user", "mark"] * 30, 1)
    assert not state.conversation.has_new_milestones
    reader, lost = Reader(log, step=1, least=0), dict(log.milestones)
    log.milestones.clear()
    read, again = reader.state(state.conversation.tip)

    assert lost == {milestone.id: milestone for milestone in again}
    assert (state.conversation.tip, state.conversation.extent) == (read.tip, read.extent)


@pytest.mark.parametrize("least", [0, 5, 100])
def test_a_state_in_memory_has_a_few_entries(least: int) -> None:
    """It has at least as many as were asked for, if there are so many, and is as long as the whole."""
    log, state = made(["user"] * 20, 4)
    read, _ = Reader(log, step=4, least=least).state(state.conversation.tip)

    assert min(least, 20) <= len(read.entries) <= min(least + 4, 20)
    assert 20 == read.extent.records
