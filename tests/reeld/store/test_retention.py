"""Which agents have expired, and since when the rules apply, in a file and on a server."""

from typing import Any

import pytest

from reeld.store import retention
from reeld.store.plans import carry_out
from reeld.store.retention import DAY, Noted, Old, Retention, Subject, expired, forget, note, noted
from tests.reeld.store.rows import Rows

NOW = 1000 * DAY
ALL = Retention(days=30)


@pytest.mark.parametrize(
    ("rules", "killed", "newest", "expected"),
    [
        (Retention(), 0, 0, False),
        (ALL, None, NOW - 31 * DAY, True),
        (ALL, None, NOW - 30 * DAY, False),
        (ALL, 0, NOW, False),
        (ALL, None, None, False),
        (Retention(days=1e308), None, 0, False),
        (Retention(killed_days=30), None, 0, False),
        (Retention(killed_days=30), NOW - 31 * DAY, NOW, True),
        (Retention(killed_days=30), NOW - 29 * DAY, 0, False),
        (Retention(killed_days=1, days=30), NOW - 2 * DAY, NOW, True),
        (Retention(days=30, tag="keep"), None, 0, True),
        (Retention(days=30, tag="keep=short"), None, 0, True),
        (Retention(days=30, tag="keep=long"), None, 0, False),
        (Retention(days=30, tag="other"), None, 0, False),
    ],
)
def test_what_has_expired(rules: Retention, killed: int | None, newest: int | None, expected: bool) -> None:
    """An agent expires some days after its newest event or after it was killed, if it has the tag."""
    assert expected is rules.has_expired(killed, newest, {"keep": "short"}, NOW)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (ALL, ALL, True),
        (ALL, Retention(days=31), True),
        (ALL, Retention(days=29), False),
        (ALL, Retention(days=30, killed_days=90), False),
        (ALL, Retention(days=30, tag="keep"), True),
        (Retention(days=30, tag="keep"), ALL, False),
        (Retention(days=30, tag="keep"), Retention(days=30, tag="keep=short"), True),
        (Retention(days=30, tag="keep"), Retention(days=30, tag="other=short"), False),
        (Retention(days=30, tag="keep=short"), Retention(days=30, tag="keep"), False),
        (Retention(days=30, killed_days=9), Retention(killed_days=9), True),
        (Retention(killed_days=9), Retention(killed_days=8.5), False),
    ],
)
def test_rules_that_reach_further(before: Retention, after: Retention, expected: bool) -> None:
    """Rules that purge something that those before did not apply from now on; others as long as those before."""
    assert expected is after.is_within(before)
    assert Noted(after, 5 if expected else 9) == Noted(before, 5).replaced_by(after, 9)


def test_rules_of_the_future() -> None:
    """If the clock was set back, it is unknown how long ago the rules were made."""
    assert Noted(ALL, 9) == Noted(ALL, 10).replaced_by(ALL, 9)


def test_agents_are_found_in_slices(rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    """All agents are looked at, some at a time; those that were purged are not found again."""
    monkeypatch.setattr(retention, "_SLICE", 2)
    for row in range(1, 6):
        rows.agent(row, killed=1 if row == 2 else None)
        rows.event(row, "created", None)
    rows.connection.execute("UPDATE agents SET name = '' WHERE id = 4")
    rows.agent(6)  # its events are missing
    found = carry_out(expired(ALL, NOW), rows.connection)

    assert [Old(row, f"{row:032x}", f"agent-{row}", 1, 1) for row in (1, 2, 3, 5)] == found
    assert [2] == [old.row for old in carry_out(expired(Retention(killed_days=30), NOW), rows.connection)]


def test_rules_are_remembered(rows: Rows) -> None:
    """A database remembers one set of rules, and forgets them."""
    found: list[Any] = [noted(rows.connection, Subject.AGENTS)]
    for rules in (Retention(30.5, None, "keep"), Retention(None, 7.0, None)):
        note(rows.connection, Subject.AGENTS, Noted(rules, NOW))
        found.append(noted(rows.connection, Subject.AGENTS))
    forget(rows.connection, Subject.AGENTS)
    found.append(noted(rows.connection, Subject.AGENTS))

    assert [None, Noted(Retention(30.5, None, "keep"), NOW), Noted(Retention(None, 7.0, None), NOW), None] == found
