"""An event stream of a provider, from its first byte to the response body that it forms.

``feed`` processes received data and returns the text that it adds, for an echo. ``end`` processes the end of the
stream. ``body`` is then the response that the API would have sent without streaming, as received so far: a truncated
stream is not ``complete``, and a call with truncated arguments has them as raw text.
"""

import codecs
from typing import Any, Protocol

from reel.base.strict_json import parse_answer
from reel.streams.anthropic import Anthropic
from reel.streams.bedrock_converse import BedrockConverse
from reel.streams.decoders import IN_ARRAY, IN_SEQUENCE, Event, JsonObjects, ServerSentEvents
from reel.streams.gemini import Gemini
from reel.streams.gemini_interactions import GeminiInteractions
from reel.streams.incremental import dict_or_empty, text_or_empty
from reel.streams.langchain import LangChain
from reel.streams.ollama import Ollama
from reel.streams.openai_chat import OpenAIChat
from reel.streams.openai_responses import OpenAIResponses

# The longest stream that is read, in characters. An event for every token is many times longer than the token.
MAX_STREAM = 256 << 20
_BOM = "\ufeff"
_DONE = "[DONE]"
# The suffix of AWS error names, which replace an event, and the keys of an error that replaces a
# response.
_EXCEPTION, _ONLY_ERROR = "Exception", frozenset({"message", "__type"})
# The first character of a stream, and the depth of its objects; any other starts server-sent events.
_LEVELS = {"[": IN_ARRAY, "{": IN_SEQUENCE}


class Assembler(Protocol):
    """Folds the events of one API into a response body."""

    complete: bool

    def feed(self, name: str, event: dict[str, Any]) -> str:
        """Fold an event; return the text that it adds."""

    def done(self) -> None:
        """Process the ``[DONE]`` at the end."""

    def body(self) -> dict[str, Any]:
        """Return the response body, as received so far."""


ASSEMBLERS: dict[str, type[Assembler]] = {
    "openai-chat": OpenAIChat,
    "openai-responses": OpenAIResponses,
    "anthropic": Anthropic,
    "gemini": Gemini,
    "gemini-interactions": GeminiInteractions,
    "ollama": Ollama,
    "bedrock-converse": BedrockConverse,
    "langchain": LangChain,
}
# The field of a response body that holds the answer.
_ANSWERS = {
    "openai-chat": "choices",
    "openai-responses": "output",
    "anthropic": "content",
    "gemini": "candidates",
    "gemini-interactions": "steps",
    "ollama": "message",
    "bedrock-converse": "output",
    "langchain": "type",
}
# The formats in which a whole response is an event like any other, so that both begin with the same character.
_WHOLE_IS_EVENT = frozenset({"ollama", "bedrock-converse"})


def is_whole(format: str, text: str) -> bool:  # noqa: A002 - the protocol's name
    """Whether a text without leading blanks begins a whole response, which is not read as a stream."""
    return text.startswith("{") and format not in _WHOLE_IS_EVENT


class Stream:
    """A stream of one of the APIs.

    Args:
        format: a key of ``ASSEMBLERS``.

    Raises:
        ValueError: no provider answers in this format.
    """

    def __init__(self, format: str) -> None:  # noqa: A002 - the protocol's name
        if format not in ASSEMBLERS:
            raise ValueError(f"no provider answers in {format}: conversations are only rendered and loaded in it")
        # The error that the provider reported, or what is wrong with the stream. Everything after it is ignored.
        self.error: str | None = None
        # Whether the stream ended inside an event.
        self.cut = False
        # The number of events folded.
        self.events = 0
        self._assembler = ASSEMBLERS[format]()
        self._answer = _ANSWERS[format]
        # Bytes that are not UTF-8 become lone surrogates, so that the daemon can count the replacements.
        self._decode = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode
        self._events: ServerSentEvents | JsonObjects | None = None
        self._over = False
        self._size = 0

    @property
    def complete(self) -> bool:
        """Whether the answer has ended."""
        return self.error is None and self._assembler.complete

    @property
    def began(self) -> bool:
        """Whether any part of an answer has arrived."""
        return bool(self._assembler.body().get(self._answer))

    def feed(self, data: bytes | str) -> str:
        """Process received data, in pieces of any size; return the text that it adds."""
        text = data if isinstance(data, str) else self._decode(data)
        self._size += len(text)
        if self._size > MAX_STREAM:
            return self._fail(f"it is longer than {MAX_STREAM >> 20} MiB")
        if self._events is None:
            text = text.lstrip(f"{_BOM} \t\r\n")
            if not text:
                return ""
            level = _LEVELS.get(text[0])
            self._events = ServerSentEvents() if level is None else JsonObjects(level)
        return self._take(self._events.feed(text))

    def feed_event(self, event: dict[str, Any]) -> str:
        """Process an event that is already parsed, as by an SDK; return the text that it adds."""
        return "" if self._over else self._fold_parsed("", event)

    def end(self) -> str:
        """Process the end of the stream; return text that was still held back."""
        text = self.feed(self._decode(b"", final=True))
        if self._events is None:
            return text
        self.cut = self._events.inside_event
        # An incomplete event was cut off with the stream, and is not a separate error.
        return text + self._take([event for event in self._events.end() if _is_complete(event.data)])

    def body(self) -> dict[str, Any]:
        """Return the response body, as received so far."""
        return self._assembler.body()

    def _take(self, events: list[Event]) -> str:
        return "".join(map(self._fold, events))

    def _fold(self, event: Event) -> str:
        if self._over:
            return ""
        if event.data.startswith(_DONE):
            self._over = True
            self._assembler.done()
            return ""
        if not event.data.strip():
            return ""  # sent by proxies to keep the connection alive
        data = _parsed(event.data)
        if not isinstance(data, dict):
            return self._fail(f"event {self.events + 1} is not a JSON object")
        return self._fold_parsed(event.name, data)

    def _fold_parsed(self, name: str, data: dict[str, Any]) -> str:
        self.events += 1
        if (problem := _problem(name, data)) is not None:
            self._fail(problem)
        return self._assembler.feed(name, data)

    def _fail(self, problem: str) -> str:
        self.error, self._over = problem, True
        return ""


def _is_complete(data: str) -> bool:
    return data.startswith(_DONE) or _parsed(data) is not None


def _parsed(data: str) -> Any:
    try:
        return parse_answer(data)
    except (ValueError, RecursionError):
        return None


def _problem(name: str, event: dict[str, Any]) -> str | None:
    """Return the error that an event reports, or ``None``; each API has its own form."""
    failed = event.get("type") == "response.failed"
    error = dict_or_empty(event.get("response")).get("error") if failed else event.get("error")
    thrown = next((key for key in (name, *event) if str(key).endswith(_EXCEPTION)), None)
    if thrown is not None:
        return ": ".join((thrown, text_or_empty(dict_or_empty(event.get(thrown, event)).get("message"))))
    if isinstance(event.get("message"), str) and event.keys() <= _ONLY_ERROR:
        error = event
    if error is None and not failed and "error" not in (name, event.get("type")):
        return None
    if isinstance(error, str):
        return error
    shown = dict_or_empty(error) or event
    words = (shown.get("type") if error else "", shown.get("code"), shown.get("message"))
    return (
        ": ".join(dict.fromkeys(filter(None, map(text_or_empty, words))))
        or "the provider reported an error without details"
    )
