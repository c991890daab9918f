"""Determines which agents have expired by the rules of ``[retention]``, and since when these rules apply.

Neither purging nor pruning can be undone, and one wrong digit in a setting would remove everything in the first second.
So rules that reach further than those before remove nothing for a day. The database remembers the rules and when they
were first applied: it is the same for all daemons that use it.
"""

import json
from enum import IntEnum
from functools import partial

from reel.base.light_typing import NamedTuple
from reeld.store.connection import Connection
from reeld.store.plans import Plan
from reeld.store.schema import JUMPS

DAY = 86_400_000
# Agents that are looked at in one job: some milliseconds.
_SLICE = 1000
# The time of the newest event counts, not the original time of an imported message: what was imported today is new. An
# erasure does not: the daemon prunes by itself what it will purge later.
_NEWEST = "(SELECT time FROM events WHERE agent = a.id AND kind <> 'redacted' ORDER BY seq DESC LIMIT 1)"
_AGENTS = f"""
    SELECT id, uid, name, updated, head, killed, tags, {_NEWEST}
    FROM agents a WHERE id > ? AND name <> '' ORDER BY id LIMIT ?
"""  # noqa: S608 - our own words
# Nothing can be out of reach in a log that never went back, and whose values were never replaced. No index has times,
# so of the values only is known that there are some.
_HISTORIES = f"""
    SELECT id, uid, head, tags, {_NEWEST},
        (SELECT time FROM events WHERE agent = a.id AND {JUMPS} ORDER BY seq LIMIT 1),
        EXISTS (SELECT 1 FROM events WHERE agent = a.id AND kind = 'state' GROUP BY content HAVING count(*) > 1)
    FROM agents a WHERE id > ? AND name <> '' AND killed IS NULL ORDER BY id LIMIT ?
"""  # noqa: S608 - our own words
_NOTE = """
    INSERT INTO retention (id, killed_days, days, tag, since) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE
    SET killed_days = excluded.killed_days, days = excluded.days, tag = excluded.tag, since = excluded.since
"""


class Subject(IntEnum):
    """What rules remove, each with a row of the table: whole agents, or what nothing reaches in those that live."""

    AGENTS = 1
    HISTORIES = 2


class Retention(NamedTuple):
    """After how many days something is removed for good, and the tag that its agent must have.

    Args:
        killed_days: agents that were killed so long ago.
        days: agents without an event for so long.
        tag: ``KEY`` or ``KEY=VALUE``.
        history_days: what nothing can reach any more in agents that live.
    """

    killed_days: float | None = None
    days: float | None = None
    tag: str | None = None
    history_days: float | None = None

    @property
    def is_on(self) -> bool:
        """Whether any agent is ever purged."""
        return self.killed_days is not None or self.days is not None

    @property
    def of_agents(self) -> "Retention":
        """The rules by which agents are purged."""
        return self._replace(history_days=None)

    @property
    def of_histories(self) -> "Retention":
        """The rule by which living agents are pruned, in the form that the database remembers."""
        return Retention(days=self.history_days, tag=self.tag)

    def has_expired(self, killed: int | None, newest: int | None, tags: dict[str, str], now: int) -> bool:
        """Return whether an agent is to be purged.

        Args:
            killed: when it was killed, in milliseconds since the epoch.
            newest: when its newest event was written.
            tags: its tags.
            now: the time.
        """
        is_old = _is_over(killed, self.killed_days, now) or _is_over(newest, self.days, now)
        return is_old and has_tag(tags, self.tag)

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


class History(NamedTuple):
    """A living agent that may have something that nothing reaches any more."""

    row: int
    uid: str
    head: int


def histories(
    connection: Connection, rules: Retention, until: int, since: int | None, after: int
) -> tuple[list[History], int | None]:
    """Return living agents that may have something to prune, and the row after which to go on; ``None`` at the end.

    Args:
        connection: reads them.
        rules: the rule for histories.
        until: what was written before this time may be pruned; milliseconds since the epoch.
        since: only agents that have an event of this time or later: others were pruned. ``None`` for all.
        after: the row after which they are looked for.
    """
    rows = connection.execute(_HISTORIES, (after, _SLICE)).fetchall()
    found = [
        History(row, uid, head)
        for row, uid, head, tags, newest, jumped, has_replaced in rows
        if has_tag(json.loads(tags), rules.tag)
        and (has_replaced or (jumped is not None and jumped < until))
        and (since is None or (newest is not None and newest >= since))
    ]
    return found, rows[-1][0] if len(rows) == _SLICE else None


def noted(connection: Connection, subject: Subject) -> Noted | None:
    """Return the rules that the database remembers; ``None`` if there are none."""
    query = "SELECT killed_days, days, tag, since FROM retention WHERE id = ?"
    row = connection.execute(query, (int(subject),)).fetchone()
    return None if row is None else Noted(Retention(*row[:3]), row[3])


def note(connection: Connection, subject: Subject, noted: Noted) -> None:
    """Remember rules."""
    killed_days, days, tag, _ = noted.rules
    connection.execute(_NOTE, (int(subject), killed_days, days, tag, noted.since))


def forget(connection: Connection, subject: Subject) -> None:
    """Forget the rules: none apply any more."""
    connection.execute("DELETE FROM retention WHERE id = ?", (int(subject),))


def _is_over(time: int | None, days: float | None, now: int) -> bool:
    return time is not None and days is not None and time < now - days * DAY  # no integer: a number may be huge


def has_tag(tags: dict[str, str], wanted: str | None) -> bool:
    """Return whether tags have the one that a rule wants; all have it if it wants none."""
    if wanted is None:
        return True
    key, has_value, value = wanted.partition("=")
    return key in tags and (not has_value or tags[key] == value)
