"""The table of what calls did: which files each read or wrote, and which commands were run; beside the words.

It is derived from the log as the words are, in the same pass and the same transactions. It has paths and the beginnings
of commands, to find a call by; the texts that a call replaced and wrote are read from the log. An index of an earlier
version has no such table: it is filled afterwards, a batch at a time, while the words serve searches.

A call is entered when it is read, and what became of it when its result is.
"""

import json
import posixpath
import re
import sqlite3
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, TypeAlias

from reel.said.blocks import InvalidRecord
from reel.said.records import read_row
from reel.touches.outcomes import outcome_of
from reel.touches.reading import meant
from reel.touches.touch import Deed, Touch

# A new number empties the table of every index, which is then filled again: for changes of its columns, and of what
# reel.touches reads.
VERSION = 1
# What a call did. Their places are stored: an insertion needs a new version.
DEEDS: tuple[Deed, ...] = ("read", "wrote", "ran")
# Characters of a path, as the system allows them; and of a command, by which it is found.
_PATH = 4096
_COMMAND = 4096
_TABLES = """
CREATE TABLE touched (version INTEGER NOT NULL, event INTEGER NOT NULL) STRICT;
-- Of a call: its event, its place among the blocks, its id as a number, what became of it (a bit for each deed that was
-- not done; NULL before its result), the exit status, and the event of its result. Of what it did: its place, and the
-- last part of a file's path.
CREATE TABLE touches (
    event INTEGER NOT NULL, block INTEGER NOT NULL, number INTEGER NOT NULL, agent INTEGER NOT NULL,
    said INTEGER NOT NULL, deed INTEGER NOT NULL, name TEXT, path TEXT NOT NULL, command TEXT, key INTEGER NOT NULL,
    marks_failures INTEGER NOT NULL, failed INTEGER, status INTEGER, result INTEGER,
    PRIMARY KEY (event, block, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX touches_by_name ON touches (name, said) WHERE name IS NOT NULL;
CREATE INDEX touches_by_agent ON touches (agent, said);
CREATE INDEX touches_by_time ON touches (said);
CREATE INDEX touches_by_call ON touches (key);
"""
# True of a row whose deed was done, as far as it is known.
DONE = "(failed IS NULL OR NOT (failed >> deed) & 1)"
_INSERT = f"INSERT INTO touches VALUES ({', '.join('?' * 11)}, NULL, NULL, NULL)"  # noqa: S608 - question marks
# Of calls with one id, a result is of the newest before it; of those in one message, of the first without a result.
_CALLED = """
    SELECT event, block, marks_failures FROM touches WHERE key = ? AND event < ?
    ORDER BY event DESC, result IS NOT NULL, block LIMIT 1
"""
_ANSWERED = "UPDATE touches SET failed = ?, status = ?, result = ? WHERE event = ? AND block = ?"
_ENDED = """
    SELECT DISTINCT failed, status, result, event, block FROM touches
    WHERE event IN (SELECT value FROM json_each(?)) AND result IS NOT NULL
"""
_RESULTS = ("tool_result", "tool")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")

# The id, the agent, the kind, the content and the data of an event, and when it was said.
Row: TypeAlias = tuple[int, int, str, str | None, str | None, int]


def prepare(connection: sqlite3.Connection) -> None:
    """Create the table, empty, if there is none of this version."""
    if connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'touched'").fetchone():
        if connection.execute("SELECT version FROM touched").fetchone() == (VERSION,):
            return
        connection.executescript("BEGIN IMMEDIATE; DROP TABLE touched; DROP TABLE touches; COMMIT")
    connection.executescript(f"BEGIN IMMEDIATE; {_TABLES}; INSERT INTO touched VALUES ({VERSION}, 0); COMMIT")  # noqa: S608


def position(connection: sqlite3.Connection) -> int:
    """Return the id of the newest event that is in the table."""
    (event,) = connection.execute("SELECT event FROM touched").fetchone()
    return int(event)


def may_touch(kind: str, data_json: str | None) -> bool:
    """Return whether an event may have a call or a result, without parsing it."""
    return kind in _RESULTS or kind == "tool_call" or (kind == "assistant" and '"tool_call"' in (data_json or ""))


def enter(connection: sqlite3.Connection, row: Row) -> None:
    """Enter the next event."""
    if may_touch(row[2], row[4]):
        _enter_calls(connection, row)
        _enter_results(connection, row)


def move(connection: sqlite3.Connection, event: int) -> None:
    """Say that all events up to an id are in the table."""
    connection.execute("UPDATE touched SET event = ?", (event,))


def cut(connection: sqlite3.Connection, last: int) -> None:
    """Remove the events with an id above this one, which the log has lost."""
    connection.execute("DELETE FROM touches WHERE event > ?", (last,))
    connection.execute("UPDATE touches SET failed = NULL, status = NULL, result = NULL WHERE result > ?", (last,))
    connection.execute("UPDATE touched SET event = min(event, ?)", (last,))


def replace(connection: sqlite3.Connection, events: Sequence[int], instead: Sequence[Row]) -> None:
    """Remove events, and enter others in their place; what became of their calls stays known."""
    new = [row[0] for row in instead]
    ended = connection.execute(_ENDED, (json.dumps(new),)).fetchall()
    gone = json.dumps([*events, *new])
    connection.execute("DELETE FROM touches WHERE event IN (SELECT value FROM json_each(?))", (gone,))
    last = position(connection)
    for row in instead:
        if row[0] <= last:
            _enter_calls(connection, row)
    connection.executemany(_ANSWERED, ended)


def _enter_calls(connection: sqlite3.Connection, row: Row) -> None:
    event, agent, *_, said = row
    for place, block in enumerate(blocks_of(*row[2:5])):
        if block["type"] == "tool_call":
            touches, marks_failures = meant(block)
            columns = [_columns(touch) for touch in touches]
            key = _key(agent, block["id"])
            connection.executemany(
                _INSERT,
                [
                    (event, place, number, agent, said, *found, key, marks_failures)
                    for number, found in enumerate(columns)
                    if found is not None
                ],
            )


def _enter_results(connection: sqlite3.Connection, row: Row) -> None:
    event, agent, *_ = row
    for block in blocks_of(*row[2:5]) if row[2] in _RESULTS else ():
        called = connection.execute(_CALLED, (_key(agent, block["tool_call_id"]), event)).fetchone()
        if called is not None:
            *place, marks_failures = called
            outcome = outcome_of(block, marks_failures=bool(marks_failures))
            failed = sum(1 << number for number, deed in enumerate(DEEDS) if not outcome.did(deed))
            connection.execute(_ANSWERED, (failed, outcome.status, event, *place))


def blocks_of(kind: str, content: str | None, data_json: str | None) -> list[Any]:
    """Return the blocks of an event; empty if it is no valid message."""
    try:
        parts = read_row(kind, content, data_json)
    except InvalidRecord:
        return []
    return [] if parts is None else list(parts.content)


def _columns(touch: Touch) -> tuple[int, str | None, str, str | None] | None:
    """Return the deed, the last part of a file's path, the path, and the command; ``None`` if there is no such path."""
    path = plain(touch.path)
    if len(path) > _PATH:
        return None
    name = None if touch.deed == "ran" else path.rpartition("/")[2]
    return DEEDS.index(touch.deed), name, path, touch.command and touch.command[:_COMMAND]


def plain(path: str) -> str:
    """Return a path without ``.``, ``..`` and double slashes; one of Windows with slashes."""
    path = path.replace("\\", "/") if _DRIVE.match(path) else path
    return posixpath.normpath(path) if path else ""


def _key(agent: int, call: str) -> int:
    """Return the number of a call in an agent."""
    digest = blake2b(f"{agent} {call}".encode(errors="replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
