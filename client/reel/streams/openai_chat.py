"""Chat completion chunks (``openai.types.chat.ChatCompletionChunk``) folded into a chat completion."""

from typing import Any

from reel.streams.chat_fragments import joined_details, joined_parts, parts_of, text_in
from reel.streams.incremental import IncrementalMap, dict_or_empty, index_or_zero, list_or_empty, text_or_empty

# Keys of a chunk that a completion does not have; ``obfuscation`` only pads the packets.
_OF_A_CHUNK = ("choices", "object", "obfuscation", "error")
# Finish reasons of a choice that goes on: null, and what other servers send in its place.
_UNFINISHED = (None, "", "null")
# Texts that arrive in one piece; some servers repeat them in every chunk.
_WHOLE = ("role", "id", "type")


class OpenAIChat:
    """The completion so far; ``complete`` once the first choice has a finish reason."""

    def __init__(self) -> None:
        self.complete = False
        self._top: dict[str, Any] = {}
        self._choices: dict[int, _Choice] = {}

    def feed(self, _name: str, chunk: dict[str, Any]) -> str:
        """Fold a chunk; return the text that it adds."""
        self._top.update({key: value for key, value in chunk.items() if key not in _OF_A_CHUNK and value is not None})
        text = ""
        for choice in map(dict_or_empty, list_or_empty(chunk.get("choices"))):
            index = index_or_zero(choice.get("index"))
            brought = self._choices.setdefault(index, _Choice(index)).feed(choice)
            if index == 0:
                text += brought
                self.complete = self.complete or choice.get("finish_reason") not in _UNFINISHED
        return text

    def done(self) -> None:
        """Process the ``[DONE]`` at the end: not every server sends a finish reason."""
        self.complete = bool(self._choices)

    def body(self) -> dict[str, Any]:
        """Return the completion, as received so far."""
        choices = [choice.value() for _, choice in sorted(self._choices.items())]
        return {**self._top, "object": "chat.completion", "choices": choices}


class _Choice:
    def __init__(self, index: int) -> None:
        self._top: dict[str, Any] = {"index": index, "finish_reason": None}
        self._message = IncrementalMap({"role": "assistant", "content": None})
        # The fragments of content that is a list of parts; ``None`` while it is a text.
        self._parts: list[Any] | None = None
        # The fragments of the lists beside the content.
        self._lists: dict[str, list[Any]] = {}
        self._calls: list[_ToolCall] = []

    def feed(self, choice: dict[str, Any]) -> str:
        # A whole completion, which some servers send as the only event, has a message in the place of the delta.
        delta = dict_or_empty(choice["delta"] if "delta" in choice else choice.get("message"))
        for key, value in choice.items():
            if key == "logprobs":
                self._top[key] = _extended(dict_or_empty(self._top.get(key)), dict_or_empty(value))
            elif key == "finish_reason":
                self._top[key] = self._top[key] if value in _UNFINISHED else value
            elif key not in ("delta", "message", "index") and value is not None:
                self._top[key] = value
        for piece in map(dict_or_empty, list_or_empty(delta.get("tool_calls"))):
            self._call(piece).feed(piece)
        for key, value in delta.items():
            if key != "tool_calls":
                self._grow(key, value)
        return text_in(delta.get("content")) + text_or_empty(delta.get("refusal"))

    def _grow(self, key: str, value: Any) -> None:
        known = self._message.known
        if key == "content" and (isinstance(value, list) or self._parts is not None):
            self._grow_parts(value)
        elif isinstance(value, str) and key not in _WHOLE:
            self._message.grow(key, value)
        elif isinstance(value, list):
            self._lists.setdefault(key, []).extend(value)
        elif isinstance(value, dict):
            known[key] = _joined(dict_or_empty(known.get(key)), value)
        elif value is not None:
            known[key] = value

    def _grow_parts(self, value: Any) -> None:
        """Append to content that is a list, or becomes one: Mistral sends reasoning as lists, texts as strings."""
        if self._parts is None:
            text = self._message.text("content")
            self._parts = parts_of(text) if text else []
        self._parts += parts_of(value)

    def _call(self, piece: dict[str, Any]) -> "_ToolCall":
        """Return the call that a piece belongs to.

        OpenAI identifies it by its index. Other servers omit that, or give every call the same: then the id decides.
        """
        for call in reversed(self._calls):
            same_place = "index" not in piece or call.index == piece["index"]
            if same_place and text_or_empty(piece.get("id")) in ("", call.id):
                return call
        self._calls.append(_ToolCall(piece.get("index")))
        return self._calls[-1]

    def value(self) -> dict[str, Any]:
        message = {**self._message.value(), **self._lists}
        if self._parts is not None:
            message["content"] = joined_parts(self._parts)
        if "reasoning_details" in self._lists:
            message["reasoning_details"] = joined_details(self._lists["reasoning_details"])
        if self._calls:
            message["tool_calls"] = [call.value() for call in self._calls]
        return {**self._top, "message": message}


class _ToolCall:
    """A tool call whose arguments, or a custom tool's input, arrive in pieces."""

    def __init__(self, index: Any) -> None:
        self.index = index
        self.id = ""
        self._top: dict[str, Any] = {"type": "function"}
        self._tool: dict[str, IncrementalMap] = {}

    def feed(self, piece: dict[str, Any]) -> None:
        self.id = self.id or text_or_empty(piece.get("id"))
        for key, value in piece.items():
            if isinstance(value, dict) and key in ("function", "custom"):
                self._grow(self._tool.setdefault(key, IncrementalMap({})), value)
            elif key != "index" and value:
                self._top[key] = value

    @staticmethod
    def _grow(tool: IncrementalMap, given: dict[str, Any]) -> None:
        for key, value in given.items():
            # Some servers repeat the whole name with every piece.
            is_repeated = key == "name" and value == tool.text(key)
            if isinstance(value, str) and not is_repeated:
                tool.grow(key, value)

    def value(self) -> dict[str, Any]:
        return {**self._top, **{kind: tool.value() for kind, tool in self._tool.items()}}


def _extended(known: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    return {**known, **{key: list_or_empty(known.get(key)) + list_or_empty(value) for key, value in given.items()}}


def _joined(known: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Join the pieces of a map such as ``audio``: all its texts grow, except the id."""
    joined = {**known, **{key: value for key, value in given.items() if value is not None}}
    for key, value in given.items():
        if isinstance(value, str) and key not in _WHOLE:
            joined[key] = text_or_empty(known.get(key)) + value
    return joined
