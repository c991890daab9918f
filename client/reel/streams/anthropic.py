"""Message stream events (``anthropic.types.RawMessageStreamEvent``, its beta form too) folded into a message."""

from typing import Any

from reel.streams.incremental import (
    IncrementalMap,
    dict_or_empty,
    index_or_zero,
    list_or_empty,
    object_or_text,
    text_or_empty,
)

# A signature comes in one piece, and so does the content of a compaction.
_WHOLE = {"signature_delta": ("signature",), "compaction_delta": ("content", "encrypted_content")}


class Anthropic:
    """The message so far; ``complete`` once it has stopped."""

    def __init__(self) -> None:
        self.complete = False
        self._top: dict[str, Any] = {}
        self._blocks: dict[int, _Block] = {}

    def feed(self, name: str, event: dict[str, Any]) -> str:
        """Fold an event; return the text that it adds."""
        kind = event.get("type", name)
        index = index_or_zero(event.get("index"))
        if kind == "message_start":
            self._top = dict_or_empty(event.get("message"))
        elif kind == "content_block_start":
            return self._start(index, dict_or_empty(event.get("content_block")))
        elif kind == "content_block_delta" and index in self._blocks:
            return self._blocks[index].feed(dict_or_empty(event.get("delta")))
        elif kind == "message_delta":
            self._change(event)
        elif kind == "message_stop":
            self.complete = True
        return ""

    def done(self) -> None:
        """Ignore a ``[DONE]``, which this API does not send."""

    def _start(self, index: int, block: dict[str, Any]) -> str:
        self._blocks[index] = _Block(block)
        if block.get("type") == "fallback" and "model" in dict_or_empty(block.get("to")):
            self._top["model"] = block["to"]["model"]  # this model continues the answer
        return text_or_empty(block.get("text")) if block.get("type") == "text" else ""

    def _change(self, event: dict[str, Any]) -> None:
        """Process the end of a message; counts are totals, and omitted ones are unchanged."""
        self._top.update(_given(dict_or_empty(event.get("delta"))))
        self._top.update(_given({key: event[key] for key in event if key not in ("type", "delta", "usage")}))
        self._top["usage"] = {**dict_or_empty(self._top.get("usage")), **_given(dict_or_empty(event.get("usage")))}

    def body(self) -> dict[str, Any]:
        """Return the message, as received so far."""
        content = [block.value() for _, block in sorted(self._blocks.items())]
        return {**self._top, "content": [*list_or_empty(self._top.get("content")), *filter(_is_complete, content)]}


def _is_complete(block: dict[str, Any]) -> bool:
    """Return whether a block can be sent back: a call of a server tool with truncated input was never made."""
    return block.get("type") == "tool_use" or not isinstance(block.get("input"), str)


def _given(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


class _Block:
    def __init__(self, start: dict[str, Any]) -> None:
        self._block = IncrementalMap(start)
        self._input = IncrementalMap({})

    def feed(self, delta: dict[str, Any]) -> str:
        kind = text_or_empty(delta.get("type"))
        known = self._block.known
        if kind == "input_json_delta":
            self._input.grow("json", text_or_empty(delta.get("partial_json")))
        elif kind == "citations_delta":
            known["citations"] = [*list_or_empty(known.get("citations")), delta.get("citation")]
        elif kind in _WHOLE:
            known.update({field: delta[field] for field in _WHOLE[kind] if field in delta})
        else:
            # A text, thinking, or a piece of a newer kind: its keys are those of the block (rule A21).
            self._block.add({field: piece for field, piece in delta.items() if field != "type"})
            return text_or_empty(delta.get("text")) if known.get("type") == "text" else ""
        return ""

    def value(self) -> dict[str, Any]:
        block = self._block.value()
        text = self._input.text("json")
        return {**block, "input": object_or_text(text)} if text else block
