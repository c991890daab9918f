"""pi as far as it records a session: what it writes, and when. It follows version 1.6."""

import json
from collections.abc import Callable
from random import Random
from typing import Any

from tests.adapters.asked_blocks import Block
from tests.reel.importing.recording import Disk, Record, Recorder

_MADE_UP = "No result: the call was interrupted before it was answered."
_SUMMARY = (
    "The conversation history before this point was compacted into the following summary:\n\n<summary>\n{}\n</summary>"
)


class Pi(Recorder):
    """A person's work with pi."""

    tool = "pi"
    api = "anthropic"

    def __init__(self, session: str, chance: Random, disk: Disk) -> None:
        super().__init__(session, chance, disk)
        self._file = ""
        # The entries that lead to the end, each with what the model gets of it.
        self._path: list[tuple[Record, list[Block]]] = []
        # The last summary, and the number of entries before the first one that is kept beside it.
        self._summary: list[Block] = []
        self._kept = 0
        self._open({})

    def _acts(self) -> list[Callable[[], None]]:
        ended = [self._interrupt, self._interrupt_calls, self._kill, self._fail]
        return [self._turn, *ended, self._rewind, self._compact, self._fork]

    # What is written.

    def _write(self, record: Record) -> None:
        self._disk.append(self._file, json.dumps(record) + "\n")

    def _open(self, header: Record) -> None:
        ident = self._id(f"{self._session}-")
        self._file = f"--home-me--/2026-08-01T10-00-00-000Z_{ident}.jsonl"
        self._write({"type": "session", "version": 3, "id": ident, "cwd": "/home/me", **header})

    def _entry(self, kind: str, blocks: list[Block], **fields: Any) -> str:
        parent = self._path[-1][0]["id"] if self._path else None
        entry = {"type": kind, "id": self._id("e"), "parentId": parent, "timestamp": self._time(), **fields}
        self._path.append((entry, blocks))
        self._write(entry)
        return str(entry["id"])

    def _message(self, role: str, content: list[Record], blocks: list[Block], **fields: Any) -> None:
        self._entry("message", blocks, message={"role": role, "content": content, **fields})

    def _aside(self) -> None:
        """Write what says nothing, now and then."""
        while self._is(1 / 6):
            self._entry(self._chance.choice(["thinking_level_change", "custom", "label"]), [])

    # What happens.

    def _ask(self) -> None:
        self._aside()
        text = f"Prompt {self._number}"
        self._message("user", [{"type": "text", "text": text}], [("user", text)])

    def _said(self) -> list[Block]:
        return [*self._summary, *(block for _, blocks in self._path[self._kept :] for block in blocks)]

    def _answer(self, calls: int, done: int | None = None) -> list[Record]:
        """Let the model answer, and return the calls that have not ended."""
        content: list[Record] = []
        blocks: list[Block] = []
        if self._is(1 / 2):
            content.append({"type": "thinking", "thinking": f"Thought {self._number}", "thinkingSignature": "c2ln"})
            blocks.append(("thought", f"Thought {self._number}", "c2ln"))
        if self._is(1 / 2) or not calls:
            content.append({"type": "text", "text": f"Answer {self._number}"})
            blocks.append(("assistant", f"Answer {self._number}"))
        made = [{"type": "toolCall", "id": self._id("call"), "name": "bash", "arguments": {}} for _ in range(calls)]
        blocks += [("call", call["id"], "bash", "{}") for call in made]
        usage = {"input": self._number, "output": 1}
        by = {"api": "anthropic-messages", "provider": "anthropic", "model": "claude-x", "usage": usage}
        self._message("assistant", [*content, *made], blocks, stopReason="toolUse" if calls else "stop", **by)
        self._send(self._said())
        self._chance.shuffle(made)
        for call in made[:done]:
            self._aside()
            self._result(call, f"of {call['id']}")
        return [] if done is None else made[done:]

    def _result(self, call: Record, text: str) -> None:
        content = [{"type": "text", "text": text}]
        self._message("toolResult", content, [("result", call["id"], text)], toolCallId=call["id"], toolName="bash")

    def _turn(self) -> None:
        self._ask()
        for _ in range(self._chance.randrange(3)):
            self._answer(self._chance.choice([1, 1, 3]))
        self._answer(0)
        self._aside()

    def _abort(self, reason: str, text: str) -> None:
        self._message(
            "assistant", [{"type": "text", "text": text}] * bool(text), [], stopReason=reason, errorMessage="!"
        )

    def _interrupt(self) -> None:
        """Interrupt a text, of which a part was there: it is not sent again."""
        self._ask()
        self._abort("aborted", self._chance.choice(["", "It begins"]))
        self._turn()

    def _fail(self) -> None:
        """Let a request fail, and send it again."""
        self._ask()
        self._abort("error", "")
        self._answer(0)
        self._turn()

    def _interrupt_calls(self) -> None:
        """Interrupt calls, of which some have ended."""
        self._ask()
        number = self._chance.choice([1, 3])
        for call in self._answer(number, self._chance.randrange(number)):
            self._result(call, "Command aborted")
        self._abort("aborted", "")
        self._turn()

    def _kill(self) -> None:
        """Kill it while calls run, and go on: results are made up, and not written."""
        self._ask()
        number = self._chance.choice([1, 3])
        for call in self._answer(number, self._chance.randrange(number)):
            self._path[-1][1].append(("result", call["id"], _MADE_UP))
        self._turn()

    def _prompts(self) -> list[int]:
        return [place for place, (entry, _) in enumerate(self._path) if entry.get("message", {}).get("role") == "user"]

    def _rewind(self) -> None:
        """Go back in the tree."""
        place = self._chance.choice([place for place in self._prompts() if place >= self._start()][-3:])
        del self._path[place:]
        self._turn()

    def _start(self) -> int:
        """Return the place after the last compaction."""
        return max((place for place, (entry, _) in enumerate(self._path) if entry["type"] == "compaction"), default=0)

    def _compact(self) -> None:
        """Sum up, and keep the last messages."""
        messages = [place for place, (entry, _) in enumerate(self._path) if entry["type"] == "message"]
        # Results are kept with their calls.
        answers = [place for place in messages if self._path[place][0]["message"]["role"] != "toolResult"]
        first = self._chance.choice([place for place in answers if place >= self._start()][-4:])
        text = f"Summary {self._number}"
        self._entry("compaction", [], summary=text, firstKeptEntryId=self._path[first][0]["id"], tokensBefore=5)
        self._summary, self._kept = [("user", _SUMMARY.format(text))], first
        self._turn()

    def _fork(self) -> None:
        """Go on in a copy."""
        self._open({"parentSession": f"/home/me/{self._file}"})
        for entry, _ in self._path:
            self._write(entry)
        self._turn()
