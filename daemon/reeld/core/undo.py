"""What undo takes back and redo brings back, found from the log alone, newest command first.

The commands that can be undone form a stack that is never stored. It follows from the log, because undoing a
command leaves exactly the stack below it:

* after an undoable command, the command lies on top of the stack that was there;
* after the undo of a command, the stack is what it was before that command;
* after a redo, the stack is what it was right after the command that was brought back.

So the search begins at the newest undoable command; if that is an undo, it continues before the command that was
undone, and so on. The commands that can be redone form a stack of the same kind:

* after an undo, the undone command lies on top of the stack that was there;
* after a redo, the stack is what it was before the undo that was taken back. The redo names that undo, so that the
  search can jump there: 2,000 consecutive redos took 104 s of CPU time when each visited all of those before it. Redos
  of older versions do not name it; these are visited one by one.

Each step is one indexed query.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from reel.base.light_typing import NamedTuple
from reel.said.kinds import CONVERSATION
from reeld.core.events import data_of

# Commands count by kind, not by effect: an `add` of nothing new counts, a `note` or a renaming does not.
UNDOABLE_KINDS = CONVERSATION | {"clear", "mark", "rewind", "restore", "clone"}


class Command(NamedTuple):
    """An undoable command: its seq, and the command that it undoes or redoes, if it is an undo or a redo.

    ``undo`` is the undo that a redo takes back; ``None`` if an older version wrote it.
    """

    seq: int
    undoes: int | None = None
    redoes: int | None = None
    undo: int | None = None


def command_of(seq: int, kind: str, data_json: str | None) -> Command:
    """Return an undoable command, from its newest undoable event."""
    if kind != "restore":
        return Command(seq)
    data = data_of(data_json)
    return Command(seq, data.get("undoes"), data.get("redoes"), data.get("undo"))


class Undone(NamedTuple):
    """A command that can be redone, and the undo that undid it."""

    command: int
    undo: int


# Returns the newest undoable command at or before a seq; ``None`` if the agent is in its first state there.
Newest: TypeAlias = Callable[[int], Command | None]


def end_of_first_state(first: int, kinds: Sequence[str]) -> int:
    """Return the last seq of an agent's first state, which cannot be undone.

    ``create`` and ``clone`` make the first state. A system prompt that was given with ``create`` belongs to it. But if
    an ``add`` created the agent, its messages are a command like any other.

    Args:
        first: the seq of the agent's first own event.
        kinds: the kinds of the first command's events; three are enough.
    """
    if kinds[:1] not in (["created"], ["clone"]):
        return first - 1
    return first + 1 if list(kinds) == ["created", "system"] else first


def undoable(newest: Newest, head: int) -> int | None:
    """Return the command that an undo would take back, or ``None``."""
    at = head
    while (command := newest(at)) is not None:
        if command.undoes is None:
            return command.seq if command.redoes is None else command.redoes
        at = min(command.undoes, command.seq) - 1  # never ahead, whatever a damaged row says
    return None


def redoable(newest: Newest, head: int) -> Undone | None:
    """Return the command that a redo would bring back, or ``None``: the newest one undone and not redone since."""
    at, redone = head, 0
    while (command := newest(at)) is not None:
        at = command.seq - 1
        if command.undoes is not None:
            if redone == 0:
                return Undone(command.undoes, command.seq)
            redone -= 1
        elif command.undo is not None:
            at = min(command.undo, command.seq) - 1  # never ahead, whatever a damaged row says
        elif command.redoes is not None:
            redone += 1
        else:
            return None
    return None
