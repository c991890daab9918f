"""Answers as OpenAI's chat completions."""

import json
from collections.abc import Iterator

from tests.adapters.scripted.answers import Thought, Use, Words
from tests.adapters.scripted.writer import Event, Writer


class Chat(Writer):
    """Writes an answer as OpenAI's chat completions."""

    def _chunk(self, delta: Event, reason: str | None = None) -> Event:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return {**self._kept, "object": "chat.completion.chunk", "choices": [choice]}

    @property
    def _kept(self) -> Event:
        return {"id": f"chatcmpl-{self.number:05}", "created": 0, "model": self.model}

    @property
    def _usage(self) -> Event:
        cached = {"prompt_tokens_details": {"cached_tokens": 20}}
        return {"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150, **cached}

    def whole(self, text: str) -> Event:
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        return {**self._kept, "object": "chat.completion", "choices": [choice], "usage": self._usage}

    def begin(self) -> Iterator[Event]:
        yield self._chunk({"role": "assistant", "content": ""})

    def half(self, text: str) -> Iterator[Event]:
        yield self._chunk({"content": text[: len(text) // 2]})

    def part(self, part: Thought | Words | Use) -> Iterator[Event]:
        match part:
            case Thought(text):
                yield self._chunk({"reasoning_content": text})
                self.say("thought", text, "")
            case Words(text):
                for half in (text[: len(text) // 2], text[len(text) // 2 :]):
                    yield self._chunk({"content": half})
                self.say("assistant", text)
            case Use(name, given):
                index = sum(block[0] == "call" for block in self.said)
                call = self.id_of_call()
                function = {"name": name, "arguments": json.dumps(given)}
                called = {"index": index, "id": call, "type": "function", "function": function}
                yield self._chunk({"tool_calls": [called]})
                self.say("call", call, name, json.dumps(given, sort_keys=True))

    def end(self) -> Iterator[Event]:
        yield self._chunk({}, "tool_calls" if self.calls else "stop")
        yield {**self._kept, "object": "chat.completion.chunk", "choices": [], "usage": self._usage}
