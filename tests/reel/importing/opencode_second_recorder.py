"""opencode since version 2 as far as it records a session: each message is a row, which has its contents itself."""

import json
import sqlite3
from collections.abc import Callable
from typing import Any

from tests.adapters.asked_blocks import Block
from tests.reel.importing.opencode_recorder import Opencode, blocks_of
from tests.reel.importing.recording import Record

_TABLES = """
CREATE TABLE session_v2 (
    id PRIMARY KEY, parent_id, fork_session_id, fork_boundary, title, directory, revert, time_updated
);
CREATE TABLE session_message (id PRIMARY KEY, session_id, type, seq, time_created, time_updated, data);
"""


class OpencodeSecond(Opencode):
    """A person's work with opencode since version 2."""

    tables = _TABLES
    trees = 0
    leftovers = 0
    beside = (0,)

    # What is written.

    def _put(self, kind: str, record: Record, above: str = "") -> None:
        if kind == "session":
            row = {"id": record["id"], "parent_id": record.get("parentID"), "title": record["title"]}
            row |= {"fork_session_id": record.get("fork"), "fork_boundary": record.get("boundary")}
            row |= {"directory": "/home/me", "revert": json.dumps(record.get("revert"))}
            self._do(_replacing("session_v2", {**row, "time_updated": record["time"]["updated"]}))
        else:
            name = record["id"] if kind == "message" else above
            message, parts = next(one for one in self._messages if one[0]["id"] == name)
            if message["role"] == "user" and not parts:
                return  # it is written with its text
            self._do(_replacing("session_message", self._row(message, parts)))
        self._disk.wrote(self._disk.root / "opencode.db")

    def _row(self, message: Record, parts: list[Record]) -> Record:
        data: Record = {key: message[key] for key in ("time", "finish", "tokens", "error") if key in message}
        if message["role"] == "user":
            data["text"] = parts[0]["text"]
        elif message["role"] == "assistant":
            data["model"] = {"id": "claude-x", "providerID": "anthropic"}
            data["content"] = [_content(part) for part in parts if not part["type"].startswith("step-")]
        else:
            data |= {key: message[key] for key in ("status", "summary", "recent")}
        row = {"id": message["id"], "session_id": self._record["id"], "type": message["role"], "seq": message["seq"]}
        created = message["time"]["created"]
        return {**row, "time_created": created, "time_updated": self._now(), "data": json.dumps(data)}

    def _message(self, role: str, **fields: Any) -> None:
        self._number += 1
        super()._message(role, seq=self._number, **fields)

    def _take_back(self, first: str) -> None:
        ids = [message["id"] for message, _ in self._messages]
        seq = self._messages[ids.index(first)][0]["seq"]
        self._forget(self._messages[ids.index(first) :])
        del self._messages[ids.index(first) :]
        self._record["revert"] = None

        def commit(database: sqlite3.Connection) -> None:
            name = self._record["id"]
            database.execute("DELETE FROM session_message WHERE session_id = ? AND seq >= ?", (name, seq))
            database.execute("UPDATE session_v2 SET revert = NULL, time_updated = ? WHERE id = ?", (self._now(), name))

        self._do(commit)
        self._disk.wrote(self._disk.root / "opencode.db")

    # What happens.

    def _begin_answer(self, **fields: Any) -> None:
        answers = [message for message, _ in self._messages if message["role"] == "assistant"]
        if answers and "completed" not in answers[-1]["time"]:  # it was left
            answers[-1]["time"] = {**answers[-1]["time"], "completed": self._now()}
            self._put("message", answers[-1])
        super()._begin_answer(**fields)

    def _abort(self, _name: str) -> None:
        self._change(error={"type": "unknown", "message": "!"}, finish="error", completed=True)

    def _compact(self) -> None:
        """Sum up: what is kept is in the same message."""
        self._message("compaction", status="running", summary="", recent="")
        self._change(status="completed", summary=f"Summary {self._number}", recent=f"Recent {self._number}")
        self._turn()

    def _kill_compaction(self) -> None:
        """Kill it while it sums up."""
        self._message("compaction", status="running", summary="", recent="Recent")
        self._turn()

    def _fork(self) -> None:
        """Go on in a copy of what has ended, of which the rows have their own ids."""
        origin, messages = self._record["id"], self._messages
        boundary = json.dumps({"type": "after", "messageID": messages[-1][0]["id"]})
        settled = [one for one in messages if one[0]["role"] != "assistant" or "completed" in one[0]["time"]]
        self._open(f"{self._record['title']} (fork #1)", fork=origin, boundary=boundary)
        ident = self._name("msg")
        for message, parts in settled:
            if message.get("status") != "running":
                self._messages.append(({**message, "id": f"{ident}_{message['seq']:06}"}, parts))

        def copy(database: sqlite3.Connection) -> None:
            for message, parts in self._messages:
                _replacing("session_message", self._row(message, parts))(database)

        self._do(copy)
        self._disk.wrote(self._disk.root / "opencode.db")
        self._turn()

    def _conversation(self) -> list[Block]:
        blocks: list[Block] = []
        for message, parts in self._messages:
            if message["role"] != "compaction":
                blocks += blocks_of(message, parts)
            elif message["status"] == "completed":
                blocks = [("user", message["summary"]), ("user", message["recent"])]
        return blocks


def _replacing(table: str, row: Record) -> Callable[[sqlite3.Connection], object]:
    columns, marks = ", ".join(row), ", ".join("?" * len(row))
    return lambda database: database.execute(f"REPLACE INTO {table} ({columns}) VALUES ({marks})", [*row.values()])


def _content(part: Record) -> Record:
    """Return a part as it is in a message."""
    if part["type"] == "text":
        return {"type": "text", "text": part["text"]}
    if part["type"] == "reasoning":
        native = {"native": part["metadata"]["anthropic"]} if "metadata" in part else {}
        return {"type": "reasoning", "text": part["text"], **native}
    state = dict(part["state"])
    match state["status"]:
        case "pending":
            state = {"status": "streaming", "input": ""}
        case "completed":
            state["content"] = [{"type": "text", "text": state.pop("output")}]
        case "error":
            state["error"] = {"type": "unknown", "message": state["error"]}
    return {"type": "tool", "id": part["callID"], "name": "bash", "executed": False, "state": state}
