"""Where a conversation goes back to, and how it takes over the state there: each is one job of a reading connection."""

from reel.base.light_typing import NamedTuple
from reel.wire.msgpack_codec import packer
from reeld.core.conversation import Conversation, Takeover
from reeld.core.reading import Reader
from reeld.core.undo import Undone
from reeld.store import queries, states
from reeld.store.connection import Connection
from reeld.store.states import Position, SqlLog


class Way(NamedTuple):
    """A position in an agent's past, and how its conversation takes over the state there."""

    to: Position
    past: Takeover


def reader(connection: Connection) -> Reader:
    """Return what reads states through a connection."""
    return Reader(SqlLog(connection, packer()))


def way_to(connection: Connection, row: int, at: int, conversation: Conversation) -> Way:
    """Return the way to the end of the command that a position is in.

    Args:
        row: the agent.
        at: the position.
        conversation: the agent's, which must not change meanwhile.

    Raises:
        InvalidParams: the event there was lost by the server, or the state there was pruned.
    """
    to = states.kept_position(connection, row, at)
    return Way(to, reader(connection).takeover(to.tip, conversation))


def undo(connection: Connection, row: int, head: int, conversation: Conversation) -> tuple[int, Way] | None:
    """Return the newest command that can be undone and how to restore the state before it, or ``None``."""
    undone = queries.undo_target(connection, row, head)
    return None if undone is None else (undone, way_to(connection, row, undone - 1, conversation))


def redo(connection: Connection, row: int, head: int, conversation: Conversation) -> tuple[Undone, Way] | None:
    """Return the newest command that was undone and how to restore the state after it, or ``None``."""
    redone = queries.redo_target(connection, row, head)
    return None if redone is None else (redone, way_to(connection, row, redone.command, conversation))
