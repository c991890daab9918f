"""Grok Build: a directory for each session, with the messages that its model gets now as JSON lines."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reel.base.strict_json import Json, encode
from reel.importing.sources import chat_messages
from reel.importing.sources.blocks import call_block, fitting, made_by, said_from
from reel.importing.sources.chat_messages import ChatMessages
from reel.importing.sources.companions import companion
from reel.importing.sources.description import Description
from reel.importing.sources.discovery import record_files
from reel.importing.sources.files import JsonLines, Line
from reel.importing.sources.offspring import Offspring, source_beside, with_forks
from reel.importing.sources.responses_items import Items
from reel.importing.steps import Found, Kept, Part, Problem, Said, Source, Step, Tool
from reel.importing.values import as_map, digest, list_in, map_in, milliseconds, other_fields, text_in
from reel.providers.blocks import text as text_block
from reel.providers.blocks import tool_result
from reel.providers.content import ANY_PICTURE, media_from, shortest
from reel.providers.metadata import opaque_block
from reel.providers.refusals import Refusals

NAME = "grok-build"
_FILE, _ABOUT = "chat_history.jsonl", "summary.json"
_ADDRESSES = ("data:", "https://", "http://")
# For each type of row, the fields that become blocks, or that are about the request.
_FIELDS = {
    "system": {"type", "content"},
    "user": {"type", "content", "synthetic_reason", "cwd_generation", "prior_turn_interrupt", "prompt_index"},
    "assistant": {"type", "content", "tool_calls", "model_id", "model_fingerprint", "reasoning_effort"},
    "tool_result": {"type", "tool_call_id", "content", "images"},
    "reasoning": {"type", "id", "summary", "content", "encrypted_content", "status"},
    "backend_tool_call": {"type", "kind"},
}
# The rows that are parts of one answer.
_OF_ANSWERS = ("assistant", "reasoning", "backend_tool_call")
_CALL = {"id", "name", "arguments"}


def _places(environment: Mapping[str, str]) -> Iterator[Path]:
    home = environment.get("GROK_HOME")
    yield (Path(home) if home else Path(environment.get("HOME", "/")) / ".grok") / "sessions"


def _discover(root: Path) -> Found:
    """Find the sessions; a fork begins with a copy of its origin."""
    problems: list[Problem] = []
    found: list[Offspring] = []
    for entry, records in record_files(root, _FILE, _is_row, problems):
        source = source_beside(NAME, entry, entry.path.with_name(_ABOUT), entry.path.parent.name)
        prompt = next((one for one in records if one.get("prompt_index") == 0), None)
        found.append(Offspring(source, digest(encode(prompt, ascii_only=True)) if prompt else ""))
    return Found(with_forks(found), problems)


def _is_row(found: Json) -> bool:
    return text_in(found, "type") in _FIELDS or chat_messages.is_message(found)


def _about_of(source: Source) -> Path:
    return Path(source.path).with_name(_ABOUT)


class Session(JsonLines):
    """A session that is being read.

    Args:
        source: the location of the session.
    """

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._about = Description(NAME, source)
        self._refusals = Refusals(NAME, self.counts.refused)
        self._items = Items(self.counts.refused)
        self._messages = ChatMessages(self.counts.refused)
        self._number = 0
        self._model = ""
        self._sent: int | None = None
        # An answer whose rows are being read.
        self._answer: Said | None = None

    def read(self, lines: Iterator[Line]) -> Iterator[Step]:
        """Yield the steps in lines, with what is known by now about the session."""
        known = companion(_about_of(self.source), self.counts)
        # No row has a time of its own.
        self._sent = milliseconds(known.get("created_at"))
        self._model = text_in(known, "current_model_id")
        facts = {
            "model": self._model,
            "cwd": text_in(map_in(known, "info"), "cwd"),
            "branch": text_in(known, "head_branch"),
        }
        self._about.facts.update(facts)
        self._about.name(text_in(known, "generated_title") or text_in(known, "session_summary"))
        yield from super().read(lines)

    def read_line(self, found: Json, line: int) -> Iterator[Step]:
        """Read one row."""
        number, self._number = self._number, self._number + 1
        kind = text_in(found, "type")
        ref = f"{number}-{digest(encode(found, ascii_only=True))}"
        is_older = kind == "" and chat_messages.is_message(found)
        if not is_older and (kind not in _FIELDS or _says_nothing(found, kind)):
            self.counts.note(f"{kind} without content" if kind in _FIELDS else kind or "without a type")
            yield from self._about.begin()
            yield Kept("note", ref, None, {NAME: encode(found)}, self._sent, line)
            return
        model = text_in(found, "model_id") or self._model
        role = text_in(found, "role") if is_older else "assistant" if kind in _OF_ANSWERS else kind
        blocks = self._messages.read(found, f"{number}", model) if is_older else self._blocks(found, kind, ref, model)
        if not blocks:
            self.counts.ignore("empty")
            return
        self.counts.map()
        known = chat_messages.FIELDS | {"model_id"} if is_older else _FIELDS[kind]
        self.counts.left_out.update(other_fields(found, known, "" if is_older else f"{kind}."))
        yield from self._say(found, role, blocks, ref, model, line)

    def miss(self, _line: Line) -> None:
        """Count a row that cannot be read: those after it keep their numbers."""
        self._number += 1

    def _say(self, found: Json, role: str, blocks: list[Json], ref: str, model: str, line: int) -> Iterator[Step]:
        if role == "assistant":
            part = Part(ref, [fitting(block, "assistant", self._refusals) for block in blocks])
            if self._answer is None:
                yield from self._about.begin()
                self._answer = Said("assistant", (part,), made_by(NAME, model), self._sent, line)
            else:
                self._answer = self._answer._replace(parts=(*self._answer.parts, part))
            return
        yield from self._finish()
        reason = text_in(found, "synthetic_reason")
        if role == "user" and not reason:
            self._about.prompt(" ".join(block["text"] for block in blocks if block["type"] == "text"))
        yield from self._about.begin()
        if role == "system" and self._number == 1:
            yield Said("system", (Part(ref, blocks),), {}, self._sent, line)
            return
        own = {"role": role} if role == "system" else {"synthetic_reason": reason} if reason else {}
        said = Said(role, (Part(ref, []),), {"provider": NAME, **own} if own else {}, self._sent, line)
        yield from said_from(blocks, "user", said, self._refusals)

    def _blocks(self, found: Json, kind: str, ref: str, model: str) -> list[Json]:
        """Return the blocks of a row in the newer form."""
        if kind == "reasoning":
            return self._items.read(found, ref).blocks
        if kind == "backend_tool_call":
            return [opaque_block(NAME, {**found["kind"], "type": "backend_tool_call"}, model or None)]
        parts = self._parts(found.get("content"))
        if kind == "assistant":
            return [*parts, *map(self._call, list_in(found, "tool_calls"))]
        if kind == "tool_result":
            pictures = self._parts(list_in(found, "images"))
            content = shortest([fitting(block, "tool_result", self._refusals) for block in [*parts, *pictures]])
            return [tool_result(text_in(found, "tool_call_id") or "call", content)]
        return parts

    def _parts(self, content: Any) -> list[Json]:
        given = content if type(content) is list else [content]
        blocks = [self._part(part) for part in given if part not in ("", None)]
        return [block for block in blocks if block != text_block("")]

    def _part(self, part: Any) -> Json:
        if type(part) is str:
            return text_block(part)
        kind = text_in(part, "type")
        is_text = kind == "text" and type(part.get("text")) is str
        if is_text or (kind == "image" and text_in(part, "url").startswith(_ADDRESSES)):
            self.counts.left_out.update(other_fields(part, {"type", "text", "url"}, f"{kind}."))
            return text_block(part["text"]) if is_text else media_from(part["url"], ANY_PICTURE)
        return opaque_block(NAME, {"type": "unknown", **as_map(part)})

    def _call(self, found: Any) -> Json:
        given = as_map(found)
        self.counts.left_out.update(other_fields(given, _CALL, "tool_calls."))
        return call_block(text_in(given, "id"), text_in(given, "name"), given.get("arguments"))

    def _finish(self) -> Iterator[Step]:
        """Yield the answer whose rows were read."""
        answer, self._answer = self._answer, None
        if answer is not None:
            yield answer

    def end(self) -> Iterator[Step]:
        """Yield the last answer, and what is known by now about a session with messages."""
        yield from self._finish()
        if self._about.has_begun:
            yield from self._about.end()


def _says_nothing(found: Json, kind: str) -> bool:
    """Return whether a row lacks what its type promises."""
    if kind == "reasoning":
        return not (found.get("summary") or found.get("content") or found.get("encrypted_content"))
    if kind == "backend_tool_call":
        return not map_in(found, "kind")
    return "content" not in found and not found.get("tool_calls")


TOOL = Tool(NAME, "Grok Build", _places, _discover, Session, beside=lambda source: [_about_of(source)])
