"""Chunks of LangChain's (``AIMessageChunk``, in any of its serialized forms) folded into one message."""

from typing import Any

from reel.streams.incremental import IncrementalMap, dict_or_empty, index_or_zero, list_or_empty, text_or_empty

# The fields of a chunk that are folded in their own way; for the others, the last value counts.
_FOLDED = ("content", "tool_call_chunks", "tool_calls", "invalid_tool_calls", "additional_kwargs", "response_metadata")
_OF_A_CHUNK = ("type", "usage_metadata", "chunk_position", "id", *_FOLDED)
# The fields that grow in a block of the content: the texts of all providers, and a signature.
_GROWING = ("text", "thinking", "reasoning", "signature")
# Arguments, which the pieces of the calls repeat.
_ARGUMENTS = "input_json_delta"
_ENDED = ("finish_reason", "stop_reason")


class LangChain:
    """The message so far; ``complete`` once a chunk is marked as the last, or gives the reason for the end."""

    def __init__(self) -> None:
        self.complete = False
        self._top: dict[str, Any] = {}
        self._text = IncrementalMap({"content": ""})
        self._blocks: dict[Any, IncrementalMap] = {}
        self._calls: dict[Any, IncrementalMap] = {}
        self._whole_calls: dict[str, list[Any]] = {}
        self._beside = IncrementalMap({})

    def feed(self, _name: str, event: dict[str, Any]) -> str:
        """Fold a chunk; return the text that it adds."""
        chunk = _fields(event)
        self._top["type"] = "ai"
        self._top.update({key: value for key, value in chunk.items() if key not in _OF_A_CHUNK and value is not None})
        if "id" not in self._top and chunk.get("id") is not None:
            self._top["id"] = chunk["id"]
        self._take_metadata(chunk)
        self._take_calls(chunk)
        content = chunk.get("content")
        if isinstance(content, str):
            self._text.grow("content", content)
            return content
        return "".join(map(self._take_block, map(dict_or_empty, list_or_empty(content))))

    def _take_metadata(self, chunk: dict[str, Any]) -> None:
        ended = dict_or_empty(chunk.get("response_metadata"))
        if ended:
            self._top["response_metadata"] = {**dict_or_empty(self._top.get("response_metadata")), **ended}
        if usage := dict_or_empty(chunk.get("usage_metadata")):
            self._top["usage_metadata"] = _sum(dict_or_empty(self._top.get("usage_metadata")), usage)
        for key, value in dict_or_empty(chunk.get("additional_kwargs")).items():
            if isinstance(value, str):
                self._beside.grow(key, value)
            elif value is not None:
                self._beside.known[key] = value
        is_last = chunk.get("chunk_position") == "last" or chunk.get("type") == "ai"
        self.complete = self.complete or is_last or any(ended.get(key) for key in _ENDED)

    def _take_calls(self, chunk: dict[str, Any]) -> None:
        pieces = list_or_empty(chunk.get("tool_call_chunks"))
        for piece in map(dict_or_empty, pieces):
            index = piece.get("index")
            place = index if type(index) in (int, str) else piece.get("id") or len(self._calls)
            call = self._calls.setdefault(place, IncrementalMap({"args": "", "id": None}))
            for key in ("name", "args"):
                if text := text_or_empty(piece.get(key)):
                    call.grow(key, text)
            call.known["id"] = call.known["id"] or piece.get("id")
        if not pieces:
            for key in ("tool_calls", "invalid_tool_calls"):
                if found := list_or_empty(chunk.get(key)):
                    self._whole_calls[key] = found

    def _take_block(self, block: dict[str, Any]) -> str:
        """Join a block with the one at its index; a block without an index stays separate."""
        if block.get("type") == _ARGUMENTS:
            return ""
        index = block.get("index")
        place = index if type(index) in (int, str) else (len(self._blocks),)
        known = self._blocks.setdefault(place, IncrementalMap({}))
        for key, value in block.items():
            if key in _GROWING and isinstance(value, str):
                known.known.setdefault(key, "")
                known.grow(key, value)
            elif value is not None and not (key == "type" and key in known.known):
                known.known[key] = value
        return text_or_empty(block.get("text")) if block.get("type") == "text" else ""

    def done(self) -> None:
        """Process the ``[DONE]`` at the end."""
        self.complete = bool(self._top)

    def body(self) -> dict[str, Any]:
        """Return the message, as received so far."""
        if not self._top:
            return {}
        text = self._text.text("content")
        blocks = [block.value() for block in self._blocks.values()]
        before = [{"type": "text", "text": text}] if text and blocks else []
        calls = [{**call.value(), "type": "tool_call"} for call in self._calls.values()]
        beside = self._beside.value()
        return {
            **self._top,
            "content": [*before, *blocks] if blocks else text,
            **({"additional_kwargs": beside} if beside else {}),
            **self._whole_calls,
            **({"tool_calls": calls} if calls else {}),
        }


def _fields(event: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a chunk in the format of ``dumps`` or ``message_to_dict``."""
    for key in ("kwargs", "data"):
        if isinstance(event.get(key), dict):
            fields: dict[str, Any] = event[key]
            return fields
    return event


def _sum(known: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Add up the usage of chunks, as LangChain does."""
    total = dict(known)
    for key, value in given.items():
        if isinstance(value, dict):
            total[key] = _sum(dict_or_empty(known.get(key)), value)
        elif type(value) is int:
            total[key] = index_or_zero(known.get(key)) + value
        elif value is not None:
            total[key] = value
    return total
