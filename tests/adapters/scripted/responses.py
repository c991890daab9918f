"""Answers as OpenAI's responses."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from tests.adapters.scripted.answers import Thought, Use, Words
from tests.adapters.scripted.writer import Event, Writer

_USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 20},
    "output_tokens": 50,
    "output_tokens_details": {"reasoning_tokens": 7},
    "total_tokens": 150,
}


class Responses(Writer):
    """Writes an answer as OpenAI's responses."""

    def __init__(self, number: int, body: dict[str, Any]) -> None:
        super().__init__(number, body)
        self._items: list[Event] = []

    def _response(self, status: str) -> Event:
        kept = {"id": f"resp_{self.number:05}", "object": "response", "created_at": 0, "model": self.model}
        return {**kept, "status": status, "output": self._items, "usage": _USAGE}

    def _message(self, text: str) -> Event:
        content = [{"type": "output_text", "text": text, "annotations": []}]
        kept = {"type": "message", "id": f"msg_{self.number}_{len(self._items)}", "role": "assistant"}
        return {**kept, "status": "completed", "content": content}

    def whole(self, text: str) -> Event:
        self._items.append(self._message(text))
        return self._response("completed")

    def begin(self) -> Iterator[Event]:
        yield {"type": "response.created", "response": {**self._response("in_progress"), "output": []}}

    def _text(self, item: Event, texts: Sequence[str]) -> Iterator[Event]:
        index, place = len(self._items), {"item_id": item["id"], "content_index": 0}
        part = {"type": "output_text", "text": "", "annotations": []}
        started = {**item, "content": [], "status": "in_progress"}
        yield {"type": "response.output_item.added", "output_index": index, "item": started}
        yield {"type": "response.content_part.added", "output_index": index, **place, "part": part}
        for text in texts:
            yield {"type": "response.output_text.delta", "output_index": index, **place, "delta": text}

    def half(self, text: str) -> Iterator[Event]:
        return self._text(self._message(text), [text[: len(text) // 2]])

    def part(self, part: Thought | Words | Use) -> Iterator[Event]:
        index = len(self._items)
        match part:
            case Thought(text):
                summary = [{"type": "summary_text", "text": text}]
                item = {"type": "reasoning", "id": f"rs_{self.number}_{index}", "summary": summary}
                item["encrypted_content"] = f"RW5j{self.number:04}"
                yield {"type": "response.output_item.added", "output_index": index, "item": {**item, "summary": []}}
                place = {"item_id": item["id"], "output_index": index, "summary_index": 0}
                empty = {"type": "summary_text", "text": ""}
                yield {"type": "response.reasoning_summary_part.added", **place, "part": empty}
                yield {"type": "response.reasoning_summary_text.delta", **place, "delta": text}
                self.say("thought", text, item["encrypted_content"])
            case Words(text):
                item = self._message(text)
                yield from self._text(item, [text[: len(text) // 2], text[len(text) // 2 :]])
                self.say("assistant", text)
            case Use(name, given):
                space, _, name = name.rpartition("/")
                call, arguments = self.id_of_call(), json.dumps(given)
                item = {"type": "function_call", "id": f"fc_{self.number}_{index}", "call_id": call, "name": name}
                item |= {"arguments": arguments, "status": "completed"} | ({"namespace": space} if space else {})
                added = {**item, "arguments": ""}
                yield {"type": "response.output_item.added", "output_index": index, "item": added}
                place = {"item_id": item["id"], "output_index": index}
                yield {"type": "response.function_call_arguments.delta", **place, "delta": arguments}
                yield {"type": "response.function_call_arguments.done", **place, "arguments": arguments}
                self.say("call", call, name, json.dumps(given, sort_keys=True))
        self._items.append(item)
        yield {"type": "response.output_item.done", "output_index": index, "item": item}

    def end(self) -> Iterator[Event]:
        yield {"type": "response.completed", "response": self._response("completed")}
