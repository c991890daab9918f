"""Filters in a query: the times and directories that only the client knows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.reading.query_filters import Narrowed, filters, narrowed

NOW = 1_795_870_800.0
DAY = 86_400_000


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("tape deck", Narrowed("tape deck")),
        ("tape in:. deck", Narrowed("tape  deck", places=(".",))),
        ("here: deck", Narrowed("deck", places=(".",))),
        ('in:"/a b" in:~/c x', Narrowed("x", places=("/a b", "~/c"))),
        ("after:soon role:usr froom:x", Narrowed("after:soon role:usr froom:x")),
        ('"in:. quoted" -in:.', Narrowed('"in:. quoted" -in:.')),
        ("in: here:x", Narrowed("in: here:x")),
        ("std::in::x http://in:8", Narrowed("std::in::x http://in:8")),
    ],
)
def test_what_a_query_is_narrowed_to(query: str, expected: Narrowed) -> None:
    """Times and directories are taken out of the query; the rest stays as it was typed."""
    assert expected == narrowed(query, NOW)


def test_several_times() -> None:
    """The latest beginning counts, and the earliest end; a span of time may have two words."""
    found = narrowed("x after:2026-11-01 AFTER:2026-11-03 before:2026-11-09 before:2026-11-05 after:last year", NOW)

    assert found.since is not None
    assert found.until is not None
    assert ("x", 2 * DAY) == (found.query, found.until - found.since)


@given(st.text() | st.lists(st.sampled_from(["in:", "a", '"', " ", "-", "after:", "2026", "here:"])).map("".join))
def test_every_text_is_a_query(query: str) -> None:
    """Whatever is typed, what is no time and no directory stays, and a filter is where it says."""
    found = list(filters(query))

    assert [True] * len(found) == [query[each.begin :].lower().startswith(f"{each.field}:") for each in found]
    assert narrowed(query, NOW).query == query.strip() or any(each.field in ("in", "here", "after") for each in found)
