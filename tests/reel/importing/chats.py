"""Sessions of Gemini CLI, made for tests."""

import json
from pathlib import Path
from typing import Any

from reel.importing.steps import Source, Step
from reel.importing.tools.gemini_cli.tool import Session

SESSION = "33333333-3333-4333-8333-333333333333"
MODEL = "gemini-3-pro"


def part(name: str, call_id: str, **response: Any) -> dict[str, Any]:
    """Return a part with the result of a call."""
    return {"functionResponse": {"id": call_id, "name": name, "response": response}}


def made_call(call_id: str, output: str = "", **more: Any) -> dict[str, Any]:
    """Return the record of a call, with its result if there is one."""
    result = [part("ls", call_id, output=output)] if output else None
    return {"id": call_id, "name": "ls", "args": {"path": "."}, "status": "success", "result": result, **more}


class Lines:
    """The records of a session."""

    def __init__(self, session: str = SESSION, **meta: Any) -> None:
        self.session = session
        self.meta = {"sessionId": session, "projectHash": "0" * 64, **meta}
        self.records: list[dict[str, Any]] = []

    def record(self, **record: Any) -> "Lines":
        """Append a record."""
        self.records.append(record)
        return self

    def message(self, kind: str, name: str, content: Any, **more: Any) -> "Lines":
        """Append a message."""
        time = f"2026-08-01T10:00:{len(self.records) % 60:02}.000Z"
        return self.record(id=name, timestamp=time, type=kind, content=content, **more)

    def user(self, name: str, content: Any, **more: Any) -> "Lines":
        """Append a prompt."""
        return self.message("user", name, content, **more)

    def answer(self, name: str, content: Any, **more: Any) -> "Lines":
        """Append an answer."""
        return self.message("gemini", name, content, model=MODEL, **more)

    def replaced(self, *messages: "Lines") -> "Lines":
        """Append a list of messages that takes the place of all before."""
        return self.record(**{"$set": {"messages": [record for made in messages for record in made.records]}})

    def lines(self) -> list[str]:
        """Return the lines."""
        return [json.dumps(record) + "\n" for record in (self.meta, *self.records)]

    def write(self, path: Path) -> Path:
        """Write the file: lines, or one object if its name says so."""
        path.parent.mkdir(parents=True, exist_ok=True)
        whole = json.dumps({**self.meta, "messages": self.records}, indent=2)
        path.write_text(whole if path.suffix == ".json" else "".join(self.lines()))
        return path


def session_of(lines: Lines, directory: Path, suffix: str = ".jsonl") -> Session:
    """Return the reader of a session."""
    path = lines.write(directory / f"session-2026-08-01T10-00-{lines.session[:8]}{suffix}")
    return Session(Source(str(path), f"gemini-cli/{lines.session}", path.stat().st_size, 0))


def read(lines: Lines, directory: Path) -> list[Step]:
    """Return the steps of a session."""
    return list(session_of(lines, directory).steps())
