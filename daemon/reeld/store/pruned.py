"""Whether an event was pruned: it is as a prune leaves it, and its agent was pruned at the time that its marker says.

The marker alone tells nothing: anybody can write one, or quote it.
"""

from reel.reading.wording import utc_minute
from reeld.core.pruning import Pruning, marker_of
from reeld.store.connection import Connection

_PRUNES = """
    SELECT x.time FROM agents a JOIN erasures x ON x.agent = a.uid
    WHERE a.id = ? AND x.method = 'prune' AND x.newest >= ?
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
