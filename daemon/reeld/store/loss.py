"""A loss: a server came back without events that it had acknowledged, and the daemon that had seen them found out.

A standby that lagged is promoted, a server crashes that does not wait for its disk, or a backup is restored. What the
log still has is a prefix of what it had. Everything that was made from the rest is dropped: states, caches, and what
was staged over them.
"""

from collections.abc import Sequence

from reel.base.errors import Storage
from reel.base.light_typing import NamedTuple


class Known(NamedTuple):
    """What identifies an event in the log, whatever was redacted since; its id is 0 if there is none."""

    id: int
    agent: int
    seq: int
    time: int


NOTHING = Known(0, 0, 0, 0)


class LostAgent(NamedTuple):
    """An agent that has lost events: its row, its id, and the highest seq that is known of it."""

    row: int
    uid: str
    seq: int


class Loss(NamedTuple):
    """A loss.

    Args:
        survivor: the id of the newest event that is left of those that were known.
        events: how many are gone, as far as this daemon knows.
        agents: those that have lost some, as far as this daemon knows.
    """

    survivor: int
    events: int
    agents: Sequence[LostAgent]


class Forgotten(Storage):
    """A command was staged over events that the log no longer has; it is never tried again by the daemon.

    It may have meant something else: an undo, for example, would take back an older command.
    """

    def __init__(self) -> None:
        super().__init__(
            "nothing was written: the database server came back without events that it had acknowledged; read the"
            " conversation again, and repeat the command if it is still wanted"
        )
