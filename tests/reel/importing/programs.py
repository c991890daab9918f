"""Histories with the tables that the programs create, written turn by turn as the programs do, for tests.

A turn is a prompt, a call with its result, and an answer: four messages.
"""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from .chats import Lines, made_call, part

# Writes the history of a conversation with so many turns, and returns its path.
Write: TypeAlias = Callable[[Path, str, int], Path]
_TIME = 1_785_578_400_000
_DATE = "2026-08-01T10:00:00"

_OPENCODE_SESSION = (
    "id text PRIMARY KEY, project_id text NOT NULL, workspace_id text, parent_id text, {fork} slug text NOT NULL,"
    " directory text NOT NULL, path text, title text NOT NULL, version text NOT NULL, share_url text,"
    " summary_additions integer, summary_diffs text, metadata text, cost real DEFAULT 0 NOT NULL,"
    " tokens_input integer DEFAULT 0 NOT NULL, revert text, permission text, agent text, model text,"
    " time_created integer NOT NULL, time_updated integer NOT NULL, time_compacting integer, time_archived integer"
)
_OPENCODE_MESSAGE = (
    "CREATE TABLE session_message (id text PRIMARY KEY, session_id text NOT NULL, type text NOT NULL,"
    " seq integer NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);"
    "CREATE UNIQUE INDEX session_message_session_seq_idx ON session_message (session_id, seq);"
)
_OPENCODE_FIRST = (
    "CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL,"
    " time_updated integer NOT NULL, data text NOT NULL);"
    "CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,"
    " time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);"
)
_LLM_OLD = (
    "CREATE TABLE conversations (id TEXT PRIMARY KEY, name TEXT, model TEXT);"
    "CREATE TABLE responses (id TEXT PRIMARY KEY, model TEXT, prompt TEXT, system TEXT, prompt_json TEXT,"
    " options_json TEXT, response TEXT, response_json TEXT, conversation_id TEXT REFERENCES conversations(id),"
    " duration_ms INTEGER, datetime_utc TEXT, input_tokens INTEGER, output_tokens INTEGER, token_details TEXT,"
    " schema_id TEXT, resolved_model TEXT, reasoning TEXT);"
    "CREATE TABLE tool_calls (id INTEGER PRIMARY KEY, response_id TEXT REFERENCES responses(id), tool_id INTEGER,"
    " name TEXT, arguments TEXT, tool_call_id TEXT);"
    "CREATE TABLE tool_results (id INTEGER PRIMARY KEY, response_id TEXT REFERENCES responses(id), tool_id INTEGER,"
    " name TEXT, output TEXT, tool_call_id TEXT, instance_id INTEGER, exception TEXT);"
    "CREATE TABLE attachments (id TEXT PRIMARY KEY, type TEXT, path TEXT, url TEXT, content BLOB);"
    'CREATE TABLE prompt_attachments (response_id TEXT, attachment_id TEXT, "order" INTEGER);'
    "CREATE TABLE fragments (id INTEGER PRIMARY KEY, hash TEXT, content TEXT, datetime_utc TEXT, source TEXT);"
    'CREATE TABLE prompt_fragments (response_id TEXT, fragment_id INTEGER, "order" INTEGER);'
)
_LLM_NEW = (
    "CREATE TABLE messages (hash TEXT PRIMARY KEY, parent_hash TEXT REFERENCES messages(hash), role TEXT,"
    " provider_metadata TEXT);"
    "CREATE TABLE parts (id INTEGER PRIMARY KEY, message_hash TEXT REFERENCES messages(hash), position INTEGER,"
    " type TEXT, tool_name TEXT, text TEXT, payload TEXT);"
    "CREATE TABLE threads (id TEXT PRIMARY KEY, name TEXT, tip_message_hash TEXT REFERENCES messages(hash),"
    " forked_from TEXT REFERENCES threads(id), datetime_utc TEXT);"
    "CREATE TABLE turns (id TEXT PRIMARY KEY, thread_id TEXT REFERENCES threads(id), parent_message_hash TEXT,"
    " tip_message_hash TEXT, model TEXT, resolved_model TEXT, options_json TEXT, schema_id TEXT,"
    " input_tokens INTEGER, output_tokens INTEGER, token_details TEXT, duration_ms INTEGER, datetime_utc TEXT,"
    " response_json TEXT);"
)
_AGENTS = (
    "CREATE TABLE agent_sessions (session_id TEXT PRIMARY KEY, created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,"
    " updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);"
    "CREATE TABLE agent_messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL,"
    " message_data TEXT NOT NULL, created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,"
    " FOREIGN KEY (session_id) REFERENCES agent_sessions (session_id) ON DELETE CASCADE);"
    "CREATE INDEX idx_agent_messages_session_id ON agent_messages (session_id, id);"
)


def _database(path: Path, tables: str) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    database = sqlite3.connect(path)
    database.executescript(f"PRAGMA journal_mode = WAL; {tables}")
    return database


def _insert(database: sqlite3.Connection, table: str, **row: Any) -> None:
    values = [json.dumps(value) if isinstance(value, dict | list) else value for value in row.values()]
    places = ", ".join("?" * len(row))
    database.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({places})", values)


def _save(database: sqlite3.Connection) -> None:
    database.commit()
    database.close()


def _opencode(path: Path, name: str, tables: str, table: str, fork: str) -> sqlite3.Connection:
    database = _database(path, f"CREATE TABLE {table} ({_OPENCODE_SESSION.format(fork=fork)}); {tables}")
    where = {"directory": "/home/me/deck", "title": "Tapes", "version": "1.15.10"}
    times = {"time_created": _TIME, "time_updated": _TIME}
    _insert(database, table, id=f"ses_{name}", project_id="global", slug="quiet-tape", **where, **times)
    return database


def opencode(directory: Path, name: str, turns: int) -> Path:
    """Write a database of opencode, version 1."""
    database = _opencode(directory / "opencode.db", name, _OPENCODE_FIRST, "session", "")
    number = 0

    def add(message: dict[str, Any], *parts: dict[str, Any]) -> None:
        nonlocal number
        number += 1
        times = {"time_created": _TIME + number, "time_updated": _TIME + number}
        ids = {"session_id": f"ses_{name}"}
        _insert(database, "message", id=f"msg_{number:03}", **ids, **times, data=message)
        for place, found in enumerate(parts):
            below = {"id": f"prt_{number:03}{place}", "message_id": f"msg_{number:03}", **ids}
            _insert(database, "part", **below, **times, data=found)

    made = {"role": "assistant", "modelID": "m1", "providerID": "anthropic", "mode": "build", "cost": 0}
    made |= {"time": {"created": _TIME, "completed": _TIME + 9}, "tokens": {"input": 3, "output": 2}}
    state = {"status": "completed", "input": {"path": "."}, "output": "x.py", "title": "ls", "metadata": {}}
    for turn in range(turns):
        add({"role": "user", "time": {"created": _TIME}, "agent": "build"}, {"type": "text", "text": f"Ask {turn}"})
        call = {"type": "tool", "callID": f"c{turn}", "tool": "ls", "state": state}
        add(made, {"type": "step-start"}, call, {"type": "step-finish", "reason": "tool-calls", "cost": 0})
        add(made, {"type": "step-start"}, {"type": "text", "text": f"Answer {turn}"}, {"type": "step-finish"})
    _save(database)
    return directory


def opencode_2(directory: Path, name: str, turns: int) -> Path:
    """Write a database of opencode, version 2."""
    fork = "fork_session_id text, fork_boundary text,"
    database = _opencode(directory / "opencode.db", name, _OPENCODE_MESSAGE, "session_v2", fork)
    number = 0

    def add(kind: str, **message: Any) -> None:
        nonlocal number
        number += 1
        data = {"time": {"created": _TIME + number, "completed": _TIME + number}, **message}
        times = {"time_created": _TIME + number, "time_updated": _TIME + number}
        ids = {"id": f"msg_{name}{number}", "session_id": f"ses_{name}", "seq": number}
        _insert(database, "session_message", type=kind, **ids, **times, data=data)

    made = {"agent": "build", "model": {"id": "m1", "providerID": "anthropic"}, "cost": 0}
    state = {"status": "completed", "input": {"path": "."}, "content": [{"type": "text", "text": "x.py"}]}
    for turn in range(turns):
        add("user", text=f"Ask {turn}")
        add("assistant", **made, content=[{"type": "tool", "id": f"c{turn}", "name": "ls", "state": state}])
        add("assistant", **made, content=[{"type": "text", "text": f"Answer {turn}"}])
        add("idle", outcome="succeeded")
    _save(database)
    return directory


def llm(directory: Path, name: str, turns: int) -> Path:
    """Write a database of llm 0.36, which has both the old and the new tables."""
    database = _database(directory / "logs.db", _LLM_OLD + _LLM_NEW)
    parent: str | None = None
    hashes = list[str]()

    def add(role: str, kind: str, **given: Any) -> None:
        nonlocal parent
        found = f"b2:{name}{len(hashes)}"
        _insert(database, "messages", hash=found, parent_hash=parent, role=role)
        _insert(database, "parts", message_hash=found, position=0, type=kind, **given)
        parent = found
        hashes.append(found)

    def end(number: int) -> None:
        ids = {"id": f"01{name}{number}", "thread_id": name, "parent_message_hash": hashes[-2]}
        used = {"model": "m1", "input_tokens": 3, "output_tokens": 2, "datetime_utc": f"{_DATE}.{number:06}+00:00"}
        _insert(database, "turns", **ids, tip_message_hash=hashes[-1], **used)

    for turn in range(turns):
        call = {"name": "ls", "arguments": {"path": "."}, "tool_call_id": f"c{turn}"}
        result = {"name": "ls", "output": "x.py", "tool_call_id": f"c{turn}"}
        add("user", "text", text=f"Ask {turn}")
        add("assistant", "tool_call", tool_name="ls", payload=call)
        end(2 * turn)
        add("tool", "tool_result", tool_name="ls", payload=result)
        add("assistant", "text", text=f"Answer {turn}")
        end(2 * turn + 1)
    _insert(database, "threads", id=name, name="Tapes", tip_message_hash=hashes[-1], datetime_utc=_DATE)
    _save(database)
    return directory


def old_llm(directory: Path, name: str, turns: int) -> Path:
    """Write a database of llm before 0.32, with a row for each response."""
    database = _database(directory / "logs.db", _LLM_OLD)
    _insert(database, "conversations", id=name, name="Tapes", model="m1")
    for turn in range(turns):
        for step, (prompt, response) in enumerate([(f"Ask {turn}", ""), ("", f"Answer {turn}")]):
            about = {"id": f"01{name}{turn}{step}", "model": "m1", "conversation_id": name}
            used = {"input_tokens": 3, "output_tokens": 2, "datetime_utc": f"{_DATE}.{2 * turn + step:06}+00:00"}
            _insert(database, "responses", **about, prompt=prompt, response=response, **used)
            called = {"response_id": about["id"], "name": "ls", "tool_call_id": f"c{turn}"}
            if step:
                _insert(database, "tool_results", **called, output="x.py")
            else:
                _insert(database, "tool_calls", **called, arguments={"path": "."})
    _save(database)
    return directory


def openai_agents(directory: Path, name: str, turns: int) -> Path:
    """Write a database of an SQLiteSession of OpenAI's Agents SDK."""
    database = _database(directory / "agents.db", _AGENTS)
    _insert(database, "agent_sessions", session_id=name)
    for turn in range(turns):
        ids = {"id": f"fc_{turn}", "call_id": f"c{turn}", "status": "completed"}
        text = {"type": "output_text", "text": f"Answer {turn}", "annotations": [], "logprobs": []}
        for item in (
            {"content": f"Ask {turn}", "role": "user"},
            {"type": "function_call", "name": "ls", "arguments": '{"path":"."}', **ids},
            {"type": "function_call_output", "call_id": f"c{turn}", "output": "x.py"},
            {"id": f"msg_{turn}", "type": "message", "role": "assistant", "status": "completed", "content": [text]},
        ):
            _insert(database, "agent_messages", session_id=name, message_data=item)
    _save(database)
    return directory / "agents.db"


def gemini_cli(directory: Path, name: str, turns: int) -> Path:
    """Write a session of Gemini CLI, with an answer that is written again with its call."""
    made = Lines(name, kind="main")
    for turn in range(turns):
        made.user(f"u{turn}", [{"text": f"Ask {turn}"}]).record(**{"$set": {"lastUpdated": "now"}})
        made.answer(f"a{turn}", "").answer(f"a{turn}", "", toolCalls=[made_call(f"c{turn}", "x.py")])
        made.user(f"r{turn}", [part("ls", f"c{turn}", output="x.py")]).answer(f"b{turn}", f"Answer {turn}")
    made.write(directory / ".gemini/tmp/deck/chats/session-1.jsonl")
    return directory / ".gemini"


PROGRAMS: dict[str, tuple[str, Write]] = {
    "opencode": ("opencode/ses_", opencode),
    "opencode-2": ("opencode/ses_", opencode_2),
    "llm": ("llm/", llm),
    "llm-old": ("llm/", old_llm),
    "openai-agents": ("openai-agents/", openai_agents),
    "gemini-cli": ("gemini-cli/", gemini_cli),
}
