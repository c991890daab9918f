"""What other daemons have written to the same database, as the rest of this daemon is told of it."""

from collections.abc import Sequence
from typing import NamedTuple

from reeld.core.events import Event


class ForeignEvent(NamedTuple):
    """An event that another daemon has written, the row of its agent and its id."""

    row: int
    event_id: int
    event: Event


class Elsewhere(NamedTuple):
    """What others have written since the last time.

    Args:
        rows: the agents to which they have written.
        events: in the order of their ids, the events of those agents that are in memory here, as far as these are few.
            Of some agents there may be none, and of some not all.
    """

    rows: frozenset[int] = frozenset()
    events: Sequence[ForeignEvent] = ()
