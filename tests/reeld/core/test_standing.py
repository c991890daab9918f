"""How late an answer is, and what the conversation says of it."""

import json
from typing import Any

import pytest

from reel.base.errors import Conflict
from reeld.core.conversation import Conversation
from reeld.core.events import Origin
from reeld.core.standing import behind, gone, passed, require_prompt
from reeld.core.validation import rows_from
from tests.reeld.formats.histories import call, entries_of, model, result, tool

ANSWER = model("A", call(), provider="anthropic")


def conversation(*messages: Any, keep: int | None = None) -> Conversation:
    """Return a conversation; with ``keep``, so many of its entries are in memory."""
    made = Conversation(entries_of(messages), step=1)
    if keep is not None:
        made.trim(keep)
    return made


@pytest.mark.parametrize(
    ("messages", "seq", "late"),
    [
        (["U1"], 1, 0),
        (["U1", "U2", "U3"], 1, 2),
        (["U1", {"role": "system", "content": "x"}, "U2"], 1, 1),
        (["U1", model("A0"), "U2"], 1, 0),
        (["U1", model(call()), tool(result()), "U2"], 3, 1),
        (["U1"], 0, 1),
    ],
)
def test_how_late_an_answer_is(messages: list[Any], seq: int, late: int) -> None:
    """It is late by the messages since what it answers, unless another answer is among them."""
    assert late == passed(conversation(*messages), seq)


def test_an_answer_to_what_is_not_in_memory() -> None:
    """It stays where it is."""
    held = conversation("U1", "U2", "U3", "U4", keep=2)

    assert 2 == len(held.entries)
    assert (0, 1) == (passed(held, 1), passed(held, 3))


def test_how_an_answer_is_marked() -> None:
    """The messages of an answer and its results are marked, whatever their form; records are not, and no user's."""
    given = [ANSWER, model(call()), tool(result()), {"kind": "usage", "data_json": '{"usage":{}}'}, model("A")]
    rows = rows_from(given)[0]
    marked = behind(rows, 2)

    assert [2, 2, 2, None, 2] == [
        json.loads(row.data_json or "{}").get("provider_metadata", {}).get("late") for row, _ in marked
    ]
    assert {"provider": "anthropic", "late": 2} == next(parts.provider_metadata for _, parts in marked if parts)
    assert rows == behind(rows, 0)
    assert rows_from(["U"])[0] == behind(rows_from(["U"])[0], 2)
    assert rows_from([given[3]])[0] == behind(rows_from([given[3]])[0], 2)


def test_a_late_answer_keeps_where_it_is_from() -> None:
    """Its reference keeps it from being added twice."""
    rows, _ = rows_from([{"role": "assistant", "content": "A", "sent": 5, "ref": "r"}])

    assert [Origin(5, "r")] == [row.origin for row, _ in behind(rows, 1)]


@pytest.mark.parametrize(
    ("newest", "ready"),
    [
        (model("A", late=1), True),
        (model("A", late=0), False),
        (model("A", late="1"), False),
        (model("it is late"), False),
        (model('"late"', provider="x"), False),
        (model(call(), late=1), False),
    ],
)
def test_who_speaks_next_after_a_late_answer(newest: Any, ready: bool) -> None:
    """The assistant does, because what was said meanwhile is not answered, unless the answer's calls wait."""
    assert ready == conversation("U1", "U2", newest).ready
    assert 3 == conversation("U1", "U2", newest).newest_seq


def test_the_newest_record() -> None:
    """Its seq is 0 for an empty conversation, and known if it is not in memory."""
    held = conversation("U1", "U2")
    held.base, held.entries = held.milestones[-1], []

    assert (0, 2) == (Conversation().newest_seq, held.newest_seq)


def test_what_is_refused() -> None:
    """The errors have the head, and what was to stand."""
    found = conversation("U1", {"role": "system", "content": "x"})
    require_prompt(found, 2, 2, "demo")
    with pytest.raises(Conflict, match="#2, after #1") as refused:
        require_prompt(found, 1, 7, "demo")

    assert {"head": 7, "if_stands": 1} == {key: refused.value.data[key] for key in ("head", "if_stands")}
    assert {"head": 7, "if_stands": 1} == {key: gone(1, 7, "demo").data[key] for key in ("head", "if_stands")}
