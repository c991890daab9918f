"""What other daemons have written to the same database, in the form in which the rest of this daemon gets it."""

from collections.abc import Sequence
from typing import NamedTuple

from reeld.core.events import Event


class ForeignEvent(NamedTuple):
    """An event that another daemon has written, the row of its agent and its id."""

    row: int
    event_id: int
    event: Event


class Elsewhere(NamedTuple):
    """What other daemons have written since the last time.

    Args:
        rows: the agents to which they have written.
        events: in the order of their ids, the events of agents that are in memory here, if there are only a few. The
            events of an agent may be missing, or incomplete.
    """

    rows: frozenset[int] = frozenset()
    events: Sequence[ForeignEvent] = ()
