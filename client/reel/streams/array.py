"""A JSON array that arrives in pieces: Gemini's stream if ``alt=sse`` was not requested."""

import re

from reel.streams.sse import Event

# All that changes the state of the scan: brackets, quotes, and an escape with the character that it escapes.
_TOKEN = re.compile(r'["{}\[\]]|\\(?:.|$)', re.DOTALL)
_DEPTH = {"{": 1, "[": 1, "}": -1, "]": -1}


class ArrayElements:
    """A decoder of text that arrives in pieces of any size; each object in the array is an event without a name."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._depth = 0
        self._in_string = False
        self._in_escape = False

    def feed(self, text: str) -> list[Event]:
        """Take received text; return the elements that it completes, in order."""
        events: list[Event] = []
        start = 0
        position = 0
        if self._in_escape and text:
            self._in_escape, position = False, 1
        for token in _TOKEN.finditer(text, position):
            mark = token.group()
            if mark[0] == "\\":
                self._in_escape = len(mark) == 1
            elif mark == '"':
                self._in_string = not self._in_string
            elif not self._in_string:
                self._depth += _DEPTH[mark]
                if _DEPTH[mark] > 0 and self._depth == _ELEMENT:
                    self._pieces, start = [], token.start()
                elif _DEPTH[mark] < 0 and self._depth == _ELEMENT - 1:
                    events.append(Event("", "".join((*self._pieces, text[start : token.end()]))))
                    self._pieces, start = [], token.end()
        if self._depth >= _ELEMENT:
            self._pieces.append(text[start:])
        return events

    def end(self) -> list[Event]:
        """Take the end of the text; an element that is cut off is dropped."""
        return []


# The depth of an element of the outermost array.
_ELEMENT = 2
