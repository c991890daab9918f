"""What all formats share of how an answer is written."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from tests.adapters.asked_blocks import Block
from tests.adapters.scripted.answers import Thought, Use, Words

Event = dict[str, Any]


class Writer(ABC):
    """Writes the events of one answer.

    Args:
        number: that of the request.
        body: the request.
    """

    def __init__(self, number: int, body: dict[str, Any]) -> None:
        self.number = number
        self.model = body.get("model", "fake")
        # Gemini CLI keeps a summary only if it has fewer tokens than what was asked.
        self.tokens = len(json.dumps(body)) // 3
        self.said: list[Block] = []

    def id_of_call(self) -> str:
        """Return the id of a call that comes next."""
        return f"call_{self.number:05}x{len(self.said)}"

    def say(self, kind: str, *values: Any) -> None:
        """Take note of a block that was sent."""
        self.said.append((kind, *values))

    @property
    def calls(self) -> bool:
        """Whether the answer has calls."""
        return any(block[0] == "call" for block in self.said)

    @abstractmethod
    def whole(self, text: str) -> Event:
        """Return an answer that is not streamed."""

    @abstractmethod
    def begin(self) -> Iterator[Event]:
        """Yield what comes first."""

    @abstractmethod
    def half(self, text: str) -> Iterator[Event]:
        """Yield the first half of a text."""

    @abstractmethod
    def part(self, part: Thought | Words | Use) -> Iterator[Event]:
        """Yield a block."""

    @abstractmethod
    def end(self) -> Iterator[Event]:
        """Yield what comes last."""
