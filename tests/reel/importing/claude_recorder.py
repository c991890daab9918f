"""Claude Code as far as it records a session: what it writes, and when.

It follows version 2.1.332, as it is on lines and on a screen; where older versions differ, a session is one of theirs.
"""

import json
from collections.abc import Callable
from random import Random
from typing import Any

from tests.adapters.asked_blocks import Block
from tests.reel.importing.recording import Disk, Record, Recorder

_NO_RESPONSE = "No response requested."


class ClaudeCode(Recorder):
    """A person's work with Claude Code."""

    tool = "claude-code"
    api = "anthropic"

    def __init__(self, session: str, chance: Random, disk: Disk) -> None:
        super().__init__(session, chance, disk)
        self._file, self._id_of_session = "", ""
        # Whether results are written before their calls, and calls are run before the answer has ended.
        self._is_hasty, self._runs_early = self._is(1 / 5), self._is(1 / 3)
        # A call whose result is written before it.
        self._is_late, self._late = False, list[Record]()
        # The records that lead to the end, the end, and what the model gets.
        self._chain: list[Record] = []
        self._last: str | None = None
        self._said: list[Block] = []
        # Where prompts begin: the records and the blocks before them.
        self._prompts: list[tuple[int, int]] = []
        self._prompt_id, self._kept = "", ""
        self._open()

    def _acts(self) -> list[Callable[[], None]]:
        ended = [self._interrupt, self._interrupt_calls, self._kill, self._fail, self._again]
        return [self._turn, *ended, self._rewind, self._compact, self._fork, self._branch, self._move, self._sub_agent]

    # What is written.

    def _open(self) -> None:
        """Begin the file of another session."""
        self._number += 1
        self._id_of_session = f"{self._number:08}-0000-4000-8000-{sum(map(ord, self._session)):012}"
        self._file = f"-home-me/{self._id_of_session}.jsonl"

    def _write(self, record: Record, file: str = "") -> None:
        self._disk.append(file or self._file, json.dumps(record) + "\n")

    def _made(self, kind: str, parent: str | None, **fields: Any) -> Record:
        return {
            "parentUuid": parent,
            "isSidechain": False,
            "type": kind,
            "uuid": self._id(kind[:1]),
            "timestamp": self._time(),
            "sessionId": self._id_of_session,
            "cwd": "/home/me",
            "version": "2.1.332",
            **fields,
        }

    def _add(self, kind: str, *, after: str | None = "", **fields: Any) -> str:
        """Write a record of the chain, after the last one unless another one is named."""
        made = self._made(kind, self._last if after == "" else after, **fields)
        # In memory, and in a copy, it follows what a compaction has kept; in the file, the summary.
        self._chain.append({**made, "parentUuid": self._kept} if self._kept else made)
        self._kept = ""
        self._last = made["uuid"]
        if self._is_late:
            self._late.append(made)
        else:
            self._write(made)
        return self._last

    def _write_late(self) -> None:
        late, self._late = self._late, []
        for record in late:
            self._write(record)

    def _aside(self) -> None:
        """Write what says nothing, now and then: beside the chain, or as a part of it."""
        while self._is(1 / 4):
            beside = ["queue-operation", "last-prompt", "mode", "atis-latch", "api-request"]
            within = ["attachment", "system", "progress"] if self._last else []  # a prompt is the first of a chain
            if (kind := self._chance.choice([*beside, *within])) in beside:
                self._write({"type": kind, "sessionId": self._id_of_session, "timestamp": self._time()})
            elif kind == "attachment":
                self._add(kind, attachment={"type": self._chance.choice(["deferred_tools_delta", "date"])})
            else:
                self._add(kind, subtype="turn_duration", data={"type": "hook_progress"})

    def _user(self, content: Any, **fields: Any) -> None:
        self._add("user", message={"role": "user", "content": content}, promptId=self._prompt_id, **fields)
        blocks = [{"text": content}] if type(content) is str else content
        self._said += [("user", block["text"]) for block in blocks]

    def _block(self, answer: str, block: Record, after: str | None = "") -> str:
        """Write a block of an answer."""
        message = {"id": answer, "type": "message", "role": "assistant", "model": "claude-x", "content": [block]}
        return self._add("assistant", after=after, message=message)

    def _result(self, call: Record, after: str, text: str, *, is_error: bool = False) -> None:
        block = {"type": "tool_result", "tool_use_id": call["id"], "content": text, "is_error": is_error}
        message = {"role": "user", "content": [block]}
        self._add("user", after=after, message=message, promptId=self._prompt_id, toolUseResult=text)
        self._said.append(("result", call["id"], text))
        self._write_late()

    # What happens.

    def _ask(self) -> None:
        self._aside()
        self._prompts.append((len(self._chain), len(self._said)))
        self._prompt_id = self._id("prompt")
        self._user(f"Prompt {self._number}")
        self._aside()

    def _answer(self, calls: int, done: int | None = None) -> list[tuple[Record, str]]:
        """Let the model answer; return the calls that run, each with its record.

        Args:
            calls: how many calls it makes.
            done: how many of them end; all if it is not said.
        """
        answer, rest = self._id("msg"), self._chance.choice([["thinking"], ["text"], ["thinking", "text"], []])
        told: list[Block] = []
        if "thinking" in rest:
            thought = f"Thought {self._number}"
            self._block(answer, {"type": "thinking", "thinking": thought, "signature": "c2ln"})
            told.append(("thought", thought, "c2ln"))
        if "text" in rest or not calls:
            text = f"Answer {self._number}"
            self._block(answer, {"type": "text", "text": text})
            told.append(("assistant", text))
        running: list[tuple[Record, str]] = []
        made = [{"type": "tool_use", "id": self._id("call"), "name": "Bash", "input": {}} for _ in range(calls)]
        told += [("call", call["id"], "Bash", "{}") for call in made]
        self._said += told
        self._send(self._said)
        last = self._last
        ends = calls if done is None else done
        for call in made:
            self._is_late = self._is_hasty and call is made[-1]
            last = self._block(answer, call, after=last)
            self._is_late = False
            if self._runs_early and ends and self._is(1 / 2):
                ends -= 1
                self._result(call, last, f"of {call['id']}")
            else:
                running.append((call, last))
        self._chance.shuffle(running)
        for call, record in running[:ends]:
            self._aside()
            self._result(call, record, f"of {call['id']}")
        self._write_late()
        return running[ends:]

    def _turn(self) -> None:
        self._ask()
        for _ in range(self._chance.randrange(3)):
            self._answer(self._chance.choice([1, 1, 3]))
            self._aside()
            if self._is(1 / 5):
                self._queued()
        self._answer(0)
        self._aside()

    def _queued(self) -> None:
        """Send what was typed meanwhile."""
        self._add("attachment", attachment={"type": "queued_command", "prompt": f"Meanwhile {self._number}"})
        self._said.append(("user", f"Meanwhile {self._number - 2}"))

    def _interrupt(self) -> None:
        """Interrupt a text."""
        self._ask()
        if self._is(1 / 2):
            self._answer(1)
        self._user([{"type": "text", "text": "[Request interrupted by user]"}])
        self._turn()

    def _interrupt_calls(self) -> None:
        """Interrupt calls, of which some have ended."""
        self._ask()
        number = self._chance.choice([1, 3])
        for call, record in self._answer(number, self._chance.randrange(number)):
            self._result(call, record, "The user does not want it.", is_error=True)
        self._user([{"type": "text", "text": "[Request interrupted by user for tool use]"}])
        self._turn()

    def _kill(self) -> None:
        """Kill it while calls run, or a text is written, and go on."""
        self._ask()
        number = self._chance.choice([0, 1, 3])
        left = self._answer(number, self._chance.randrange(number)) if number else []
        self._prompt_id = self._id("prompt")
        for call, record in left:
            self._result(call, record, "The tool was interrupted.", is_error=True)
        message = {"id": self._id("none"), "role": "assistant", "model": "<synthetic>"}
        self._add("assistant", message={**message, "content": [{"type": "text", "text": _NO_RESPONSE}]})
        self._said.append(("assistant", _NO_RESPONSE))
        self._turn()

    def _fail(self) -> None:
        """Let a request fail: it is sent again, or the turn ends with the error."""
        self._ask()
        if self._is(1 / 2):
            self._add("system", subtype="api_error", level="error")
            self._answer(0)
        else:
            message = {"id": self._id("error"), "role": "assistant", "model": "<synthetic>"}
            text = {"type": "text", "text": "API Error: 500"}
            self._add("assistant", message={**message, "content": [text]}, isApiErrorMessage=True)
        self._turn()

    def _again(self) -> None:
        """Break an answer off, and ask for it again: what was written of it is taken out of the file."""
        self._ask()
        chain, last, said = len(self._chain), self._last, len(self._said)
        answer = self._id("msg")
        for kind in self._chance.choice([["thinking"], ["thinking", "text"]]):
            self._block(answer, {"type": kind, kind: "I begin"})
        removed, self._chain = self._chain[chain:], self._chain[:chain]
        for record in removed:
            self._disk.take_out(self._file, json.dumps(record) + "\n")
        self._last, self._said = last, self._said[:said]
        self._answer(0)
        self._turn()

    def _rewind(self) -> None:
        """Take prompts back."""
        records, blocks = self._chance.choice(self._prompts[-3:])
        self._prompts = [one for one in self._prompts if one[0] < records]
        self._chain, self._said = self._chain[:records], self._said[:blocks]
        self._last = self._chain[-1]["uuid"] if self._chain else None
        self._turn()

    def _compact(self) -> None:
        """Sum up, and keep the last messages or none."""
        boundary, trigger = self._id("boundary"), self._chance.choice(["auto", "manual"])
        # A turn is kept, or the answer at its end.
        kept, blocks = self._prompts[-1] if self._is(1 / 2) else (len(self._chain), len(self._said))
        preserved = self._chain[kept:]
        uuids = [one["uuid"] for one in preserved if one["type"] != "progress"]
        text, summary = f"Summary {self._number}", self._id("summary")
        details: Record = {"trigger": trigger, "preTokens": 5}
        if uuids:
            details["preservedSegment"] = {"headUuid": uuids[0], "anchorUuid": summary, "tailUuid": uuids[-1]}
            details["preservedMessages"] = {"anchorUuid": summary, "uuids": uuids}
        last, self._chain = self._last, []
        self._add(
            "system",
            after=None,
            uuid=boundary,
            subtype="compact_boundary",
            content="Conversation compacted",
            logicalParentUuid=last,
            compactMetadata=details,
        )
        self._add("user", uuid=summary, isCompactSummary=True, message={"role": "user", "content": text})
        if preserved:
            self._chain += [{**preserved[0], "parentUuid": summary}, *preserved[1:]]
            self._kept = preserved[-1]["uuid"]
        self._said, self._prompts = [("user", text), *self._said[blocks:]], []
        if trigger == "manual":
            self._user("<command-name>/compact</command-name>")
            self._user("<local-command-stdout>Compacted</local-command-stdout>")
        self._turn()

    def _copy(self, **fields: Any) -> None:
        """Write the chain to another file."""
        self._open()
        self._write({"type": "mode", "sessionId": self._id_of_session})
        self._write({"type": "queue-operation", "sessionId": self._id_of_session, "timestamp": self._time()})
        copied, self._chain = self._chain, []
        self._prompt_id = self._id("prompt")
        for record in copied:
            more = {name: make(record) for name, make in fields.items()}
            prompt = {"promptId": self._prompt_id} if "promptId" in record and not more else {}
            self._chain.append({**record, **prompt, "sessionId": self._id_of_session, **more})
            self._write(self._chain[-1])

    def _fork(self) -> None:
        """Go on in a copy."""
        self._copy()
        self._turn()

    def _branch(self) -> None:
        """Go on in a copy whose records name the session."""
        origin = self._id_of_session
        self._copy(forkedFrom=lambda record: {"sessionId": origin, "messageUuid": record["uuid"]})
        self._turn()

    def _move(self) -> None:
        """Go on in another directory, with a file of the same name there."""
        self._file = f"-home-me-{self._id('tree')}/{self._id_of_session}.jsonl"
        self._turn()

    def _sub_agent(self) -> None:
        """Let another agent work on a call, with a file of its own."""
        self._ask()
        chain, last, said, file = self._chain, self._last, self._said, self._file
        name = self._id("a")
        self._file = f"{self._file.removesuffix('.jsonl')}/subagents/agent-{name}.jsonl"
        self._chain, self._last, self._said = [], None, []
        self._user(f"Task {self._number}")
        self._answer(self._chance.choice([1, 3]))
        self._answer(0)
        self._chain, self._last, self._said, self._file = chain, last, said, file
        self._answer(1)
        self._answer(0)
