"""opencode: a tree of JSON files; later a database with the same records; since version 2, with different records.

A person may also have what ``opencode export`` wrote.
"""

import re
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from reel.base.strict_json import Json
from reel.importing.sources.databases import Connection, reading, record_in, rows_of, tables_in
from reel.importing.sources.files import LONGEST, MAX_LINE, open_regular
from reel.importing.sources.unfinished import may_go_on, postpone
from reel.importing.steps import NOT_JSON, About, Counts, Found, Problem, Source, Step, Tool, forks_last
from reel.importing.tools.opencode.exported import FORM as EXPORT
from reel.importing.tools.opencode.exported import SUFFIX, exports_at, read_export
from reel.importing.tools.opencode.messages import Message, Messages, is_answer, is_unfinished
from reel.importing.values import id_in_name, map_in, name_of, tags_of, text_in, title_of

_NAME = "opencode"
_DATABASES = "opencode*.db"
_NANOSECONDS = 1_000_000
# The title of a session before a model has made one.
_NO_TITLE = re.compile(r"(New|Child) session - \d{4}-\d\d-\d\dT")
# The names of the storage forms in sources.
_TREE, _FIRST, _SECOND = "tree", "1", "2"


def _places(environment: Mapping[str, str]) -> Iterator[Path]:
    home = environment.get("XDG_DATA_HOME")
    yield (Path(home) if home else Path(environment.get("HOME", "/")) / ".local/share") / "opencode"


def _discover(root: Path) -> Found:
    """Find the sessions; one that was moved from the tree into a database is read from the database."""
    problems: list[Problem] = []
    found: dict[str, Source] = {}
    real = root.resolve()
    exports = list(exports_at(real, _NAME, problems))
    for path in [real] if real.is_file() and real.suffix != SUFFIX else sorted(real.glob(_DATABASES)):
        if path.is_symlink():
            problems.append(Problem(str(path), 0, "is a link, which is not followed"))
            continue
        try:
            for source in _sessions_in(str(path)):
                found.setdefault(source.conversation, source)
        except OSError as error:
            problems.append(Problem(str(path), 0, error.strerror or str(error)))
    storage = real if real.name == "storage" else real / "storage"
    if storage.is_symlink():
        problems.append(Problem(str(storage), 0, "is a link, which is not followed"))
        return Found([*forks_last(found.values()), *exports], problems)
    for path in _files(storage / "session", problems, depth=2):
        source = _session_file(storage, path, problems)
        found.setdefault(source.conversation, source)
    sources = [source if source.fork_of in found else source._replace(fork_of="") for source in found.values()]
    return Found([*forks_last(sources), *exports], problems)


def _sessions_in(path: str) -> Iterator[Source]:
    with reading(path) as database:
        tables = tables_in(database)
        is_second = {"session_v2", "session_message"} <= tables and _has_rows(database)
        if not is_second and not {"session", "message", "part"} <= tables:
            raise OSError(0, "is not a database of opencode: it has no tables session, message and part", path)
        session, content = ("session_v2", ["session_message"]) if is_second else ("session", ["message", "part"])
        sizes: dict[Any, tuple[int, int]] = {}
        for table in content:
            query = f"SELECT session_id, sum(length(data)) AS size, max(time_updated) AS time FROM {table} GROUP BY 1"  # noqa: S608 - one of three names
            for row in rows_of(database, query):
                size, time = sizes.get(row["session_id"], (0, 0))
                sizes[row["session_id"]] = size + _number(row["size"]), max(time, _number(row["time"]))
        for row in rows_of(database, f"SELECT * FROM {session} ORDER BY id"):  # noqa: S608 - one of two names
            key = row.get("id")
            if type(key) is not str or not key:
                continue
            size, time = sizes.get(key, (0, 0))
            parent, origin = text_in(row, "parent_id"), text_in(row, "fork_session_id")
            # A new title is not taken for a change of the session.
            about = {"form": _SECOND if is_second else _FIRST, "title": text_in(row, "title"), **_parent(parent)}
            modified = max(time, _number(row.get("time_updated"))) * _NANOSECONDS
            fork_of = name_of(_NAME, origin) if origin and origin != key else ""
            yield Source(path, name_of(_NAME, key), size, modified, fork_of, key, about)


def _has_rows(database: Connection) -> bool:
    return any(True for _ in database.execute("SELECT 1 FROM session_v2 LIMIT 1")) and any(
        True for _ in database.execute("SELECT 1 FROM session_message LIMIT 1")
    )


def _number(value: object) -> int:
    return max(value, 0) if type(value) is int else 0


def _parent(parent: str) -> dict[str, str]:
    return {"parent": name_of(_NAME, parent)} if parent else {}


def _files(directory: Path, problems: list[Problem], *, depth: int = 1) -> Iterator[Path]:
    """Yield the JSON files in a directory, or ``depth`` levels deep, ordered by name."""
    try:
        paths = sorted(directory.iterdir()) if not directory.is_symlink() and directory.is_dir() else []
    except OSError as error:
        problems.append(Problem(str(directory), 0, error.strerror or str(error)))
        return
    for path in paths:
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            problems.append(Problem(str(path), 0, "is a link, which is not followed"))
        elif stat.S_ISDIR(mode) and depth > 1:
            yield from _files(path, problems, depth=depth - 1)
        elif stat.S_ISREG(mode) and path.suffix == ".json" and depth == 1:
            yield path


def _session_file(storage: Path, path: Path, problems: list[Problem]) -> Source:
    found: Json = {}
    try:
        found = _read_json(path)
    except (OSError, ValueError) as error:
        problems.append(Problem(str(path), 0, _what(error)))
    size, modified = 0, 0
    for message in _files(storage / "message" / path.stem, []):
        for file in (message, *_files(storage / "part" / message.stem, [])):
            status = file.lstat()
            size, modified = size + status.st_size, max(modified, status.st_mtime_ns)
    modified = max(modified, path.lstat().st_mtime_ns)
    about = {"form": _TREE, "storage": str(storage), **_parent(text_in(found, "parentID"))}
    return Source(str(path), name_of(_NAME, path.stem), size, modified, key=path.stem, about=about)


def _read_json(path: Path, report: Callable[[str], None] = lambda _what: None) -> Json:
    with open_regular(str(path)) as file:
        return record_in(file.read(LONGEST * MAX_LINE), report)


def _what(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


class Session:
    """A session that is being read.

    Args:
        source: the location of the session.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.counts = Counts()

    def steps(self) -> Iterator[Step]:
        """Yield the steps of the session; an unfinished last answer is left for the next call."""
        with self._open() as (session, found):
            messages = Messages(self.counts, text_in(_map(session.get("revert")), "messageID"))
            title, facts, part = _title_in(session), self._facts(session), self._part(session)
            yield About(part, title, tags_of(**facts))
            # The last answer, and what was said meanwhile.
            waiting: list[Message] = []
            for message in found:
                if waiting and is_answer(message[0]):
                    for each in waiting:
                        yield from messages.read(*each)
                    waiting = []
                if waiting or is_answer(message[0]):
                    waiting.append(message)
                else:
                    yield from messages.read(*message)
            yield from self._read_last(messages, waiting)
            yield from messages.end()
            model = {"model": messages.model} if messages.model else {}
            yield About(part, title or title_of(messages.words.title), tags_of(**facts, **model))

    def _read_last(self, messages: Messages, waiting: list[Message]) -> Iterator[Step]:
        """Read the last answer, and what follows it; an unfinished summary is none before it has ended."""
        for number, message in enumerate(waiting):
            if number or not is_unfinished(message[0], message[2]):
                yield from messages.read(*message)
            elif message[0].get("summary") is True or may_go_on(self.source.modified // _NANOSECONDS):
                for _, _, parts in waiting:
                    postpone(self.counts, 1 + len(parts))
                return
            else:
                yield from messages.read_unfinished(*message)

    def _part(self, session: Json) -> str:
        """Return what is after the source's name in that of the conversation: an export is found by its path alone."""
        return f"/{id_in_name(text_in(session, 'id'))}" if self.source.about["form"] == EXPORT else ""

    def _facts(self, session: Json) -> dict[str, str]:
        about = _parent(text_in(session, "parentID")) if self.source.about["form"] == EXPORT else self.source.about
        facts = {"cwd": text_in(session, "directory"), "version": text_in(session, "version")}
        return {"tool": _NAME, "source": self.source.path, "parent": about.get("parent", ""), **facts}

    @contextmanager
    def _open(self) -> Iterator[tuple[Json, Iterator[Message]]]:
        form = self.source.about["form"]
        if form == EXPORT:
            yield read_export(self.source.path, self.counts)
            return
        if form == _TREE:
            path = Path(self.source.path)
            yield self._parsed(str(path), partial(_read_json, path)) or {}, self._tree()
            return
        table = "session_v2" if form == _SECOND else "session"
        with reading(self.source.path) as database:
            query = f"SELECT * FROM {table} WHERE id = ?"  # noqa: S608 - one of two names
            session = next(rows_of(database, query, self.source.key), {})
            yield session, self._second(database, session) if form == _SECOND else self._first(database)

    def _parsed(self, where: str, read: Callable[[Callable[[str], None]], Json]) -> Json | None:
        """Return a record; if it is damaged, or too long, report that."""
        try:
            return read(lambda what: self.counts.problem(Problem(where, 0, what)))
        except (OSError, ValueError) as error:
            self.counts.refuse(NOT_JSON, Problem(where, 0, _what(error)))
            return None

    def _tree(self) -> Iterator[Message]:
        storage = Path(self.source.about["storage"])
        for path in _files(storage / "message" / self.source.key, self.counts.problems):
            message = self._parsed(str(path), partial(_read_json, path))
            parts = []
            for below in _files(storage / "part" / path.stem, self.counts.problems):
                part = self._parsed(str(below), partial(_read_json, below))
                if part is not None:
                    parts.append((below.stem, part))
            yield from self._whole(message, path.stem, parts)

    def _whole(self, message: Json | None, ref: str, parts: list[tuple[str, Json]]) -> Iterator[Message]:
        """Yield a message; the parts of one that is damaged are unknown."""
        if message is None:
            for _ in parts:
                self.counts.note("part of a damaged message")
        else:
            yield {**message, "id": ref}, ref, parts

    def _row(self, row: Json) -> Json | None:
        where = f"{self.source.path}: session {self.source.key}, record {row.get('id')}"
        return self._parsed(where, partial(record_in, row.get("data")))

    def _first(self, database: Connection) -> Iterator[Message]:
        query = "SELECT * FROM message WHERE session_id = ? ORDER BY time_created, id"
        for row in rows_of(database, query, self.source.key):
            parts = []
            for below in rows_of(database, "SELECT * FROM part WHERE message_id = ? ORDER BY id", row["id"]):
                part = self._row(below)
                if part is not None:
                    parts.append((str(below["id"]), part))
            yield from self._whole(self._row(row), str(row["id"]), parts)

    def _second(self, database: Connection, session: Json) -> Iterator[Message]:
        refs = _copied(database, session, set())
        query = "SELECT * FROM session_message WHERE session_id = ? ORDER BY seq, id"
        for row in rows_of(database, query, self.source.key):
            found = self._row(row)
            if found is None:
                continue
            time = {"created": row.get("time_created"), **map_in(found, "time")}
            message = {**found, "type": row.get("type"), "id": row.get("id"), "time": time}
            yield message, refs.get(row.get("seq"), str(row.get("id"))), []


def _copied(database: Connection, session: Json, seen: set[str]) -> dict[Any, str]:
    """Return the ids of the originals of the copies that a fork begins with, by position: copies have their own ids."""
    origin, boundary = text_in(session, "fork_session_id"), session.get("fork_boundary")
    if not origin or origin in seen:
        return {}
    seen.add(origin)
    parent = next(rows_of(database, "SELECT * FROM session_v2 WHERE id = ?", origin), {})
    refs = _copied(database, parent, seen)
    query = (
        "SELECT theirs.seq, theirs.id FROM session_message AS theirs"
        " JOIN session_message AS own ON own.seq = theirs.seq"
        " WHERE theirs.session_id = ? AND own.session_id = ? AND own.type = theirs.type AND own.data = theirs.data"
    )
    return {
        row["seq"]: refs.get(row["seq"], str(row["id"]))
        for row in rows_of(database, query, origin, session.get("id"))
        if type(boundary) is not int or (type(row["seq"]) is int and row["seq"] <= boundary)
    }


def _title_in(session: Json) -> str:
    """Return the title of a session; empty if it is the one that all have before theirs is made."""
    title = title_of(text_in(session, "title"))
    return "" if _NO_TITLE.match(title) else title


def _map(value: object) -> Json:
    """Return a map, which databases store as text."""
    try:
        return value if type(value) is dict else record_in(value)
    except ValueError:
        return {}


def _files_of_tree(source: Source) -> Iterator[Path]:
    """Yield the files of the messages of a session in the tree, and of their parts."""
    if source.about["form"] == _TREE:
        storage = Path(source.about["storage"])
        for message in _files(storage / "message" / source.key, []):
            yield message
            yield from _files(storage / "part" / message.stem, [])


TOOL = Tool(_NAME, "opencode", _places, _discover, Session, beside=_files_of_tree)
