"""Response stream events (``openai.types.responses.ResponseStreamEvent``) folded into a response."""

from typing import Any

from reel.streams.incremental import IncrementalMap, dict_or_empty, index_or_zero, list_or_empty, text_or_empty

_STATES = ("response.created", "response.queued", "response.in_progress")
_ENDS = ("response.completed", "response.incomplete", "response.failed")
# Events with a piece of an item's text, and the field of that text.
_ITEM_TEXTS = {
    "response.function_call_arguments.delta": "arguments",
    "response.mcp_call_arguments.delta": "arguments",
    "response.custom_tool_call_input.delta": "input",
    "response.code_interpreter_call_code.delta": "code",
}
# The same for a text in a part of an item: (list of parts, type of the part, field, index of the part).
_PART_TEXTS = {
    "response.output_text.delta": ("content", "output_text", "text", "content_index"),
    "response.refusal.delta": ("content", "refusal", "refusal", "content_index"),
    "response.reasoning_text.delta": ("content", "reasoning_text", "text", "content_index"),
    "response.reasoning_summary_text.delta": ("summary", "summary_text", "text", "summary_index"),
}
_SHOWN = ("response.output_text.delta", "response.refusal.delta")


class OpenAIResponses:
    """The response so far; ``complete`` once it has ended, even if a limit cut it short."""

    def __init__(self) -> None:
        self.complete = False
        self._ended = False
        self._top: dict[str, Any] = {}
        self._items: dict[int, _Item] = {}

    def feed(self, name: str, event: dict[str, Any]) -> str:
        """Fold an event; return the text that it adds."""
        kind = event.get("type", name)
        if kind in _STATES or kind in _ENDS:
            self._top = dict_or_empty(event.get("response"))
            self._ended = kind in _ENDS
            self.complete = self._ended and kind != "response.failed"
        elif kind in ("response.output_item.added", "response.output_item.done"):
            self._items[index_or_zero(event.get("output_index"))] = _Item(dict_or_empty(event.get("item")))
        elif (item := self._items.get(index_or_zero(event.get("output_index")))) is not None:
            item.feed(str(kind), event)
        return text_or_empty(event.get("delta")) if kind in _SHOWN else ""

    def done(self) -> None:
        """Ignore a ``[DONE]``, which this API does not send."""

    def body(self) -> dict[str, Any]:
        """Return the response, as received so far; some servers omit the output from the last event."""
        whole = self._top.get("output") if self._ended else None
        return {**self._top, "output": whole or [item.value() for _, item in sorted(self._items.items())]}


class _Item:
    def __init__(self, start: dict[str, Any]) -> None:
        self._item = IncrementalMap(start)
        self._parts: dict[str, dict[int, IncrementalMap]] = {"content": {}, "summary": {}}
        for field, parts in self._parts.items():
            parts.update(enumerate(IncrementalMap(dict_or_empty(part)) for part in list_or_empty(start.get(field))))

    def feed(self, kind: str, event: dict[str, Any]) -> None:
        if kind in _ITEM_TEXTS:
            self._item.grow(_ITEM_TEXTS[kind], text_or_empty(event.get("delta")))
        elif kind in _PART_TEXTS:
            field, of, text, counter = _PART_TEXTS[kind]
            self._part(field, event.get(counter), {"type": of}).grow(text, text_or_empty(event.get("delta")))
        elif kind == "response.content_part.added":
            self._part("content", event.get("content_index"), dict_or_empty(event.get("part")))
        elif kind == "response.reasoning_summary_part.added":
            self._part("summary", event.get("summary_index"), dict_or_empty(event.get("part")))
        elif kind == "response.output_text.annotation.added":
            known = self._part("content", event.get("content_index"), {"type": "output_text"}).known
            known["annotations"] = [*list_or_empty(known.get("annotations")), event.get("annotation")]

    def _part(self, field: str, index: Any, start: dict[str, Any]) -> IncrementalMap:
        return self._parts[field].setdefault(index_or_zero(index), IncrementalMap(start))

    def value(self) -> dict[str, Any]:
        grown = {
            field: [part.value() for _, part in sorted(parts.items())] for field, parts in self._parts.items() if parts
        }
        return {**self._item.value(), **grown}
