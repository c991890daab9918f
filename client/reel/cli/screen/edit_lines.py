"""The lines that show what calls did."""

from __future__ import annotations

import os

from reel.base.light_typing import TYPE_CHECKING
from reel.reading.when_said import said_at
from reel.reading.wording import flat

if TYPE_CHECKING:
    from collections.abc import Callable

    from reel.cli.screen.output import Line
    from reel.replies import Edit
    from reel.touches.touch import Touch

_WIDEST = len("wrote")
# The most characters of a command that are shown: the rest is mostly the text of a file.
_COMMAND = 200


def edit_line(edit: Edit, told: Callable[[int], str]) -> Line:
    """Return the line of an edit: which message made it, what it did, and when."""
    when = told(said_at(edit))
    gone: Line = [] if edit.live else [("  not in the conversation", "dim")]
    unknown: Line = [] if edit.answered else [("  without a result", "dim")]
    removed: Line = [("  removed", "dim")] if edit.removed else []
    return [f"#{edit.seq}  ", *deed(edit, os.getcwd()), *removed, (f"  {when}", "dim"), *unknown, *gone]


def deed(done: Edit | Touch, directory: str) -> Line:
    """Return what was done to which file, or with which command; a path below the directory is shown relative to it."""
    if done.deed == "ran":
        # That a command succeeded goes without saying: nearly all did.
        ended: Line = [(f"  exit status {done.status}", "error")] if done.status else []
        return [("ran".ljust(_WIDEST), "call"), f"  {_begun(done.command or '')}", *ended]
    path = done.path.removeprefix(f"{directory}/")
    return [(done.deed.ljust(_WIDEST), "call"), f"  {path}"]


def _begun(command: str) -> str:
    """Return the beginning of a command on one line."""
    shown = flat(command)
    return shown if len(shown) <= _COMMAND else f"{shown[:_COMMAND]}…"
