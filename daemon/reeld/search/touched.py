"""The table of what calls did: which files each read or wrote, and which commands were run; beside the words.

It is derived from the log as the words are, in the same pass and the same transactions. It has paths and the beginnings
of commands, to find a call by; the texts that a call replaced and wrote are read from the log. An index of an earlier
version has no such table: it is filled afterwards, a batch at a time, while the words serve searches.

A call is entered when it is read, and what became of it when its result is (:mod:`reeld.search.entering`).
"""

import posixpath
import re
import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from reel.base.light_typing import NamedTuple
from reel.touches.describing import Described

if TYPE_CHECKING:
    from reel.touches.touch import Deed

# A new number empties the table of every index, which is then filled again: for changes of its columns, and of what
# reel.touches reads.
VERSION = 3
# What a call did. Their places are stored: an insertion needs a new version.
DEEDS: "tuple[Deed, ...]" = ("read", "wrote", "ran")
_TABLES = """
CREATE TABLE touched (version INTEGER NOT NULL, described INTEGER NOT NULL, event INTEGER NOT NULL) STRICT;
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
_RESULTS = ("tool_result", "tool")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


class Message(NamedTuple):
    """A message that may have calls or results: its event, its agent, when it was said, and its blocks."""

    event: int
    agent: int
    said: int
    blocks: Sequence[Any]


def prepare(connection: sqlite3.Connection, described: Described) -> None:
    """Create the table, empty, if there is none of this version that knows these tools."""
    current = (VERSION, described.digest)
    if connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'touched'").fetchone():
        if connection.execute("SELECT version, described FROM touched").fetchone() == current:
            return
        connection.executescript("BEGIN IMMEDIATE; DROP TABLE touched; DROP TABLE touches; COMMIT")
    values = f"{VERSION}, {described.digest}, 0"
    connection.executescript(f"BEGIN IMMEDIATE; {_TABLES}; INSERT INTO touched VALUES ({values}); COMMIT")  # noqa: S608


def know(connection: sqlite3.Connection, described: Described) -> None:
    """Let a connection know tools beside those of the coding agents."""
    if described.digest:
        connection.tools = described.tools  # type: ignore[attr-defined]  # it is of a class of our own


def position(connection: sqlite3.Connection) -> int:
    """Return the id of the newest event that is in the table."""
    (event,) = connection.execute("SELECT event FROM touched").fetchone()
    return int(event)


def may_touch(kind: str, data_json: str | None) -> bool:
    """Return whether an event may have a call or a result, without parsing it."""
    return kind in _RESULTS or kind == "tool_call" or (kind == "assistant" and '"tool_call"' in (data_json or ""))


def move(connection: sqlite3.Connection, event: int) -> None:
    """Say that all events up to an id are in the table."""
    connection.execute("UPDATE touched SET event = ?", (event,))


def cut(connection: sqlite3.Connection, last: int) -> None:
    """Remove the events with an id above this one, which the log has lost."""
    connection.execute("DELETE FROM touches WHERE event > ?", (last,))
    connection.execute("UPDATE touches SET failed = NULL, status = NULL, result = NULL WHERE result > ?", (last,))
    connection.execute("UPDATE touched SET event = min(event, ?)", (last,))


def plain(path: str) -> str:
    """Return a path without ``.``, ``..`` and double slashes; one of Windows with slashes."""
    path = path.replace("\\", "/") if _DRIVE.match(path) else path
    return posixpath.normpath(path) if path else ""
