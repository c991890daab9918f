"""Chat completion chunks (``openai.types.chat.ChatCompletionChunk``) folded into a chat completion."""

from typing import Any

from reel.streams.incremental import Growing, a_list, a_map, a_text, an_index

# Keys of a chunk that a completion does not have; ``obfuscation`` only pads the packets.
_OF_A_CHUNK = ("choices", "object", "obfuscation", "error")
# Texts that come whole, and again with every piece from some servers.
_WHOLE = ("role", "id", "type")


class OpenAIChat:
    """The completion so far; ``complete`` once the first choice has a reason why it ended."""

    def __init__(self) -> None:
        self.complete = False
        self._top: dict[str, Any] = {}
        self._choices: dict[int, _Choice] = {}

    def feed(self, _name: str, chunk: dict[str, Any]) -> str:
        """Fold a chunk; give the text that it brings."""
        self._top.update({key: value for key, value in chunk.items() if key not in _OF_A_CHUNK and value is not None})
        text = ""
        for choice in map(a_map, a_list(chunk.get("choices"))):
            index = an_index(choice.get("index"))
            brought = self._choices.setdefault(index, _Choice(index)).feed(choice)
            if index == 0:
                text += brought
                self.complete = self.complete or choice.get("finish_reason") is not None
        return text

    def done(self) -> None:
        """Take the ``[DONE]`` at the end: not every server gives a reason."""
        self.complete = bool(self._choices)

    def body(self) -> dict[str, Any]:
        """Give the completion, as far as it has come."""
        choices = [choice.value() for _, choice in sorted(self._choices.items())]
        return {**self._top, "object": "chat.completion", "choices": choices}


class _Choice:
    def __init__(self, index: int) -> None:
        self._top: dict[str, Any] = {"index": index, "finish_reason": None}
        self._message = Growing({"role": "assistant", "content": None})
        self._calls: list[_Call] = []

    def feed(self, choice: dict[str, Any]) -> str:
        delta = a_map(choice.get("delta"))
        for key, value in choice.items():
            if key == "logprobs":
                self._top[key] = _extended(a_map(self._top.get(key)), a_map(value))
            elif key not in ("delta", "index") and value is not None:
                self._top[key] = value
        for piece in map(a_map, a_list(delta.get("tool_calls"))):
            self._call(piece).feed(piece)
        for key, value in delta.items():
            if key != "tool_calls":
                self._grow(key, value)
        return a_text(delta.get("content")) + a_text(delta.get("refusal"))

    def _grow(self, key: str, value: Any) -> None:
        known = self._message.known
        if isinstance(value, str) and key not in _WHOLE:
            self._message.grow(key, value)
        elif isinstance(value, list):
            known[key] = a_list(known.get(key)) + value
        elif isinstance(value, dict):
            known[key] = _joined(a_map(known.get(key)), value)
        elif value is not None:
            known[key] = value

    def _call(self, piece: dict[str, Any]) -> "_Call":
        """Find the call that a piece belongs to.

        By its index, as OpenAI means it. Others leave it out, or give every call the same one: there the id tells.
        """
        for call in reversed(self._calls):
            same_place = "index" not in piece or call.index == piece["index"]
            if same_place and a_text(piece.get("id")) in ("", call.id):
                return call
        self._calls.append(_Call(piece.get("index")))
        return self._calls[-1]

    def value(self) -> dict[str, Any]:
        message = self._message.value()
        if self._calls:
            message["tool_calls"] = [call.value() for call in self._calls]
        return {**self._top, "message": message}


class _Call:
    """A call whose arguments, or a custom tool's input, come in pieces."""

    def __init__(self, index: Any) -> None:
        self.index = index
        self.id = ""
        self._top: dict[str, Any] = {"type": "function"}
        self._tool: dict[str, Growing] = {}

    def feed(self, piece: dict[str, Any]) -> None:
        self.id = self.id or a_text(piece.get("id"))
        for key, value in piece.items():
            if isinstance(value, dict) and key in ("function", "custom"):
                self._grow(self._tool.setdefault(key, Growing({})), value)
            elif key != "index" and value:
                self._top[key] = value

    @staticmethod
    def _grow(tool: Growing, given: dict[str, Any]) -> None:
        for key, value in given.items():
            if isinstance(value, str):
                tool.grow(key, value)

    def value(self) -> dict[str, Any]:
        return {**self._top, **{kind: tool.value() for kind, tool in self._tool.items()}}


def _extended(known: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    return {**known, **{key: a_list(known.get(key)) + a_list(value) for key, value in given.items()}}


def _joined(known: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Join the pieces of a map such as ``audio``: its texts grow, but for the id."""
    joined = {**known, **{key: value for key, value in given.items() if value is not None}}
    for key, value in given.items():
        if isinstance(value, str) and key not in _WHOLE:
            joined[key] = a_text(known.get(key)) + value
    return joined
