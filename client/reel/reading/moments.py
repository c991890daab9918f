"""Times as a person types them in a search: a date, a day by its name, or how long ago. Days are local ones."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

_FORMS = ("%Y-%m-%d", "%Y-%m", "%Y", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S")
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_AGO = re.compile(r"(\d{1,4})(mo|[mhdwy])")
_SPAN = re.compile(r"(last|this)[-_ ]?(week|month|year)")
# A week begins on Monday, as in ISO 8601.
_HOURS = {"m": timedelta(minutes=1), "h": timedelta(hours=1)}
_DAYS = {"d": 1, "w": 7}
_MONTHS = {"mo": 1, "y": 12}
_MONTHS_OF = {"month": 1, "year": 12}
# What is suggested for a value that is no time.
WORDS = (
    "today",
    "yesterday",
    *_WEEKDAYS,
    *(f"{which}-{span}" for which in ("last", "this") for span in ("week", "month", "year")),
)


def moment(typed: str, now: float) -> int | None:
    """Return the beginning of what was typed, in milliseconds since the epoch; ``None`` if that is no time.

    Args:
        typed: ``2026-11-01``, ``2026-11``, ``2026-11-01T12:00``, ``yesterday``, ``monday``, ``last-week``, ``7d``. A
            number of days, weeks, months or years ago is the beginning of that day.
        now: the time now, in seconds since the epoch.
    """
    try:
        found = _found(typed.lower(), datetime.fromtimestamp(now))  # noqa: DTZ006 - a day is a local one
        return None if found is None else int(found.timestamp() * 1000)
    except (OverflowError, ValueError):  # a year that does not exist
        return None


def _found(typed: str, now: datetime) -> datetime | None:
    today = now.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    if typed in ("today", "yesterday"):
        return today - timedelta(days=typed == "yesterday")
    if typed in _WEEKDAYS:  # the last one, which may be today
        return today - timedelta(days=(today.weekday() - _WEEKDAYS.index(typed)) % 7)
    if (span := _SPAN.fullmatch(typed)) is not None:
        return _beginning(today, span[2], back=span[1] == "last")
    if (ago := _AGO.fullmatch(typed)) is not None:
        return _ago(int(ago[1]), ago[2], now, today)
    for form in _FORMS:
        try:
            return datetime.strptime(typed.upper(), form)  # noqa: DTZ007 - as above
        except ValueError:
            continue
    return None


def _beginning(today: datetime, span: str, *, back: bool) -> datetime:
    """Return the first day of this week, month or year, or of the one before."""
    if span == "week":
        return today - timedelta(days=today.weekday() + 7 * back)
    first = today.replace(day=1, month=1 if span == "year" else today.month)
    return _months_before(first, _MONTHS_OF[span] if back else 0)


def _ago(number: int, unit: str, now: datetime, today: datetime) -> datetime:
    if unit in _HOURS:
        return datetime.fromtimestamp(now.timestamp() - number * _HOURS[unit].total_seconds())  # noqa: DTZ006 - as above
    if unit in _DAYS:
        return today - timedelta(days=number * _DAYS[unit])
    return _months_before(today, number * _MONTHS[unit])


def _months_before(day: datetime, number: int) -> datetime:
    """Return the day with the same number some months before, or the last one of that month."""
    year, month = divmod(day.year * 12 + day.month - 1 - number, 12)
    following = datetime(year + month // 11, (month + 1) % 12 + 1, 1)  # noqa: DTZ001 - as above
    return day.replace(day=1, year=year, month=month + 1).replace(day=min(day.day, (following - timedelta(days=1)).day))
