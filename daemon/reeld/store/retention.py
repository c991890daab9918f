"""Determines which agents have expired by the rules of ``[retention]``, and since when these rules apply.

Purging cannot be undone, and one wrong digit in a setting would purge everything in the first second. So rules that
reach further than those before purge nothing for a day. The database remembers the rules and when they were first
applied: it is the same for all daemons that use it.
"""

import json
from functools import partial
from typing import NamedTuple

from reeld.store.connection import Connection
from reeld.store.plans import Plan

DAY = 86_400_000
# Agents that are looked at in one job: some milliseconds.
_SLICE = 1000
# The time of the newest event counts, not the original time of an imported message: what was imported today is new.
_AGENTS = """
    SELECT id, uid, name, updated, head, killed, tags,
        (SELECT time FROM events WHERE agent = a.id ORDER BY seq DESC LIMIT 1)
    FROM agents a WHERE id > ? AND name <> '' ORDER BY id LIMIT ?
"""
_NOTE = """
    INSERT INTO retention (id, killed_days, days, tag, since) VALUES (1, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE
    SET killed_days = excluded.killed_days, days = excluded.days, tag = excluded.tag, since = excluded.since
"""


class Retention(NamedTuple):
    """After how many days agents are purged: killed ones, and all; and the tag that they must have."""

    killed_days: float | None = None
    days: float | None = None
    tag: str | None = None

    @property
    def is_on(self) -> bool:
        """Whether anything is ever purged."""
        return self.killed_days is not None or self.days is not None

    def has_expired(self, killed: int | None, newest: int | None, tags: dict[str, str], now: int) -> bool:
        """Return whether an agent is to be purged.

        Args:
            killed: when it was killed, in milliseconds since the epoch.
            newest: when its newest event was written.
            tags: its tags.
            now: the time.
        """
        is_old = _is_over(killed, self.killed_days, now) or _is_over(newest, self.days, now)
        return is_old and _has(tags, self.tag)

    def is_within(self, other: "Retention") -> bool:
        """Return whether all that it purges at some time would be purged then by the other rules as well."""
        tags = (None, self.tag, self.tag and self.tag.partition("=")[0])
        return other.tag in tags and all(
            mine is None or (theirs is not None and mine >= theirs)
            for mine, theirs in ((self.killed_days, other.killed_days), (self.days, other.days))
        )


class Noted(NamedTuple):
    """The rules that a database remembers, and since when they apply, in milliseconds since the epoch."""

    rules: Retention
    since: int

    def replaced_by(self, rules: Retention, now: int) -> "Noted":
        """Return what is to be remembered: rules that reach further apply from now on."""
        # If the clock was set back, it is unknown how long ago the rules were made.
        is_new = self.since > now or not rules.is_within(self.rules)
        return Noted(rules, now if is_new else self.since)


class Old(NamedTuple):
    """An agent that has expired."""

    row: int
    uid: str
    name: str
    updated: int
    head: int


def expired(rules: Retention, now: int) -> Plan[list[Old]]:
    """Find the agents that are to be purged, the oldest first.

    Args:
        rules: the rules.
        now: milliseconds since the epoch.
    """
    found: list[Old] = []
    after: int | None = 0
    while after is not None:
        old, after = yield partial(_expired_after, rules=rules, now=now, after=after)
        found += old
    return found


def _expired_after(connection: Connection, rules: Retention, now: int, after: int) -> tuple[list[Old], int | None]:
    rows = connection.execute(_AGENTS, (after, _SLICE)).fetchall()
    old = [
        Old(*about) for *about, killed, tags, newest in rows if rules.has_expired(killed, newest, json.loads(tags), now)
    ]
    return old, rows[-1][0] if len(rows) == _SLICE else None


def noted(connection: Connection) -> Noted | None:
    """Return the rules that the database remembers; ``None`` if there are none."""
    row = connection.execute("SELECT killed_days, days, tag, since FROM retention").fetchone()
    return None if row is None else Noted(Retention(*row[:3]), row[3])


def note(connection: Connection, noted: Noted) -> None:
    """Remember rules."""
    connection.execute(_NOTE, (*noted.rules, noted.since))


def forget(connection: Connection) -> None:
    """Forget the rules: none apply any more."""
    connection.execute("DELETE FROM retention")


def _is_over(time: int | None, days: float | None, now: int) -> bool:
    return time is not None and days is not None and time < now - days * DAY  # no integer: a number may be huge


def _has(tags: dict[str, str], wanted: str | None) -> bool:
    if wanted is None:
        return True
    key, has_value, value = wanted.partition("=")
    return key in tags and (not has_value or tags[key] == value)
