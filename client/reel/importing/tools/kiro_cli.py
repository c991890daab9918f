"""Kiro CLI: a file of JSON lines for each session, and beside it what is known of the session as a whole."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reel.base.strict_json import Json, encode
from reel.importing.sources.blocks import call_block, fitting, made_by, said_from
from reel.importing.sources.companions import companion
from reel.importing.sources.description import Description
from reel.importing.sources.discovery import record_files
from reel.importing.sources.files import JsonLines, Line
from reel.importing.sources.offspring import Offspring, source_beside, with_forks
from reel.importing.sources.record_tree import START, RecordTree
from reel.importing.steps import REPEATED, Found, Kept, Part, Problem, Said, Source, Step, Tool
from reel.importing.values import as_map, list_in, map_in, milliseconds, other_fields, text_in
from reel.providers.blocks import text as text_block
from reel.providers.blocks import tool_result
from reel.providers.content import shortest
from reel.providers.metadata import opaque_block
from reel.providers.refusals import Refusals

NAME = "kiro-cli"
_SUFFIX, _ABOUT = ".jsonl", ".json"
_ROLES = {"Prompt": "user", "AssistantMessage": "assistant", "ToolResults": "user"}
_CLEARED = "Clear"
_RECORD = frozenset({"version", "kind", "data"})
# The results are in the content already; here they are in a form of Kiro's own.
_DATA = frozenset({"message_id", "content", "meta", "results"})


def _places(environment: Mapping[str, str]) -> Iterator[Path]:
    home = environment.get("KIRO_HOME")
    yield (Path(home) if home else Path(environment.get("HOME", "/")) / ".kiro") / "sessions/cli"


def _discover(root: Path) -> Found:
    """Find the sessions; a rewind makes a new one, which begins as its origin does."""
    problems: list[Problem] = []
    found: list[Offspring] = []
    for entry, records in record_files(root, f"*{_SUFFIX}", _is_record, problems):
        source = source_beside(NAME, entry, entry.path.with_suffix(_ABOUT), entry.path.name.removesuffix(_SUFFIX))
        found.append(Offspring(source, text_in(map_in(records[0], "data"), "message_id") if records else ""))
    return Found(with_forks(found), problems)


def _is_record(found: Json) -> bool:
    return text_in(found, "kind") in (*_ROLES, _CLEARED) and "version" in found


def _about_of(source: Source) -> Path:
    return Path(source.path).with_suffix(_ABOUT)


class Session(JsonLines):
    """A session that is being read.

    Args:
        source: the location of the session.
    """

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._about = Description(NAME, source)
        self._tree = RecordTree()
        self._refusals = Refusals(NAME, self.counts.refused)
        # Only prompts have a time: an answer has that of its prompt.
        self._sent: int | None = None
        self._model = ""

    def read(self, lines: Iterator[Line]) -> Iterator[Step]:
        """Yield the steps in lines, with what is known by now about the session."""
        known = companion(_about_of(self.source), self.counts)
        state = map_in(map_in(known, "session_state"), "rts_model_state")
        self._model = text_in(map_in(state, "model_info"), "model_id")
        self._about.facts.update({"cwd": text_in(known, "cwd"), "model": self._model})
        self._about.name(text_in(known, "title"))
        yield from super().read(lines)

    def read_line(self, found: Json, line: int) -> Iterator[Step]:
        """Read one record."""
        kind, data = text_in(found, "kind"), map_in(found, "data")
        content = data.get("content")
        if kind == _CLEARED:
            self.counts.map()
            self.counts.left_out.update([*other_fields(found, _RECORD), *other_fields(data, set(), "data.")])
            yield from self._tree.follow(START)  # the model gets nothing of what was said before
            return
        ref = self._tree.name(text_in(data, "message_id"), found)
        if not ref:
            self.counts.ignore(REPEATED)
            return
        if kind not in _ROLES or type(content) is not list:
            self._tree.add(ref, self._tree.newest)
            self.counts.note(f"{kind} without content" if kind in _ROLES else kind or "without a kind")
            yield from self._about.begin()
            yield Kept("note", ref, None, {NAME: encode(found)}, self._sent, line)
            return
        blocks = [block for part in content if (block := self._block(part)) is not None]
        if not blocks:
            self._tree.add(ref, self._tree.newest)
            self.counts.ignore("empty")
            return
        self.counts.map()
        self.counts.left_out.update([*other_fields(found, _RECORD), *other_fields(data, _DATA, "data.")])
        self._take_prompt(kind, data, blocks)
        yield from self._about.begin()
        metadata = made_by(NAME, self._model) if kind == "AssistantMessage" else {}
        said = Said(_ROLES[kind], (Part(ref, []),), metadata, self._sent, line)
        yield from said_from(blocks, _ROLES[kind], said, self._refusals)
        self._tree.add(ref, self._tree.newest, ref)

    def _take_prompt(self, kind: str, data: Json, blocks: list[Json]) -> None:
        """Take the time of a prompt, and its text for the title."""
        meta = map_in(data, "meta")
        self.counts.left_out.update(other_fields(meta, {"timestamp"}, "data.meta."))
        self._sent = milliseconds(meta.get("timestamp")) or self._sent
        if kind == "Prompt":
            self._about.prompt(" ".join(block["text"] for block in blocks if block["type"] == "text"))

    def _block(self, part: Any) -> Json | None:
        """Return the block of a part; ``None`` for an empty text."""
        given, kind = as_map(part), text_in(part, "kind")
        data: Any = given.get("data")
        block: Json | None = None
        if kind == "text" and type(data) is str:
            block = text_block(data)
        elif kind == "json":
            block = text_block(encode(data))
        elif kind == "toolUse" and type(data) is dict:
            self.counts.left_out.update(other_fields(data, {"toolUseId", "name", "input"}, "toolUse."))
            block = call_block(text_in(data, "toolUseId"), text_in(data, "name"), data.get("input"))
        elif kind == "toolResult" and type(data) is dict:
            block = self._result(data)
        if block is None:
            return opaque_block(NAME, {"type": "unknown", **given})
        self.counts.left_out.update(other_fields(given, {"kind", "data"}, f"{kind}."))
        return None if block == text_block("") else block

    def _result(self, data: Json) -> Json:
        self.counts.left_out.update(other_fields(data, {"toolUseId", "content", "status"}, "toolResult."))
        parts = [block for part in list_in(data, "content") if (block := self._block(part)) is not None]
        content = shortest([fitting(block, "tool_result", self._refusals) for block in parts])
        failed = data.get("status") not in ("success", None)
        return tool_result(text_in(data, "toolUseId") or "call", content, failed=failed)

    def end(self) -> Iterator[Step]:
        """Yield what is known by now about a session with messages."""
        if self._about.has_begun:
            yield from self._about.end()


TOOL = Tool(NAME, "Kiro CLI", _places, _discover, Session, beside=lambda source: [_about_of(source)])
