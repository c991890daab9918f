"""Cursor: a transcript of JSON lines for each conversation of its agent, and for each sub-agent, by project.

Transcripts have no ids, no results of tools and no model. The time of a prompt is in its text. What Cursor shows is in
a database of its own, whose form changes with each version; it is not read.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from reel.base.strict_json import Json, encode
from reel.importing.sources.blocks import anthropic_blocks, said_from
from reel.importing.sources.description import Description
from reel.importing.sources.discovery import record_files
from reel.importing.sources.files import Entry, JsonLines, Line
from reel.importing.steps import Found, Kept, Part, Problem, Said, Source, Step, Tool
from reel.importing.values import digest, map_in, name_of, other_fields, text_in
from reel.providers.anthropic import PROVIDER
from reel.providers.blocks import tool_result
from reel.providers.refusals import Refusals

NAME = "cursor"
_SUFFIX, _TRANSCRIPTS, _SUBAGENTS = ".jsonl", "agent-transcripts", "subagents"
_ROLES = ("user", "assistant")
# What Cursor writes around a prompt, and the time before it.
_QUERY = re.compile(r"<user_query>\s*(.*?)\s*</user_query>", re.DOTALL)
_TIME = re.compile(
    r"<timestamp>\w+, (\w{3} \d{1,2}, \d{4}, \d{1,2}:\d{2} [AP]M) \(UTC(?:([+-]\d{1,2})(?::(\d{2}))?)?\)"
)
_WRITTEN = "%b %d, %Y, %I:%M %p"
_NO_RESULT = "[Cursor's transcripts have no results of tools.]"
# The end of a turn, and the rule for it if it went well.
_TURN_ENDED, _ENDED = "turn_ended", "end of a turn"


def _places(environment: Mapping[str, str]) -> Iterator[Path]:
    yield Path(environment.get("HOME", "/")) / ".cursor/projects"


def _discover(root: Path) -> Found:
    """Find the transcripts; files without their records are of something else."""
    problems: list[Problem] = []
    sources = [_source(entry) for entry, _ in record_files(root, f"*{_SUFFIX}", _is_record, problems)]
    return Found(sources, problems)


def _is_record(found: Json) -> bool:
    return text_in(found, "role") in _ROLES and "content" in map_in(found, "message")


def _source(entry: Entry) -> Source:
    path, stem = entry.path, entry.path.name.removesuffix(_SUFFIX)
    is_subagent = path.parent.name == _SUBAGENTS
    ids = (path.parent.parent.name, stem) if is_subagent else (stem,)
    about = {"parent": name_of(NAME, ids[0])} if is_subagent else {}
    if _TRANSCRIPTS in path.parts:
        about["project"] = path.parts[path.parts.index(_TRANSCRIPTS) - 1]
    return Source(str(path), name_of(NAME, *ids), entry.size, entry.modified, about=about)


class Session(JsonLines):
    """A transcript that is being read.

    Args:
        source: the location of the transcript.
    """

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._about = Description(NAME, source)
        self._refusals = Refusals(PROVIDER, self.counts.refused)
        self._number = 0
        # The calls without a result, and the time of the newest prompt, or of the file.
        self._calls: list[str] = []
        self._sent = source.modified // 1_000_000

    def read_line(self, found: Json, line: int) -> Iterator[Step]:
        """Read one record."""
        if _is_record(found):
            self.counts.map()
            self.counts.left_out.update(other_fields(found, {"role", "message"}))
            self.counts.left_out.update(other_fields(map_in(found, "message"), {"role", "content"}, "message."))
            yield from self._read_message(found["role"], found["message"]["content"], line)
            return
        kind = text_in(found, "type")
        if kind == _TURN_ENDED:
            yield from self._answer_calls(line)
            if text_in(found, "status") == "success":
                self.counts.ignore(_ENDED)
                return
            self.counts.map()
        else:
            self.counts.note(kind or "without a type")
        yield from self._about.begin()
        text = text_in(found, "error") or text_in(found, "status") or None
        yield Kept("note", f"line-{line}-{digest(encode(found))}", text, {NAME: encode(found)}, self._sent, line)

    def miss(self, line: Line) -> None:
        """Count a message that cannot be read: those after it keep their numbers."""
        self._number += b'"message"' in line.data or not line.data

    def _read_message(self, role: str, content: Any, line: int) -> Iterator[Step]:
        content = self._with_ids(content, f"{line}")
        blocks = anthropic_blocks(content, self._refusals)
        if role == "user":
            self._take_prompt(" ".join(block["text"] for block in blocks if block["type"] == "text"))
        yield from self._about.begin()
        if not any(block["type"] == "tool_result" for block in blocks):
            yield from self._answer_calls(line)
        answered = {block["tool_call_id"] for block in blocks if block["type"] == "tool_result"}
        self._calls = [call for call in self._calls if call not in answered]
        self._calls += [block["id"] for block in blocks if block["type"] == "tool_call"]
        said = Said(role, (Part(f"message-{self._number}", []),), {}, self._sent, line)
        self._number += 1
        yield from said_from(blocks, role, said, self._refusals)

    def _answer_calls(self, line: int) -> Iterator[Said]:
        """Yield a result for the calls that have none: without it, they would count as interrupted."""
        if self._calls:
            missing = [tool_result(call, _NO_RESULT) for call in self._calls]
            yield Said("tool", (Part(f"message-{self._number}-results", missing),), {}, self._sent, line)
        self._calls = []

    def _with_ids(self, content: Any, line: str) -> Any:
        """Return content in which each call has an id, and each result that of a call, if it names none."""
        if type(content) is not list:
            return content
        named = {text_in(block, "tool_use_id") for block in content}
        waiting = [call for call in self._calls if call not in named]

        def with_id(index: int, block: Any) -> Any:
            kind = text_in(block, "type")
            if kind == "tool_use" and not text_in(block, "id"):
                return {**block, "id": f"{line}-{index}"}
            if kind == "tool_result" and text_in(block, "tool_use_id") not in self._calls and waiting:
                return {**block, "tool_use_id": waiting.pop(0)}
            return block

        return [with_id(index, block) for index, block in enumerate(content)]

    def _take_prompt(self, text: str) -> None:
        self._sent = _time_in(text) or self._sent
        query = _QUERY.search(text)
        self._about.prompt(query[1] if query else text)

    def end(self) -> Iterator[Step]:
        """Yield what it is called and the facts, as the file has ended."""
        if self._about.has_begun:
            yield from self._about.end()


def _time_in(text: str) -> int | None:
    """Return the time that is before a prompt, in milliseconds since the epoch."""
    if (found := _TIME.search(text)) is None:
        return None
    hours, minutes = int(found[2] or 0), int(found[3] or 0)
    offset = timedelta(hours=hours, minutes=-minutes if hours < 0 else minutes)
    try:
        when = datetime.strptime(found[1], _WRITTEN).replace(tzinfo=timezone(offset))
    except (ValueError, OverflowError):
        return None
    return max(int(when.timestamp() * 1000), 0)


TOOL = Tool(NAME, "Cursor", _places, _discover, Session, by_position=True)
