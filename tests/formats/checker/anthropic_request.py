"""How Anthropic's API reads a body: neighbours of one role are merged before anything is judged."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.formats.checker.problem import Json, objects

Block = tuple[str, Json]
CALLS = ("server_tool_use", "mcp_tool_use")


class Turn(NamedTuple):
    """Neighbouring messages of one role, merged."""

    role: Any
    where: str
    blocks: list[Block]

    def of(self, *kinds: str) -> list[Block]:
        """Return the blocks of these types."""
        return [(where, block) for where, block in self.blocks if block.get("type") in kinds]

    def ids(self, kind: str, key: str) -> list[tuple[str, Any]]:
        """Return the ids that the blocks of a type have."""
        return [(where, block.get(key)) for where, block in self.of(kind)]

    def served(self) -> list[Block]:
        """Return the results of server tools."""
        return [pair for pair in self.blocks if is_served(pair[1])]


class Request:
    """A body and the model that it goes to."""

    def __init__(self, body: Json, model: str | None) -> None:
        self.body = body
        self.model = model
        self.messages = list(objects(body.get("messages"), "messages"))
        self.turns: list[Turn] = []
        for where, message in self.messages:
            if not self.turns or self.turns[-1].role != message.get("role"):
                self.turns.append(Turn(message.get("role"), where, []))
            self.turns[-1].blocks.extend(blocks_of(where, message))
        self.spoken = [turn for turn in self.turns if turn.role != "system"]

    def exchanges(self) -> Iterator[tuple[Turn | None, Turn | None]]:
        """Return each assistant turn with the user turn after it; a first user turn follows nothing."""
        if self.spoken and self.spoken[0].role == "user":
            yield None, self.spoken[0]
        for index, turn in enumerate(self.spoken):
            if turn.role == "assistant":
                yield turn, self.spoken[index + 1] if index + 1 < len(self.spoken) else None

    def stretches(self) -> Iterator[list[Turn]]:
        """Return the assistant turns between which there are only tool results: which is one turn for server tools."""
        stretch: list[Turn] = []
        for turn in self.spoken:
            if turn.role == "assistant":
                stretch.append(turn)
            elif len(turn.of("tool_result")) < len(turn.blocks):
                yield stretch
                stretch = []
        yield stretch

    def loop(self) -> list[Turn]:
        """Return the assistant's turns of the tool loop that the history ends in."""
        turns: list[Turn] = []
        for turn in reversed(self.spoken):
            if turn.role == "assistant":
                turns.insert(0, turn)
            elif not turn.of("tool_result"):
                break
        return turns if self.spoken and self.spoken[-1].role == "user" else []

    def blocks(self) -> Iterator[Block]:
        """Return every block of every turn."""
        for turn in self.turns:
            yield from turn.blocks

    def texts(self) -> Iterator[Block]:
        """Return every text block, inside tool results and the system prompt as well."""
        yield from objects(self.body.get("system"), "system")
        for where, block in self.blocks():
            if block.get("type") == "text":
                yield where, block
            elif block.get("type") == "tool_result":
                inner = objects(block.get("content"), f"{where}.content")
                yield from ((place, part) for place, part in inner if part.get("type") == "text")

    def last(self) -> Turn | None:
        """Return the assistant's turn if the history ends in one."""
        return self.turns[-1] if self.turns and self.turns[-1].role == "assistant" else None

    def thinking(self) -> str:
        """Return how thinking is set: enabled, adaptive or disabled."""
        setting = self.body.get("thinking")
        return str(setting.get("type")) if isinstance(setting, dict) else "disabled"

    def version(self) -> tuple[int, int] | None:
        """Return the model's version if its name has one."""
        found = re.search(r"claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)", self.model or "")
        return (int(found[1]), int(found[2] or 0)) if found else None


def blocks_of(where: str, message: Json) -> Iterator[Block]:
    """Return a message's blocks; a string is one text block."""
    content = message.get("content")
    if isinstance(content, str):
        yield f"{where}.content", {"type": "text", "text": content}
    else:
        yield from objects(content, f"{where}.content")


def is_served(block: Json) -> bool:
    """Whether a block is the result of a server's tool."""
    return str(block.get("type")).endswith("_tool_result")


def words(block: Json) -> str | None:
    """Return the text of a text block."""
    text = block.get("text")
    return text if block.get("type") == "text" and isinstance(text, str) else None


def is_paused(turn: Turn) -> bool:
    """Whether a turn ends in a server tool that still works."""
    return bool(turn.blocks) and (
        turn.blocks[-1][1].get("type") in (*CALLS, "compaction") or is_served(turn.blocks[-1][1])
    )
