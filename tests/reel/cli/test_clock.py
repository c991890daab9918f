"""Times are short for people and in full for programs."""

import time
from collections.abc import Iterator

import pytest

from reel.cli import clock

# 2026-11-21 14:03:22.005 UTC
MOMENT = 1_795_269_802_005


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The reader lives in Greenwich."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("later", "expected"), [(60, "14:03:22"), (5 * 86400, "11-21 14:03"), (200 * 86400, "2026-11-21")]
)
def test_short_says_as_much_as_is_needed(later: int, expected: str) -> None:
    """Today it is the time, this year the day with it, else the day."""
    assert expected == clock.short(MOMENT, MOMENT / 1000 + later)


def test_full_is_utc() -> None:
    """Programs get ISO 8601."""
    assert clock.full(MOMENT) == "2026-11-21T14:03:22.005Z"


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0.4, "0s"), (59, "59s"), (61, "1m 1s"), (3600, "1h 0m"), (90061, "1d 1h")],
)
def test_span_has_two_units(seconds: float, expected: str) -> None:
    """A length of time is as exact as a person wants it."""
    assert expected == clock.span(seconds)
