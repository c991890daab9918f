"""Claude Code on lines."""

import uuid
from pathlib import Path

from tests.adapters.at_work.place import Place
from tests.adapters.at_work.session import Session
from tests.adapters.at_work.talk import Record, Talk


class ClaudeCode(Session):
    """Claude Code on lines."""

    tool = "claude-code"

    @classmethod
    def prepare(cls, place: Place) -> None:
        """Claude Code needs no settings."""

    def __init__(self, program: str, place: Place, project: Path, model: str) -> None:
        super().__init__(program, place, project, model)
        self._id = str(uuid.uuid4())
        self._arguments = ["--session-id", self._id]
        # The ends of the turns.
        self._ends: list[str] = []

    def open(self) -> None:
        streams = ["-p", "--dangerously-skip-permissions", "--verbose", "--input-format", "stream-json"]
        command = [self.program, *streams, "--output-format", "stream-json", *self._arguments]
        self._talk = Talk(command, self.project, self.place.environment)
        self._arguments = ["--resume", self._id]

    def ask(self, text: str) -> None:
        self._talk.send({"type": "user", "message": {"role": "user", "content": text}})

    def finish(self) -> None:
        end = ""

        def is_end(record: Record) -> bool:
            nonlocal end
            if record["type"] == "assistant" and not record.get("parent_tool_use_id"):
                end = record["uuid"]
            return bool(record["type"] == "result")

        self._id = self._talk.wait(is_end)["session_id"]
        self._arguments = ["--resume", self._id]
        if end:
            self._ends.append(end)

    def interrupt(self) -> None:
        self._talk.send({"type": "control_request", "request_id": "i", "request": {"subtype": "interrupt"}})
        self.finish()

    def compact(self) -> None:
        self.ask("/compact")
        self.finish()
        # What is before it cannot be gone back to.
        self._ends.clear()

    def rewind(self) -> bool:
        if len(self._ends) > 1:
            self._ends.pop()
            self._again("--resume-session-at", self._ends[-1])
        return False

    def fork(self) -> None:
        self._again("--fork-session")

    def rename(self, title: str) -> None:
        self._again("--name", title)

    def _again(self, *arguments: str) -> None:
        self.close()
        self._arguments += arguments
        self.open()

    def close(self) -> None:
        self._talk.close()

    def kill(self) -> None:
        self._talk.kill()

    def sub_agent(self, word: str) -> tuple[str, Record]:
        given = {"description": "Look at it", "prompt": f"Please do {word}.", "subagent_type": "general-purpose"}
        return "Agent", {**given, "run_in_background": False}
