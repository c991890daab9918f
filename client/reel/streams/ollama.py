"""Chunks of ``/api/chat`` (Ollama's ``api.ChatResponse``) folded into one response."""

from typing import Any

from reel.streams.incremental import IncrementalMap, dict_or_empty, list_or_empty, text_or_empty

_GROWING = ("content", "thinking")
_LISTS = ("tool_calls", "images")
_OF_A_CHUNK = ("message", "error", "status")


class Ollama:
    """The response so far; ``complete`` once a chunk is the last one. A whole response is a last chunk."""

    def __init__(self) -> None:
        self.complete = False
        self._top: dict[str, Any] = {}
        self._message = IncrementalMap({})

    def feed(self, _name: str, chunk: dict[str, Any]) -> str:
        """Fold a chunk; return the text that it adds."""
        for key, value in chunk.items():
            if key == "logprobs":
                self._top[key] = list_or_empty(self._top.get(key)) + list_or_empty(value)
            elif key not in _OF_A_CHUNK and value is not None:
                self._top[key] = value
        message = dict_or_empty(chunk.get("message"))
        for key, value in message.items():
            self._grow(key, value)
        self.complete = self.complete or chunk.get("done") is True
        return text_or_empty(message.get("content"))

    def _grow(self, key: str, value: Any) -> None:
        if key in _GROWING:
            self._message.grow(key, text_or_empty(value))
        elif key in _LISTS and isinstance(value, list):
            self._message.known[key] = [*list_or_empty(self._message.known.get(key)), *value]
        elif value is not None:
            self._message.known[key] = value

    def done(self) -> None:
        """Ignore a ``[DONE]``, which this API does not send."""

    def body(self) -> dict[str, Any]:
        """Return the response, as received so far."""
        message = self._message.value()
        return {**self._top, "message": message} if message else self._top
