"""What each command writes, and when it refuses."""

from collections.abc import Callable
from typing import Any

import pytest

from reel import text, tool_call, tool_result
from reel.errors import Conflict, InvalidParams, Killed, NoSuchMark
from reeld.core import commands
from reeld.core.commands import Stage
from reeld.core.conversation import Conversation
from reeld.core.state import State, info
from reeld.core.validation import Altered, rows_from
from tests.reeld.core.memory import MemoryLog, pack, profile


@pytest.fixture
def state() -> State:
    """An agent that has just been made."""
    return State(profile(1), Conversation())


@pytest.fixture
def log() -> MemoryLog:
    """An empty log."""
    return MemoryLog()


@pytest.fixture
def do(state: State, log: MemoryLog) -> Callable[..., Any]:
    """Stage a command and commit it; give its reply."""

    def do(command: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        stage = Stage(state, 1000, pack)
        reply = command(stage, *args, **kwargs)
        log.commit(state, stage)
        return reply

    return do


def _rows(*elements: Any) -> Any:
    return rows_from(list(elements))[0]


def test_add_answers_where_it_stands(do: Callable[..., Any]) -> None:
    """The reply has the first seq, the head, and nothing open."""
    assert {
        "agent": f"{1:032x}",
        "head": 2,
        "command": 1,
        "time": 1000,
        "first": 1,
        "orphans": [],
        "open_calls": [],
    } == do(commands.add, _rows("one", "two"))


def test_what_was_altered_is_reported(do: Callable[..., Any]) -> None:
    """The reply says how many characters could not stay, and how many numbers are text."""
    reply = do(commands.add, _rows("one"), Altered(3, 4))

    assert (3, 4) == (reply["replaced"], reply["numbers_as_text"])


def test_a_result_closes_its_call(do: Callable[..., Any]) -> None:
    """A call is open until its result comes; the result of no call, and a second one, are orphans."""
    called = do(commands.add, _rows(tool_call("a", "ls", ""), tool_call("b", "rm", "")))
    answered = do(commands.add, _rows(tool_result("a", ""), tool_result("a", ""), tool_result("z", "")))

    assert [{"id": "a", "name": "ls", "seq": 1}, {"id": "b", "name": "rm", "seq": 2}] == called["open_calls"]
    assert [{"id": "a", "seq": 4}, {"id": "z", "seq": 5}] == answered["orphans"]
    assert [{"id": "b", "name": "rm", "seq": 2}] == answered["open_calls"]


def test_a_result_answers_the_newest_call_of_its_id(do: Callable[..., Any]) -> None:
    """An older call of the same id was left behind by an interruption."""
    do(commands.add, _rows(tool_call("a", "old", ""), tool_call("a", "new", "")))

    assert [{"id": "a", "name": "old", "seq": 1}] == do(commands.add, _rows(tool_result("a", "")))["open_calls"]


def test_rewinding_a_result_opens_its_call(do: Callable[..., Any], state: State) -> None:
    """What left the conversation answers nothing any more."""
    do(commands.add, _rows(tool_call("a", "ls", "")))
    do(commands.mark, None)
    do(commands.add, _rows(tool_result("a", ""), tool_result("a", "")))
    do(commands.rewind, state, None)

    assert ["a"] == [call.id for call in state.conversation.open_calls]


def test_rewinding_a_call_forgets_it(do: Callable[..., Any], state: State) -> None:
    """A call that left the conversation waits for nothing."""
    do(commands.mark, None)
    do(commands.add, _rows("x"))
    do(commands.mark, None)
    do(commands.add, _rows(tool_call("a", "ls", "")))
    do(commands.rewind, state, None)

    assert not state.conversation.open_calls


def test_clear_keeps_the_prompt(do: Callable[..., Any], state: State) -> None:
    """A clear is two events: the clear and the prompt, restated."""
    do(commands.create, "be brief")
    do(commands.add, _rows("hi"))

    assert 3 == do(commands.clear, state)["was"]
    assert ("be brief", 0, 1) == (
        state.conversation.system,
        state.conversation.message_count,
        len(state.conversation.entries),
    )


def test_clear_without_a_prompt_is_one_event(do: Callable[..., Any], state: State, log: MemoryLog) -> None:
    """Neither no prompt nor an empty one is restated."""
    do(commands.add, _rows(text("system", "")))
    do(commands.clear, state)

    assert ["system", "clear"] == [row.event.kind for row in log.rows]


def test_rewind_past_a_prompt_brings_the_older_one_back(do: Callable[..., Any], state: State) -> None:
    """The prompt is part of the conversation."""
    do(commands.create, "old")
    do(commands.mark, "here")
    do(commands.add, _rows(text("system", "new"), "hi"))
    reply = do(commands.rewind, state, "here")

    assert (2, "old") == (reply["dropped"], state.conversation.system)


def test_the_newest_of_two_marks_wins(do: Callable[..., Any], state: State) -> None:
    """Labels may repeat."""
    for message in ("one", "two", "three"):
        do(commands.mark, "x")
        do(commands.add, _rows(message))

    assert 5 == do(commands.rewind, state, "x")["target"]


def test_repeated_bare_rewind_walks_back(do: Callable[..., Any], state: State) -> None:
    """Without a label the newest mark with something after it is meant."""
    for message in ("one", "two"):
        do(commands.mark, None)
        do(commands.add, _rows(message))

    assert [3, 1] == [do(commands.rewind, state, None)["target"] for _ in range(2)]
    with pytest.raises(NoSuchMark, match="nothing was added since the last mark"):
        do(commands.rewind, state, None)


def test_a_mark_from_before_a_clear_is_gone(do: Callable[..., Any], state: State) -> None:
    """The error lists the labels that there are."""
    do(commands.mark, "before")
    do(commands.clear, state)
    do(commands.mark, "after")

    with pytest.raises(NoSuchMark) as caught:
        do(commands.rewind, state, "before")
    assert {"label": "before", "labels": ["after"]} == caught.value.data


def test_no_labels_at_all(do: Callable[..., Any], state: State) -> None:
    """The error says so where there are none."""
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
def test_the_dead_take_no_commands(do: Callable[..., Any], state: State, command: Callable[..., Any]) -> None:
    """What would change a dead agent is refused, and nothing is staged."""
    do(commands.kill, None, "bored", cascade=False)
    stage = Stage(state, 1000, pack)

    with pytest.raises(Killed):
        command(stage, state)
    assert not stage.events


def test_revive(do: Callable[..., Any], state: State, log: MemoryLog) -> None:
    """The dead come back as they were; of the living nothing is written."""
    do(commands.kill, "somebody", None, cascade=True)
    revived = do(commands.revive)
    again = do(commands.revive)

    assert (True, 2) == (revived["alive"], revived["command"])
    assert again == info(state.profile, state.conversation)
    assert ["agent_killed", "revived"] == [row.event.kind for row in log.rows]


def test_change(do: Callable[..., Any], state: State) -> None:
    """A name, a title and tags; an empty title removes it."""
    do(commands.change, "new", "A title", {"a": "b"})
    changed = do(commands.change, None, "", None)

    assert ("new", None, {"a": "b"}) == (changed["name"], changed["title"], changed["tags"])
    assert "new" == state.profile.name


def test_a_change_of_nothing_is_refused(do: Callable[..., Any]) -> None:
    """A change needs something to change."""
    with pytest.raises(InvalidParams):
        do(commands.change, None, None, None)


def test_if_seq(state: State) -> None:
    """A command that supposes another head is refused with the real one."""
    stage = Stage(state, 1000, pack)
    stage.require_head(0)

    with pytest.raises(Conflict) as caught:
        stage.require_head(7)

    assert {"head": 0} == caught.value.data


@pytest.mark.parametrize(("at", "fine"), [(0, True), (3, True), (4, False), (-1, False)])
def test_positions(at: int, fine: bool) -> None:
    """A position is between the beginning and the head."""
    if fine:
        commands.require_position(at, 3, "demo")
    else:
        with pytest.raises(InvalidParams, match="0 to 3"):
            commands.require_position(at, 3, "demo")


def test_nobody_there() -> None:
    """The error says how to make an agent."""
    assert "make one with create" in str(commands.not_found("demo"))


def test_a_dropped_stage_leaves_no_trace(do: Callable[..., Any], state: State) -> None:
    """Staging touches nothing that is committed."""
    do(commands.add, _rows(tool_call("a", "ls", "")))
    before = info(state.profile, state.conversation)
    stage = Stage(state, 1000, pack)
    commands.add(stage, _rows(tool_result("a", ""), tool_call("b", "rm", "")))
    commands.mark(stage, "x")

    assert before == info(state.profile, state.conversation)
