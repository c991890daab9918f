"""A body of Converse, and what the rules look at."""

import re
from collections.abc import Iterator
from typing import Any

from tests.formats.checker.problem import Json, objects

Block = tuple[str, Json]
Ids = list[tuple[str, Any]]


class Request:
    """A body and the model that it goes to."""

    def __init__(self, body: Json, model: str | None) -> None:
        self.body = body
        self.model = model or ""
        self.messages = list(objects(body.get("messages"), "messages"))

    def blocks_of(self, where: str, message: Json) -> list[Block]:
        """Return the blocks of a message, without cache points."""
        found = objects(message.get("content"), f"{where}.content")
        return [(place, block) for place, block in found if "cachePoint" not in block]

    def blocks(self) -> Iterator[Block]:
        """Return every block of every message, without cache points."""
        for where, message in self.messages:
            yield from self.blocks_of(where, message)

    def inner(self) -> Iterator[tuple[str, Json, Json]]:
        """Return every block of every result, with the result."""
        for where, block in self.blocks():
            result = block.get("toolResult")
            if isinstance(result, dict):
                for place, part in objects(result.get("content"), f"{where}.toolResult.content"):
                    yield place, part, result

    def texts(self) -> Iterator[tuple[str, Any]]:
        """Return every text: of blocks, of citations, of guarded content, of results, of the prompt."""
        every = [*objects(self.body.get("system"), "system"), *self.blocks()]
        for where, block in [*every, *((where, part) for where, part, _ in self.inner())]:
            guarded, cited = block.get("guardContent"), block.get("citationsContent")
            if "text" in block:
                yield where, block["text"]
            if isinstance(guarded, dict) and isinstance(guarded.get("text"), dict):
                yield where, guarded["text"].get("text")
            for place, part in objects(cited.get("content"), where) if isinstance(cited, dict) else ():
                yield place, part.get("text")

    def documents(self) -> Iterator[Block]:
        """Return every document, inside results as well."""
        for where, block in [*self.blocks(), *((where, part) for where, part, _ in self.inner())]:
            if isinstance(block.get("document"), dict):
                yield where, block["document"]

    @staticmethod
    def is_call(block: Json) -> bool:
        """Whether a block is the call of a client's tool."""
        return isinstance(block.get("toolUse"), dict) and block["toolUse"].get("type") is None

    @staticmethod
    def is_served(block: Json) -> bool:
        """Whether a block is the result of a server's tool; a result of a client's has no type."""
        result = block.get("toolResult")
        return isinstance(result, dict) and result.get("type") is not None

    def served_id(self, block: Json) -> str | None:
        """Return the id of the call of a server's tool, or of its result."""
        call = block.get("toolUse")
        if isinstance(call, dict) and not self.is_call(block):
            return str(call.get("toolUseId"))
        return str(block["toolResult"].get("toolUseId")) if self.is_served(block) else None

    def exchanges(self) -> Iterator[tuple[Ids, Ids]]:
        """Return the ids of the calls of each message, and those of the results in the user's message after it."""
        before: Ids = []
        for where, message in [*self.messages, ("messages", {"role": "user"})]:
            blocks = self.blocks_of(where, message)
            if message.get("role") == "user" or before:
                results = [(place, block["toolResult"]) for place, block in blocks if "toolResult" in block]
                yield before, [(place, _id(value)) for place, value in results] if message.get("role") == "user" else []
            before = [(place, _id(block["toolUse"])) for place, block in blocks if self.is_call(block)]

    def is_claude(self) -> bool:
        """Whether the model is one of Anthropic's."""
        return "claude" in self.model

    def is_nova(self) -> bool:
        """Whether the model is one of Amazon's Nova models."""
        return "amazon.nova" in self.model

    def parts(self) -> bool:
        """Whether the model refuses words beside calls."""
        return "meta.llama" in self.model or "mistral." in self.model

    def mixes(self) -> bool:
        """Whether the model takes words after results."""
        return re.search(r"claude-(sonnet|opus|haiku|fable)-[4-9]|openai\.gpt", self.model) is not None


def _id(value: Any) -> Any:
    return value.get("toolUseId") if isinstance(value, dict) else None
