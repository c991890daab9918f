"""What each command writes, and when it is refused."""

from collections.abc import Callable
from typing import Any

import pytest

from reel import text, tool_call, tool_result
from reel.base.errors import Conflict, InvalidParams, Killed, NoSuchMark
from reel.wire.msgpack_codec import unpack
from reeld.core import commands
from reeld.core.conversation import Branch, Conversation, Replacement
from reeld.core.milestones import Extent
from reeld.core.stage import Stage
from reeld.core.state import Source, State, info
from reeld.core.validation import UNALTERED, Altered, rows_from
from tests.reeld.core.memory import MemoryLog, pack, profile


@pytest.fixture
def state() -> State:
    """The state of a new agent."""
    return State(profile(1), Conversation())


@pytest.fixture
def log() -> MemoryLog:
    """An empty log."""
    return MemoryLog()


@pytest.fixture
def do(state: State, log: MemoryLog) -> Callable[..., Any]:
    """Stage a command, commit it, and return its reply."""

    def do(command: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        stage = Stage(state, 1000, pack)
        reply = command(stage, *args, **kwargs)
        log.commit(state, stage)
        return reply

    return do


def _rows(*elements: Any) -> Any:
    return rows_from(list(elements))[0]


def test_add_answers_where_it_stands(do: Callable[..., Any]) -> None:
    """The reply of an add has the first seq, the head, and no open calls."""
    assert {
        "agent": f"{1:032x}",
        "head": 2,
        "command": 1,
        "time": 1000,
        "first": 1,
        "orphans": [],
        "open_calls": [],
    } == do(commands.add, _rows("one", "two"))


def _said(sent: int | None) -> dict[str, Any]:
    return {"role": "user", "content": "hi", "sent": sent}


@pytest.mark.parametrize(
    ("elements", "updated"),
    [
        ([_said(5)], 5),
        ([_said(None), _said(5)], 5),
        ([_said(5), {"kind": "usage", "sent": 9}, {"kind": "note"}], 5),
        ([_said(5), _said(None)], 1000),
        (["hi"], 1000),
        ([{"kind": "note", "sent": 5}], 1000),
    ],
)
def test_the_original_time_of_the_newest_message_counts(
    state: State, do: Callable[..., Any], elements: list[Any], updated: int
) -> None:
    """An imported conversation is as old as its newest message."""
    do(commands.add, _rows(*elements))

    assert updated == state.profile.updated


def test_a_new_title_does_not_make_an_old_conversation_new(state: State, do: Callable[..., Any]) -> None:
    """What leaves the conversation as it is does not count after a message with an original time; a mark counts."""
    do(commands.add, _rows(_said(5)))
    do(commands.add, _rows({"kind": "note"}))
    do(commands.change, None, "title", None)
    assert 5 == state.profile.updated

    do(commands.mark, None)
    assert 1000 == state.profile.updated


def test_what_was_altered_is_reported(do: Callable[..., Any]) -> None:
    """The reply counts the characters that were replaced and the numbers that became text."""
    reply = do(commands.add, _rows("one"), Altered(3, 4))

    assert (3, 4) == (reply["replaced"], reply["numbers_as_text"])


def test_a_result_closes_its_call(do: Callable[..., Any]) -> None:
    """A call is open until its result comes; a result without a call and a second result are orphans."""
    called = do(commands.add, _rows(tool_call("a", "ls", ""), tool_call("b", "rm", "")))
    answered = do(commands.add, _rows(tool_result("a", ""), tool_result("a", ""), tool_result("z", "")))

    assert [{"id": "a", "name": "ls", "seq": 1}, {"id": "b", "name": "rm", "seq": 2}] == called["open_calls"]
    assert [{"id": "a", "seq": 4}, {"id": "z", "seq": 5}] == answered["orphans"]
    assert [{"id": "b", "name": "rm", "seq": 2}] == answered["open_calls"]


def test_a_result_answers_the_newest_call_of_its_id(do: Callable[..., Any]) -> None:
    """A result answers the newest call of its id; an interruption has left the older one behind."""
    do(commands.add, _rows(tool_call("a", "old", ""), tool_call("a", "new", "")))

    assert [{"id": "a", "name": "old", "seq": 1}] == do(commands.add, _rows(tool_result("a", "")))["open_calls"]


def test_rewinding_a_result_opens_its_call(do: Callable[..., Any], state: State) -> None:
    """A call whose result left the conversation is open again."""
    do(commands.add, _rows(tool_call("a", "ls", "")))
    do(commands.mark, None)
    do(commands.add, _rows(tool_result("a", ""), tool_result("a", "")))
    do(commands.rewind, state, None)

    assert ["a"] == [call.id for call in state.conversation.open_calls]


def test_rewinding_a_call_forgets_it(do: Callable[..., Any], state: State) -> None:
    """A call that left the conversation is not open."""
    do(commands.mark, None)
    do(commands.add, _rows("x"))
    do(commands.mark, None)
    do(commands.add, _rows(tool_call("a", "ls", "")))
    do(commands.rewind, state, None)

    assert not state.conversation.open_calls


def test_clear_keeps_the_prompt(do: Callable[..., Any], state: State) -> None:
    """A clear is two events: the clear and the restated prompt."""
    do(commands.create, "be brief")
    do(commands.add, _rows("hi"))

    assert 3 == do(commands.clear, state)["was"]
    assert ("be brief", 0, 1) == (
        state.conversation.system,
        state.conversation.message_count,
        len(state.conversation.entries),
    )


def test_clear_without_a_prompt_is_one_event(do: Callable[..., Any], state: State, log: MemoryLog) -> None:
    """Without a prompt, or with an empty one, clear restates nothing."""
    do(commands.add, _rows(text("system", "")))
    do(commands.clear, state)

    assert ["system", "clear"] == [row.event.kind for row in log.rows]


def test_rewind_past_a_prompt_brings_the_older_one_back(do: Callable[..., Any], state: State) -> None:
    """The prompt is part of the conversation, so a rewind brings the older one back."""
    do(commands.create, "old")
    do(commands.mark, "here")
    do(commands.add, _rows(text("system", "new"), "hi"))
    reply = do(commands.rewind, state, "here")

    assert (2, "old") == (reply["dropped"], state.conversation.system)


def test_the_newest_of_two_marks_wins(do: Callable[..., Any], state: State) -> None:
    """Labels may repeat; rewind takes the newest mark."""
    for message in ("one", "two", "three"):
        do(commands.mark, "x")
        do(commands.add, _rows(message))

    assert 5 == do(commands.rewind, state, "x")["target"]


def test_repeated_bare_rewind_walks_back(do: Callable[..., Any], state: State) -> None:
    """Without a label, rewind takes the newest mark that has something after it."""
    for message in ("one", "two"):
        do(commands.mark, None)
        do(commands.add, _rows(message))

    assert [3, 1] == [do(commands.rewind, state, None)["target"] for _ in range(2)]
    with pytest.raises(NoSuchMark, match="nothing was added since the last mark"):
        do(commands.rewind, state, None)


def test_a_bare_rewind_says_where_it_went(do: Callable[..., Any], state: State) -> None:
    """The reply names the mark, whoever named it; one without a label has no name."""
    for label in (None, "draft"):
        do(commands.mark, label)
        do(commands.add, _rows("one"))

    assert ["draft", "nothing"] == [do(commands.rewind, state, None).get("label", "nothing") for _ in range(2)]


def test_a_bare_rewind_without_marks(do: Callable[..., Any], state: State) -> None:
    """An agent that was never marked has nothing to go back to, and is named."""
    do(commands.add, _rows("one"))

    with pytest.raises(NoSuchMark, match="agent agent-1 has no marks"):
        do(commands.rewind, state, None)


def test_an_unknown_label_lists_the_live_ones(do: Callable[..., Any], state: State) -> None:
    """The error of an unknown label lists the labels of the conversation."""
    do(commands.mark, "before")
    do(commands.clear, state)
    do(commands.mark, "after")

    with pytest.raises(NoSuchMark) as caught:
        do(commands.rewind, state, "before")
    assert {"label": "before", "labels": ["after"]} == caught.value.data


def test_no_labels_at_all(do: Callable[..., Any], state: State) -> None:
    """If there are no labels, the error says so."""
    with pytest.raises(NoSuchMark, match="no labelled marks"):
        do(commands.rewind, state, "x")


@pytest.mark.parametrize(
    "command",
    [
        lambda stage, _: commands.add(stage, _rows("hi")),
        lambda stage, _: commands.mark(stage, None),
        commands.clear,
        lambda stage, state: commands.rewind(stage, state, None),
        lambda stage, _: commands.restore(stage, 0, None),
        lambda stage, _: commands.change(stage, "other", None, None),
    ],
)
def test_a_change_of_a_dead_agent_is_refused(do: Callable[..., Any], state: State, command: Callable[..., Any]) -> None:
    """A command that would change a dead agent is refused, and nothing is staged."""
    do(commands.kill, None, "bored", cascade=False)
    stage = Stage(state, 1000, pack)

    with pytest.raises(Killed):
        command(stage, state)
    assert not stage.events


def test_revive_writes_only_for_a_dead_agent(do: Callable[..., Any], state: State, log: MemoryLog) -> None:
    """A dead agent is revived unchanged; for a live one nothing is written."""
    do(commands.kill, "somebody", None, cascade=True)
    revived = do(commands.revive)
    again = do(commands.revive)

    assert (True, 2) == (revived["alive"], revived["command"])
    assert again == info(state.profile, state.conversation)
    assert ["agent_killed", "revived"] == [row.event.kind for row in log.rows]


def test_change_of_name_title_and_tags(do: Callable[..., Any], state: State) -> None:
    """Name, title and tags can be changed; an empty title removes it."""
    do(commands.change, "new", "A title", {"a": "b"})
    changed = do(commands.change, None, "", None)

    assert ("new", None, {"a": "b"}) == (changed["name"], changed["title"], changed["tags"])
    assert "new" == state.profile.name


def test_a_change_of_nothing_is_refused(do: Callable[..., Any]) -> None:
    """A change without any field is refused."""
    with pytest.raises(InvalidParams):
        do(commands.change, None, None, None)


def test_if_seq_of_another_head(state: State) -> None:
    """A command that expects another head is refused, and the error has the current one."""
    stage = Stage(state, 1000, pack)
    stage.require_head(0)

    with pytest.raises(Conflict) as caught:
        stage.require_head(7)

    assert {"head": 0} == caught.value.data


@pytest.mark.parametrize(("at", "fine"), [(0, True), (3, True), (4, False), (-1, False)])
def test_positions_beyond_the_head_are_refused(at: int, fine: bool) -> None:
    """A position is between the beginning and the head."""
    if fine:
        commands.require_position(at, 3, "demo")
    else:
        with pytest.raises(InvalidParams, match="0 to 3"):
            commands.require_position(at, 3, "demo")


def test_the_error_of_an_unknown_agent() -> None:
    """The error of an unknown agent says how to create it."""
    assert "make one with create" in str(commands.not_found("demo"))


def test_a_dropped_stage_leaves_no_trace(do: Callable[..., Any], state: State) -> None:
    """A unit of work that is dropped leaves the committed state unchanged."""
    do(commands.add, _rows(tool_call("a", "ls", "")))
    before = info(state.profile, state.conversation)
    stage = Stage(state, 1000, pack)
    commands.add(stage, _rows(tool_result("a", ""), tool_call("b", "rm", "")))
    commands.mark(stage, "x")

    assert before == info(state.profile, state.conversation)


def test_a_plain_reply_is_packed_at_once(state: State, do: Callable[..., Any]) -> None:
    """It is the packed reply of the same add; with an open call it is the reply itself."""
    packed = do(commands.add_packed, _rows("one"), UNALTERED)
    reply = do(commands.add_packed, _rows(tool_call("c1", "look", "")), UNALTERED)

    expected = {"agent": state.profile.uid, "head": 1, "command": 1, "time": 1000, "first": 1}
    assert {**expected, "orphans": [], "open_calls": []} == unpack(packed)
    assert [("c1", 2)] == [(found["id"], found["seq"]) for found in reply["open_calls"]]


def test_what_is_known_is_not_written() -> None:
    """If nothing was written there is no command; what was left out is listed."""
    reply, known = {"first": 0, "command": 0, "time": 1}, [{"index": 0, "seq": 1}]

    assert {"first": 0, "known": known} == commands.with_known(reply, known, wrote=False)
    assert {"first": 0} == commands.with_known(reply, [], wrote=False)
    assert reply == commands.with_known(reply, [], wrote=True)


def test_a_seq_to_replace_from(state: State, do: Callable[..., Any]) -> None:
    """The error for one that is not in the conversation says what is."""
    assert "from: 7 is not in the current conversation of agent agent-1; it is empty" in str(
        commands.not_live(state, 7)
    )
    do(commands.add, _rows("one"))
    assert "the newest message or prompt there is 1" in str(commands.not_live(state, 7))


def test_messages_are_replaced_from_one_on(state: State, do: Callable[..., Any]) -> None:
    """The reply has how many were dropped; what replaces them may answer the calls that are still open."""
    do(commands.add, _rows("one", tool_call("c1", "look", ""), "three"))
    two = state.conversation.entries[1].id
    reply = do(commands.replace, state, 3, two, Branch(two), _rows("other"), UNALTERED)

    assert (1, 3, 5) == (reply["dropped"], reply["was"], reply["first"])
    assert ["c1"] == [found["id"] for found in reply["open_calls"]]


def test_an_earlier_conversation_is_replaced_from_a_message_on(state: State, do: Callable[..., Any]) -> None:
    """If the state before it is not in memory, the open calls are those of what is taken over."""
    do(commands.add, _rows("one", "two"))
    past = Replacement(Conversation(state.conversation.entries[:1]), Extent(1, 1))
    stage = Stage(state, 1000, pack)
    reply = commands.replace(stage, state, 2, state.conversation.entries[0].id, past, _rows("other"), UNALTERED)

    assert (1, [], 4) == (reply["dropped"], reply["open_calls"], reply["head"])


def test_a_rewind_to_a_mark_that_is_not_in_memory(state: State, do: Callable[..., Any]) -> None:
    """What is dropped is counted with the length that was read of the log."""
    do(commands.add, _rows("one"))
    do(commands.mark, "here")
    do(commands.add, _rows("two", "three"))
    reply = commands.rewind(Stage(state, 1000, pack), state, "here", Extent(1, 1))

    assert 2 == reply["dropped"]


def test_a_redaction_is_logged_without_what_it_was(state: State, log: MemoryLog, do: Callable[..., Any]) -> None:
    """The event says how many events have changed; it can be logged for a killed agent, too."""
    do(commands.add, _rows("one"))
    assert 2 == do(commands.redacted, 3, "text")
    event = log.of(1)[-1].event

    assert ("redacted", None, '{"events":3,"by":"text"}') == (event.kind, event.content, event.data_json)
    assert 2 == state.profile.head
    assert "the agent was purged" in str(commands.gone())


def test_an_agent_with_a_source_shows_it() -> None:
    """A clone's description has the agent that it was cloned from, and the position."""
    shown = info(profile(2, Source(1, f"{1:032x}", 5)), Conversation())

    assert {"agent": f"{1:032x}", "at": 5} == shown["source"]
