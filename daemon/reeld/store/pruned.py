"""Whether an event was pruned: it is as a prune leaves it, and its agent was pruned at the time that its marker says.

The marker alone tells nothing: anybody can write one, or quote it.

What a program keeps in a log has a form that only the program knows. So it says itself at which positions that is gone,
and the event of the prune has them. That event is the newest of its agent when the prune is decided.
"""

from collections.abc import Iterator, Sequence

from reel.reading.wording import utc_minute
from reeld.core.events import data_of
from reeld.core.pruning import Pruning, marker_of
from reeld.store.connection import Connection
from reeld.store.spans import NEWEST, Lineage

_PRUNES = """
    SELECT x.time FROM agents a JOIN erasures x ON x.agent = a.uid
    WHERE a.id = ? AND x.method = 'prune' AND x.newest >= ?
"""
_PRUNES_OF = "SELECT newest FROM erasures WHERE agent = ? AND method = 'prune' AND newest > 0"
# The plus makes SQLite go back from the newest event of all: the prune is one of the last that were there.
_EVENT_OF_PRUNE = """
    SELECT seq, data_json FROM events WHERE id <= ? AND +agent = ? AND kind = 'redacted' ORDER BY id DESC LIMIT 1
"""


def pruned_as(
    connection: Connection, event: int, agent: int, kind: str, content: str | None, data_json: str | None
) -> str | None:
    """Return the marker of an event that was pruned; ``None`` if it was not.

    Args:
        connection: reads the prunes.
        event: the id of the event.
        agent: the row of the agent in whose log it is.
        kind: its kind.
        content: its content.
        data_json: its data.
    """
    marker = marker_of(kind, content, data_json)
    if marker is None:
        return None
    times = connection.execute(_PRUNES, (agent, event)).fetchall()
    return marker if any(Pruning(utc_minute(time)).marker == marker for (time,) in times) else None


def is_gone(connection: Connection, line: Lineage, at: int) -> bool:
    """Whether something that a program kept at a position was pruned.

    Args:
        connection: reads the prunes.
        line: the logs of an agent's past, each with the last seq that belongs to it.
        at: the position.
    """
    found = (span for owner, uid, upto in line for span in _gone(connection, owner, uid, upto))
    return any(first <= at <= last for first, last in found)


def not_gone_yet(connection: Connection, row: int, uid: str, spans: Sequence[Sequence[int]]) -> list[Sequence[int]]:
    """Return those spans of positions, each the first and the last, that no prune of an agent has named."""
    known = [*_gone(connection, row, uid, NEWEST)] if spans else []
    return [span for span in spans if [*span] not in known]


def _gone(connection: Connection, owner: int, uid: str, upto: int) -> Iterator[list[int]]:
    """Yield the first and the last seq of the positions that the prunes of a log name, up to a seq."""
    for (newest,) in connection.execute(_PRUNES_OF, (uid,)).fetchall():
        found = connection.execute(_EVENT_OF_PRUNE, (newest, owner)).fetchone()
        if found is not None and found[0] <= upto:
            yield from data_of(found[1]).get("gone", ())
