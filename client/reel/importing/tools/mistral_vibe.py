"""Mistral Vibe: a directory for each session, with its messages as JSON lines and a file about the session."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from reel.base.strict_json import Json, encode
from reel.importing.sources.blocks import made_by, said_from
from reel.importing.sources.chat_messages import FIELDS, ROLES, ChatMessages, is_message
from reel.importing.sources.companions import companion
from reel.importing.sources.description import Description
from reel.importing.sources.discovery import record_files
from reel.importing.sources.files import JsonLines, Line
from reel.importing.sources.offspring import PARENT, Offspring, source_beside, with_forks
from reel.importing.sources.record_tree import RecordTree
from reel.importing.steps import REPEATED, Found, Kept, Part, Problem, Said, Source, Step, Tool
from reel.importing.values import as_map, digest, list_in, map_in, milliseconds, other_fields, text_in
from reel.providers.blocks import text as text_block
from reel.providers.content import is_base64
from reel.providers.metadata import opaque_block
from reel.said.blocks import check_word

NAME = "mistral-vibe"
_FILE, _ABOUT, _SUBAGENTS = "messages.jsonl", "meta.json", "agents"
_REASONING = ("reasoning_state", "reasoning_signature")
_OWN = ("message_id", "reasoning_message_id", "injected", "images", "user_display_content")
_FIELDS = FIELDS | {*_REASONING, *_OWN}
# The fields about a session that become a tag, a title, the prompt or a count, and those about the program.
_ABOUT_FIELDS = frozenset(
    {
        *("session_id", "parent_session_id", "start_time", "end_time", "git_branch", "environment", "model", "title"),
        *("system_prompt", "stats", "title_source", "git_commit", "username", "loops", "experiments"),
        *("total_messages", "tools_available", "config", "agent_profile"),
    }
)


def _places(environment: Mapping[str, str]) -> Iterator[Path]:
    home = environment.get("VIBE_HOME")
    yield (Path(home) if home else Path(environment.get("HOME", "/")) / ".vibe") / "logs/session"


def _discover(root: Path) -> Found:
    """Find the sessions; files of the same name without messages belong to something else."""
    problems: list[Problem] = []
    found: list[Offspring] = []
    for entry, records in record_files(root, _FILE, _is_message, problems):
        source = source_beside(NAME, entry, entry.path.with_name(_ABOUT), entry.path.parent.name)
        found.append(Offspring(source, text_in(records[0], "message_id") if records else ""))
    return Found(with_forks(found), problems)


def _about_of(source: Source) -> Path:
    return Path(source.path).with_name(_ABOUT)


def _is_message(found: Json) -> bool:
    return is_message(found) or bool(text_in(found, "role") in ROLES and list_in(found, "images"))


class Session(JsonLines):
    """A session that is being read.

    Args:
        source: the location of the session.
    """

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._about = Description(NAME, source)
        self._messages = ChatMessages(self.counts.refused)
        self._names = RecordTree()
        self._number = 0
        self._model = self._prompt = ""
        self._known: Json = {}
        self._sent: int | None = None

    def read(self, lines: Iterator[Line]) -> Iterator[Step]:
        """Yield the steps in lines, with what is known by now about the session."""
        is_first, self._known = not self._known, companion(_about_of(self.source), self.counts)
        if is_first:
            self.counts.left_out.update(other_fields(self._known, _ABOUT_FIELDS, f"{_ABOUT}."))
        # No message has a time of its own.
        self._sent = milliseconds(self._known.get("start_time"))
        self._model = text_in(self._known, "model") or text_in(map_in(self._known, "config"), "active_model")
        self._about.facts["model"] = self._model
        self._about.facts["cwd"] = text_in(map_in(self._known, "environment"), "working_directory")
        self._about.facts["branch"] = text_in(self._known, "git_branch")
        self._about.name(text_in(self._known, "title"))
        yield from super().read(lines)

    def read_line(self, found: Json, line: int) -> Iterator[Step]:
        """Read one message."""
        number, self._number = self._number, self._number + 1
        given = text_in(found, "message_id") or text_in(found, "tool_call_id")
        ref = self._names.name(given or f"{number}-{digest(encode(found, ascii_only=True))}", found)
        if not ref:
            self.counts.ignore(REPEATED)
            return
        self._names.add(ref, self._names.newest)
        role = text_in(found, "role")
        if not _is_message(found):
            self.counts.note(f"{role} without content" if role in ROLES else f"role {role or 'missing'}")
            yield from self._begin()
            yield Kept("note", ref, None, {NAME: encode(found)}, self._sent, line)
            return
        blocks = [*self._messages.read(found, f"{number}", self._model), *map(self._image, list_in(found, "images"))]
        if not blocks:
            self.counts.ignore("empty")
            return
        self.counts.map()
        self.counts.left_out.update(other_fields(found, _FIELDS))
        if role == "user" and found.get("injected") is not True:
            self._about.prompt(text_in(found, "content"))
        yield from self._begin()
        said = Said(role, (Part(ref, []),), self._metadata(found, role), self._sent, line)
        yield from said_from(blocks, ROLES[role], said, self._messages.refusals)

    def miss(self, _line: Line) -> None:
        """Count a message that cannot be read: those after it keep their numbers."""
        self._number += 1

    def _metadata(self, found: Json, role: str) -> Json:
        """Return who wrote a message, and what its provider wants back with it."""
        if role == "assistant":
            kept = {key: found[key] for key in _REASONING if found.get(key)}
            reasoning = {"reasoning_json": encode(kept)} if kept else {}
            return {**made_by(NAME, self._model), **reasoning}
        shown = map_in(found, "user_display_content")
        own = {"role": role} if role in ("system", "developer") else {}
        by_tool = {"injected": True} if found.get("injected") is True and role == "user" else {}
        display = {"display_json": encode(shown)} if shown else {}
        made = {**own, **by_tool, **display}
        return {"provider": NAME, **made} if made else {}

    def _image(self, found: object) -> Json:
        """Return an image that is in the record; one that is a file of its own is named."""
        given = as_map(found)
        source = map_in(given, "source") or given
        data, mime = text_in(source, "data"), text_in(given, "mime_type")
        if not data or not is_base64(data) or check_word(mime) is not None:
            return opaque_block(NAME, {"type": "image", **given})
        self.counts.left_out.update(other_fields(given, {"source", "data", "mime_type", "alias"}, "images."))
        self.counts.left_out.update(other_fields(source, {*given, "kind", "data"}, "images.source."))
        name = {"name": alias} if (alias := text_in(given, "alias")) else {}
        return {"type": "media", "mime_type": mime, "data_base64": data, **name}

    def _begin(self) -> Iterator[Step]:
        """Yield the description before the first step, and the prompt if it is new."""
        yield from self._about.begin()
        prompt = text_in(map_in(self._known, "system_prompt"), "content")
        if prompt and prompt != self._prompt:
            self._prompt = prompt
            self.counts.map()
            yield Said("system", (Part(f"system-{digest(prompt)}", [text_block(prompt)]),), {}, self._sent)

    def end(self) -> Iterator[Step]:
        """Yield what is known by now about a session with messages, and what it used."""
        if not self._about.has_begun:
            return
        yield from self._about.end()
        yield from self._usage()

    def _usage(self) -> Iterator[Kept]:
        """Yield the tokens of all answers; a session made from another one goes on with its count."""
        stats = map_in(self._known, "stats")
        usage = {
            "prompt_tokens": stats.get("session_prompt_tokens"),
            "completion_tokens": stats.get("session_completion_tokens"),
        }
        if self.source.about.get(PARENT) and _SUBAGENTS not in Path(self.source.path).parts[-3:]:
            return
        if any(usage.values()):
            data = {**made_by(NAME, self._model), "usage": usage}
            yield Kept("usage", "usage", None, data, milliseconds(self._known.get("end_time")) or self._sent)


TOOL = Tool(NAME, "Mistral Vibe", _places, _discover, Session, beside=lambda source: [_about_of(source)])
