"""Results that take the place of an earlier one: which are marked, and what is looked at for that."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.said.messages import SUPERSEDES
from reeld.core import superseding
from reeld.core.conversation import Conversation
from reeld.core.events import Mark
from reeld.core.path import Path
from reeld.core.rows import CheckedRow
from reeld.core.stage import NotInMemory, Stage
from reeld.core.state import State
from reeld.core.superseding import LookBack, has_results
from reeld.core.validation import rows_from
from reeld.formats.table import FORMATS
from tests.reeld.core.memory import pack, profile
from tests.reeld.formats.histories import call, entries_of, model, result, tool
from tests.reeld.formats.rendering import ask

Json = dict[str, Any]


def marks(rows: list[CheckedRow]) -> list[list[str]]:
    """Return the marks of each row."""
    metadata = (json.loads(row.data_json or "{}").get("provider_metadata") or {} for row, _ in rows)
    return [each.get(SUPERSEDES, []) for each in metadata]


def marked(messages: list[Json | str], before: list[Any] | None = None, keep: int | None = None) -> list[list[str]]:
    """Return the marks of messages that are added behind others, of which so many are in memory."""
    conversation = Conversation(entries_of(before or []), step=1)
    if keep is not None:
        conversation.trim(keep)
    look = LookBack.over(rows_from(messages)[0], (), conversation, conversation.tip)
    assert (look.base is not None) == (keep is not None)
    look.take(reversed(entries_of(before or [])[: len(before or []) - (keep or 0)]))
    return marks(look.marked())


def test_a_second_result_is_marked() -> None:
    """The assistant may have spoken or not, and what is between may be anything."""
    asked: list[Any] = ["Hi", model(call(), call("c2")), tool(result("c1", "confirm?"))]

    assert [["c1"]] == marked([tool(result())], asked)
    assert [["c1"]] == marked([tool(result())], [*asked, model("Shall I?"), "Yes"])
    assert [[], [], ["c1"], ["c1"]] == marked(["Yes", tool(result("c2")), tool(result()), tool(result())], asked)
    assert [["c1"]] == marked([tool(result("c2"), result())], asked)


def staged(*messages: Any, keep: int | None = None) -> Stage:
    """Return a stage over an agent that has these messages; with ``keep``, so many of them are in memory."""
    conversation = Conversation(entries_of(messages), step=1)
    if keep is not None:
        conversation.trim(keep)
    return Stage(State(profile(1), conversation), 1000, pack)


def test_what_a_stage_marks() -> None:
    """It looks at what it has staged, then at what is in memory; a call that may be further back is for the log."""
    stage = staged("Hi", model(call()), tool(result("c1", "confirm?")))
    again = rows_from([tool(result())])[0]
    words = rows_from(["Yes"])[0]

    assert words == stage.marked(words)
    assert [["c1"]] == marks(stage.marked(again))
    with pytest.raises(NotInMemory):
        staged("Hi", model(call()), tool(result()), "Yes", keep=1).marked(again)


def test_the_staged_part_of_a_path() -> None:
    """It is given from its end, with what is committed before it."""
    stage = staged("Hi")
    path = Path(stage._state.conversation, stage.events)
    stage.put_rows(stage.next_seq, rows_from(["one", {"kind": "note"}, "two"])[0])
    path.follow()
    events, before, tip = path.back()

    assert ["two", "one"] == [event.content for event in events]
    assert (1, before.tip) == (len(before.entries), tip)


def test_a_first_result_is_not_marked() -> None:
    """Nor is a result of no call, or of a call that has the id of an earlier one."""
    answered: list[Any] = ["Hi", model(call()), tool(result())]

    assert [[]] == marked([tool(result())], answered[:2])
    assert [[], []] == marked([tool(result("x")), tool(result("x"))], answered)
    assert [[], [], ["c1"]] == marked([model(call()), tool(result()), tool(result())], answered)
    assert [[], [], ["c1"]] == marked([model(call(), call()), tool(result(), result()), tool(result())])


def test_calls_of_one_turn_are_counted_together() -> None:
    """A call that is made again before anybody answered has a result of its own, as in what is rendered."""
    twice: list[Any] = ["Hi", model(call()), model("Again", call())]
    results = tool(result("c1", "1")), tool(result("c1", "2")), tool(result("c1", "3"))

    assert [[], [], ["c1"]] == marked([*results], twice)
    assert [[], [], [], ["c1"]] == marked([twice[2], *results], twice[:2])
    assert [[], [], [], [], [], ["c1"]] == marked([*twice, *results])
    assert [[], [], [], ["c1"]] == marked([twice[2], {"role": "system", "content": "Be brief"}, *results[:2]])
    assert [[], ["c1"], ["c1"]] == marked([*results], [*twice[:2], "Well?", twice[2]])
    assert [[], [], ["c1"], ["c1"]] == marked([twice[2], *results], [*twice[:2], "Well?"])


def test_what_is_not_in_memory_is_looked_at_when_it_is_asked_for() -> None:
    """The newest call of the id is what counts, wherever it is."""
    before: list[Any] = ["Hi", model(call()), tool(result()), "1", "2", "3"]

    assert [["c1"]] == marked([tool(result())], before, keep=3)
    assert [[]] == marked([tool(result())], [*before[:2], *before[3:]], keep=3)


def test_only_so_many_records_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Marks of the conversation are not among them."""
    before: list[Any] = ["Hi", model(call()), tool(result()), "1", "2", "3"]
    monkeypatch.setattr(superseding, "FARTHEST", 5)
    assert [["c1"]] == marked([tool(result())], before)
    monkeypatch.setattr(superseding, "FARTHEST", 4)
    assert [[]] == marked([tool(result())], before)

    look = LookBack(rows_from([tool(result())])[0])
    look.take(Mark(number, number, None) for number in range(10))
    assert not look.is_over
    look.take(_endless())
    assert look.is_over


def _endless() -> Any:
    while True:
        yield from entries_of(["Hi"])


def test_who_copies_a_message_does_not_copy_its_mark() -> None:
    """The mark is the daemon's: it is there if it is true. Everything else of the message stays."""
    copied = {**tool(result()), "provider_metadata": {SUPERSEDES: ["c1"], "mine": 1}}
    rows = LookBack.over(rows_from([copied])[0], (), Conversation(entries_of(["Hi", model(call())])), 102).marked()

    assert {"mine": 1} == json.loads(rows[0].row.data_json or "")["provider_metadata"]
    assert [["c1"]] == marked([copied], ["Hi", model(call()), tool(result())])


def test_rows_without_results_are_left_alone() -> None:
    """So nearly all rows cost nothing."""
    assert not has_results(rows_from(["Hi", model(call()), {"kind": "note", "content": "x"}])[0])
    assert has_results(rows_from(["Hi", tool(result())])[0])


IDS = st.sampled_from("abc")


@st.composite
def histories(draw: st.DrawFn) -> list[Json | str]:
    """Return a history in which no call has the id of a call of an earlier turn that still waits for its result."""
    history: list[Json | str] = ["Hi"]
    waiting: set[str] = set()
    turn: set[str] = set()
    for number, what in enumerate(draw(st.lists(st.sampled_from(["user", "calls", "results", "text"]), max_size=14))):
        if what in ("user", "results"):
            turn.clear()
        if what == "user":
            history.append(f"user {number}")
        elif what == "text":
            history.append(model(f"text {number}"))
        elif what == "calls":
            ids = [
                made for made in draw(st.lists(IDS, min_size=1, max_size=2, unique=True)) if made not in waiting - turn
            ]
            waiting.update(ids)
            turn.update(ids)
            if ids:
                history.append(model(*(call(made) for made in ids)))
        else:
            ids = draw(st.lists(IDS, min_size=1, max_size=2, unique=True))
            waiting.difference_update(ids)
            history.append(tool(*(result(made, f"<{number}{made}>") for made in ids)))
    return [*history, "Bye"]


def naive(history: list[Json | str]) -> list[list[str]]:
    """Return the marks that messages should have, from the whole history."""
    expected = []
    # How many results each call still waits for, by its id.
    called: dict[str, int] = {}
    turn: set[str] = set()
    for message in history:
        blocks = [] if isinstance(message, str) else message["content"]
        if isinstance(message, str) or message["role"] == "tool":
            turn.clear()
        calls = {block["id"] for block in blocks if block["type"] == "tool_call"}
        called |= {made: called[made] + 1 if made in turn else 1 for made in calls}
        turn |= calls
        results = [block["tool_call_id"] for block in blocks if block["type"] == "tool_result"]
        expected.append([made for made in results if called.get(made, 1) <= 0])
        for made in results:
            if made in called:
                called[made] -= 1
    return expected


@given(histories(), st.integers(0, 16), st.sampled_from([*FORMATS]))
def test_marked_is_what_counts(history: list[Json | str], cut: int, name: str) -> None:
    """Together or in two parts, the marks are the same; and of each call, a model gets the result that counts."""
    expected = naive(history)
    cut = min(cut, len(history) - 1)
    behind = marked(history[cut:], history[:cut])

    assert expected == marked(history)
    assert expected[cut:] == behind
    rendered = ask([*history], name)
    with_marks = [
        {**message, "provider_metadata": {SUPERSEDES: mark}} if mark and isinstance(message, dict) else message
        for message, mark in zip(history, expected, strict=True)
    ]
    assert rendered.body == ask(with_marks, name).body, "the mark is not sent"
    texts = [change.seq for change in rendered.report if change.why.startswith("the call had a result")]
    assert all(expected[seq - 1] for seq in texts if seq is not None)
    for group in results_by_call(history):
        assert group[-1] in rendered.body, "the last result is sent"


def results_by_call(history: list[Json | str]) -> list[list[str]]:
    """Return the texts of the results of each call that has any."""
    groups: list[list[str]] = []
    newest: dict[str, list[str]] = {}
    for message in history:
        for block in [] if isinstance(message, str) else message["content"]:
            if block["type"] == "tool_call":
                newest[block["id"]] = []
                groups.append(newest[block["id"]])
            elif block["type"] == "tool_result" and block["tool_call_id"] in newest:
                newest[block["tool_call_id"]].append(block["content"])
    return [group for group in groups if group]
