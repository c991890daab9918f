"""Records of agents, made for tests."""

import json
from pathlib import Path
from typing import Any

from reel.importing.steps import About, Counts, Said, Step, Tool


class Records:
    """The records of a file of JSON lines, each with the time after the one before it."""

    def __init__(self, *records: dict[str, Any]) -> None:
        self.records = list(records)

    def add(self, **record: Any) -> "Records":
        """Append a record."""
        second = len(self.records)
        time = f"2026-08-01T10:{second // 60:02}:{second % 60:02}.000Z"
        self.records.append({"timestamp": time, **record})
        return self

    def write(self, path: Path) -> Path:
        """Write the file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(record) + "\n" for record in self.records))
        return path


class Read:
    """What a tool reads of the only source at a path."""

    def __init__(self, tool: Tool, path: Path) -> None:
        (source,) = tool.discover(path).sources
        reading = tool.open(source)
        self.source = source
        self.steps: list[Step] = list(reading.steps())
        self.counts: Counts = reading.counts

    @property
    def said(self) -> list[Said]:
        """The messages."""
        return [step for step in self.steps if isinstance(step, Said)]

    @property
    def texts(self) -> list[tuple[str, str]]:
        """The messages, each with its role and the texts in it."""
        return [(said.role, _texts(said)) for said in self.said]

    @property
    def about(self) -> About:
        """The last description."""
        return [step for step in self.steps if isinstance(step, About)][-1]


def _texts(said: Said) -> str:
    return " ".join(str(block.get("text", block["type"])) for part in said.parts for block in part.blocks)
