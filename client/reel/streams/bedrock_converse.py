"""Events of ``ConverseStream`` of Amazon Bedrock folded into the response of ``Converse``.

An SDK delivers each event under its name: ``{"messageStart": {…}}``. In the raw stream, the name is separate, and the
JSON is only the content: ``{"role": "assistant"}``. Both are accepted, and so is a whole response.
"""

import binascii
from typing import Any

from reel.streams.incremental import (
    IncrementalMap,
    dict_or_empty,
    index_or_zero,
    list_or_empty,
    object_or_text,
    text_or_empty,
)

# The events, and a key that only their content has.
_EVENTS = {
    "messageStart": "role",
    "contentBlockStart": "start",
    "contentBlockDelta": "delta",
    "messageStop": "stopReason",
    "metadata": "metrics",
}
# The kinds of blocks that a stream may have.
_KINDS = ("text", "toolUse", "toolResult", "reasoningContent", "citationsContent", "image")


class BedrockConverse:
    """The response so far; ``complete`` once it has stopped."""

    def __init__(self) -> None:
        self.complete = False
        self._top: dict[str, Any] = {}
        self._blocks: dict[int, _Block] = {}

    def feed(self, name: str, event: dict[str, Any]) -> str:
        """Fold an event; return the text that it adds."""
        kind, found = _unwrapped(name, event)
        if kind == "output":
            return self._whole(event)
        index = index_or_zero(found.get("contentBlockIndex"))
        if kind == "contentBlockStart":
            self._blocks[index] = _Block(dict_or_empty(found.get("start")))
        elif kind == "contentBlockDelta":
            return self._blocks.setdefault(index, _Block({})).feed(dict_or_empty(found.get("delta")))
        elif kind in ("messageStop", "metadata"):
            self._top.update({key: value for key, value in found.items() if value is not None})
            self.complete = self.complete or kind == "messageStop"
        return ""

    def _whole(self, response: dict[str, Any]) -> str:
        self._top.update(response)
        self.complete = response.get("stopReason") is not None
        message = dict_or_empty(dict_or_empty(response["output"]).get("message"))
        return "".join(map(_text_of, map(dict_or_empty, list_or_empty(message.get("content")))))

    def done(self) -> None:
        """Ignore a ``[DONE]``, which this API does not send."""

    def body(self) -> dict[str, Any]:
        """Return the response, as received so far."""
        content = [value for _, block in sorted(self._blocks.items()) for value in block.values()]
        if "output" in self._top or not (content or self.complete):
            return self._top
        return {"output": {"message": {"role": "assistant", "content": content}}, **self._top}


def _text_of(block: dict[str, Any]) -> str:
    cited = map(dict_or_empty, list_or_empty(dict_or_empty(block.get("citationsContent")).get("content")))
    return text_or_empty(block.get("text")) + "".join(text_or_empty(part.get("text")) for part in cited)


def _unwrapped(name: str, event: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the name and the content of an event."""
    if "output" in event:
        return "output", event
    wrapped = next((kind for kind in _EVENTS if isinstance(event.get(kind), dict)), None)
    if wrapped is not None:
        return wrapped, event[wrapped]
    return name or next((kind for kind, key in _EVENTS.items() if key in event), ""), event


class _Block:
    """A content block: its start, and the pieces added to it."""

    def __init__(self, start: dict[str, Any]) -> None:
        # What is of a newer kind, by its kind, is a block by itself (rule A21).
        self._unknown: dict[str, IncrementalMap] = {}
        self._kind, head = next(iter(start.items()), ("text", {}))
        self._head = dict_or_empty(head)
        if self._kind not in _KINDS:
            self._unknown[self._kind] = IncrementalMap(self._head)
            self._kind = "text"
        self._texts = IncrementalMap({})
        self._bytes: list[str] = []
        self._items: list[Any] = []

    def feed(self, delta: dict[str, Any]) -> str:
        for kind, piece in delta.items():
            self._feed(kind, piece)
        return text_or_empty(delta.get("text"))

    def _feed(self, kind: str, piece: Any) -> None:
        if kind == "text":
            self._texts.grow("text", text_or_empty(piece))
        elif kind == "toolUse":
            self._texts.grow("input", text_or_empty(dict_or_empty(piece).get("input")))
        elif kind == "reasoningContent":
            self._kind = kind
            for field in ("text", "signature"):
                if field in dict_or_empty(piece):
                    self._texts.grow(field, text_or_empty(piece[field]))
            self._bytes.append(text_or_empty(dict_or_empty(piece).get("redactedContent")))
        elif kind == "image":
            self._head = {
                **self._head,
                **{key: value for key, value in dict_or_empty(piece).items() if key != "source"},
            }
            self._bytes.append(text_or_empty(dict_or_empty(dict_or_empty(piece).get("source")).get("bytes")))
        elif kind in ("citation", "toolResult"):
            self._kind = "citationsContent" if kind == "citation" else kind
            self._items += list_or_empty(piece) if kind == "toolResult" else [piece]
        else:
            self._unknown.setdefault(kind, IncrementalMap({})).add(piece if isinstance(piece, dict) else {kind: piece})

    def values(self) -> list[dict[str, Any]]:
        """Return the block, if anything usable of it was received, and what is of newer kinds."""
        known = self._value()
        unknown = [{kind: found} for kind, more in self._unknown.items() if (found := more.value())]
        return unknown if known is None else [known, *unknown]

    def _value(self) -> dict[str, Any] | None:
        found = self._texts.value()
        match self._kind:
            case "text":
                return found if "text" in found else None
            case "citationsContent":
                content = [{"text": found["text"]}] if "text" in found else []
                return {"citationsContent": {"content": content, "citations": self._items}}
            case "reasoningContent" if data := _joined(self._bytes):
                return {"reasoningContent": {"redactedContent": data}}
            case "reasoningContent":
                return {"reasoningContent": {"reasoningText": {"text": "", **found}}}
            case "toolUse":
                given = object_or_text(found.get("input", ""))
                # A call of a server tool with truncated input was never made.
                own = isinstance(given, str) and self._head.get("type") is not None
                return None if own else {"toolUse": {**self._head, "input": given}}
            case "toolResult":
                return {"toolResult": {**self._head, "content": self._items}}
            case "image" if data := _joined(self._bytes):
                return {"image": {**self._head, "source": {"bytes": data}}}
        return None


def _joined(pieces: list[str]) -> str:
    """Join pieces of base64, each of which may end in padding; damaged ones are left out."""
    data = b""
    for piece in pieces:
        try:
            data += binascii.a2b_base64(piece)
        except ValueError:
            continue
    return binascii.b2a_base64(data, newline=False).decode() if data else ""
