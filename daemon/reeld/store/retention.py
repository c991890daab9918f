"""Determines which agents have expired by the rules of ``[retention]``."""

import json
from typing import NamedTuple

from reeld.store.connection import Connection

_DAY = 86_400_000
# The time of the newest event counts, not the original time of an imported message: what was imported today is new.
_OLD = """
    SELECT id, tags FROM agents a
    WHERE name <> '' AND (
        killed < :killed
        OR (SELECT time FROM events WHERE agent = a.id ORDER BY seq DESC LIMIT 1) < :any
    ) ORDER BY id
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


def expired(connection: Connection, retention: Retention, now: int) -> list[int]:
    """Return the rows of the agents that are to be purged.

    Args:
        connection: a reading connection.
        retention: the rules.
        now: milliseconds since the epoch.
    """
    limits = {
        "killed": None if retention.killed_days is None else now - int(retention.killed_days * _DAY),
        "any": None if retention.days is None else now - int(retention.days * _DAY),
    }
    rows = connection.execute(_OLD, limits).fetchall()
    return [row for row, tags in rows if _has(json.loads(tags), retention.tag)]


def _has(tags: dict[str, str], wanted: str | None) -> bool:
    if wanted is None:
        return True
    key, has_value, value = wanted.partition("=")
    return key in tags and (not has_value or tags[key] == value)
