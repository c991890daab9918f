"""The conversation in memory: cases that the state machine does not reach."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.said.kinds import CONVERSATION
from reeld.core import commands
from reeld.core.conversation import Conversation, Replacement
from reeld.core.events import Entry, Event, Mark, Node, Tools, entry, label_of, read
from reeld.core.milestones import MAX_OPEN_CALLS, Extent, Foundation
from reeld.core.reading import Reader
from reeld.core.stage import Stage
from reeld.core.state import State, info
from reeld.core.validation import rows_from
from tests.reeld.core.memory import MemoryLog, pack, profile


def _entry(number: int, kind: str = "user", message: bytes | None = b"m") -> Entry:
    return Entry(number, number, kind, "text", None, 0, message, None)


def _event(kind: str, parent: int | None = None, data_json: str | None = None) -> Event:
    return Event(9, 9, kind, None, data_json, parent, 0, None)


@pytest.mark.parametrize("kind", ["gossip", "fork", "command", "usage", "created", "agent_killed"])
def test_what_means_nothing_changes_nothing(kind: str) -> None:
    """Unknown, inert and most state events leave the conversation unchanged, also without content."""
    conversation = Conversation([_entry(1), Mark(2, 2, "x")])
    conversation.apply(9, _event(kind, parent=2))

    assert Conversation([_entry(1), Mark(2, 2, "x")]) == conversation


def test_a_restored_state_must_be_passed_in() -> None:
    """An event that restores a state says which, and not what is in it."""
    with pytest.raises(AssertionError):
        Conversation([_entry(1)]).apply(9, _event("restore", parent=7))


def test_ready_looks_past_what_is_no_message() -> None:
    """A prompt after the last message does not change whether a conversation is ready."""
    system = _entry(3, "system", None)

    assert [False, True, False, False] == [
        Conversation(nodes).ready
        for nodes in ([], [_entry(1), system], [_entry(1), _entry(2, "assistant"), system], [system])
    ]


@pytest.mark.parametrize(("node", "has"), [(None, True), (1, True), (2, True), (3, False), (9, False)])
def test_has_finds_entries_marks_and_the_empty_state(node: int | None, has: bool) -> None:
    """The nodes of a conversation, marks included, are states of it; so is the empty one."""
    assert has == Conversation([_entry(1), Mark(2, 2, None), _entry(4)]).has(node)


def test_it_is_equal_to_its_own_kind_only() -> None:
    """A conversation equals conversations only, and is not hashable."""
    assert Conversation() != []
    with pytest.raises(TypeError):
        hash(Conversation())


@pytest.mark.parametrize(
    ("nodes", "tip"),
    [([], None), ([_entry(1)], 1), ([_entry(1), Mark(2, 2, None)], 2), ([Mark(2, 2, None), _entry(3)], 3)],
)
def test_the_newest_node_is_the_tip(nodes: list[Node], tip: int | None) -> None:
    """The tip is the entry or mark that came last."""
    assert tip == Conversation(nodes).tip


@pytest.mark.parametrize("data_json", [None, "", "no", "[]", '{"label":7}', "[" * 100_000])
def test_a_mark_that_cannot_be_read_has_no_label(data_json: str | None) -> None:
    """A mark with invalid data has no label, and the rest of the conversation is read."""
    assert label_of(data_json) is None


@pytest.mark.parametrize("kind", ["user", "assistant", "system"])
@pytest.mark.parametrize(("content", "data_json"), [("wörter", None), ("", None), ("hi", '{"model":"m"}')])
def test_a_text_is_kept_once(kind: str, content: str, data_json: str | None) -> None:
    """The content of a plain text is read from its message; all other content is kept as stored."""
    message, tools = read(pack, kind, content, data_json, 1, 2)
    kept = entry(1, 1, kind, content, data_json, 2, message, tools)

    assert (content, kind != "system" and data_json is None) == (kept.content, kept.kept is None)


def test_info_of_an_empty_agent() -> None:
    """The counts of an empty agent are zero."""
    shown = info(profile(1), State(profile(1), Conversation()).conversation, attached=2)

    assert (0, 0, [], [], False, 2) == tuple(
        shown[field] for field in ("messages", "conversation", "marks", "open_calls", "ready", "attached")
    )
    assert "source" not in shown


@given(st.lists(st.sampled_from(["user", "assistant", "tool_call", "system", "mark", "note", "clear"]), max_size=12))
def test_events_are_followed_as_they_are_applied(kinds: list[str]) -> None:
    """Several events at once make the conversation, its milestones and its size that they make one by one."""
    call = '{"tool_call_id":"a","name":"ls","arguments":"{}"}'
    events = []
    for seq, kind in enumerate(kinds, 1):
        content, data = ("text" if kind in CONVERSATION else None), (call if kind == "tool_call" else None)
        message, tools = read(pack, kind, content, data, seq, 0)
        events.append(Event(seq, seq, kind, content, data, None, 0, None, message, tools))
    one, other = Conversation(step=2), Conversation(step=2)
    one.apply_all(1, events)
    for seq, event in enumerate(events, 1):
        other.apply(seq, event)

    assert one == other
    assert (one.entries, one.size, one.milestones) == (other.entries, other.size, other.milestones)


def test_the_length_of_the_empty_prefix() -> None:
    """Every conversation has the empty one as a prefix."""
    assert Extent(0, 0) == Conversation([_entry(1)]).extent_at(None)


def test_an_entry_with_many_open_calls_has_no_milestone() -> None:
    """Each milestone repeats the open calls, so no milestone is set while there are too many of them."""
    calls = Tools(tuple((f"c{number}", "look") for number in range(MAX_OPEN_CALLS + 1)), ())
    results = Tools((), tuple(call_id for call_id, _ in calls.calls))
    entries = [_entry(1)._replace(tools=calls), _entry(2), _entry(3)._replace(tools=results)]

    assert [3] == [milestone.id for milestone in Conversation(entries, step=1).milestones]


def test_it_is_extended_to_what_it_is_the_beginning_of() -> None:
    """The whole state knows its milestone, also if the beginning was read without noticing that it ends there."""
    whole = Conversation([_entry(1), _entry(2), _entry(3)], step=2)
    newer = whole.copy()
    newer.trim(1)
    older = Conversation([_entry(1), _entry(2)])
    older.extend(newer)

    assert (whole, whole.milestones, whole.size) == (older, older.milestones, older.size)


def test_a_milestone_with_open_calls() -> None:
    """A conversation that goes on after a milestone knows the calls that were open there."""
    call = Tools((("c1", "look"),), ())
    (milestone,) = Conversation([_entry(1)._replace(tools=call)], step=1).milestones
    later = Conversation([_entry(2)._replace(tools=Tools((), ("c1",)))], Foundation(milestone, [], None))

    assert ([], 2) == (list(later.open_calls), later.extent.records)
    later.cut(1)
    assert ["c1"] == [found.id for found in later.open_calls]


@pytest.mark.parametrize("lost", [1, 2])
def test_a_milestone_that_is_missing(lost: int) -> None:
    """If a milestone that is needed cannot be read, an older one is taken, or the state begins at the root."""
    log, state = MemoryLog(), State(profile(1), Conversation(step=1))
    steps: list[Any] = [commands.mark, commands.add, commands.mark, commands.add, commands.add]
    for command in steps:
        stage = Stage(state, 1, pack)
        command(stage, rows_from("x")[0] if command is commands.add else "m")
        log.commit(state, stage)
    reader = Reader(log, step=1, least=0)
    assert [*log.milestones.values()] == [reader.recomputed(each) for each in log.milestones.values()]
    del log.milestones[sorted(log.milestones)[-lost - 1]]

    assert state.conversation == reader.state(state.conversation.tip)[0]
    assert None in [reader.recomputed(each) for each in log.milestones.values()]


def test_a_milestone_of_another_path() -> None:
    """A milestone whose predecessor is not on its path follows from nothing, and two paths share nothing."""
    log, state = MemoryLog(), State(profile(1), Conversation(step=1))
    steps: list[Any] = [commands.add, commands.add, commands.clear, commands.add]
    for command in steps:
        stage = Stage(state, 1, pack)
        command(stage, rows_from("x")[0] if command is commands.add else state)
        log.commit(state, stage)
    reader, newest = Reader(log, step=1, least=0), log.milestones[4]

    assert (newest, None) == (reader.recomputed(newest), reader.recomputed(newest._replace(previous=2)))
    past = reader.takeover(2, state.conversation)
    assert isinstance(past, Replacement)
    assert (Extent(0, 0), 2) == (past.kept, past.conversation.extent.records)


def test_what_is_before_the_entries_in_memory() -> None:
    """With no entry in memory a state still has its prompt, and its newest mark is one that an entry comes after."""
    conversation = Conversation([_entry(1, "system", None), Mark(2, 2, None), _entry(3), Mark(4, 4, None)], step=1)
    conversation.trim(0)
    assert not conversation.entries

    assert ("text", 2) == (conversation.system, (conversation.mark_for(None) or Mark(0, 0, None)).seq)
