"""Gemini CLI: a file of JSON lines for each session, formerly a file with one object, by project."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from hashlib import sha256
from json import JSONDecodeError
from pathlib import Path

from reel.base.strict_json import Json
from reel.importing.sources.discovery import each_read
from reel.importing.sources.files import Entry, JsonLines, Line, files_below, open_regular
from reel.importing.sources.gemini_parts import Parts
from reel.importing.sources.json_elements import MAX_ELEMENT
from reel.importing.sources.salvage import GAP, with_gaps
from reel.importing.steps import NOT_JSON, REPEATED, TOO_LONG, About, Found, Problem, Source, Step, Tool
from reel.importing.tools.gemini_cli.history import History
from reel.importing.tools.gemini_cli.messages import (
    NAME,
    Message,
    kept_note,
    kind_of,
    left_out_of,
    read_message,
    with_id,
    without_results,
)
from reel.importing.values import (
    as_map,
    list_in,
    map_in,
    name_of,
    parse_record,
    ref_of,
    tags_of,
    text_in,
    title_of,
)

_LINES, _OBJECT = ".jsonl", ".json"
_CHATS = "chats"
_SESSION = "session-"
# How much of a file is read to determine its session.
_HEAD = 1 << 16
_ID = re.compile(rb'"sessionId"\s*:\s*"([^"\\]{1,200})"')
_PROJECT = re.compile(rb'"projectHash"\s*:\s*"([^"\\]{1,200})"')
_MESSAGES = re.compile(rb'"messages"\s*:\s*(?=\[)')
_FIRST_KEYS = ("id", "timestamp", "type", "content")
# The facts about a session, apart from its messages.
_METADATA = frozenset(
    {"sessionId", "projectHash", "startTime", "lastUpdated", "kind", "summary", "directories", "memoryScratchpad"}
)


def _places(environment: Mapping[str, str]) -> Iterator[Path]:
    yield Path(environment.get("GEMINI_CLI_HOME") or environment.get("HOME", "/")) / ".gemini/tmp"


def _discover(root: Path) -> Found:
    """Find the sessions; of one that is in several files, the file that was written last comes last.

    Gemini CLI goes on in another file if a prompt is sent while it loads a session, and leaves what it has migrated.
    """
    problems: list[Problem] = []
    if (root / "tmp").is_dir():
        root /= "tmp"
    projects = _projects_of(root)
    sources: list[Source] = []
    for chats in _chats_in(root.resolve(), problems):
        entries = (
            entry
            for entry in files_below(chats, (_LINES, _OBJECT), problems)
            if entry.path == chats or entry.path.name.startswith(_SESSION) or entry.path.parent != chats
        )
        read = partial(_source, chats=chats, projects=projects)
        sources += [source for _, source in each_read(entries, read, problems)]
    sources.sort(key=_order)
    newest = {source.conversation: source.path for source in sources}
    return Found([each._replace(has_newer=each.path != newest[each.conversation]) for each in sources], problems)


def _order(source: Source) -> tuple[bool, int]:
    return source.path.endswith(_LINES), source.modified


def _chats_in(root: Path, problems: list[Problem]) -> Iterator[Path]:
    """Yield the directories with sessions below a root, which may also be one of them, or a file."""
    if root.is_file() or root.name == _CHATS:
        yield root
        return
    below = [root, *sorted(root.iterdir())]
    places = [path / _CHATS for path in below if (path / _CHATS).is_dir()]
    for path in places:
        if link := next((found for found in (path, path.parent) if found != root and found.is_symlink()), None):
            problems.append(Problem(str(link), 0, "is a link, which is not followed"))
        else:
            yield path
    if not places:
        yield root


def _projects_of(root: Path) -> dict[str, str]:
    """Return the directories of the projects, by the names and hashes that represent them."""
    try:
        with open_regular(str(root.parent / "projects.json")) as file:
            projects = map_in(parse_record(file.read(MAX_ELEMENT)), "projects")
    except (OSError, ValueError, RecursionError):
        return {}
    named = {name: path for path, name in projects.items() if type(name) is str}
    return {sha256(path.encode("utf-8", "replace")).hexdigest(): path for path in projects} | named


def _source(entry: Entry, chats: Path, projects: Mapping[str, str]) -> Source:
    path = entry.path
    with open_regular(str(path)) as file:
        head = file.read(_HEAD)
    session, project = (
        match[1].decode("utf-8", "replace") if (match := pattern.search(head)) else "" for pattern in (_ID, _PROJECT)
    )
    ids = [session or path.stem]
    about = {}
    if path.parent.parent.name == _CHATS:  # of a sub-agent
        ids.insert(0, path.parent.name)
        about["parent"] = name_of(NAME, path.parent.name)
    owner = chats.parent if chats.is_dir() else chats.parent.parent
    cwd = _marked(owner) or projects.get(owner.name) or projects.get(project, "")
    return Source(str(path), name_of(NAME, *ids), entry.size, entry.modified, about={**about, "cwd": cwd})


def _marked(owner: Path) -> str:
    """Return the directory of the project that a directory of sessions names."""
    try:
        with open_regular(str(owner / ".project_root")) as file:
            return file.read(_HEAD).decode("utf-8", "replace").strip()
    except OSError:
        return ""


class Session(JsonLines):
    """A session that is being read.

    Args:
        source: the location of the session.
    """

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._history = History()
        self._parts = Parts(self.counts.refused)
        # The last answer, which may be rewritten with calls and results.
        self._answer: Json = {}
        self._answer_line = 0
        self._facts: dict[str, str] = {"tool": NAME, "source": source.path, **source.about}
        self._summary = self._prompt = ""
        self._described: About | None = None
        # The number of messages so far: a converter may have left out their ids.
        self._number = 0

    def steps(self) -> Iterator[Step]:
        """Yield the steps of the session."""
        if not self.source.path.endswith(_OBJECT):
            yield from super().steps()
            return
        with self.open() as file:
            data = file.read(MAX_ELEMENT + 1)
        yield from self._read_object(data)
        yield from self.end()

    def _read_object(self, data: bytes) -> Iterator[Step]:
        """Read the one object of an old session; if it is damaged, its undamaged messages."""
        if len(data) > MAX_ELEMENT:
            self._problem(TOO_LONG, 0, f"has more than {MAX_ELEMENT:,} bytes")
            return
        try:
            found = parse_record(data) or {}
        except (ValueError, RecursionError) as error:
            line = error.lineno if isinstance(error, JSONDecodeError) else 0
            self._problem(NOT_JSON, line, f"not JSON: {error}")
            for message in _undamaged(data):
                if message is GAP:
                    self._number += 1
                else:
                    yield from self.read_line(message, 0)
            return
        yield from self._read_changes({key: value for key, value in found.items() if key != "messages"}, 0)
        for message in list_in(found, "messages"):
            yield from self.read_line(as_map(message), 0)

    def _problem(self, kind: str, line: int, what: str) -> None:
        self.counts.refuse(kind, Problem(self.source.path, line, what))

    def read_line(self, found: Json, line: int) -> Iterator[Step]:
        """Read one record: a message, or a change to earlier ones."""
        if type(found.get("$rewindTo")) is str:
            self.counts.map()
            yield from self._flush()
            self._history.rewind(found["$rewindTo"])
        elif text_in(found, "id") or not kind_of(found):
            self._number += 1
            yield from self._read_message(with_id(found, self._number), line)
        elif (changes := map_in(found, "$set")) or "sessionId" in found:
            yield from self._read_changes(changes or found, line)
        else:
            yield from self._note(text_in(found, "type") or next(iter(found), "empty"), found, line)

    def miss(self, line: Line) -> None:
        """Count a message that cannot be read: those after it keep their numbers."""
        self._number += b'"content"' in line.data and b'"$' not in line.data

    def _read_message(self, found: Json, line: int) -> Iterator[Step]:
        if unknown := kind_of(found):
            yield from self._flush()
            yield from self._note(unknown, found, line)
            return
        if text_in(found, "type") == "gemini":
            if found["id"] != text_in(self._answer, "id"):
                yield from self._flush()
            if self._history.knows(found["id"]):
                yield from self._note("answer that was written again later", found, line)
                return
            self.counts.map()
            self.counts.left_out.update(left_out_of(found))
            self._answer, self._answer_line = found, line
            return
        messages = read_message(found, self._parts)
        yield from self._flush(messages[0] if messages else None)
        if not messages:
            self.counts.ignore("empty")
        elif all(self._history.knows(message.key) for message in messages):
            self.counts.ignore(REPEATED)
        else:
            self.counts.map()
            self.counts.left_out.update(left_out_of(found) if text_in(found, "type") == "user" else ())
            for message in messages:
                yield from self._say(message, self._history.append(message, line))

    def _flush(self, following: Message | None = None) -> Iterator[Step]:
        """Yield the last answer, which is complete."""
        if self._answer:
            answer, self._answer = read_message(self._answer, self._parts), {}
            for message in without_results(answer, following):
                yield from self._say(message, self._history.append(message, self._answer_line))

    def _read_changes(self, changes: Json, line: int) -> Iterator[Step]:
        """Read facts about the session; these may include messages that replace all earlier ones."""
        self._summary = title_of(text_in(changes, "summary")) or self._summary
        unknown = sorted(changes.keys() - _METADATA - {"messages"})
        if unknown:
            yield from self._note(unknown[0], changes, line)
        else:
            self.counts.map()
        if type(changes.get("messages")) is not list:
            return
        yield from self._flush()
        listed = []
        for number, found in enumerate(changes["messages"], 1):
            if type(found) is not dict or kind_of(found):
                whole = as_map(found)
                yield from self._note(kind_of(whole), whole, line)
            else:
                self.counts.left_out.update(left_out_of(found))
                listed += read_message(with_id(found, number), self._parts)
        messages = without_results(listed)
        said = [message for message in messages if message.role != "note"]
        for message in messages:
            if message.role == "note":
                yield kept_note(message.record, message.id, line)
        for message in said:
            self._take_facts(message)
        yield from self._describe()
        yield from self._history.replace(said, line)

    def _say(self, message: Message, steps: Iterable[Step]) -> Iterator[Step]:
        self._take_facts(message)
        yield from self._describe()
        yield from steps

    def _describe(self) -> Iterator[Step]:
        if self._described is None:
            self._described = self._about()
            yield self._described

    def _about(self) -> About:
        return About("", self._summary or self._prompt, tags_of(**self._facts))

    def _take_facts(self, message: Message) -> None:
        self._prompt = self._prompt or title_of(message.title)
        if model := text_in(message.metadata, "model"):
            self._facts["model"] = model

    def _note(self, kind: str, found: Json, line: int) -> Iterator[Step]:
        self.counts.note(kind)
        yield from self._describe()
        yield kept_note(found, text_in(found, "id") or ref_of(found), line)

    def end(self) -> Iterator[Step]:
        """Yield steps that were held back."""
        yield from self._flush()
        yield from self._history.end()
        if self._described is not None and (about := self._about()) != self._described:
            self._described = about
            yield about


def _undamaged(data: bytes) -> Iterator[Json]:
    """Yield the complete messages of a damaged session, and a gap for each other one."""
    if (found := _MESSAGES.search(data)) is not None:
        yield from with_gaps(data[found.end() :], _FIRST_KEYS, _is_message)


def _is_message(found: Json) -> bool:
    return not kind_of(found) or bool(text_in(found, "id") and text_in(found, "type"))


TOOL = Tool(NAME, "Gemini CLI", _places, _discover, Session)
