"""Determines what would be lost if a backup took the place of a database."""

from contextlib import closing

from reel.base.light_typing import NamedTuple
from reeld.verify.file import open_unchanged, unchanging_uri

# An event is in the backup if the backup has the same event under its id; ids are never reused. The checksum is not
# compared: older versions do not have it, and everything that it covers is compared.
_MISSING = """
    SELECT a.uid, a.name, count(*) FROM main.events e JOIN main.agents a ON a.id = e.agent
    WHERE NOT EXISTS (
        SELECT 1 FROM backup.events b JOIN backup.agents o ON o.id = b.agent
        WHERE b.id = e.id AND o.uid = a.uid AND b.seq = e.seq AND b.kind = e.kind AND b.content IS e.content
            AND b.data_json IS e.data_json AND b.parent IS e.parent AND b.time = e.time
    ) GROUP BY a.id ORDER BY count(*) DESC, a.id
"""
# Agents that were removed since the backup. A database that has none of the backup's agents is a different one, or new.
_RETURNING = """
    SELECT uid, name FROM backup.agents WHERE uid NOT IN (SELECT uid FROM main.agents)
        AND EXISTS (SELECT 1 FROM main.agents a JOIN backup.agents b ON b.uid = a.uid) ORDER BY id
"""
_LISTED = 10


class Loss(NamedTuple):
    """An agent, and how many of its events the backup does not have, or has with different content."""

    agent: str
    name: str
    events: int


class Difference(NamedTuple):
    """The changes a restore would make, apart from bringing back lost data.

    ``returning`` are the names of agents that were removed from the database, and that the backup still has.
    """

    lost: list[Loss]
    returning: list[str]

    def __bool__(self) -> bool:
        return bool(self.lost or self.returning)

    def __str__(self) -> str:
        parts = []
        if self.lost:
            events = sum(loss.events for loss in self.lost)
            whose = _listed([f"{loss.events:,} of {loss.name}" for loss in self.lost])
            what = "event that is" if events == 1 else "events that are"
            parts.append(f"lose {events:,} {what} not in the backup ({whose})")
        if self.returning:
            parts.append(f"bring back agents that were removed ({_listed(self.returning)})")
        return ", and ".join(parts)


def compare(database: str, backup: str) -> Difference:
    """Compare a database, in use or not, with a backup of any version.

    Raises:
        OSError: one of them cannot be opened.
        sqlite3.Error: one of them cannot be read.
    """
    with closing(open_unchanged(database)) as connection:
        connection.text_factory = lambda raw: raw.decode(errors="replace")
        connection.execute("ATTACH ? AS backup", (unchanging_uri(backup),))
        lost = [Loss(*row) for row in connection.execute(_MISSING)]
        returning = [name for _, name in connection.execute(_RETURNING)]
    return Difference(lost, returning)


def is_empty(database: str) -> bool:
    """Return whether a database has nothing to lose, not even tables.

    Raises:
        OSError: it cannot be opened.
        sqlite3.Error: it cannot be read.
    """
    with closing(open_unchanged(database)) as connection:
        return not connection.execute("SELECT 1 FROM sqlite_schema").fetchone()


def _listed(items: list[str]) -> str:
    more = len(items) - _LISTED
    return ", ".join(items[:_LISTED]) + (f" and {more:,} more" if more > 0 else "")
