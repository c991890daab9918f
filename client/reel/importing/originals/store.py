"""The store of originals: a database beside that of the daemon, with the versions of files in compressed chunks.

A file is cut into chunks of equal length, and a chunk is stored once, under the hash of its content: of a file that
grows, a new version stores its end, and of a database its changed pages. A version that a newer one makes superfluous
goes at once. Each change is one transaction, so that a process that is killed leaves no broken store.
"""

import os
import sqlite3
import zlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from json import dumps, loads
from typing import BinaryIO, Self

from reel.base.light_typing import NamedTuple

# The file, in the state directory.
NAME = "originals.db"
# Bytes of a chunk. Smaller ones compress worse, and of larger ones more is written when a file grows.
CHUNK = 1 << 18
# Seconds to wait for another process that writes.
_PATIENCE = 60.0
# Versions of a file that are kept beside the newest one.
_MOST_OLDER = 50
# The version of the tables.
_VERSION = 1
_TABLES = """
    create table files (id integer primary key, tool text not null, path blob not null unique) strict;
    create table versions (
        id integer primary key,
        file integer not null references files (id) on delete cascade,
        size integer not null, modified integer not null, kept integer not null, hash blob not null,
        state text not null, conversations text not null, number integer not null
    ) strict;
    create index versions_of_files on versions (file, id);
    create table chunks (hash blob primary key, size integer not null, data blob not null) strict;
    create table pieces (
        version integer not null references versions (id) on delete cascade,
        position integer not null, hash blob not null references chunks (hash),
        primary key (version, position)
    ) strict, without rowid;
    create index pieces_by_hash on pieces (hash);
"""


# What is raised if the store cannot be read or written; nothing has changed then.
StoreError = sqlite3.Error


class Original(NamedTuple):
    """A file as it was.

    Args:
        id: the number of the version.
        tool: the tool whose file it is.
        path: where it was.
        size: its size in bytes.
        modified: its modification time, in nanoseconds since the epoch.
        kept: when it was stored, in milliseconds since the epoch.
        hash: the SHA-256 of its content.
        older: how many newer versions of the file there are.
    """

    id: int
    tool: str
    path: str
    size: int
    modified: int
    kept: int
    hash: bytes
    older: int


class Content(NamedTuple):
    """What is known of a file that is to be kept.

    Args:
        tool: the tool whose file it is.
        path: where it is.
        state: what changes when the file does.
        modified: its modification time, in nanoseconds since the epoch.
        conversations: the names of its conversations, or of their common beginning.
        number: how many conversations it has.
    """

    tool: str
    path: str
    state: str
    modified: int
    conversations: frozenset[str]
    number: int


class Damaged(Exception):
    """An original cannot be read back; the text says why."""


class Store:
    """The store of originals, which is made if it is not there.

    Args:
        path: the file.

    Raises:
        OSError: it cannot be made.
        StoreError: it cannot be read.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))  # SQLite would let others read it
        self._database = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
        try:
            self._database.execute("pragma auto_vacuum = incremental")
            self._database.execute("pragma foreign_keys = on")
            self._database.execute("pragma secure_delete = on")
            self._require_tables()
        except BaseException:
            self._database.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._database.close()

    def _version_of_tables(self) -> int:
        return int(self._database.execute("pragma user_version").fetchone()[0])

    def _require_tables(self) -> None:
        """Make the tables unless they are there."""
        if not self._version_of_tables():
            with self.together():
                if not self._version_of_tables():  # another process may have made them meanwhile
                    for statement in _TABLES.split(";"):
                        self._database.execute(statement)
                    self._database.execute(f"pragma user_version = {_VERSION}")
        if self._version_of_tables() != _VERSION:
            raise sqlite3.DatabaseError(f"{self.path} was made by a later version of reel")

    @contextmanager
    def together(self) -> Iterator[None]:
        """Carry out the block as a whole or not at all; nobody else writes meanwhile. Blocks may be in blocks.

        Each transaction waits for the disk, so that several files are better kept together.
        """
        if self._database.in_transaction:
            begin, end, undo = "savepoint inner", "release inner", "rollback to inner"
        else:
            begin, end, undo = "begin immediate", "commit", "rollback"
        self._database.execute(begin)
        try:
            yield
            self._database.execute(end)
        except BaseException:
            if self._database.in_transaction:  # a full disk has ended it already
                self._database.execute(undo)
            raise
        if not self._database.in_transaction:
            # Unused pages go back to the file system; execute() would give back one of them.
            self._database.executescript("pragma incremental_vacuum")

    def states(self) -> dict[str, str]:
        """Return the state of the newest version of each file, by its path."""
        query = "select path, state, max(versions.id) from versions join files on files.id = file group by file"
        return {os.fsdecode(path): state for path, state, _ in self._database.execute(query)}

    def keep(self, content: Content, file: BinaryIO, kept: int) -> None:
        """Store a version of a file, unless its content is that of the newest one.

        Args:
            content: what is known of it.
            file: its content.
            kept: the time, in milliseconds since the epoch.

        Raises:
            OSError: the file cannot be read.
            StoreError: it cannot be stored; nothing has changed then.
        """
        with self.together():
            path = os.fsencode(content.path)  # a name may be any bytes
            self._database.execute("insert or ignore into files (tool, path) values (?, ?)", [content.tool, path])
            (number,) = self._database.execute("select id from files where path = ?", [path]).fetchone()
            new = self._version(number, content, kept)
            whole, size = sha256(), 0
            for position, data in enumerate(iter(lambda: file.read(CHUNK), b"")):
                whole.update(data)
                size += len(data)
                self._database.execute("insert into pieces values (?, ?, ?)", [new, position, self._chunk(data)])
            self._database.execute("update versions set size = ?, hash = ? where id = ?", [size, whole.digest(), new])
            self._forget(self._superfluous(number, new))

    def _version(self, file: int, content: Content, kept: int) -> int:
        names = dumps(sorted(content.conversations))
        return int(
            self._database.execute(
                "insert into versions (file, size, modified, kept, hash, state, conversations, number)"
                " values (?, 0, ?, ?, x'', ?, ?, ?) returning id",
                [file, content.modified, kept, content.state, names, content.number],
            ).fetchone()[0]
        )

    def _chunk(self, data: bytes) -> bytes:
        """Store a chunk, unless it is there; return its hash."""
        found = sha256(data).digest()
        if not self._database.execute("select 1 from chunks where hash = ?", [found]).fetchone():
            self._database.execute("insert into chunks values (?, ?, ?)", [found, len(data), zlib.compress(data)])
        return found

    def _superfluous(self, file: int, new: int) -> list[int]:
        """Return the versions that a new one replaces: it has all their conversations, and is no smaller.

        Of those that it does not replace, the smallest go if there are too many.
        """
        query = "select id, size, number, conversations from versions where file = ? order by size desc"
        rows = {row[0]: (*row[1:3], set(loads(row[3]))) for row in self._database.execute(query, [file])}
        size, number, names = rows.pop(new)
        left = [one for one, (its, many, held) in rows.items() if its > size or many > number or not held <= names]
        return [one for one in rows if one not in left[:_MOST_OLDER]]

    def _forget(self, versions: Iterable[int]) -> None:
        """Remove versions, and the chunks that no other version has."""
        for version in versions:
            hashes = self._database.execute("select hash from pieces where version = ?", [version]).fetchall()
            self._database.execute("delete from versions where id = ?", [version])
            for found in hashes:
                unused = "delete from chunks where hash = ?1 and not exists (select 1 from pieces where hash = ?1)"
                self._database.execute(unused, found)
        self._database.execute("delete from files where not exists (select 1 from versions where file = files.id)")

    def originals(self, tool: str = "") -> list[Original]:
        """Return the originals of a tool, or of all, ordered by their paths, with the newest version first."""
        query = (
            "select versions.id, tool, path, size, modified, kept, hash,"
            " row_number() over (partition by file order by versions.id desc) - 1"
            " from versions join files on files.id = file where ? in ('', tool) order by path, versions.id desc"
        )
        rows = self._database.execute(query, [tool])
        return [Original(number, of, os.fsdecode(path), *more) for number, of, path, *more in rows]

    def content(self, original: Original) -> Iterator[bytes]:
        """Yield the content of an original.

        Raises:
            Damaged: it is not what was stored.
        """
        query = (
            "select pieces.hash, data from pieces left join chunks on chunks.hash = pieces.hash"
            " where version = ? order by position"
        )
        whole, size = sha256(), 0
        for found, packed in self._database.execute(query, [original.id]):
            if packed is None:
                raise Damaged("a chunk is not there")
            try:
                data = zlib.decompress(packed)
            except zlib.error as error:
                raise Damaged(f"a chunk cannot be decompressed: {error}") from None
            if sha256(data).digest() != found:
                raise Damaged("a chunk has another hash than when it was stored")
            whole.update(data)
            size += len(data)
            yield data
        if (whole.digest(), size) != (original.hash, original.size):
            raise Damaged(f"it has {size:,} bytes of {original.size:,}, or another hash than when it was stored")

    def conversations(self) -> set[str]:
        """Return the names of all conversations that the files have, or once had."""
        stored = self._database.execute("select distinct conversations from versions")
        return {name for (names,) in stored for name in loads(names)}

    def files_with(self, conversations: Collection[str]) -> list[str]:
        """Return the paths of the files that have one of these conversations, or once had."""
        names = set(conversations)
        query = "select path, conversations from versions join files on files.id = file"
        found = {path for path, stored in self._database.execute(query) if names & set(loads(stored))}
        return sorted(map(os.fsdecode, found))

    def erase(self, paths: Collection[str]) -> int:
        """Remove all versions of files, for good; return how many files there were."""
        with self.together():
            found = [
                version
                for path in paths
                for (version,) in self._database.execute(
                    "select versions.id from versions join files on files.id = file where path = ?",
                    [os.fsencode(path)],
                ).fetchall()
            ]
            before = self._count()
            self._forget(found)
            after = self._count()
        return before - after

    def _count(self) -> int:
        return int(self._database.execute("select count(*) from files").fetchone()[0])

    def damage(self) -> str:
        """Return what is wrong with the database itself; empty if nothing is."""
        try:
            said = [str(row[0]) for row in self._database.execute("pragma integrity_check")]
        except StoreError as error:
            return str(error)
        return "" if said == ["ok"] else said[0]


def existing(path: str) -> Store | None:
    """Return the store at a path; ``None`` if the file does not exist."""
    return Store(path) if os.path.exists(path) else None
