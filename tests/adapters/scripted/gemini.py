"""Answers as Gemini's contents."""

import json
from collections.abc import Iterator

from tests.adapters.scripted.answers import Thought, Use, Words
from tests.adapters.scripted.writer import Event, Writer


class Gemini(Writer):
    """Writes an answer as Gemini's contents."""

    def _chunk(self, part: Event, reason: str | None = None) -> Event:
        done = {"finishReason": reason} if reason else {}
        candidate = {"content": {"role": "model", "parts": [part]}, "index": 0, **done}
        usage = {"promptTokenCount": self.tokens, "candidatesTokenCount": 50, "totalTokenCount": self.tokens + 50}
        kept = {"modelVersion": "fake", "responseId": f"r{self.number}", "usageMetadata": usage}
        return {"candidates": [candidate], **kept}

    def whole(self, text: str) -> Event:
        return self._chunk({"text": text}, "STOP")

    def begin(self) -> Iterator[Event]:
        yield from ()

    def half(self, text: str) -> Iterator[Event]:
        yield self._chunk({"text": text[: len(text) // 2]})

    def part(self, part: Thought | Words | Use) -> Iterator[Event]:
        match part:
            case Thought(text):
                # It goes back without what it thought.
                yield self._chunk({"text": f"**Subject** {text}", "thought": True})
            case Words(text):
                for half in (text[: len(text) // 2], text[len(text) // 2 :]):
                    yield self._chunk({"text": half})
                self.say("assistant", text)
            case Use(name, given):
                call = self.id_of_call()
                first = {} if self.calls else {"thoughtSignature": f"U2ln{self.number:04}"}
                yield self._chunk({"functionCall": {"id": call, "name": name, "args": given}, **first})
                self.say("call", call, name, json.dumps(given, sort_keys=True))

    def end(self) -> Iterator[Event]:
        yield self._chunk({"text": ""}, "STOP")
