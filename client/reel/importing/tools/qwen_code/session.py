"""Reads a session of Qwen Code record by record: a tree of messages in the form of Gemini's API."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

from reel.base.strict_json import Json, encode
from reel.importing.sources.blocks import made_by, said_from
from reel.importing.sources.description import Description
from reel.importing.sources.files import JsonLines
from reel.importing.sources.gemini_parts import Parts, left_out_of_part, parts_in
from reel.importing.sources.record_tree import START, RecordTree
from reel.importing.steps import REPEATED, Compacted, Kept, Part, Said, Source, Step
from reel.importing.values import list_in, map_in, milliseconds, other_fields, text_in
from reel.providers.gemini import PROVIDER
from reel.providers.refusals import Refusals

NAME = "qwen-code"
_ROLES = {"user": "user", "assistant": "assistant", "tool_result": "user"}
# Records of the tool's own, which the model does not get, by their subtypes.
_IGNORED = {
    "ui_telemetry": "telemetry",
    **dict.fromkeys(
        ("attribution_snapshot", "file_history_snapshot", "session_artifact_event", "session_artifact_snapshot"),
        "state of files",
    ),
    **dict.fromkeys(("session_approval_mode", "session_model", "session_execution_engine"), "settings"),
    **dict.fromkeys(("branch_checkpoint", "turn_result", "goal_state", "goal_turn_end"), "progress of a turn"),
    "rewind": "step back, which the next record shows",
}
_NOTES = ("slash_command", "at_command", "session_notes", "parent_session", "session_source", "realtime_message")
# The fields of a record of which something is made, or that say where it belongs.
_FIELDS = frozenset(
    {
        *("uuid", "parentUuid", "sessionId", "timestamp", "type", "subtype", "provenance", "cwd", "version"),
        "gitBranch",
        *("message", "model", "usageMetadata", "contextWindowSize", "promptId", "systemPayload"),
    }
)


class Session(JsonLines):
    """A session that is being read.

    Args:
        source: the location of the session.
    """

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._tree = RecordTree()
        self._about = Description(NAME, source)
        self._parts = Parts(self.counts.refused)
        self._refusals = Refusals(PROVIDER, self.counts.refused)

    def read_line(self, found: Json, line: int) -> Iterator[Step]:
        """Read one record."""
        record = self._tree.name(text_in(found, "uuid"), found)
        if not record:
            self.counts.ignore(REPEATED)
            return
        parent = found["parentUuid"] if type(found.get("parentUuid")) is str else None
        if parent is None:
            parent = START if "parentUuid" in found else self._tree.newest
        self._take_facts(found)
        kind, subtype = text_in(found, "type"), text_in(found, "subtype")
        if kind in _ROLES and parts_in(map_in(found, "message").get("parts")):
            yield from self._read_message(found, record, parent, line)
        elif subtype == "chat_compression" and list_in(map_in(found, "systemPayload"), "compressedHistory"):
            yield from self._read_compression(found, record, parent, line)
        else:
            self._tree.add(record, parent)
            yield from self._read_other(found, kind, subtype, record, line)

    def _take_facts(self, found: Json) -> None:
        for fact, key in (("cwd", "cwd"), ("branch", "gitBranch"), ("version", "version"), ("model", "model")):
            if value := text_in(found, key):
                self._about.facts[fact] = value

    def _read_message(self, found: Json, record: str, parent: str, line: int) -> Iterator[Step]:
        self.counts.map()
        message, role, model = map_in(found, "message"), _ROLES[found["type"]], text_in(found, "model")
        parts = parts_in(message.get("parts"))
        self.counts.left_out.update(other_fields(found, _FIELDS))
        self.counts.left_out.update(other_fields(message, {"role", "parts"}, "message."))
        if found["type"] == "user":
            self._take_prompt(found, parts)
        yield from self._about.begin()
        yield from self._tree.follow(parent)
        metadata = made_by(PROVIDER, model) if role == "assistant" else {}
        yield from self._say(parts, role, model, record, metadata, milliseconds(found.get("timestamp")), line)
        self._tree.add(record, parent, record)
        if usage := map_in(found, "usageMetadata"):
            data = {**made_by(NAME, model), "usage": usage}
            yield Kept("usage", f"{record}/usage", None, data, milliseconds(found.get("timestamp")), line)

    def _take_prompt(self, found: Json, parts: list[Any]) -> None:
        """Take a prompt for the title, unless the tool wrote it."""
        payload = map_in(found, "systemPayload")
        if text_in(found, "provenance") != "system" and text_in(found, "subtype") in ("", "mid_turn_user_message"):
            self._about.prompt(text_in(payload, "displayText") or text_in(parts[0], "text"))
        self.counts.left_out.update(other_fields(payload, {"displayText"}, "systemPayload."))

    def _say(
        self, parts: list[Any], role: str, model: str, ref: str, metadata: Json, sent: int | None, line: int
    ) -> Iterator[Said]:
        self.counts.left_out.update(chain.from_iterable(map(left_out_of_part, parts)))
        blocks = self._parts.read(parts, ref, role, model)
        said = Said(role, (Part(ref, []),), metadata, sent, line)
        yield from said_from(blocks, role, said, self._refusals)

    def _read_compression(self, found: Json, record: str, parent: str, line: int) -> Iterator[Step]:
        """Read a compression: a list of messages, the first one a summary, that replaces the conversation."""
        self.counts.map()
        sent, last = milliseconds(found.get("timestamp")), ""
        yield from self._about.begin()
        for number, content in enumerate(list_in(map_in(found, "systemPayload"), "compressedHistory")):
            role = "assistant" if text_in(content, "role") == "model" else "user"
            parts = parts_in(content.get("parts")) if type(content) is dict else [content]
            self.counts.left_out.update(other_fields(content, {"role", "parts"}) if type(content) is dict else ())
            metadata = {"provider": PROVIDER} if role == "assistant" else {}
            for said in self._say(parts, role, "", f"{record}/{number}", metadata, sent, line):
                yield Compacted(said) if not last else said
                last = said.parts[-1].ref
        self._tree.add(record, parent, last or None)
        rest = {key: value for key, value in map_in(found, "systemPayload").items() if key != "compressedHistory"}
        yield self._note({**found, "systemPayload": rest}, f"{record}/note", line)

    def _read_other(self, found: Json, kind: str, subtype: str, record: str, line: int) -> Iterator[Step]:
        if subtype == "custom_title":
            self.counts.map()
            payload = map_in(found, "systemPayload")
            self._about.name(text_in(payload, "customTitle"))
            self.counts.left_out.update(other_fields(found, _FIELDS))
            self.counts.left_out.update(other_fields(payload, {"customTitle", "titleSource"}, "systemPayload."))
            return
        if kind == "system" and subtype in _IGNORED:
            self.counts.ignore(_IGNORED[subtype])
            return
        if kind == "system" and subtype in _NOTES:
            self.counts.map()
        else:
            self.counts.note(
                f"{kind}/{subtype}" if subtype else f"{kind} without content" if kind else "without a type"
            )
        yield from self._about.begin()
        yield self._note(found, record, line)

    def _note(self, found: Json, ref: str, line: int) -> Kept:
        return Kept("note", ref, None, {NAME: encode(found)}, milliseconds(found.get("timestamp")), line)

    def end(self) -> Iterator[Step]:
        """Yield what is known by now about a session with messages."""
        if self._about.has_begun:
            yield from self._about.end()
