"""opencode as far as it records a session: what it writes, and when.

It follows version 1.18, with its database, and the earlier ones that had a tree of files.
"""

import json
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from random import Random
from typing import Any

from tests.adapters.asked_blocks import Block
from tests.reel.importing.recording import Disk, Record, Recorder

_MADE_UP = "No result: the call was interrupted before it was answered."
_COMPACTION = "What did we do so far?"
_TABLES = """
CREATE TABLE session (id PRIMARY KEY, parent_id, title, directory, revert, time_updated);
CREATE TABLE message (id PRIMARY KEY, session_id, time_created, time_updated, data);
CREATE TABLE part (id PRIMARY KEY, message_id, session_id, time_updated, data);
"""


class Opencode(Recorder):
    """A person's work with opencode."""

    tool = "opencode"
    api = "anthropic"
    # The database, and how often it was a tree of files instead.
    tables = _TABLES
    trees = 1 / 3
    # How often something was there of what has failed.
    leftovers = 1 / 2
    # How many parts there may be beside a prompt.
    beside: Sequence[int] = (0, 0, 2)

    def __init__(self, session: str, chance: Random, disk: Disk) -> None:
        super().__init__(session, chance, disk)
        self._is_tree = self._is(self.trees)
        # Whether an answer with calls is one message, as it was in the beginning, or one for each step.
        self._has_steps = self._is_tree and self._is(1 / 2)
        # When it was: an answer that was left a minute ago is not waited for.
        self._begin = chance.choice([1_785_000_000_000, time.time_ns() // 1_000_000])
        self._record: Record = {}
        # The messages of the session, with their parts.
        self._messages: list[tuple[Record, list[Record]]] = []
        if not self._is_tree:
            self._do(lambda database: database.executescript(self.tables))
        self._open()

    def _acts(self) -> list[Callable[[], None]]:
        ended = [self._interrupt, self._interrupt_calls, self._kill, self._fail, self._again]
        more = [self._compact, self._kill_compaction, self._fork, self._sub_agent, self._queue, self._rename]
        return [self._turn, *ended, self._rewind, *more]

    # What is written.

    def _do(self, change: Callable[[sqlite3.Connection], object]) -> None:
        with closing(sqlite3.connect(self._disk.root / "opencode.db")) as database, database:
            change(database)

    def _now(self) -> int:
        self._number += 1
        return self._begin + self._number

    def _name(self, kind: str) -> str:
        self._number += 1
        return f"{kind}_{self._session}-{self._number:06}"

    def _put(self, kind: str, record: Record, above: str = "") -> None:
        if self._is_tree:
            path = self._disk.root / "storage" / kind / (above or "global") / f"{record['id']}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(record))
        else:
            path = self._disk.root / "opencode.db"
            row: Record = {"id": record["id"], "time_updated": self._now(), "data": json.dumps(record)}
            if kind == "session":
                updated, revert = record["time"]["updated"], json.dumps(record.get("revert"))
                row = {"parent_id": record.get("parentID"), "title": record["title"], "directory": "/home/me"}
                row |= {"id": record["id"], "revert": revert, "time_updated": updated}
            elif kind == "message":
                row |= {"session_id": above, "time_created": record["time"]["created"]}
            else:
                row |= {"session_id": self._record["id"], "message_id": above}
            columns, marks = ", ".join(row), ", ".join("?" * len(row))
            self._do(
                lambda database: database.execute(f"REPLACE INTO {kind} ({columns}) VALUES ({marks})", [*row.values()])
            )
        self._disk.wrote(path)

    def _remove(self, message: str) -> None:
        if self._is_tree:
            path = self._disk.root / "storage/message" / self._record["id"] / f"{message}.json"
            path.unlink()
            path = path.parent
        else:
            path = self._disk.root / "opencode.db"
            self._do(lambda database: database.execute("DELETE FROM part WHERE message_id = ?", (message,)))
            self._do(lambda database: database.execute("DELETE FROM message WHERE id = ?", (message,)))
        self._messages = [one for one in self._messages if one[0]["id"] != message]
        self._disk.wrote(path)

    def _open(self, title: str = "New session - 2026-08-01T10:00:00.000Z", **fields: Any) -> None:
        now = self._now()
        self._record = {"id": self._name("ses"), "title": title, "directory": "/home/me", **fields}
        self._record["time"] = {"created": now, "updated": now}
        self._messages = []
        self._put("session", self._record)

    def _set(self, **fields: Any) -> None:
        """Change the session."""
        self._record |= {**fields, "time": {**self._record["time"], "updated": self._now()}}
        self._put("session", self._record)

    def _entitle(self, title: str) -> None:
        """Give the session a title: that is not taken for a change."""
        self._record["title"] = title
        self._put("session", self._record)

    def _message(self, role: str, **fields: Any) -> None:
        by = {"modelID": "claude-x", "providerID": "anthropic"} if role == "assistant" else {}
        message = {"id": self._name("msg"), "role": role, "time": {"created": self._now()}, **by, **fields}
        self._messages.append((message, []))
        self._put("message", message, self._record["id"])

    def _change(self, *, completed: bool = False, **fields: Any) -> None:
        """Change the last message."""
        message, _ = self._messages[-1]
        message |= fields
        if completed:
            message["time"] = {**message["time"], "completed": self._now()}
        self._put("message", message, self._record["id"])

    def _part(self, kind: str, **fields: Any) -> Record:
        """Write a part of the last message."""
        message, parts = self._messages[-1]
        parts.append({"id": self._name("prt"), "type": kind, **fields})
        self._put("part", parts[-1], message["id"])
        return parts[-1]

    def _fill(self, part: Record, **fields: Any) -> None:
        """Write a part of the last message again."""
        part |= fields
        self._put("part", part, self._messages[-1][0]["id"])

    def _aside(self) -> None:
        """Write what says nothing, now and then."""
        if self._record["title"].startswith("New session") and self._is(1 / 8):
            self._entitle(f"Title {self._number}")
        while self._is(1 / 8):
            self._set(summary={"files": 0})

    # What happens.

    def _ask(self, text: str = "", **fields: Any) -> None:
        if revert := self._record.get("revert"):
            self._take_back(revert["messageID"])
        self._message("user")
        self._part("text", text=text or f"Prompt {self._number}", **fields)
        for _ in range(self._chance.choice(self.beside)):
            self._part("text", text=f"File {self._number}", synthetic=True)
        self._aside()

    def _take_back(self, first: str) -> None:
        """Delete the messages from one on."""
        taken = [one for one in self._messages if one[0]["id"] >= first]
        self._forget(taken)
        for message, _ in taken:
            self._remove(message["id"])
        self._set(revert=None)

    def _forget(self, messages: list[tuple[Record, list[Record]]]) -> None:
        """Note what is deleted with messages."""
        parts = (part for _, parts in messages for part in parts)
        self.deleted |= {said for part in parts if (said := part.get("callID") or part.get("text"))}

    def _begin_answer(self, **fields: Any) -> None:
        parent = next(message["id"] for message, _ in reversed(self._messages) if message["role"] == "user")
        self._message("assistant", parentID=parent, **fields)

    def _write(self, *, thinks: bool, text: bool, calls: int = 0) -> list[Record]:
        """Begin a step, with words and calls; the words may end after the calls have begun."""
        self._aside()
        self._part("step-start")
        if thinks:
            part = self._part("reasoning", text="")
            self._fill(part, text=f"Thought {self._number}", metadata={"anthropic": {"signature": "c2ln"}})
        made = list[Record]()
        if text:
            part, is_late = self._part("text", text=""), self._is(1 / 2)
            self._fill(part, text="An")
            made = self._call(calls) if is_late else []
            self._fill(part, text=f"Answer {self._number}")
        return made or self._call(calls)

    def _call(self, number: int) -> list[Record]:
        calls = list[Record]()
        for _ in range(number):
            calls.append(
                self._part("tool", callID=self._id("call"), tool="bash", state={"status": "pending", "input": {}})
            )
            if self._is(1 / 2):
                self._run(calls[-1])
        for call in calls:
            self._run(call)
        return calls

    def _run(self, call: Record) -> None:
        if call["state"]["status"] == "pending":
            self._fill(call, state={"status": "running", "input": {"command": "ls"}})

    def _result(self, call: Record) -> None:
        self._fill(call, state={**call["state"], "status": "completed", "output": f"of {call['callID']}"})

    def _step(self, calls: int, done: int | None = None) -> list[Record]:
        """Let the model answer; return the calls that have not ended.

        Args:
            calls: how many calls it makes.
            done: how many of them end, if not all.
        """
        made = self._write(thinks=self._is(1 / 2), text=self._is(1 / 2) or not calls, calls=calls)
        self._sends()
        self._chance.shuffle(made)
        for call in made[:done]:
            self._result(call)
        if done is not None:
            return made[done:]
        self._part("step-finish", reason="tool-calls" if calls else "stop")
        return []

    def _end(self, finish: str) -> None:
        """Let a message end."""
        tokens = {"input": self._number, "output": 1, "reasoning": 0, "cache": {"read": 0, "write": 0}}
        self._change(finish=finish, tokens=tokens)
        self._change(completed=True)
        self._set()

    def _work(self) -> None:
        """Let the model work."""
        self._begin_answer()
        for _ in range(self._chance.randrange(3)):
            self._step(self._chance.choice([1, 1, 3]))
            if not self._has_steps:
                self._end("tool-calls")
                self._begin_answer()
        self._step(0)
        self._end("stop")

    def _turn(self) -> None:
        self._ask()
        self._work()
        self._aside()

    def _queue(self) -> None:
        """Ask something else while calls run."""
        self._ask()
        self._begin_answer()
        answer = len(self._messages) - 1
        left = self._step(3, 1)
        self._message("user")
        self._part("text", text=f"Meanwhile {self._number}")
        prompt = self._messages.pop()
        assert answer + 1 == len(self._messages)
        for call in left:
            self._result(call)
        self._part("step-finish", reason="tool-calls")
        self._end("tool-calls")
        self._messages.append(prompt)
        self._work()

    def _abort(self, name: str) -> None:
        self._change(error={"name": name, "data": {"message": "!"}}, completed=True)

    def _interrupt(self) -> None:
        """Interrupt a text, of which a part was there, or nothing, or only a thought."""
        self._ask()
        self._begin_answer()
        self._write(thinks=self._is(self.leftovers), text=self._is(1 / 2))
        self._abort("MessageAbortedError")
        self._turn()

    def _interrupt_calls(self) -> None:
        """Interrupt calls, of which some have ended, and some have told something."""
        self._ask()
        self._begin_answer()
        number = self._chance.choice([1, 3])
        for call in self._step(number, self._chance.randrange(number)):
            told = {"output": f"begun {call['callID']}"} if self._is(self.leftovers) else {}
            state = {**call["state"], "status": "error", "error": "Tool execution aborted"}
            self._fill(call, state={**state, "metadata": {**told, "interrupted": True}})
        self._abort("MessageAbortedError")
        self._turn()

    def _kill(self) -> None:
        """Kill it anywhere, and go on."""
        self._ask()
        match self._chance.randrange(5):
            case 0:
                pass
            case 1:
                self._begin_answer()
            case 2:
                self._begin_answer()
                self._write(thinks=False, text=False)
                self._part("text", text="")
            case 3:
                self._begin_answer()
                self._write(thinks=False, text=True)
                self._part("tool", callID=self._id("call"), tool="bash", state={"status": "pending", "input": {}})
            case _:
                self._begin_answer()
                number = self._chance.choice([1, 3])
                self._step(number, self._chance.randrange(number + 1))
        if self._is(1 / 3):
            self._ask()
            self._rewind(1)
        else:
            self._turn()

    def _fail(self) -> None:
        """Let a request fail: nothing that was there is sent again."""
        self._ask()
        self._begin_answer()
        if self._is(1 / 2):
            self._write(thinks=self._is(self.leftovers), text=self._is(1 / 2))
        self._abort("APIError")
        self._turn()

    def _again(self) -> None:
        """Let a request fail, and send it again."""
        self._ask()
        self._begin_answer()
        self._part("step-start")
        self._part("text", text="")
        self._step(0)
        self._end("stop")
        self._turn()

    def _rename(self) -> None:
        self._entitle(f"Named {self._number}")

    def _rewind(self, most: int = 3) -> None:
        """Take prompts back, and maybe not."""
        self._disk.look()  # what is taken back is deleted
        prompts = [message["id"] for message, _ in self._messages if message["role"] == "user"]
        self._set(revert={"messageID": self._chance.choice(prompts[-most:]), "snapshot": "0"})
        if self._is(1 / 3):
            self._set(revert=None)
        self._turn()

    def _begin_compaction(self, **fields: Any) -> Record:
        self._message("user")
        compaction = self._part("compaction", **fields)
        self._begin_answer(summary=True)
        return compaction

    def _compact(self) -> None:
        """Sum up, and keep the last messages or none."""
        chosen = [message for message, parts in _compacted(self._messages) if not _is_of_compaction(message, parts)]
        tail = self._chance.choice([None, *chosen[1:][-4:]])
        is_auto = self._is(1 / 2)
        compaction = self._begin_compaction(auto=is_auto)
        self._write(thinks=False, text=True)
        self._part("step-finish", reason="stop")
        self._end("stop")
        if tail is not None:
            place = next(place for place, one in enumerate(self._messages) if compaction in one[1])
            compaction["tail_start_id"] = tail["id"]
            self._put("part", compaction, self._messages[place][0]["id"])
        if is_auto:
            self._ask("Continue if you have next steps.", synthetic=True)
            self._work()
        else:
            self._turn()

    def _kill_compaction(self) -> None:
        """Kill it while it sums up: the next prompt is answered with a summary, which is nothing but an answer."""
        self._begin_compaction(auto=False)
        self._write(thinks=False, text=self._is(1 / 2))
        self._ask()
        self._begin_answer(summary=True)
        self._write(thinks=False, text=True)
        self._part("step-finish", reason="stop")
        self._end("stop")
        self._turn()

    def _fork(self) -> None:
        """Go on in a copy, of which the records have their own ids."""
        messages = self._messages
        self._open(f"{self._record['title']} (fork #1)")
        ids: dict[str, str] = {}
        for message, parts in messages:
            ids[message["id"]] = self._name("msg")
            parent = {"parentID": ids[message["parentID"]]} if "parentID" in message else {}
            self._messages.append(({**message, "id": ids[message["id"]], **parent}, []))
            self._put("message", self._messages[-1][0], self._record["id"])
            for part in parts:
                tail = {"tail_start_id": ids[part["tail_start_id"]]} if "tail_start_id" in part else {}
                fields = {key: value for key, value in part.items() if key not in ("id", "type")}
                self._part(part["type"], **{**fields, **tail})
        self._turn()

    def _sub_agent(self) -> None:
        """Let another agent work on a call, in a session of its own."""
        self._ask()
        self._begin_answer()
        (call,) = self._step(1, 0)
        record, messages = self._record, self._messages
        self._open("Look at it (@general subagent)", parentID=record["id"])
        self._ask()
        self._work()
        self._record, self._messages = record, messages
        self._result(call)
        self._part("step-finish", reason="tool-calls")
        self._end("tool-calls")
        self._work()

    def _sends(self) -> None:
        """Note what the model was sent, and answered; calls may have ended already."""
        blocks = self._conversation()
        while blocks[-1][0] == "result":
            blocks.pop()
        self._send(blocks)

    def _conversation(self) -> list[Block]:
        """Return what the model gets."""
        sent = [message for message in _compacted(self._messages) if not _is_dropped(*message)]
        return [block for message in sent for block in blocks_of(*message)]


def _is_of_compaction(message: Record, parts: list[Record]) -> bool:
    return bool(message.get("summary")) or any(part["type"] == "compaction" for part in parts)


def _compacted(messages: list[tuple[Record, list[Record]]]) -> list[tuple[Record, list[Record]]]:
    """Return the messages that are sent: from the last summary on, and what is kept beside it, which comes after it."""
    for place in reversed(range(len(messages) - 1)):
        (prompt, parts), (summary, _) = messages[place : place + 2]
        compactions = [part for part in parts if part["type"] == "compaction"]
        if compactions and summary.get("finish") and summary["parentID"] == prompt["id"]:
            ids = [message["id"] for message, _ in messages]
            tail = compactions[0].get("tail_start_id")
            kept = messages[ids.index(tail) : place] if tail in ids else []
            return [*messages[place : place + 2], *kept, *messages[place + 2 :]]
    return messages


def _is_dropped(message: Record, parts: list[Record]) -> bool:
    error = message.get("error", {}).get("name")
    says = any(part["type"] not in ("step-start", "reasoning") for part in parts)
    return bool(error) and not (error == "MessageAbortedError" and says)


def blocks_of(message: Record, parts: list[Record]) -> list[Block]:
    """Return a message as the model gets it."""
    blocks: list[Block] = []
    results: list[Block] = []
    for part in parts:
        if part["type"] == "step-start":
            blocks, results = [*blocks, *results], []
        elif part["type"] == "compaction":
            blocks.append(("user", _COMPACTION))
        elif part["type"] == "text" and part["text"]:
            blocks.append((message["role"], part["text"]))
        elif part["type"] == "reasoning":
            blocks.append(("thought", part["text"], part["metadata"]["anthropic"]["signature"]))
        elif part["type"] == "tool":
            state = part["state"]
            blocks.append(("call", part["callID"], "bash", json.dumps(state["input"])))
            told = state.get("metadata", {}).get("output")
            results.append(("result", part["callID"], told or state.get("output") or state.get("error") or _MADE_UP))
    return [*blocks, *results]
