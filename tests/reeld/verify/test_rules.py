"""The validator of a log; tests/reeld/verify/test_verifier.py plants each kind of damage in real files."""

from typing import Any

import pytest

from reeld.core import commands
from reeld.core.conversation import Branch, Conversation
from reeld.core.events import UNUSED
from reeld.core.stage import Stage
from reeld.core.state import State
from reeld.core.validation import rows_from
from tests.reeld.core.memory import MemoryLog, Past, pack, profile


@pytest.fixture
def log() -> MemoryLog:
    """A log: created, a prompt, a text, a mark, a text, a rewind, a clear that restates the prompt."""
    log, state = MemoryLog(), State(profile(1), Conversation())
    _do(log, state, lambda stage: commands.create(stage, "be brief"))
    _do(log, state, lambda stage: commands.add(stage, rows_from("hi")[0]))
    _do(log, state, lambda stage: commands.mark(stage, "one"))
    _do(log, state, lambda stage: commands.add(stage, rows_from("lost")[0]))
    _do(log, state, lambda stage: commands.rewind(stage, state, "one"))
    _do(log, state, lambda stage: commands.clear(stage, state))
    return log


def _do(log: MemoryLog, state: State, command: Any) -> None:
    stage = Stage(state, 1000, pack)
    command(stage)
    log.commit(state, stage)


def problems(log: MemoryLog, **row: Any) -> list[tuple[str, int | None]]:
    """Check the log, with the given agent's row."""
    agent = profile(1)._replace(head=log.rows[-1].event.seq)
    return [(found.what, found.seq) for found in Past(log, {1: agent._replace(**row)}).problems(1)]


def change(log: MemoryLog, seq: int, **fields: Any) -> None:
    """Return the log with an event changed."""
    log.rows[seq - 1].event = log.rows[seq - 1].event._replace(**fields)


def test_rules_hold_in_a_sound_log(log: MemoryLog) -> None:
    """A log that commands have written has no problems."""
    assert [] == problems(log)


def test_clear_at_the_end_that_lost_its_prompt(log: MemoryLog) -> None:
    """A clear that is the last event must be followed by the prompt."""
    del log.rows[-1]

    assert [("command", 7)] == problems(log)


def test_clear_without_a_prompt(log: MemoryLog) -> None:
    """Without a prompt, clear restates none."""
    change(log, 2, content="")

    assert [("command", 8)] == problems(log)
    del log.rows[-1]
    assert [] == problems(log)


@pytest.mark.parametrize("label", ["one", "two"])
def test_the_newest_mark_of_a_label(log: MemoryLog, label: str) -> None:
    """A rewind goes to the newest live mark with the label, not to just any."""
    change(log, 5, kind="mark", content=None, data_json=f'{{"label":"{label}"}}')

    assert ([("data", 6)] if label == "one" else []) == problems(log)


@pytest.mark.parametrize(("before", "found"), [(3, []), (2, [("parent", 5)]), (4, [("data", 5)]), (9, [("data", 5)])])
def test_a_rewind_to_before_a_message(before: int, found: list[tuple[str, int]]) -> None:
    """It goes to the parent of a message or prompt of the conversation, and others may follow in its command."""
    log, state = MemoryLog(), State(profile(1), Conversation())
    _do(log, state, lambda stage: commands.create(stage, "be brief"))
    _do(log, state, lambda stage: commands.add(stage, rows_from("hi")[0]))
    _do(log, state, lambda stage: commands.mark(stage, "one"))
    replacing = rows_from(["other", {"kind": "usage"}])[0]
    _do(log, state, lambda stage: commands.replace(stage, state, 3, 2, Branch(2), replacing))
    change(log, 5, data_json=f'{{"before":{before}}}')

    assert found == problems(log)


def test_names_that_the_log_does_not_have(log: MemoryLog) -> None:
    """The agent's row must agree with its log; an event that cannot be read proves nothing."""
    assert [("name", None)] == problems(log, name="other")
    assert [("title", None)] == problems(log, title="other")
    change(log, 1, data_json="{}")
    assert [("data", 1)] == problems(log, name="other")


def test_a_gap_that_is_named() -> None:
    """Seqs may be missing only before an event that says that the server has lost them."""
    log, state = MemoryLog(), State(profile(1), Conversation())
    _do(log, state, lambda stage: commands.create(stage, None))
    _do(log, state, lambda stage: stage.put_inert("lost", 5, {"from": 2, "to": 4}))
    lost, seq = log.rows[1], 5 + UNUSED
    lost.event = lost.event._replace(seq=seq, command=seq)

    assert [] == problems(log)
    lost.event = lost.event._replace(seq=seq + 1, command=seq + 1)
    assert [("gap", seq + 1)] == problems(log)
