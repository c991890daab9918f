"""Crush, and the first opencode, from which it was made: a database in each project."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from reel.base.strict_json import Json, encode, parse
from reel.base.values import clean_deep
from reel.importing.sources.blocks import call_block, fitting, made_by, said_from, with_exit_status
from reel.importing.sources.databases import Damaged, Database, databases_below, open_database
from reel.importing.sources.files import MAX_LINE, open_regular
from reel.importing.sources.unfinished import as_far_as_written, may_go_on, postpone
from reel.importing.steps import (
    NOT_JSON,
    About,
    Compacted,
    Counts,
    Found,
    Kept,
    Part,
    Problem,
    Said,
    Source,
    Step,
    Tool,
)
from reel.importing.values import as_map, id_in_name, map_in, milliseconds, other_fields, tags_of, text_in, title_of
from reel.providers.anthropic import PROVIDER as ANTHROPIC
from reel.providers.blocks import text as text_block
from reel.providers.blocks import tool_result
from reel.providers.content import is_base64
from reel.providers.metadata import opaque_block
from reel.providers.refusals import Refusals

_NAME = "crush"
_FILES = ("crush.db", "opencode.db")
_DIRECTORIES = (".crush", ".opencode")
_ROLES = {"user": "user", "tool": "user", "assistant": "assistant"}
_COLUMNS = frozenset(
    {
        *("id", "session_id", "role", "parts", "model", "created_at", "updated_at", "finished_at", "provider"),
        "is_summary_message",
    }
)
# What the shell tool writes behind the output of a command, and in how many characters.
_ENDED = re.compile(
    r"(?:(?:\A|\n)(?:Exit code (?P<status>\d{1,10})|(?P<aborted>Command was aborted before completion)))?"
    r"(?P<directory>\n\n<cwd>[^\n]*</cwd>)?\Z"
)
_END = 4200
# The fields of a part of which something is made, by its type; any other part is kept whole.
_FIELDS = {
    "text": frozenset({"text"}),
    "reasoning": frozenset({"thinking", "signature", "started_at", "finished_at"}),
    "tool_call": frozenset({"id", "name", "input", "type", "finished"}),
    "tool_result": frozenset({"tool_call_id", "name", "content", "is_error"}),
    "finish": frozenset({"reason", "time", "message", "details"}),
    "binary": frozenset({"Path", "MIMEType", "Data"}),
}


def _places(environment: Mapping[str, str]) -> Iterator[Path]:
    """Yield the databases of the projects that Crush knows, and of the current directory or one above it."""
    here = Path(environment.get("PWD") or ".")
    for directory in (here, *here.parents):
        found = [path for name in _DIRECTORIES if (path := directory / name).is_dir()]
        if found or (directory / ".git").exists():
            yield from found
            break
    data = environment.get("XDG_DATA_HOME") or Path(environment.get("HOME", "/")) / ".local/share"
    named = environment.get("CRUSH_GLOBAL_DATA")
    yield from _projects(Path(named) if named else Path(data) / "crush")


def _projects(root: Path) -> Iterator[Path]:
    """Yield the directories of data in the list of projects, which may be a map or a list."""
    with suppress(OSError, ValueError, RecursionError), open_regular(str(root / "projects.json")) as file:
        listed = parse(file.read(MAX_LINE).decode("utf-8", "replace"))
        listed = listed.get("projects", listed) if type(listed) is dict else listed
        for project in listed.values() if type(listed) is dict else listed:
            if path := text_in(project, "path"):
                yield Path(path) / (text_in(project, "data_dir") or _DIRECTORIES[0])


def _discover(root: Path) -> Found:
    return databases_below(root, _NAME, _FILES, {"messages": "session_id"})


class Sessions:
    """A database that is being read.

    Args:
        source: the location of the database.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.counts = Counts()
        self._refusals = Refusals(_NAME, self.counts.refused)

    def steps(self) -> Iterator[Step]:
        """Yield the steps of all sessions."""
        with open_database(self.source.path) as database:
            for session, numbers in database.groups("messages", "session_id").items():
                try:
                    yield from self._session(database, session, numbers)
                except Damaged as error:
                    self.counts.problem(Problem(self.source.path, 0, f"session {session}: {error}"))

    def _session(self, database: Database, session: str, numbers: list[int]) -> Iterator[Step]:
        row = next(iter(database.rows("sessions", "id", session)), {})
        parent = text_in(row, "parent_session_id")
        model, summary = "", text_in(row, "summary_message_id")
        facts = {
            "tool": _NAME,
            "source": self.source.path,
            "cwd": str(Path(self.source.path).parent.parent),
            "parent": f"{_NAME}/{id_in_name(parent)}" if parent else "",
        }
        yield About(f"/{id_in_name(session)}", title_of(text_in(row, "title")), tags_of(**facts))
        for number in numbers:
            message = database.row("messages", number)
            if (parts := self._parts_of(message, number)) is None:
                continue
            is_open = number == numbers[-1] and _is_unfinished(message, parts)
            if is_open and may_go_on(milliseconds(message.get("updated_at")) or 0):
                postpone(self.counts)
                continue
            model = text_in(message, "model") or model
            is_summary = bool(message.get("is_summary_message")) or text_in(message, "id") == summary != ""
            steps = self._read(message, parts, is_summary)
            yield from as_far_as_written(steps) if is_open else steps
        if model:
            yield About(f"/{id_in_name(session)}", "", tags_of(model=model))

    def _parts_of(self, row: Json, number: int) -> list[Any] | None:
        """Return the parts of a message; ``None`` if it is damaged, which is reported."""
        try:
            parts = clean_deep(parse(text_in(row, "parts")))[0]
            what = "not a list of parts"
        except (ValueError, RecursionError) as error:
            parts, what = None, f"not JSON: {error}"
        if type(parts) is list:
            return parts
        self.counts.refuse(NOT_JSON, Problem(self.source.path, 0, f"messages, row {number}: {what}"))
        return None

    def _read(self, row: Json, parts: list[Any], is_summary: bool) -> Iterator[Step]:  # noqa: FBT001 - of one message
        ref, role, sent = text_in(row, "id"), text_in(row, "role"), milliseconds(row.get("created_at"))
        if role not in _ROLES:
            self.counts.note(f"role {role or 'missing'}")
            yield Kept("note", ref, None, {_NAME: encode(row)}, sent)
            return
        self.counts.map()
        self.counts.left_out.update(other_fields(row, _COLUMNS))
        blocks = [block for part in parts if (block := self._block(part, row)) is not None]
        model = text_in(row, "model")
        provider = text_in(row, "provider") or _NAME
        metadata = made_by(provider, model) if role == "assistant" else {}
        said = Said(_ROLES[role], (Part(ref, []),), metadata, sent)
        if is_summary and blocks:
            texts = [fitting(block, "user", self._refusals) for block in blocks]
            yield Compacted(said._replace(role="user", parts=(Part(ref, texts),), metadata={"provider": _NAME}))
        else:
            yield from said_from(blocks, _ROLES[role], said, self._refusals)
        for number, part in enumerate(parts):
            data = map_in(part, "data")
            if text_in(part, "type") == "finish" and (text := text_in(data, "message")):
                yield Kept("note", f"{ref}/{number}", text, {_NAME: encode(part)}, sent)

    def _block(self, part: Any, row: Json) -> Json | None:
        """Convert a part; ``None`` for the end of a message."""
        kind, data = text_in(part, "type"), map_in(part, "data")
        if kind == "finish":
            self.counts.ignore("end of a message")
            self._leave(part, data)
            return None
        self.counts.map()
        block = _READERS[kind](data, row) if kind in _READERS else None
        if block is None:
            return opaque_block(_NAME, as_map(part))
        self._leave(part, data)
        return block

    def _leave(self, part: Json, data: Json) -> None:
        self.counts.left_out.update(other_fields(part, {"type", "data"}))
        self.counts.left_out.update(other_fields(data, _FIELDS[part["type"]], f"{part['type']}."))


def _is_unfinished(row: Json, parts: list[Any]) -> bool:
    """Return whether a message is an answer without an end."""
    has_end = bool(row.get("finished_at")) or any(text_in(part, "type") == "finish" for part in parts)
    return not has_end and row.get("role") == "assistant"


def _text(data: Json, _row: Json) -> Json | None:
    return text_block(data["text"]) if type(data.get("text")) is str else None


def _reasoning(data: Json, row: Json) -> Json | None:
    if type(data.get("thinking")) is not str:
        return None
    provider, model, signature = text_in(row, "provider"), text_in(row, "model"), text_in(data, "signature")
    by = made_by(provider or _NAME, model)
    signed = (
        {"signature": signature} if provider == ANTHROPIC else {"provider_metadata": {**by, "signature": signature}}
    )
    return {"type": "thinking", "text": data["thinking"], **by, **(signed if signature else {})}


def _call(data: Json, _row: Json) -> Json:
    return call_block(text_in(data, "id"), text_in(data, "name"), data.get("input"))


def _result(data: Json, _row: Json) -> Json:
    failed = data.get("is_error") is True
    content = text_in(data, "content")
    result = tool_result(text_in(data, "tool_call_id") or "call", content, failed=failed)
    return with_exit_status(result, _NAME, _exit_status(content) if data.get("name") == "bash" else None)


def _exit_status(output: str) -> int | None:
    """Return the exit status that the shell tool wrote behind the output of a command; nothing is there after success.

    The first opencode wrote no directory: then success is not told from a command that goes on.
    """
    found = _ENDED.search(output[-_END:])
    if found is None or found["aborted"]:
        return None
    return int(found["status"]) if found["status"] else 0 if found["directory"] else None


def _binary(data: Json, _row: Json) -> Json | None:
    mime, content = text_in(data, "MIMEType"), text_in(data, "Data")
    if not mime or not content or not is_base64(content):
        return None
    name = {"name": path} if (path := text_in(data, "Path")) else {}
    return {"type": "media", "mime_type": mime, "data_base64": content, **name}


_READERS = {"text": _text, "reasoning": _reasoning, "tool_call": _call, "tool_result": _result, "binary": _binary}

TOOL = Tool(_NAME, "Crush", _places, _discover, Sessions)
