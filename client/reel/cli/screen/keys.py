"""Which keys were pressed, from the bytes that a terminal sends for them. No I/O."""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from enum import Enum

from reel.base.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Key(Enum):
    """A key that types no text."""

    UP = "up"
    DOWN = "down"
    PAGE_UP = "page up"
    PAGE_DOWN = "page down"
    ENTER = "enter"
    ESCAPE = "escape"
    BACKSPACE = "backspace"
    DELETE_WORD = "delete word"
    DELETE_LINE = "delete line"
    END = "end"
    TAB = "tab"
    CTRL_O = "ctrl-o"
    CTRL_T = "ctrl-t"
    CTRL_X = "ctrl-x"


_CONTROLS = {
    "\r": Key.ENTER,
    "\n": Key.ENTER,
    "\x7f": Key.BACKSPACE,
    "\x08": Key.BACKSPACE,
    "\x03": Key.ESCAPE,
    "\x04": Key.END,
    "\x07": Key.ESCAPE,
    "\t": Key.TAB,
    "\x0e": Key.DOWN,
    "\x0f": Key.CTRL_O,
    "\x10": Key.UP,
    "\x14": Key.CTRL_T,
    "\x15": Key.DELETE_LINE,
    "\x17": Key.DELETE_WORD,
    "\x18": Key.CTRL_X,
}
# By what follows ESC [ or, in the application mode of a keypad, ESC O.
_SEQUENCES = {"A": Key.UP, "B": Key.DOWN, "5~": Key.PAGE_UP, "6~": Key.PAGE_DOWN}
_SEQUENCE = re.compile(r"\x1b(?:\[([0-9;?<]*[@-~])|O(.))", re.DOTALL)
_INCOMPLETE = re.compile(r"\x1b(?:\[[0-9;?<]*|O)?\Z")
_PASTE, _PASTED = "\x1b[200~", "\x1b[201~"


class Keys:
    """Takes the input of a terminal, in any pieces, and returns each key, or the text that was typed."""

    def __init__(self) -> None:
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._held = ""

    @property
    def waits(self) -> bool:
        """Whether an escape came that may be the key itself, or begin the sequence of another key."""
        return bool(self._held) and not self._held.startswith(_PASTE)

    def feed(self, data: bytes) -> list[Key | str]:
        """Return the keys that these bytes complete."""
        self._held += self._decoder.decode(data)
        return list(self._keys())

    def settle(self) -> list[Key | str]:
        """Return the keys of the held-back input, because nothing else has arrived."""
        held, self._held = self._held, ""
        return [Key.ESCAPE] if held else []

    def _keys(self) -> Iterator[Key | str]:
        while self._held:
            if self._held.startswith(_PASTE):
                text, end, rest = self._held[len(_PASTE) :].partition(_PASTED)
                if not end:
                    return
                self._held = rest
                yield from _typed(" ".join(text.split()))
            elif self._held[0] == "\x1b":
                if _INCOMPLETE.match(self._held):
                    return
                if self._held[1] == "\x1b":
                    self._held = self._held[1:]
                    yield Key.ESCAPE
                    continue
                found = _SEQUENCE.match(self._held)
                # Alt and another key: none that means anything here.
                self._held = self._held[found.end() if found else 2 :]
                if found and (name := _SEQUENCES.get(found[1] or found[2])):
                    yield name
            else:
                char, self._held = self._held[0], self._held[1:]
                yield from [_CONTROLS[char]] if char in _CONTROLS else _typed(char)


def _typed(text: str) -> Iterator[str]:
    """Yield a text without its control characters, unless nothing is left."""
    if clean := "".join(char for char in text if char >= " " and char != "\x7f"):
        yield clean
