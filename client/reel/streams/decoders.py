"""Decoders for the encodings of event streams: text in, events out.

Most APIs send server-sent events (WHATWG HTML, section 9.2). Their fields ``id`` and ``retry`` serve reconnecting,
which is not done here, so they are ignored. Gemini sends a JSON array if ``alt=sse`` was not requested. Others send
JSON objects in sequence, often one per line (NDJSON).
"""

import re

from reel.base.light_typing import NamedTuple

_LINE_END = re.compile("\r\n?|\n")
_FIELDS = ("data", "event", "id", "retry")
# All that changes the state of the scan: brackets, quotes, and an escape with its escaped character.
_TOKEN = re.compile(r'["{}\[\]]|\\(?:.|$)', re.DOTALL)
_DEPTH = {"{": 1, "[": 1, "}": -1, "]": -1}
_BLANK = " \t\r\n"
# The depth of an object: in a sequence of objects, and in an array.
IN_SEQUENCE, IN_ARRAY = 1, 2


class Event(NamedTuple):
    """One event: its name, empty if it has none, and its data, the lines joined by newlines."""

    name: str
    data: str


class ServerSentEvents:
    """A decoder of server-sent events in text that arrives in pieces of any size."""

    def __init__(self) -> None:
        # The pieces of an incomplete line, and whether a line feed would still belong to the previous line.
        self._line: list[str] = []
        self._after_return = False
        self._name = ""
        self._data: list[str] = []

    def feed(self, text: str) -> list[Event]:
        """Process received text; return the events that it completes, in order."""
        if self._after_return and text:
            self._after_return = False
            text = text.removeprefix("\n")
        events: list[Event] = []
        start = 0
        for end in _LINE_END.finditer(text):
            self._line.append(text[start : end.start()])
            self._take_line(events)
            start = end.end()
        self._after_return = text.endswith("\r")
        if start < len(text):
            self._line.append(text[start:])
        return events

    def end(self) -> list[Event]:
        """Process the end of the text; return an event that lacks only its blank line.

        The standard drops that event, since lines of it may be missing. But servers omit the blank line, and every
        event here is one JSON text, which shows whether it is complete.
        """
        events: list[Event] = []
        self._take_line(events)
        self._give_event(events)
        return events

    @property
    def inside_event(self) -> bool:
        """Whether an event has begun and not ended: a line of it was received, or the beginning of one."""
        line = "".join(self._line)
        field, colon, _ = line.partition(":")
        return bool(self._data or self._name) or (
            field in _FIELDS if colon else bool(line) and any(name.startswith(line) for name in _FIELDS)
        )

    def _take_line(self, events: list[Event]) -> None:
        line, self._line = "".join(self._line), []
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            self._give_event(events)
        elif field == "data":
            self._data.append(value)
        elif field == "event":
            self._name = value

    def _give_event(self, events: list[Event]) -> None:
        if self._data:
            events.append(Event(self._name, "\n".join(self._data)))
        self._name, self._data = "", []


class JsonObjects:
    """A decoder of JSON objects in pieces of any size; each is an event without a name.

    Args:
        level: how deep the objects are, ``IN_SEQUENCE`` or ``IN_ARRAY``.
    """

    def __init__(self, level: int) -> None:
        self._level = level
        self._pieces: list[str] = []
        self._depth = 0
        self._in_string = False
        self._in_escape = False

    def feed(self, text: str) -> list[Event]:
        """Process received text; return the objects that it completes, in order.

        Text between the objects of a sequence is an event, too, as it means that one of them is damaged. Between
        the elements of an array there are commas.
        """
        events: list[Event] = []
        start = 0
        position = 0
        if self._in_escape and text:
            self._in_escape, position = False, 1
        for token in _TOKEN.finditer(text, position):
            mark = token.group()
            if self._depth == 0 and self._is_stray(text[start : token.start()], mark):
                events.append(Event("", text[start : token.end()]))
                start = token.end()
            elif mark[0] == "\\":
                self._in_escape = len(mark) == 1
            elif mark == '"':
                self._in_string = not self._in_string
            elif not self._in_string:
                self._depth += _DEPTH[mark]
                if _DEPTH[mark] > 0 and self._depth == self._level:
                    self._pieces, start = [], token.start()
                elif _DEPTH[mark] < 0 and self._depth == self._level - 1:
                    events.append(Event("", "".join((*self._pieces, text[start : token.end()]))))
                    self._pieces, start = [], token.end()
        if self._depth >= self._level:
            self._pieces.append(text[start:])
        elif self._depth == 0 and self._is_stray(text[start:], "{"):
            events.append(Event("", text[start:]))
        return events

    def _is_stray(self, before: str, mark: str) -> bool:
        """Whether text outside of every object, with the mark after it, is more than the beginning of an object."""
        return self._level == IN_SEQUENCE and (mark != "{" or bool(before.strip(_BLANK)))

    @property
    def inside_event(self) -> bool:
        """Whether the array, or an object, has begun and not ended."""
        return self._depth > 0

    def end(self) -> list[Event]:
        """Process the end of the text; drop a truncated object."""
        return []
