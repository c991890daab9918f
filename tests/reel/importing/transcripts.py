"""Transcripts of Claude Code, made for tests."""

import json
from pathlib import Path
from typing import Any

from reel.importing.steps import About, Again, Back, Compacted, Kept, Middle, Said, Source, Step
from reel.importing.tools.claude_code.tool import Session
from reel.said.blocks import check_blocks

SESSION = "11111111-1111-4111-8111-111111111111"


class Transcript:
    """Records of a session; each follows the one before it unless it is told otherwise."""

    def __init__(self, session: str = SESSION) -> None:
        self.session = session
        self.records: list[dict[str, Any]] = []
        self.last: str | None = None

    def record(self, kind: str, uuid: str, *, after: str | None = "", **fields: Any) -> "Transcript":
        """Append a record of the chain."""
        parent = self.last if after == "" else after
        second = len(self.records)
        self.records.append(
            {
                "parentUuid": parent,
                "isSidechain": False,
                "cwd": "/home/me/deck",
                "sessionId": self.session,
                "version": "2.1.200",
                "gitBranch": "main",
                "type": kind,
                "uuid": uuid,
                "timestamp": f"2026-08-01T10:{second // 60:02}:{second % 60:02}.000Z",
                **fields,
            }
        )
        self.last = uuid
        return self

    def other(self, **fields: Any) -> "Transcript":
        """Append a record that is not of the chain."""
        self.records.append(fields)
        return self

    def user(self, uuid: str, content: Any, **fields: Any) -> "Transcript":
        """Append a prompt."""
        return self.record("user", uuid, message={"role": "user", "content": content}, **fields)

    def result(self, uuid: str, call: str, content: Any = "done", **fields: Any) -> "Transcript":
        """Append the result of a call."""
        block = {"type": "tool_result", "tool_use_id": call, "content": content}
        return self.user(uuid, [block], toolUseResult={"stdout": content}, **fields)

    def answer(self, uuid: str, block: Any, answer: str, **fields: Any) -> "Transcript":
        """Append one block of an answer."""
        blocks = [{"type": "text", "text": block} if isinstance(block, str) else block]
        usage = {"input_tokens": 3, "output_tokens": len(self.records)}
        message = {"id": answer, "role": "assistant", "model": "claude-x", "content": blocks, "usage": usage}
        return self.record("assistant", uuid, message=message, requestId=f"req-{answer}", **fields)

    def lines(self) -> list[str]:
        """Return the lines of the file."""
        return [json.dumps(record) + "\n" for record in self.records]

    def write(self, path: Path) -> Path:
        """Write the file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(self.lines()))
        return path


def call(call_id: str, **arguments: Any) -> dict[str, Any]:
    """Return a block that calls a tool."""
    return {"type": "tool_use", "id": call_id, "name": "Bash", "input": arguments}


def session_of(transcript: Transcript, directory: Path) -> Session:
    """Return the reader of a transcript."""
    return session_at(directory, "".join(transcript.lines()), transcript.session)


def session_at(directory: Path, text: str, session: str = SESSION) -> Session:
    """Return the reader of a transcript that says this."""
    path = directory / f"{session}.jsonl"
    path.write_text(text)
    return Session(Source(str(path), f"claude-code/{session}", path.stat().st_size, 0))


def read(transcript: Transcript, directory: Path) -> list[Step]:
    """Return the steps of a transcript."""
    return list(session_of(transcript, directory).steps())


def outline(steps: list[Step]) -> list[str]:
    """Return what was said and where it went back, a word for each."""
    return [word for step in steps if (word := _word(step))]


def _word(step: Step) -> str:
    match step:
        case Said():
            return f"{step.role}:{'+'.join(part.ref for part in step.parts)}"
        case Back():
            return f"back:{step.to}"
        case Middle():
            return f"middle:{step.after}"
        case Compacted():
            return " ".join([f"compacted:{step.summary.parts[0].ref}", *step.kept])
        case Again():
            return " ".join(["again:", *step.refs])
        case Kept():
            return f"{step.kind}:{step.ref}" if step.kind == "note" else ""
        case About():
            return f"part:{step.part}" if step.part else ""


def session_without_file() -> Session:
    """Return a reader that is given records, not a file."""
    return Session(Source("/none", f"claude-code/{SESSION}", 0, 0))


def check_step(step: Step, said: set[str]) -> set[str]:
    """Check that a step can be added after these messages were said, and return the refs of what it says."""
    match step:
        case Back():
            assert step.to in said
        case Said():
            blocks = [block for part in step.parts for block in part.blocks]
            check_blocks(blocks, step.role, "content")
            return {part.ref for part in step.parts}
        case Compacted():
            assert {*step.kept, *step.before} <= said
            return check_step(step.summary, said)
        case Again():
            assert {*step.refs} <= said
    return set()
