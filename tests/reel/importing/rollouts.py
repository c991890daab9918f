"""Rollouts of Codex, made for tests."""

import json
from pathlib import Path
from typing import Any

from reel.importing.steps import Source, Step
from reel.importing.tools.codex.rollout import Rollout

THREAD = "22222222-2222-4222-8222-222222222222"


class Lines:
    """The lines of a rollout."""

    def __init__(self, thread: str = THREAD, **meta: Any) -> None:
        self.thread = thread
        self.records: list[dict[str, Any]] = []
        self.line("session_meta", id=thread, cwd="/home/me/deck", cli_version="0.150.0", **meta)

    def line(self, kind: str, **payload: Any) -> "Lines":
        """Append a line."""
        time = f"2026-08-01T10:00:{len(self.records):02}.000Z"
        self.records.append({"timestamp": time, "type": kind, "payload": payload})
        return self

    def said(self, role: str, text: str) -> "Lines":
        """Append a message."""
        kind = "output_text" if role == "assistant" else "input_text"
        return self.line("response_item", type="message", role=role, content=[{"type": kind, "text": text}])

    def call(self, call_id: str, name: str = "shell") -> "Lines":
        """Append a call."""
        return self.line("response_item", type="function_call", name=name, arguments="{}", call_id=call_id)

    def output(self, call_id: str, output: Any = "done") -> "Lines":
        """Append the output of a call."""
        return self.line("response_item", type="function_call_output", call_id=call_id, output=output)

    def event(self, kind: str, **event: Any) -> "Lines":
        """Append an event."""
        return self.line("event_msg", type=kind, **event)

    def write(self, path: Path) -> Path:
        """Write the file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(record) + "\n" for record in self.records))
        return path


def rollout_of(lines: Lines, directory: Path) -> Rollout:
    """Return the reader of a rollout."""
    path = lines.write(directory / f"rollout-2026-08-01T10-00-00-{lines.thread}.jsonl")
    return Rollout(Source(str(path), f"codex/{lines.thread}", path.stat().st_size, 0))


def read(lines: Lines, directory: Path) -> list[Step]:
    """Return the steps of a rollout."""
    return list(rollout_of(lines, directory).steps())


def without_file() -> Rollout:
    """Return a reader that is given records, not a file."""
    return Rollout(Source("/none", f"codex/{THREAD}", 0, 0))
