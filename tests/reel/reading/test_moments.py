"""Times as a person types them in a search."""

import time
from collections.abc import Iterator
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.reading.moments import WORDS, moment


@pytest.fixture
def new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[float]:
    """The time zone of a city, and a moment there: a Tuesday, 23 days after clocks were put forward."""
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield datetime.fromisoformat("2026-03-31T19:04:05+00:00").timestamp()
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("2026-03-01", "2026-03-01T00:00-05:00"),
        ("2026-03", "2026-03-01T00:00-05:00"),
        ("2026", "2026-01-01T00:00-05:00"),
        ("2026-03-30T12:30", "2026-03-30T12:30-04:00"),
        ("2026-03-30t12:30:15", "2026-03-30T12:30:15-04:00"),
        ("today", "2026-03-31T00:00-04:00"),
        ("Yesterday", "2026-03-30T00:00-04:00"),
        ("monday", "2026-03-30T00:00-04:00"),
        ("tuesday", "2026-03-31T00:00-04:00"),
        ("wednesday", "2026-03-25T00:00-04:00"),
        ("last week", "2026-03-23T00:00-04:00"),
        ("last-week", "2026-03-23T00:00-04:00"),
        ("this-week", "2026-03-30T00:00-04:00"),
        ("last-month", "2026-02-01T00:00-05:00"),
        ("this-year", "2026-01-01T00:00-05:00"),
        ("last-year", "2025-01-01T00:00-05:00"),
        ("30m", "2026-03-31T14:34:05-04:00"),
        ("26h", "2026-03-30T13:04:05-04:00"),
        ("7d", "2026-03-24T00:00-04:00"),
        ("30d", "2026-03-01T00:00-05:00"),
        ("2w", "2026-03-17T00:00-04:00"),
        ("1mo", "2026-02-28T00:00-05:00"),
        ("15mo", "2024-12-31T00:00-05:00"),
        ("1y", "2025-03-31T00:00-04:00"),
    ],
)
def test_local_days(typed: str, expected: str, new_york: float) -> None:
    """A day begins at local midnight, also if clocks were changed since; a month ago is the same day, or the last."""
    assert int(datetime.fromisoformat(expected).timestamp() * 1000) == moment(typed, new_york)


@pytest.mark.parametrize("typed", ["", "soon", "2026-13", "2026-02-30", "7", "d", "-7d", "9999y", "last day", "7 d"])
def test_what_is_no_time(typed: str, new_york: float) -> None:
    """Nothing is guessed."""
    assert moment(typed, new_york) is None


@given(typed=st.text() | st.from_regex(r"\d{1,5}(mo|[a-z])", fullmatch=True), now=st.integers(0, 1 << 32))
def test_every_text_is_a_time_or_not(typed: str, now: int) -> None:
    """No text is an error, and each word that is suggested is a time that has come."""
    moment(typed, now)

    assert [True] * len(WORDS) == [
        (moment(word, now + 86_400 * 800) or 0) <= (now + 86_400 * 800) * 1000 for word in WORDS
    ]
