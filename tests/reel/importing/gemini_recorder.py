"""Gemini CLI as far as it records a session: what its ``ChatRecordingService`` and ``GeminiChat`` write, and when.

It follows version 0.61.
"""

import json
from collections.abc import Callable
from random import Random
from typing import Any

from tests.adapters.asked_blocks import Block
from tests.reel.importing.recording import Disk, Record, Recorder

_CONTEXT = {"id": "context", "role": "user", "parts": [{"text": "<session_context>"}]}
_INTERRUPTED = "[The previous response was interrupted before it completed.]"


class GeminiCli(Recorder):
    """A person's work with Gemini CLI."""

    tool = "gemini-cli"
    api = "gemini"

    def __init__(self, session: str, chance: Random, disk: Disk) -> None:
        super().__init__(session, chance, disk)
        # The lines of each file of the session, and the number of the one that is being written.
        self._files: list[list[str]] = []
        self._file = 0
        # The messages as they are recorded, and as the model gets them: each with an id, a role and parts.
        self._recorded: list[Record] = []
        self._history: list[Record] = []
        self._thoughts: list[Record] = []
        self._prompt = 0
        self._begin(is_other_file=True)

    def _acts(self) -> list[Callable[[], None]]:
        return [self._turn, self._interrupt, self._kill, self._early, self._rewind, self._compact]

    # What is written.

    def _append(self, record: Record) -> None:
        line = json.dumps(record) + "\n"
        self._files[self._file].append(line)
        self._disk.append(f"session-{self._file}.jsonl", line)

    def _begin(self, *, is_other_file: bool) -> None:
        """Begin a session: it has nothing but its context yet."""
        if is_other_file:
            self._file = len(self._files)
            self._files.append([])
        self._append({"sessionId": self._session, "projectHash": "0" * 64, "kind": "main"})
        self._recorded, self._history, self._thoughts = [], [_CONTEXT], []
        self._record_history()

    def _load(self) -> list[Record]:
        """Return the messages in the file: a later one with the same id has the place of the first one."""
        found: dict[str, Record] = {}
        for record in map(json.loads, self._files[self._file]):
            if "$rewindTo" in record:
                ids = [*found]
                for name in ids[ids.index(record["$rewindTo"]) :]:
                    del found[name]
            elif "id" in record:
                found[record["id"]] = record
            elif "messages" in record.get("$set", {}):
                found = {message["id"]: message for message in record["$set"]["messages"]}
        return [*found.values()]

    def _push(self, message: Record) -> None:
        self._append(message)
        ids = [one["id"] for one in self._recorded]
        place = ids.index(message["id"]) if message["id"] in ids else len(ids)
        self._recorded[place : place + 1] = [message]

    def _record(self, kind: str, content: Any) -> str:
        message = {"id": self._id(kind), "type": kind, "content": content}
        if kind == "gemini":
            message["thoughts"], self._thoughts = self._thoughts, []
        self._push(message)
        return str(message["id"])

    def _note(self) -> None:
        """Show something to the person, now and then."""
        if self._is(1 / 10):
            self._record(self._chance.choice(["info", "warning", "error"]), "Something")

    def _record_calls(self, calls: list[Record]) -> None:
        """Record calls that have ended: with the last message, if that is an answer."""
        last = self._recorded[-1]
        if last["type"] == "gemini":
            self._push({**last, "toolCalls": [*last.get("toolCalls", []), *calls]})
        else:
            self._push({"id": self._id("gemini"), "type": "gemini", "content": "", "toolCalls": calls})

    def _record_history(self) -> None:
        """Write the conversation again, if what is recorded is not as the model gets it."""
        recorded = {message["id"]: message for message in self._recorded}
        types = {"user": "user", "model": "gemini"}
        now = [
            {**recorded.get(turn["id"], {"id": turn["id"], "type": types[turn["role"]]}), "content": turn["parts"]}
            for turn in self._history
        ]
        if now != self._recorded:
            self._recorded = now
            self._append({"$set": {"messages": now}})

    # What happens.

    def _ask(self) -> None:
        last = self._history[-1] if self._history else {"parts": []}
        if any("functionResponse" in part for part in last["parts"]):
            self._history.append({"id": self._id("closing"), "role": "model", "parts": [{"text": _INTERRUPTED}]})
        self._prompt = len(self._history)
        self._note()
        parts = [{"text": f"Prompt {self._number}"}]
        self._history.append({"id": self._record("user", parts), "role": "user", "parts": parts})

    def _answer(self, calls: int) -> list[Record]:
        """Let the model answer, and return its calls."""
        text = self._chance.choice(["", "I look."]) if calls else f"Answer {self._number}"
        self._thoughts = self._chance.choice([[], [{"subject": "A look", "description": "at it"}]])
        name = self._record("gemini", text)
        made = [{"id": self._id("call"), "name": "ls", "args": {"path": "."}} for _ in range(calls)]
        parts = [{"text": text}] * bool(text) + [{"functionCall": call} for call in made]
        self._history.append({"id": name, "role": "model", "parts": parts})
        # A session that is resumed sends some results twice.
        self._send([block for turn in self._history for part in turn["parts"] for block in _blocks(turn, part)])
        return made

    def _end(self, calls: list[Record]) -> None:
        """Let calls end, and send their results."""
        self._note()
        results = [
            {"functionResponse": {"id": call["id"], "name": "ls", "response": {"output": f"of {call['id']}"}}}
            for call in calls
        ]
        self._record_calls([{**call, "result": [result]} for call, result in zip(calls, results, strict=True)])
        self._note()
        self._history.append({"id": self._record("user", results), "role": "user", "parts": results})

    def _turn(self) -> None:
        self._ask()
        for _ in range(self._chance.randrange(3)):
            self._end(self._answer(self._chance.choice([1, 1, 3])))
        self._answer(0)
        self._note()

    def _interrupt(self) -> None:
        """Interrupt an answer: its prompt is taken back."""
        self._ask()
        self._end(self._answer(1))
        del self._history[self._prompt :]
        self._record_history()
        self._turn()

    def _resume(self) -> None:
        self._recorded = self._load()
        self._history = [_CONTEXT, *_history_of(self._recorded)]
        self._append({"$set": {"sessionId": self._session}})
        self._record_history()

    def _kill(self) -> None:
        """Kill it in the middle of an answer, and go on; a session without a conversation is begun in between."""
        self._ask()
        self._end(self._answer(self._chance.choice([1, 3])))
        file = self._file
        self._begin(is_other_file=self._is(1 / 2))
        self._file = file
        self._resume()
        self._turn()

    def _early(self) -> None:
        """Ask before the session that is resumed is loaded, and go on in either file."""
        file = self._file
        self._begin(is_other_file=self._is(1 / 2))
        self._turn()
        self._file = self._chance.choice([file, self._file])
        self._resume()
        self._turn()

    def _rewind(self) -> None:
        """Take the last prompt back."""
        self._turn()
        name = self._history[self._prompt]["id"]
        ids = [message["id"] for message in self._recorded]
        del self._recorded[ids.index(name) :]
        self._append({"$rewindTo": name})
        self._history = _history_of(self._recorded)
        self._record_history()
        self._turn()

    def _compact(self) -> None:
        """Sum up, and keep the last turn or nothing."""
        kept = self._chance.choice([self._history[self._prompt :], []])
        summary = {"id": self._id("summary"), "role": "user", "parts": [{"text": f"Summary {self._number}"}]}
        reply = {"id": self._id("reply"), "role": "model", "parts": [{"text": "Got it."}]}
        self._recorded = self._load()
        self._append({"$set": {"sessionId": self._session}})
        self._history = [_CONTEXT, summary, reply, *kept]
        self._record_history()
        self._append({"id": self._id("info"), "type": "info", "content": ""})  # by what recorded before
        self._turn()


def _history_of(recorded: list[Record]) -> list[Record]:
    """Return a recorded conversation as the model gets it."""
    history: list[Record] = []
    for message in recorded:
        content, calls = message["content"], message.get("toolCalls", [])
        parts = content if type(content) is list else [{"text": content}] * bool(content)
        if message["type"] == "user" and message["id"] != _CONTEXT["id"]:
            history.append({"id": message["id"], "role": "user", "parts": parts})
        elif message["type"] == "gemini":
            if not any("functionCall" in part or "thought" in part for part in parts):
                thoughts = [
                    {"text": f"**{thought['subject']}** {thought['description']}", "thought": True}
                    for thought in message.get("thoughts", [])
                ]
                own = [{"functionCall": {key: call[key] for key in ("id", "name", "args")}} for call in calls]
                parts = [*thoughts, *parts, *own]
            results = [part for call in calls for part in call["result"]]
            history += [{"id": message["id"], "role": "model", "parts": parts}] * bool(parts)
            history += [{"id": f"{message['id']}_response", "role": "user", "parts": results}] * bool(results)
    return history


def _blocks(turn: Record, part: Record) -> list[Block]:
    """Return a part as the model gets it."""
    if "functionCall" in part:
        call = part["functionCall"]
        return [("call", call["id"], call["name"], json.dumps(call["args"]))]
    if "functionResponse" in part:
        return [("result", part["functionResponse"]["id"], json.dumps(part["functionResponse"]["response"]))]
    if "thought" in part or part["text"] in (_INTERRUPTED, "<session_context>"):
        return []
    return [("assistant" if turn["role"] == "model" else "user", part["text"])]
