"""Answers as Anthropic's messages."""

import json
from collections.abc import Iterator

from tests.adapters.scripted.answers import Thought, Use, Words
from tests.adapters.scripted.writer import Event, Writer


class Anthropic(Writer):
    """Writes an answer as Anthropic's messages."""

    @property
    def _message(self) -> Event:
        kept = {"id": f"msg_{self.number:05}", "type": "message", "role": "assistant", "model": self.model}
        usage = {"input_tokens": 100 + self.number, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 3}
        usage["output_tokens"] = 7
        return {**kept, "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}

    def whole(self, text: str) -> Event:
        return {**self._message, "content": [{"type": "text", "text": text}], "stop_reason": "end_turn"}

    def begin(self) -> Iterator[Event]:
        yield {"type": "message_start", "message": self._message}

    def _block(self, empty: Event, *deltas: Event) -> Iterator[Event]:
        index = len(self.said)
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}

    def half(self, text: str) -> Iterator[Event]:
        half = text[: len(text) // 2]
        yield from self._block({"type": "text", "text": ""}, {"type": "text_delta", "text": half})

    def part(self, part: Thought | Words | Use) -> Iterator[Event]:
        index = len(self.said)
        match part:
            case Thought(text):
                signature = f"U2lnbmVk{self.number:04}"
                said = {"type": "thinking_delta", "thinking": text}
                signed = {"type": "signature_delta", "signature": signature}
                yield from self._block({"type": "thinking", "thinking": "", "signature": ""}, said, signed)
                self.say("thought", text, signature)
            case Words(text):
                halves = text[: len(text) // 2], text[len(text) // 2 :]
                deltas = [{"type": "text_delta", "text": half} for half in halves]
                yield from self._block({"type": "text", "text": ""}, *deltas)
                self.say("assistant", text)
            case Use(name, given):
                call = self.id_of_call()
                delta = {"type": "input_json_delta", "partial_json": json.dumps(given)}
                yield from self._block({"type": "tool_use", "id": call, "name": name, "input": {}}, delta)
                self.say("call", call, name, json.dumps(given, sort_keys=True))
        yield {"type": "content_block_stop", "index": index}

    def end(self) -> Iterator[Event]:
        reason = "tool_use" if self.calls else "end_turn"
        yield {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": None},
            "usage": {"output_tokens": 50},
        }
        yield {"type": "message_stop"}
