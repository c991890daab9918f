"""The tables, and the migrations of older files."""

import logging
import os
import sqlite3
from collections.abc import Callable
from typing import TypeAlias

from reel.base.errors import Storage
from reel.said.kinds import KNOWN
from reeld.store.backup import file_size, keep_copy
from reeld.store.checksums import NO_CHECKSUM, write_checksums
from reeld.store.room import MARGIN, require_room

log = logging.getLogger(__name__)

# "reel" in ASCII: SQLite's application_id tells our files from those of other programs.
APPLICATION_ID = 0x7265656C

# A chain of comparisons, the most frequent kinds first: SQLite would rebuild the list of a NOT IN for each row.
_FREQUENT = ("user", "assistant", "tool_call", "tool_result")
UNKNOWN_KIND = " AND ".join(f"kind <> '{kind}'" for kind in (*_FREQUENT, *sorted(KNOWN.difference(_FREQUENT))))
_INDEX_OF_UNKNOWN_KINDS = f"CREATE INDEX events_of_unknown_kind ON events (agent, seq) WHERE {UNKNOWN_KIND};"

# The events after which a conversation goes on elsewhere in the past. A query uses their index only if it has the same
# words. No IN, for the reason above.
JUMPS = "(kind = 'clear' OR kind = 'rewind' OR kind = 'restore' OR kind = 'clone')"

_NEVER_CHANGED = """
CREATE TRIGGER events_are_never_changed BEFORE UPDATE ON events
    BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END
"""
_FIRST = f"""
CREATE TABLE agents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uid TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    title TEXT,
    tags TEXT NOT NULL,
    source INTEGER REFERENCES agents (id),
    source_at INTEGER,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    killed INTEGER,
    head INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX agents_by_living_name ON agents (name) WHERE killed IS NULL;
CREATE INDEX agents_by_name ON agents (name);
CREATE INDEX agents_by_source ON agents (source) WHERE source IS NOT NULL;

CREATE TABLE events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    agent INTEGER NOT NULL REFERENCES agents (id),
    seq INTEGER NOT NULL,
    command INTEGER NOT NULL,
    kind TEXT NOT NULL,
    content TEXT,
    data_json TEXT,
    parent INTEGER REFERENCES events (id),
    client TEXT,
    time INTEGER NOT NULL,
    UNIQUE (agent, seq)
) STRICT;
-- Empty in a healthy log; replay lists what is in it.
{_INDEX_OF_UNKNOWN_KINDS}
{_NEVER_CHANGED};
CREATE TRIGGER events_are_never_deleted BEFORE DELETE ON events
    BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;

CREATE TABLE keys (
    key TEXT PRIMARY KEY,
    agent INTEGER NOT NULL REFERENCES agents (id),
    command INTEGER NOT NULL,
    digest BLOB NOT NULL,
    reply BLOB NOT NULL,
    time INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX keys_by_time ON keys (time);
"""

# Keys are numbered in order of arrival, so that the oldest can be deleted. Timestamps cannot order them: a wall clock
# may jump.
_NUMBER_KEYS = """
ALTER TABLE keys RENAME TO keys_by_text;
CREATE TABLE keys (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    agent INTEGER NOT NULL REFERENCES agents (id),
    command INTEGER NOT NULL,
    digest BLOB NOT NULL,
    reply BLOB NOT NULL
) STRICT;
INSERT INTO keys (key, agent, command, digest, reply)
    SELECT k.key, k.agent, k.command, k.digest, k.reply
    FROM keys_by_text k LEFT JOIN events e ON e.agent = k.agent AND e.seq = k.command ORDER BY e.id;
DROP TABLE keys_by_text;
"""

# The agent that a key was used for, and the address by which it was named. Older keys have neither.
_NOTE_WHOM_KEYS_ARE_FOR = """
ALTER TABLE keys ADD COLUMN address TEXT;
ALTER TABLE keys ADD COLUMN about INTEGER REFERENCES agents (id);
"""


def _add_checksums(connection: sqlite3.Connection) -> None:
    """Give each event a checksum; for this one change the log is not append-only."""
    connection.execute("DROP TRIGGER IF EXISTS events_are_never_changed")
    # A row that another program adds without a checksum counts as damaged: no valid row has this one.
    connection.execute(f"ALTER TABLE events ADD COLUMN checksum INTEGER NOT NULL DEFAULT {NO_CHECKSUM}")
    write_checksums(connection)
    connection.execute(_NEVER_CHANGED)


# Milestones, see reeld.core.milestones. They are derived from the events, and a missing one is recomputed, so older
# files begin without any.
_ADD_MILESTONES = """
CREATE TABLE milestones (
    id INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL,
    records INTEGER NOT NULL,
    messages INTEGER NOT NULL,
    speaker TEXT,
    prompt INTEGER,
    previous INTEGER,
    marked INTEGER,
    marks BLOB,
    open_calls BLOB,
    checksum INTEGER NOT NULL
) STRICT;
"""


def _free_events_of_references(connection: sqlite3.Connection) -> None:
    """Let SQLite insert an event without looking up its agent and its parent, and without counting ids in a table.

    That took a sixth of the time of an insert, and a page of the WAL for each commit. The writer assigns the ids, and
    has the agents and parents from the log; `verify` finds rows whose agent or parent does not exist. An id is never
    reused, because events are never deleted.

    The declaration is all that changes: rows and indexes are stored in the same way, however many there are. SQLite
    recommends to edit it in the schema in such a case (https://sqlite.org/lang_altertable.html, section 7).
    """
    (declared,) = connection.execute(
        "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = 'events'"
    ).fetchone()
    for clause in (" AUTOINCREMENT", " REFERENCES agents (id)", " REFERENCES events (id)"):
        declared = declared.replace(clause, "")
    (version,) = connection.execute("PRAGMA schema_version").fetchone()
    connection.execute("PRAGMA writable_schema = ON")
    try:
        connection.execute("UPDATE sqlite_schema SET sql = ? WHERE type = 'table' AND name = 'events'", (declared,))
        connection.execute(f"PRAGMA schema_version = {version + 1}")  # makes all connections read the schema again
    finally:
        connection.execute("PRAGMA writable_schema = RESET")  # makes this connection read the schema again, too
    connection.execute("DELETE FROM sqlite_sequence WHERE name = 'events'")


# The original time of an imported message. The partial index answers whether there are such messages before some time.
_ADD_ORIGINAL_TIMES = """
ALTER TABLE events ADD COLUMN sent INTEGER;
CREATE INDEX events_by_sent ON events (sent) WHERE sent IS NOT NULL;
"""

# The id that an imported event has elsewhere; unique within an agent.
_ADD_REFERENCES = """
ALTER TABLE events ADD COLUMN ref TEXT;
CREATE UNIQUE INDEX events_by_ref ON events (agent, ref) WHERE ref IS NOT NULL;
"""

# The erasures that were begun, and what events become by the one that goes on: see reeld.store.erasures. Only these
# events may be changed. An agent without a name was purged; what is left of it belongs to the past of others. If
# nothing is left, only its id is remembered, which others may name. The index has where agents took over the state of
# others.
_ADD_ERASURES = """
CREATE TABLE erasures (
    id INTEGER PRIMARY KEY,
    method TEXT NOT NULL,
    agent TEXT NOT NULL,
    client TEXT,
    time INTEGER NOT NULL,
    events INTEGER NOT NULL,
    newest INTEGER NOT NULL,
    state TEXT NOT NULL,
    backups TEXT NOT NULL,
    key TEXT UNIQUE,
    digest BLOB,
    address TEXT,
    reply BLOB
) STRICT;
CREATE TABLE purged_agents (uid TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TABLE erased_events (
    event INTEGER PRIMARY KEY,
    is_gone INTEGER NOT NULL,
    content TEXT,
    data_json TEXT,
    ref TEXT
) STRICT;
CREATE INDEX events_that_clone ON events (parent, agent) WHERE kind = 'clone';
DROP TRIGGER events_are_never_changed;
DROP TRIGGER events_are_never_deleted;
CREATE TRIGGER events_are_never_changed BEFORE UPDATE ON events
    WHEN NOT EXISTS (SELECT 1 FROM erased_events WHERE event = OLD.id)
    BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
CREATE TRIGGER events_are_never_deleted BEFORE DELETE ON events
    WHEN NOT EXISTS (SELECT 1 FROM erased_events WHERE event = OLD.id AND is_gone)
    BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
-- In an older file it has a kind among the unknown ones that this version writes.
DROP INDEX events_of_unknown_kind;
"""
_ADD_ERASURES += _INDEX_OF_UNKNOWN_KINDS

# The index finds the newest value of a key in a log of any length. The other index is rebuilt for the new kind.
_ADD_STATE = """
CREATE INDEX events_of_state ON events (agent, content, seq) WHERE kind = 'state';
DROP INDEX events_of_unknown_kind;
"""
_ADD_STATE += _INDEX_OF_UNKNOWN_KINDS

# The index is rebuilt for the new kind, which only a server's log has; a copy of that log may be a file.
_ADD_LOST = """
DROP INDEX events_of_unknown_kind;
"""
_ADD_LOST += _INDEX_OF_UNKNOWN_KINDS

# One row: the rules by which old agents are purged, and when they were first applied. See reeld.store.retention.
_ADD_RETENTION = """
CREATE TABLE retention (
    id INTEGER PRIMARY KEY,
    killed_days REAL,
    days REAL,
    tag TEXT,
    since INTEGER NOT NULL
) STRICT;
"""

# Keys and erasures of older files have none; see reeld.store.sealed.
_SEAL_KEYS_AND_ERASURES = """
ALTER TABLE keys ADD COLUMN checksum INTEGER;
ALTER TABLE erasures ADD COLUMN checksum INTEGER;
"""

# Where conversations went back: without this index, the newest jump is looked for in the whole log of an agent.
ADD_JUMPS = f"""
CREATE INDEX events_that_jump ON events (agent, seq) WHERE {JUMPS};
"""

# Statements, or a function that takes the writing connection.
Migration: TypeAlias = str | Callable[[sqlite3.Connection], None]
# The n-th migration brings a file from version n to n+1, in one transaction.
MIGRATIONS: tuple[Migration, ...] = (
    _FIRST,
    _NUMBER_KEYS,
    _NOTE_WHOM_KEYS_ARE_FOR,
    _add_checksums,
    _ADD_MILESTONES,
    _free_events_of_references,
    _ADD_ORIGINAL_TIMES,
    _ADD_REFERENCES,
    _ADD_ERASURES,
    _ADD_STATE,
    _ADD_LOST + _ADD_RETENTION + _SEAL_KEYS_AND_ERASURES + ADD_JUMPS,
)
VERSION = len(MIGRATIONS)
# From this version on events have checksums. A file without needs its size on the disk for the copy, for the WAL, and
# at most once more because the events grow.
_WITH_CHECKSUMS = MIGRATIONS.index(_add_checksums) + 1
_TIMES = 3


# What a power cut may lose: nothing that was acknowledged (full), or the commits since the last checkpoint (normal).
FULL, NORMAL = DURABILITIES = ("full", "normal")

_WRITER_PRAGMAS = (
    "auto_vacuum = INCREMENTAL",  # first, because it has no effect once the file is in WAL mode
    "journal_mode = WAL",
    "foreign_keys = ON",
    "recursive_triggers = ON",  # otherwise REPLACE would delete rows without firing the trigger
    f"journal_size_limit = {16 << 20}",  # the size to which the WAL is truncated after a huge batch or a long read
    "checkpoint_fullfsync = ON",  # for macOS, whose fsync leaves data in the disk's cache; no other system has it
    # What is deleted in a page is overwritten. Pages that become free are not: that would need as much room in the WAL.
    # An erasure overwrites them in the file itself.
    "secure_delete = FAST",
    "wal_autocheckpoint = 0",  # the writer makes checkpoints itself, between two commits
)
# No memory map: every tool shows the pages of a mapped file as the daemon's memory, once for each reader. After 10,000
# agents of a file of 256 MB were read, the daemon had 520 MB with it and 86 without. It is no faster where the file is
# in the system's cache: a cold load of 10,000 messages takes 84.7 ms of CPU with it and 84.5 without, and of 50
# messages 0.55 ms and 0.52. With a cache of 8 MiB both take as long as with 4.
_READER_PRAGMAS = (
    "query_only = ON",
    "cache_size = -4096",  # in KiB
)


def prepare_reader(connection: sqlite3.Connection) -> None:
    """Set up a reading connection."""
    for pragma in _READER_PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")
    _open_wal(connection)


def prepare_copier(connection: sqlite3.Connection) -> None:
    """Prepare a connection for backups: with ``query_only`` it could not write the copy."""
    _open_wal(connection)


def _open_wal(connection: sqlite3.Connection) -> None:
    """Make SQLite open the WAL, which it does at the first read: later the WAL may have been removed."""
    connection.execute("SELECT 1 FROM sqlite_schema").fetchall()


def prepare(connection: sqlite3.Connection, path: str, durability: str = FULL) -> None:
    """Set up the writing connection: create the tables of a new file, or migrate an older one.

    Args:
        durability: one of ``DURABILITIES``.

    Raises:
        Storage: the file belongs to another program or a newer version, or no copy of an older one can be made; it says
            what to do.
    """
    version = require_ours(connection, path)
    for pragma in _WRITER_PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")
    connection.execute(f"PRAGMA synchronous = {durability}")
    connection.execute(f"PRAGMA fullfsync = {durability == 'full':d}")  # for macOS, as above
    is_older = 0 < version < VERSION and _has_agents(connection)
    if is_older:
        _require_room_to_migrate(connection, path, version)
        log.warning("the file of version %d is kept in %s", version, keep_copy(connection, path, version))
        log.warning("migrating %s from version %d to %d; a large file takes minutes", path, version, VERSION)
    migrate(connection, MIGRATIONS)
    # Now, because a migration may sort more than fits into memory. From here on no statement needs much, and none fails
    # because the directory for temporary files is full.
    connection.execute("PRAGMA temp_store = MEMORY")
    if is_older:
        # The WAL may have grown as large as the file.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        log.warning("migrated %s to version %d", path, VERSION)


def _has_agents(connection: sqlite3.Connection) -> bool:
    """Return whether a file has anything to go back to; a first start that was interrupted leaves one without."""
    return bool(connection.execute("SELECT EXISTS (SELECT 1 FROM agents)").fetchone()[0])


def _require_room_to_migrate(connection: sqlite3.Connection, path: str, version: int) -> None:
    """Refuse to migrate a file if there is no room for the WAL of a step that writes every event.

    Raises:
        Unavailable: there is not; the file is as it was.
    """
    if version < _WITH_CHECKSUMS:
        needed = _TIMES * file_size(connection) + MARGIN
        directory = os.path.dirname(os.path.abspath(path))
        require_room(directory, needed, f"{path} was not migrated to this version")


def require_ours(connection: sqlite3.Connection, path: str) -> int:
    """Return the version of a file; 0 if it is new.

    Raises:
        Storage: the file belongs to another program or a newer version; it says what to do.
    """
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    # An interrupted first start leaves a file without tables.
    begun = not (application or version or connection.execute("SELECT 1 FROM sqlite_master").fetchone())
    if application != APPLICATION_ID and not begun:
        raise Storage(f"{path} is another program's database; name a file of reel's own with --database")
    if version > VERSION:
        raise Storage(
            f"{path} was written by a newer reeld (its version is {version}, we know {VERSION});"
            " install that version, or name another file with --database"
        )
    return int(version)


def migrate(connection: sqlite3.Connection, migrations: tuple[Migration, ...]) -> None:
    """Apply the missing migrations, each in a transaction of its own."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    for number, migration in enumerate(migrations[version:], version + 1):
        try:
            if isinstance(migration, str):
                connection.executescript(f"BEGIN IMMEDIATE; {migration}")
            else:
                connection.execute("BEGIN IMMEDIATE")
                migration(connection)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {number}")
            connection.execute("COMMIT")
        except sqlite3.Error:
            connection.rollback()
            raise
