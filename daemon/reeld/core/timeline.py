"""What undo takes back and redo brings back, read from the log alone, newest first.

The commands that can be undone form a stack that is never stored. It follows from the log, because undoing a
command leaves exactly what lay below it when it was given:

* after a command that counts, the command lies on what was there;
* after the undo of a command, the stack is what it was before that command;
* after a redo, it is what it was right after the command that came back.

So one looks at the newest command that counts, and where it is an undo, jumps to before what it undid.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias


class Step(NamedTuple):
    """A command that changed the conversation: its seq, and what it undoes or redoes if that is what it is."""

    command: int
    undoes: int | None = None
    redoes: int | None = None


# Gives the newest command that counts at or before a seq, ``None`` where the agent is in its first state.
Newest: TypeAlias = Callable[[int], Step | None]


def undoable(newest: Newest, head: int) -> int | None:
    """Find the command that an undo would take back."""
    at = head
    while (step := newest(at)) is not None:
        if step.undoes is None:
            return step.command if step.redoes is None else step.redoes
        at = step.undoes - 1
    return None


def redoable(newest: Newest, head: int) -> int | None:
    """Find the command that a redo would bring back: what the newest undo took that was not redone since."""
    at, redone = head, 0
    while (step := newest(at)) is not None:
        if step.undoes is not None:
            if redone == 0:
                return step.undoes
            redone -= 1
        elif step.redoes is not None:
            redone += 1
        else:
            return None
        at = step.command - 1
    return None
