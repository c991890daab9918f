"""A provider's incoming response, whole or streamed: pieces in, the body to ingest out.

A piece is received text or bytes, cut anywhere, or an object from an SDK: an event of a stream or a whole
response, as a map or as an object. A text that begins with ``{`` is a whole response, or the provider's error, unless
the events of the format also begin with it.
"""

import codecs
from collections.abc import Mapping
from typing import Any

from reel.base.strict_json import encode, parse_answer
from reel.base.values import clean
from reel.said.formats import Body, Format, json_map, json_text
from reel.streams.stream import Stream, is_whole

# Characters of a beginning.
_QUOTED = 200
_BLANK = "\ufeff \t\r\n"
# A field and its values that a whole response has, but an event of a stream does not. A whole response of Gemini looks
# like an event, and may be read as one.
_WHOLE = {
    "openai-chat": ("object", "chat.completion"),
    "openai-responses": ("object", "response", "response.compaction"),
    "anthropic": ("type", "message"),
    "langchain": ("type", "ai"),
}


class IncomingResponse:
    """A response, as received so far.

    Args:
        format: the format of the provider.
    """

    def __init__(self, format: Format) -> None:  # noqa: A002 - the protocol's name
        self._texts: list[str] = []
        self._format = format
        self._stream = Stream(format)
        # The pieces of a whole response; ``None`` while it is unknown, or known to be a stream.
        self._whole: list[str] | None = None
        self._decode = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode
        self._begun = False
        self._beginning = ""

    def feed(self, piece: Body) -> str:
        """Process a piece; return the text that it adds.

        Raises:
            ValueError: the piece is something else.
        """
        if isinstance(piece, str | bytes | bytearray | memoryview):
            added = self._feed_text(piece if isinstance(piece, str) else self._decode(piece))
        else:
            added = self._feed_object(piece)
        if added:
            self._texts.append(added)
        return added

    def end(self) -> str:
        """Process the end of the response; return the text that it adds."""
        added = self._feed_text(self._decode(b"", final=True))
        if self._whole is None:
            added += self._stream.end()
        self._texts.append(added)
        return added

    @property
    def text(self) -> str:
        """The text so far."""
        self._texts = ["".join(self._texts)]
        return self._texts[0]

    @property
    def anything(self) -> bool:
        """Whether anything other than whitespace was received."""
        return self._begun

    @property
    def began(self) -> bool:
        """Whether any part of an answer has arrived, unless telling requires reading a whole response."""
        return self._whole is not None or self._stream.began

    @property
    def complete(self) -> bool:
        """Whether the answer has ended; a whole response counts as complete if it can be parsed."""
        return self._stream.complete if self._whole is None else _is_json("".join(self._whole))

    @property
    def usable(self) -> bool:
        """Whether it is an answer, or the beginning of one."""
        return self.complete or (self.is_stream and self.began)

    @property
    def is_stream(self) -> bool:
        """Whether it is a stream, so that its text is known while it arrives."""
        return self._begun and self._whole is None

    @property
    def error(self) -> str | None:
        """The error that the provider sent in a stream, if it did."""
        return self._stream.error

    @property
    def problem(self) -> str | None:
        """Why it is not complete, or ``None`` if it is."""
        if self.complete:
            return None
        if self._whole is None and self._stream.error is not None:
            return self._stream.error
        if not self._begun:
            return "nothing came"
        if self._whole is not None:
            return "it is not a whole JSON text"
        if self._stream.began:
            return "it broke off"
        if not self._stream.events and not self._stream.cut:
            return f"it is not an event stream of {self._format}"
        return f"nothing in it is an answer of {self._format}"

    @property
    def beginning(self) -> str:
        """Return the beginning of a reply that is no answer, for the error."""
        return self._beginning if self._whole is None else "".join(self._whole)[:_QUOTED]

    def body(self) -> str:
        """Return the body to ingest."""
        body = encode(self._stream.body()) if self._whole is None else "".join(self._whole)
        return clean(body)[0]

    def _feed_text(self, text: str) -> str:
        if not self._begun:
            start = text.lstrip(_BLANK)
            self._begun = bool(start)
            self._whole = [] if is_whole(self._format, start) else None
        if self._whole is None:
            if len(self._beginning) < _QUOTED:
                self._beginning = (self._beginning + text).lstrip(_BLANK)[:_QUOTED]
            return self._stream.feed(text)
        self._whole.append(text)
        return ""

    def _feed_object(self, piece: Any) -> str:
        event = json_map(piece, is_answer=True) if isinstance(piece, Mapping) else parse_answer(json_text(piece))
        field, *values = _WHOLE.get(self._format, ("",))
        if not self._begun and field and event.get(field) in values:
            self._begun, self._whole = True, [encode(event)]
            return ""
        self._begun = True
        return self._stream.feed_event(event)


def _is_json(text: str) -> bool:
    try:
        parse_answer(text.strip(_BLANK))
    except (ValueError, RecursionError):
        return False
    return True
