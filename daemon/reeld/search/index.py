"""The index of all texts: a file of its own beside the database, which follows from the log and may be deleted.

It has an FTS5 table without content, so that it has no second copy of what was said: a hit's text is read from the log,
which is attached for reading. Each event has three columns: its words, the parts of those in camel case, and words of
our own that say what it is (its kind, its agent), so that FTS5 narrows a search down to one agent by itself. A table
has the events at which a conversation went back, which is all that is needed to know what is in it now.

The index is filled in the order of the events' ids. How far it is, is written in the same transaction as the words. So
it is complete up to there, whenever the process was killed.
"""

import os
import sqlite3
import time
from collections.abc import Generator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from reel.errors import Storage
from reeld.search.texts import text_of
from reeld.search.words import indexed

# Another number makes every index be built again: for changes of the tables, of what is a word, or of what is searched.
VERSION = 1
# "rees" in ASCII.
APPLICATION_ID = 0x72656573
# Begins the words of our own; it is in no word of a text.
OWN = "\x80"
# Events, characters and seconds of one batch. Each commit leaves a segment that FTS5 has to merge, so that batches of
# some hundred events take several times as long; in a longer one, new events would be found too late.
_EVENTS = 4000
_CHARACTERS = 4 << 20
_SECONDS = 0.3

_TABLES = """
CREATE VIRTUAL TABLE texts USING fts5 (words, parts, about, content = '', tokenize = 'ascii');
INSERT INTO texts (texts, rank) VALUES ('hashsize', 8388608);
CREATE TABLE jumps (agent INTEGER, seq INTEGER, parent INTEGER, PRIMARY KEY (agent, seq)) STRICT, WITHOUT ROWID;
CREATE TABLE progress (event INTEGER NOT NULL, checksum INTEGER NOT NULL) STRICT;
INSERT INTO progress VALUES (0, 0);
"""
_NEW = """
    SELECT id, agent, seq, kind, content, data_json, parent, checksum FROM log.events
    WHERE id > ? ORDER BY id LIMIT ?
"""
_INSERT = "INSERT INTO texts (rowid, words, parts, about) VALUES (?, ?, ?, ?)"
_DELETE = "INSERT INTO texts (texts, rowid, words, parts, about) VALUES ('delete', ?, ?, ?, ?)"
# After one of these, a conversation goes on at the event's parent.
_JUMPS = ("clear", "rewind", "restore", "clone")


class Outdated(Exception):
    """The index is of another version or of another database, or damaged; it has to be built again."""


def path_of(database: str) -> str:
    """Return the path of a database's index: ``search.db`` beside ``reel.db``, ``x-search.db`` beside ``x.db``."""
    path = Path(database)
    prefix = "" if path.name == "reel.db" else f"{path.name.removesuffix('.db')}-"
    return str(path.with_name(f"{prefix}search.db"))


def remove(path: str) -> None:
    """Delete an index.

    Raises:
        OSError: it cannot be deleted.
    """
    for suffix in ("-wal", "-shm", ""):
        with suppress(FileNotFoundError):
            os.unlink(f"{path}{suffix}")  # noqa: PTH108 - a Path would add nothing


def is_damage(error: sqlite3.Error) -> bool:
    """Return whether an error says that the file is damaged."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def prepare(connection: sqlite3.Connection, database: str) -> None:
    """Set up the writing connection: create the tables, and attach the log.

    Raises:
        Outdated: the file has to be built again.
        Storage: it is another program's.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    begun = connection.execute("SELECT 1 FROM sqlite_schema").fetchone()
    if begun and application != APPLICATION_ID:
        raise Storage("it is not a search index of reel's; move it away")
    if begun and version != VERSION:
        raise Outdated
    connection.text_factory = _decoded
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute(f"PRAGMA journal_size_limit = {16 << 20}")
    if not begun:
        connection.executescript(f"BEGIN IMMEDIATE; {_TABLES}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    _attach(connection, database)
    event, checksum = _progress(connection)
    if event and connection.execute("SELECT checksum FROM log.events WHERE id = ?", (event,)).fetchone() != (checksum,):
        raise Outdated


def prepare_reader(connection: sqlite3.Connection, database: str) -> None:
    """Set up a reading connection."""
    connection.execute("PRAGMA query_only = ON")
    connection.execute("PRAGMA cache_size = -4096")
    connection.text_factory = _decoded
    _attach(connection, database)


def _attach(connection: sqlite3.Connection, database: str) -> None:
    connection.execute("ATTACH ? AS log", (f"file:{quote(os.path.abspath(database))}?mode=ro",))  # noqa: PTH100 - a symlink stays one
    connection.execute("SELECT 1 FROM log.sqlite_schema").fetchall()  # it is opened now, not when it may be gone


def _progress(connection: sqlite3.Connection) -> tuple[int, int]:
    event, checksum = connection.execute("SELECT event, checksum FROM progress").fetchone() or (0, 0)
    return event, checksum


def progress(connection: sqlite3.Connection) -> int:
    """Return the id of the newest event that is in the index."""
    return _progress(connection)[0]


class Filled(NamedTuple):
    """How far an index is, and whether there may be more to do."""

    event: int
    more: bool


def fill(connection: sqlite3.Connection) -> Filled:
    """Put the next events into the index.

    Raises:
        Storage: the log cannot be read.
    """
    begun = time.monotonic()
    connection.execute("BEGIN IMMEDIATE")
    try:
        event, checksum = _progress(connection)
        rows = _new(connection, event)
        room, done, more = _CHARACTERS, 0, False
        for event_id, agent, seq, kind, content, data_json, parent, stored in rows:
            event, checksum, done = event_id, stored, done + 1
            document = _document(event_id, agent, kind, content, data_json)
            if document is not None:
                connection.execute(_INSERT, document)
                room -= len(document[1])
            if kind in _JUMPS:
                connection.execute("INSERT OR REPLACE INTO jumps VALUES (?, ?, ?)", (agent, seq, parent))
            if room <= 0 or done == _EVENTS or (not done % 16 and time.monotonic() - begun > _SECONDS):
                more = True
                break
        rows.close()
        if done:
            connection.execute("UPDATE progress SET event = ?, checksum = ?", (event, checksum))
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise
    return Filled(event, more)


def _new(connection: sqlite3.Connection, after: int) -> Generator[Sequence[Any], None, None]:
    """Yield the next events of the log; bytes that are not text have U+FFFD in their place.

    Raises:
        Storage: the log cannot be read.
    """
    try:
        with closing(connection.execute(_NEW, (after, _EVENTS))) as rows:
            while (row := rows.fetchone()) is not None:
                yield row
    except sqlite3.Error as error:
        raise Storage(f"the log cannot be read: {error}") from error


def _decoded(text: bytes) -> str:
    return text.decode(errors="replace")


def _document(
    event_id: int, agent: int, kind: str, content: str | None, data_json: str | None
) -> tuple[int, str, str, str] | None:
    """Return the row of an event in the index; ``None`` if it has no text."""
    text = text_of(kind, content, data_json)
    return (event_id, *indexed(text), f"{kind_word(kind)} {agent_word(agent)}") if text else None


def kind_word(kind: str) -> str:
    """Return the word of our own of all events of a kind."""
    return f"{OWN}k{kind.replace('_', '')}"


def agent_word(row: int) -> str:
    """Return the word of our own of all events of an agent."""
    return f"{OWN}a{row}"


def forget(connection: sqlite3.Connection, events: Sequence[int]) -> None:
    """Delete events from the index, without a trace of their words in the file; they must still be in the log.

    FTS5 finds what to delete by the words, which are not stored. Merging the whole index takes as long as a tenth of
    building it; until then, deleted words would remain in it, marked as deleted.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        (until, _) = _progress(connection)
        for event_id in sorted(set(events)):
            row = connection.execute(
                "SELECT id, agent, kind, content, data_json FROM log.events WHERE id = ?", (event_id,)
            ).fetchone()
            if row is not None and event_id <= until and (document := _document(*row)) is not None:
                connection.execute(_DELETE, document)
        connection.execute("INSERT INTO texts (texts) VALUES ('optimize')")
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise
    connection.execute("PRAGMA main.wal_checkpoint(TRUNCATE)").fetchall()
