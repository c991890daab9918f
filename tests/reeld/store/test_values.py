"""Where the values of an agent were set; `tests/reeld/serving/handlers/test_state.py` reads the values themselves."""

from typing import Any

import pytest

from reeld.store.values import seqs_of
from tests.reeld.store.rows import Rows

VALUE = '{"value":1}'


@pytest.fixture
def line(rows: Rows) -> Rows:
    """An agent, a clone at its seq 4, and one of that at its seq 6; the keys that they set differ."""
    rows.agent(1)
    for key in ("old", "replaced", "removed", "replaced", "late"):
        rows.event(1, "state", key, VALUE)
    rows.agent(2, source=1, at=4)
    rows.event(2, "state", "replaced", VALUE)
    rows.event(2, "state", "removed")
    rows.event(2, "state", "late", VALUE)
    rows.agent(3, source=2, at=6)
    rows.event(3, "state", "new", VALUE)
    rows.event(3, "state", "new", VALUE)
    return rows


@pytest.mark.parametrize(
    ("row", "at", "expected"),
    [
        (1, 3, {"old": 1, "replaced": 2, "removed": 3}),
        (1, 9, {"old": 1, "replaced": 4, "removed": 3, "late": 5}),
        (2, 4, {"old": 1, "replaced": 4, "removed": 3}),
        (2, 9, {"old": 1, "replaced": 5, "removed": 0, "late": 7}),
        (3, 7, {"old": 1, "replaced": 5, "removed": 0, "new": 7}),
        (3, 9, {"old": 1, "replaced": 5, "removed": 0, "new": 8}),
    ],
)
def test_the_newest_in_the_past_counts(line: Rows, row: int, at: int, expected: dict[str, int]) -> None:
    """What an agent has set replaces what it inherited; what its source set after the clone is not in its past."""
    keys = {"old", "replaced", "removed", "late", "new", "never"}
    assert expected == seqs_of(line.connection, row, at, keys)
    assert {"old": 1} == seqs_of(line.connection, row, at, {"old"})


@pytest.mark.file
def test_an_agent_is_asked_once_for_all_values(line: Rows) -> None:
    """One of its sources is only asked for those that were not set after it."""
    connection: Any = line.connection
    asked: list[str] = []

    def note(statement: str) -> None:
        if "FROM events" in statement:
            asked.append(statement)

    connection.set_trace_callback(note)
    seqs_of(connection, 3, 9, {f"k{number}" for number in range(20)})
    assert 3 == len(asked)
    seqs_of(connection, 3, 9, {"new"})
    assert 4 == len(asked)


@pytest.mark.file
def test_values_are_not_read(line: Rows) -> None:
    """To find out where a value was set takes no longer if it is large: it may be of bytes that are not text."""
    line.unlock()
    line.connection.execute("UPDATE events SET data_json = CAST(x'ff' AS TEXT)")
    assert {"old": 1, "removed": 3} == seqs_of(line.connection, 1, 9, {"old", "removed"})
