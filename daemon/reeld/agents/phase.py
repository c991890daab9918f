"""What an agent is doing: it takes the next job only when it is idle."""

from enum import Enum, auto


class Phase(Enum):
    """What an agent is doing."""

    LOADING = auto()
    IDLE = auto()
    # The writer has a transaction.
    COMMITTING = auto()
    # An exclusive job is running.
    EXCLUSIVE = auto()
    # Final: every job is refused.
    OVER = auto()


# A member that is looked up in its class takes ten times as long, and these are looked at with every command.
IDLE, COMMITTING, OVER = Phase.IDLE, Phase.COMMITTING, Phase.OVER
