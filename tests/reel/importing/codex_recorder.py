"""Codex as far as it records a thread: what it writes, and when. It follows version 0.171."""

import json
from collections.abc import Callable
from random import Random
from typing import Any
from uuid import UUID

from tests.adapters.asked_blocks import Block
from tests.reel.importing.recording import Disk, Record, Recorder

_MADE_UP = "No result: the call was interrupted before it was answered."


class Codex(Recorder):
    """A person's work with Codex."""

    tool = "codex"
    api = "openai-responses"

    def __init__(self, session: str, chance: Random, disk: Disk) -> None:
        super().__init__(session, chance, disk)
        # Words are said again and again, unless they are numbered.
        self._words = chance.choice([2, 1000])
        self._base: Record = {}
        self._thread = self._segment = ""
        self._file, self._bytes, self._ordinal = "", 0, 0
        self._said: list[Block] = []
        # Where turns begin: the history that a step back leaves, and how many blocks there are.
        self._turns: list[tuple[Record, int]] = []
        self._open(self._uuid())

    def _acts(self) -> list[Callable[[], None]]:
        ended = [self._interrupt, self._interrupt_calls, self._kill]
        return [self._turn, *ended, self._rewind, self._compact, self._fork]

    # What is written.

    def _uuid(self) -> str:
        self._number += 1
        return str(UUID(int=(sum(map(ord, self._session)) << 64) + self._number))

    def _open(self, thread: str, segment: str = "", **meta: Any) -> None:
        """Begin a file: of a thread, or of one that goes on after a step back."""
        self._thread, self._segment, self._bytes = thread, segment, 0
        end = f"_{segment}" if segment else ""
        self._file = (
            f"2026/08/01/rollout-2026-08-01T10-{self._number // 60 % 60:02}-{self._number % 60:02}-{thread}{end}.jsonl"
        )
        self._line("session_meta", id=thread, cwd="/home/me", cli_version="0.171.0", **meta)

    def _line(self, kind: str, **payload: Any) -> None:
        record = {"timestamp": self._time(), "ordinal": self._ordinal, "type": kind, "payload": payload}
        line = json.dumps(record) + "\n"
        self._ordinal += 1
        self._bytes += len(line)
        self._disk.append(self._file, line)

    def _here(self) -> Record:
        name = self._segment or self._thread
        return {"thread_id": name, "end_ordinal_exclusive": self._ordinal, "end_byte_offset": self._bytes}

    def _event(self, kind: str, **fields: Any) -> None:
        self._line("event_msg", type=kind, **fields)

    def _item(self, kind: str, **fields: Any) -> None:
        self._line("response_item", type=kind, **fields)

    def _message(self, role: str, text: str) -> None:
        self._item("message", role=role, content=[_part(role, text)])
        self._said.append((role, text))
        self._event("item_completed", item={"type": "UserMessage" if role == "user" else "AgentMessage", "id": "i"})

    def _count(self) -> None:
        usage = {"input_tokens": self._number, "output_tokens": 1}
        self._line("token_usage_record", response_id="r")
        self._event("token_count", info={"last_token_usage": usage, "total_token_usage": usage})

    def _word(self, kind: str) -> str:
        return f"{kind} {self._chance.randrange(self._words) if self._words < 9 else self._number}"

    # What happens.

    def _ask(self) -> None:
        self._turns.append((self._here(), len(self._said)))
        self._event("task_started")
        self._line("turn_context", model="gpt-x", cwd="/home/me")
        self._message("user", self._word("Prompt"))

    def _answer(self, calls: int, done: int | None = None) -> list[str]:
        """Let the model answer, and return the calls that have not ended."""
        if self._is(1 / 2):
            thought, secret = self._word("Thought"), f"secret{self._number}"
            summary = [{"type": "summary_text", "text": thought}]
            self._item("reasoning", summary=summary, encrypted_content=secret)
            self._said.append(("thought", thought, secret))
        if self._is(1 / 2) or not calls:
            self._message("assistant", self._word("Answer"))
        made = [self._id("call") for _ in range(calls)]
        for call in made:
            self._item("function_call", name="shell", arguments="{}", call_id=call)
            self._said.append(("call", call, "shell", "{}"))
        self._send(self._said)
        self._count()
        self._chance.shuffle(made)
        for call in made[:done]:
            self._result(call, f"of {call}")
        return [] if done is None else made[done:]

    def _result(self, call: str, text: str) -> None:
        self._item("function_call_output", call_id=call, output=text)
        self._said.append(("result", call, text))

    def _turn(self) -> None:
        self._ask()
        for _ in range(self._chance.randrange(3)):
            self._answer(self._chance.choice([1, 1, 3]))
        self._answer(0)
        self._event("task_complete")

    def _abort(self) -> None:
        self._item("message", role="user", content=[_part("user", "<turn_aborted>")])
        self._said.append(("user", "<turn_aborted>"))
        self._event("turn_aborted")

    def _interrupt(self) -> None:
        """Interrupt a text, of which a part was there."""
        self._ask()
        self._message("assistant", "It begins.")
        self._abort()
        self._turn()

    def _interrupt_calls(self) -> None:
        """Interrupt calls, of which some have ended."""
        self._ask()
        number = self._chance.choice([1, 3])
        for call in self._answer(number, self._chance.randrange(number)):
            self._result(call, "aborted by user")
        self._abort()
        self._turn()

    def _kill(self) -> None:
        """Kill it while calls run, and go on: results are made up, and not written."""
        self._ask()
        number = self._chance.choice([1, 3])
        left = self._answer(number, self._chance.randrange(number))
        self._said += [("result", call, _MADE_UP) for call in left]
        self._turn()

    def _rewind(self) -> None:
        """Take turns back: the thread goes on in another file."""
        place = self._chance.randrange(max(0, len(self._turns) - 3), len(self._turns))
        base, blocks = self._turns[place]
        del self._turns[place:], self._said[blocks:]
        self._ordinal = base["end_ordinal_exclusive"]
        self._open(self._thread, self._uuid(), history_base=base)
        self._turn()

    def _fork(self) -> None:
        """Go on in a thread of its own."""
        base, origin = self._here(), self._thread
        of: Record = {"forked_from_id": origin, "forked_from_ordinal_exclusive": self._ordinal}
        self._open(self._uuid(), history_base=base, **of)
        self._turn()

    def _compact(self) -> None:
        """Sum up: the prompts stay, and a summary."""
        kept = [block[1] for block in self._said if block[0] == "user"][-3:]
        texts = [*kept, f"Summary {self._number}"]
        self._event("task_started")
        history = [{"type": "message", "role": "user", "content": [_part("user", text)]} for text in texts]
        self._line("compacted", message="", replacement_history=history)
        self._event("task_complete")
        self._said, self._turns = [("user", text) for text in texts], []
        self._turn()


def _part(role: str, text: str) -> Record:
    return {"type": "output_text" if role == "assistant" else "input_text", "text": text}
