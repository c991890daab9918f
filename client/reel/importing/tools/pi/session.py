"""Reads a session of pi line by line: a tree of records, each of which names the one before it."""

from collections.abc import Iterator

from reel.base.strict_json import Json, encode
from reel.importing.sources.blocks import made_by, said_from
from reel.importing.sources.description import Description
from reel.importing.sources.files import JsonLines
from reel.importing.sources.record_tree import START, RecordTree
from reel.importing.steps import REPEATED, Compacted, Kept, Part, Said, Source, Step
from reel.importing.tools.pi.messages import (
    Prompt,
    is_incomplete,
    left_out_of,
    read_message,
    summary_text,
    unknown_kind,
)
from reel.importing.values import map_in, milliseconds, other_fields, text_in
from reel.providers.blocks import text as text_block
from reel.providers.refusals import Refusals

# Records of the tool's own, which the model does not get.
_IGNORED = {
    "thinking_level_change": "choice of how much to think",
    "service_tier_change": "choice of the service",
    "mode_change": "mode",
    "custom": "state of an extension",
    "ttsr_injection": "state of an extension",
    "credential_pin": "account",
    "archive": "hidden branch",
}
_TITLES = {"session_info": "name", "title": "title", "title_change": "title"}
# The fields of which something is made, or that say where a record belongs.
_PLACE = frozenset({"type", "id", "parentId", "timestamp"})
_FIELDS = {
    "session": _PLACE
    | {
        "version",
        "cwd",
        "title",
        "titleSource",
        "parentSession",
        "branchedFrom",
        "modelId",
        "provider",
        "thinkingLevel",
    },
    "message": _PLACE | {"message"},
    "compaction": _PLACE
    | {"summary", "firstKeptEntryId", "firstKeptEntryIndex", "tokensBefore", "systemMessage", "usage"},
    "branch_summary": _PLACE | {"summary", "fromId", "usage"},
    "usage": _PLACE | {"kind", "purpose", "role", "api", "provider", "model", "usage", "stopReason", "errorMessage"},
    "custom_message": _PLACE | {"customType", "content", "display"},
    "model_change": _PLACE | {"provider", "modelId", "model", "role"},
    "session_info": _PLACE | {"name"},
    "title": _PLACE | {"title", "v", "source", "updatedAt", "pad"},
    "title_change": _PLACE | {"title", "previousTitle", "source", "trigger"},
}


class Session(JsonLines):
    """A session that is being read.

    Args:
        source: the location of the session.
        tool: the name of the tool.
    """

    def __init__(self, source: Source, tool: str) -> None:
        super().__init__(source)
        self._tool = tool
        self._tree = RecordTree()
        self._about = Description(tool, source)
        self._refusals = Refusals(tool, self.counts.refused)
        # The ids of all records in their order: the first versions name a record by its number.
        self._ids: list[str] = []
        # The system prompt after each record, and the records that say one.
        self._prompts: dict[str, Prompt] = {START: Prompt()}
        self._saying_prompts: set[str] = set()

    def read_line(self, found: Json, line: int) -> Iterator[Step]:
        """Read one record."""
        kind = text_in(found, "type")
        record = self._tree.name(text_in(found, "id"), found)
        parent = found["parentId"] if type(found.get("parentId")) is str else None
        if parent is None:
            parent = START if "parentId" in found else self._tree.newest
        self._ids.append(record)
        self._prompts[record] = self._prompts.get(parent, Prompt())
        if kind == "session":
            self._read_header(found)
        elif not record:
            self.counts.ignore(REPEATED)
        elif kind == "message" and map_in(found, "message").get("role") == "system":
            yield from self._read_system(found, map_in(found, "message"), record, parent, line)
        elif kind == "message":
            yield from self._read_message(found, map_in(found, "message"), record, parent, line)
        elif kind in ("custom_message", "branch_summary"):
            role = "custom" if kind == "custom_message" else "branchSummary"
            yield from self._read_message(found, {**found, "role": role}, record, parent, line)
        elif kind == "compaction":
            yield from self._read_compaction(found, record, parent, line)
        elif kind == "reset_boundary":
            self.counts.map()
            self._tree.add(record, START)
        else:
            yield from self._read_other(found, kind, record, parent, line)

    def _read_header(self, found: Json) -> None:
        self.counts.map()
        self.counts.left_out.update(other_fields(found, _FIELDS["session"], "session."))
        self._about.facts["cwd"] = text_in(found, "cwd")
        self._about.name(text_in(found, "title"))

    def _read_system(self, found: Json, message: Json, record: str, parent: str, line: int) -> Iterator[Step]:
        """Read a system message: the whole prompt, or a change of it."""
        self.counts.map()
        self.counts.left_out.update([*other_fields(found, _FIELDS["message"]), *left_out_of(message)])
        prompt = self._prompts[record] = self._prompts[record].changed(message)
        sent = milliseconds(message.get("timestamp")) or milliseconds(found.get("timestamp"))
        yield from self._about.begin()
        yield from self._tree.follow(parent)
        yield from self._say_prompt(prompt, record, sent, line)
        self._tree.add(record, parent, record)

    def _say_prompt(self, prompt: Prompt, ref: str, sent: int | None, line: int) -> Iterator[Step]:
        self._saying_prompts.add(ref)
        yield Said("system", (Part(ref, [text_block(str(prompt))]),), {}, sent, line)

    def _read_other(self, found: Json, kind: str, record: str, parent: str, line: int) -> Iterator[Step]:
        self._tree.add(record, parent)
        if kind in _IGNORED:
            self.counts.ignore(_IGNORED[kind])
            return
        if kind in _TITLES or kind == "model_change":
            self.counts.map()
            self.counts.left_out.update(other_fields(found, _FIELDS[kind], f"{kind}."))
            if kind in _TITLES:
                self._about.name(text_in(found, _TITLES[kind]))
            return
        if kind in ("model_usage", "usage"):
            self.counts.map()
            self.counts.left_out.update(other_fields(found, _FIELDS["usage"], f"{kind}."))
            yield from self._usage(found, record, milliseconds(found.get("timestamp")), line)
            return
        if kind in ("label", "session_init", "context_edit"):
            self.counts.map()
        else:
            self.counts.note(kind or "without a type")
        yield from self._note(found, record, line)

    def _read_message(self, found: Json, message: Json, record: str, parent: str, line: int) -> Iterator[Step]:
        if unknown := unknown_kind(message):
            self._tree.add(record, parent)
            self.counts.note(unknown)
            yield from self._note(found, record, line)
            return
        self.counts.map()
        if message.get("role") == text_in(map_in(found, "message"), "role"):
            self.counts.left_out.update([*other_fields(found, _FIELDS["message"]), *left_out_of(message)])
        else:
            self.counts.left_out.update(other_fields(found, _FIELDS[found["type"]], f"{found['type']}."))
        sent = milliseconds(message.get("timestamp")) or milliseconds(found.get("timestamp"))
        read = read_message(message, self._tool, self._refusals)
        if read is None or not read.blocks:
            self._tree.add(record, parent)
            if read is None:
                yield from self._note(found, record, line)
        else:
            if read.is_prompt:
                self._about.prompt(" ".join(block["text"] for block in read.blocks if block["type"] == "text"))
            self._about.facts["model"] = text_in(read.metadata, "model") or self._about.facts.get("model", "")
            yield from self._about.begin()
            yield from self._tree.follow(parent)
            said = Said(read.role, (Part(record, []),), read.metadata, sent, line)
            yield from said_from(read.blocks, read.role, said, self._refusals)
            self._tree.say(record, parent, stays=not is_incomplete(message))
        yield from self._beside(message, record, sent, line)

    def _beside(self, message: Json, record: str, sent: int | None, line: int) -> Iterator[Step]:
        """Yield what is not said: the usage of an answer, and why it broke off."""
        if error := text_in(message, "errorMessage"):
            yield from self._about.begin()
            yield Kept("note", f"{record}/error", error, {self._tool: encode({"error": error})}, sent, line)
        yield from self._usage(message, record, sent, line)

    def _usage(self, found: Json, record: str, sent: int | None, line: int) -> Iterator[Step]:
        if usage := map_in(found, "usage"):
            by = made_by(text_in(found, "provider") or self._tool, text_in(found, "model"))
            data = {**by, "usage": usage}
            yield from self._about.begin()
            yield Kept("usage", f"{record}/usage", None, data, sent, line)

    def _read_compaction(self, found: Json, record: str, parent: str, line: int) -> Iterator[Step]:
        self.counts.map()
        self.counts.left_out.update(other_fields(found, _FIELDS["compaction"], "compaction."))
        number = found.get("firstKeptEntryIndex")
        by_number = self._ids[number] if type(number) is int and 0 < number < len(self._ids) else ""
        refs = self._tree.between(text_in(found, "firstKeptEntryId") or by_number, parent)
        kept = tuple(ref for ref in refs if ref not in self._saying_prompts)
        text = summary_text(text_in(found, "summary"))
        sent = milliseconds(found.get("timestamp"))
        yield from self._about.begin()
        yield Compacted(Said("user", (Part(record, [text_block(text)]),), {"provider": self._tool}, sent, line), kept)
        self._tree.add(record, parent, kept[-1] if kept else record)
        before, checkpoint = self._prompts[record], map_in(found, "systemMessage")
        if checkpoint and (prompt := Prompt().changed(checkpoint)) != before:
            self._prompts[record] = prompt
            yield from self._say_prompt(prompt, f"{record}/system", sent, line)
            self._tree.add(record, parent, f"{record}/system")
        yield from self._usage(found, record, sent, line)

    def _note(self, found: Json, record: str, line: int) -> Iterator[Step]:
        yield from self._about.begin()
        yield Kept("note", record, None, {self._tool: encode(found)}, milliseconds(found.get("timestamp")), line)

    def end(self) -> Iterator[Step]:
        """Yield what is known by now about a session with messages."""
        if self._about.has_begun:
            yield from self._about.end()
