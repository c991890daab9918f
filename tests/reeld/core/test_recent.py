"""Where a reader begins that wants only the newest messages of a conversation."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeld.core import commands, recent
from reeld.core.conversation import Conversation
from reeld.core.events import Entry
from reeld.core.milestones import Milestone
from reeld.core.reading import Reader
from reeld.core.recent import Recent
from reeld.core.stage import Stage
from reeld.core.state import State
from reeld.core.validation import rows_from
from tests.reeld.core.memory import MemoryLog, pack, profile

_STEP = 2
_CALL = {"type": "tool_call", "id": "c1", "name": "look", "arguments": "{}"}
_SAID = st.one_of(
    st.integers(1, 300).map(lambda size: "x" * size),
    st.integers(1, 300).map(lambda size: {"role": "assistant", "content": "x" * size}),
    st.just({"role": "assistant", "content": [_CALL]}),
    st.sampled_from([{"role": "system", "content": "Be kind."}, {"kind": "note"}, "mark"]),
)


@pytest.fixture(autouse=True)
def short_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let milestones at few records be round."""
    monkeypatch.setattr(recent, "STEP", _STEP)


def made(said: Sequence[object]) -> tuple[MemoryLog, Conversation]:
    """Return a log with a command for each of these, and the conversation, all of it in memory."""
    log, state = MemoryLog(), State(profile(1), Conversation(step=_STEP))
    for each in said:
        stage = Stage(state, 1, pack)
        if each == "mark":
            commands.mark(stage, None)
        else:
            commands.add(stage, rows_from([each])[0])
        log.commit(state, stage)
    return log, state.conversation


def size_of(entries: list[Entry]) -> int:
    """Return the bytes of some messages."""
    return sum(len(entry.message) for entry in entries if entry.message is not None)


def found(conversation: Conversation, size: int) -> Recent:
    """Return the newest entries, of which enough must be in memory."""
    recently = recent.recent(conversation, size)
    assert recently is not None
    return recently


@given(st.lists(_SAID, min_size=1, max_size=40), st.integers(100, 2000), st.integers(0, 9000))
def test_the_place_follows_from_the_history_alone(said: list[object], size: int, more: int) -> None:
    """It is the same however much is in memory; there are enough messages after it, and what is before is known."""
    log, whole = made(said)
    if whole.tip is None:
        return
    read = Reader(log, step=_STEP).newest(whole.tip, 2 * size + more)
    entries, earlier = found(whole, size)

    assert (entries, earlier) == found(read, size)
    assert entries == whole.entries[len(whole.entries) - len(entries) :]
    if size_of(whole.entries) < 2 * size:
        assert earlier is None
    if earlier is None:
        assert len(whole.entries) == len(entries)
    else:
        before = Conversation(whole.entries[: len(whole.entries) - len(entries)])
        assert (before.message_count, tuple(before.open_calls)) == (earlier.messages, earlier.open_calls)
        assert size <= size_of([entry for entry in whole.entries if entry.id > earlier.milestone.id])


@given(st.lists(_SAID, min_size=1, max_size=40), st.integers(100, 2000))
def test_more_is_read_if_too_little_is_in_memory(said: list[object], size: int) -> None:
    """With less than twice the size in memory, the place is not known."""
    log, whole = made(said)
    if whole.tip is None:
        return
    read = Reader(log, step=_STEP, least=1).state(whole.tip)[0]
    lacks = read.base is not None and size_of(read.entries) < 2 * size

    assert lacks == (recent.recent(read, size) is None)


@given(st.lists(_SAID, min_size=1, max_size=40), st.integers(0, 5000))
def test_a_state_of_which_so_much_is_in_memory(said: list[object], size: int) -> None:
    """It is the state; its messages in memory have the size, or there are no others; without milestones as well."""
    log, whole = made(said)
    if whole.tip is None:
        return
    for _ in range(2):
        read = Reader(log, step=_STEP).newest(whole.tip, size)

        assert whole == read
        assert size_of(read.entries) >= size or read.base is None
        log.milestones.clear()


def test_the_place_moves_seldom() -> None:
    """While a conversation grows by so many messages as are looked at, it moves twice at most, and always forward."""
    _, whole = made([])
    size = size_of(made(["x" * 20] * 64)[1].entries)
    places: list[Milestone | None] = []
    said = [text for _ in range(320) for text in ("x" * 20, {"role": "assistant", "content": "x" * 20})]
    _, whole = made(said)
    for end in range(64, len(said), 2):
        earlier = found(Conversation(whole.entries[:end], step=_STEP), size).earlier
        places.append(None if earlier is None else earlier.milestone)
    moved = [after for before, after in pairwise(places) if before != after]

    assert 5 < len(moved) <= 2 * len(said) / 64
    assert moved == sorted(moved, key=lambda place: 0 if place is None else place.id)


def test_the_place_is_where_somebody_answers_the_assistant() -> None:
    """An answer of the assistant's to what is before is not among the entries."""
    said = ["x" * 200, {"role": "assistant", "content": "x" * 200}, {"role": "assistant", "content": "x" * 200}] * 9
    _, whole = made(said)
    entries, earlier = found(whole, 900)

    assert earlier is not None
    assert "user" == entries[0].kind
    assert "assistant" == whole.entries[len(whole.entries) - len(entries) - 1].kind


def test_what_the_assistant_does_before_somebody_answers_is_known() -> None:
    """Its calls without a result are among those of what comes before; a prompt is no message."""
    step = [
        {"role": "assistant", "content": [_CALL]},
        {"role": "system", "content": "Be kind."},
        {"role": "assistant", "content": "x" * 200},
    ]
    _, whole = made([*["x" * 2000] * 3, *step, *["x" * 200] * 3])
    entries, earlier = found(whole, 2000)

    assert earlier is not None
    assert earlier.milestone.id == whole.entries[1].id
    assert (whole.entries[6:], 5, ["c1"]) == (entries, earlier.messages, [each.id for each in earlier.open_calls])


def test_a_long_conversation_without_milestones_is_read_as_a_whole() -> None:
    """They are missing in a log that an older version has written."""
    log, whole = made(["x"] * 100)
    log.milestones.clear()
    assert whole.tip is not None
    read = Reader(log, step=_STEP).newest(whole.tip, 1000)

    assert whole == read
