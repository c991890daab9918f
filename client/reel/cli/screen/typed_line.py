"""The line that is being typed: taken off the screen, and put back below what was printed meanwhile.

Python's readline module has no function for either, but the library that it uses has, whichever it is.
"""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress

from reel.base.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_ERASE = "\r\x1b[K"


class TypedLine:
    """The line that readline shows."""

    def __init__(self) -> None:
        self._clear = self._redraw = None
        with suppress(ImportError, OSError):
            import readline  # noqa: PLC0415 - some have none

            library = ctypes.CDLL(getattr(readline, "__file__", None))
            self._clear = _function(library, "rl_clear_visible_line")
            self._redraw = _function(library, "rl_forced_update_display")

    @property
    def can_be_redrawn(self) -> bool:
        """Whether it can be put back; some Pythons hide the library's functions."""
        return self._redraw is not None

    def clear(self) -> None:
        """Take it off the screen, all rows of it."""
        if self._clear is not None:
            self._clear()
        else:
            sys.stdout.write(_ERASE)

    def redraw(self) -> None:
        """Put it back, with the prompt before it, at the cursor."""
        sys.stdout.flush()
        if self._redraw is not None:
            self._redraw()


def _function(library: ctypes.CDLL, name: str) -> Callable[[], int] | None:
    return getattr(library, name, None)
