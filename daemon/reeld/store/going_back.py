"""Where a conversation goes back to, and how it takes over the state there: each is one job of a reading connection."""

from reel.base.errors import InvalidParams
from reel.base.light_typing import NamedTuple
from reel.wire.msgpack_codec import packer
from reeld.core.conversation import Conversation, Takeover
from reeld.core.events import data_of
from reeld.core.reading import Reader
from reeld.core.undo import Undone
from reeld.store import positions, queries
from reeld.store.connection import Connection
from reeld.store.history import lineage
from reeld.store.positions import Position
from reeld.store.pruned import is_gone
from reeld.store.spans import NEWEST
from reeld.store.states import SqlLog

_PLACE = "SELECT command, parent FROM events WHERE agent = ? AND seq = ?"
_REWOUND = "SELECT parent, data_json FROM events WHERE agent = ? AND seq = ? AND kind = 'rewind'"


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
        InvalidParams: the event there was lost by the server, or the state there was pruned; or what a program kept.
    """
    to = goal(connection, row, at)
    return Way(to, reader(connection).takeover(to.tip, conversation))


def goal(connection: Connection, row: int, at: int) -> Position:
    """Return the end of the command that a position is in, which an agent may go back to, or begin with as a clone.

    Raises:
        InvalidParams: as :func:`way_to`, or a program that keeps records in the log has pruned what it had there.
    """
    to = positions.kept_position(connection, row, at)
    require_there(connection, row, to.at)
    return to


def require_mark_there(connection: Connection, row: int, mark: int) -> None:
    """Require that what a program had at a mark was not pruned; see :func:`goal`."""
    found = connection.execute("SELECT agent, seq FROM events WHERE id = ?", (mark,)).fetchone()
    if found is not None and any(owner == found[0] for owner, _, _ in lineage(connection, row, NEWEST)):
        require_there(connection, row, found[1])


def require_there_before(connection: Connection, row: int, seq: int) -> None:
    """Require that what a program had before the command of an event was not pruned; see :func:`goal`."""
    for owner, _, upto in lineage(connection, row, NEWEST) if seq > 0 else ():
        found = connection.execute(_PLACE, (owner, seq)).fetchone()
        if found is not None and seq <= upto:
            command, parent = found
            replaced = _replaced(connection, owner, command, parent)
            if replaced is None:
                require_there(connection, row, command - 1)
            else:
                require_there_before(connection, row, replaced)


def _replaced(connection: Connection, row: int, command: int, tip: int | None) -> int | None:
    """Return the entry that a command has replaced, which came before all that it added; ``None`` if it has not.

    Args:
        connection: reads the log.
        row: the agent that has it.
        command: its first seq.
        tip: what comes before the first entry that it added.
    """
    went = connection.execute(_REWOUND, (row, command)).fetchone()
    before = data_of(went[1]).get("before") if went is not None and went[0] == tip else None
    return before if type(before) is int and before < command else None


def require_there(connection: Connection, row: int, at: int) -> None:
    """Require that what a program had at a position of an agent's past was not pruned; see :func:`goal`."""
    if is_gone(connection, lineage(connection, row, NEWEST), at):
        raise InvalidParams(
            f"what a program kept beside the conversation at #{at} was pruned, and cannot be brought back;"
            " messages and replay still read what was said",
            field="at",
            seq=at,
        )


def undo(connection: Connection, row: int, head: int, conversation: Conversation) -> tuple[int, Way] | None:
    """Return the newest command that can be undone and how to restore the state before it, or ``None``."""
    undone = queries.undo_target(connection, row, head)
    return None if undone is None else (undone, way_to(connection, row, undone - 1, conversation))


def redo(connection: Connection, row: int, head: int, conversation: Conversation) -> tuple[Undone, Way] | None:
    """Return the newest command that was undone and how to restore the state after it, or ``None``."""
    redone = queries.redo_target(connection, row, head)
    if redone is None:
        return None
    to = positions.kept_position(connection, row, redone.command)
    # A program goes back to what it had right before the undo: that may be more than at the end of the command.
    require_there(connection, row, redone.undo - 1)
    return redone, Way(to, reader(connection).takeover(to.tip, conversation))
