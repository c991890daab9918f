"""Claude Code: a file of JSON lines for each session and for each sub-agent, in a directory for each project."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path

from reel.base.strict_json import Json
from reel.importing.sources.discovery import each_read
from reel.importing.sources.files import JsonLines, files_below, lines_of, open_regular
from reel.importing.sources.person import FirstWords
from reel.importing.steps import REPEATED, About, Found, Problem, Said, Source, Step, Tool
from reel.importing.tools.claude_code.heads import NAME, Head, head_of, with_origins
from reel.importing.tools.claude_code.prompts import LONGEST, Prompts
from reel.importing.tools.claude_code.prompts import RULE as SYSTEM_PROMPT
from reel.importing.tools.claude_code.records import (
    FACTS,
    SPOKEN,
    Record,
    left_out_of,
    link_in,
    parent_of,
    read_record,
    rule_for,
    unknown_type,
)
from reel.importing.tools.claude_code.thread import Thread
from reel.importing.tools.claude_code.waiting import Line, Waiting
from reel.importing.values import id_in_name, map_in, name_of, parse_record, ref_of, tags_of, text_in, title_of
from reel.providers.anthropic import PROVIDER
from reel.providers.refusals import Refusals

_SUFFIX = ".jsonl"
# The types of records that say something of the session, and are none of the conversation.
_BESIDE = frozenset({*FACTS, "pr-link"})
# Files beside the transcripts that contain no conversation.
_OTHERS = ("journal.jsonl", "history.jsonl")
_META = 1 << 16
# How the entry points of programs begin.
_PROGRAMS = "sdk-"
# The titles, the best first.
_TITLES = ("custom-title", "ai-title", "agent-name", "summary")


def _places(environment: Mapping[str, str]) -> Iterator[Path]:
    configured = environment.get("CLAUDE_CONFIG_DIR")
    yield Path(configured) / "projects" if configured else Path(environment.get("HOME", "/")) / ".claude/projects"


def _discover(root: Path) -> Found:
    """Find the transcripts; a copy of another session's beginning comes after that session."""
    problems: list[Problem] = []
    if (root / "projects").is_dir():
        root /= "projects"
    entries = (entry for entry in files_below(root, (_SUFFIX,), problems) if entry.path.name not in _OTHERS)
    heads = [head for _, head in each_read(entries, head_of, problems)]
    return Found([_source(head, fork_of) for head, fork_of in with_origins(heads)], problems)


def _source(head: Head, fork_of: str) -> Source:
    about = {"parent": name_of(NAME, head.ids[0])} if head.is_subagent else {}
    return Source(str(head.entry.path), head.name, head.entry.size, head.entry.modified, fork_of, about=about)


class Session(JsonLines):
    """A transcript that is being read.

    Args:
        source: the location of the transcript.
    """

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._threads: dict[str, Thread] = {}
        # What became of the next records, by their ids; ``None`` for those that are converted when they are read. And
        # what keeps damaged blocks of them.
        self._converted: dict[str, Record | None] = {}
        self._refusals = Refusals(PROVIDER, self.counts.refused)
        self._waiting = Waiting(self._knows)
        self._titles: dict[str, str] = {}
        self._words = FirstWords()
        self._prompts = Prompts()
        self._facts: dict[str, str] = {"source": source.path, **source.about}
        self._part: str | None = None
        self._is_subagent = "parent" in source.about
        self._described: About | None = None

    def steps(self) -> Iterator[Step]:
        """Yield the steps in the lines written since the last call; before the first ones, the system prompt."""
        if not self._position:
            with self.open() as file:
                begun = self._prompts.begin(lines_of(file, limit=LONGEST), is_subagent=self._is_subagent)
            if begun is not None and self._prompts.first is not None:
                yield from self._in_part("", begun, iter([self._prompts.first]))
        yield from super().steps()

    def prepare(self, found: Json, line: int) -> None:
        """Convert a message, unless the file has its id already: only the first record with an id is read."""
        kind, uuid = text_in(found, "type"), text_in(found, "uuid")
        if not uuid or kind in _BESIDE or uuid in self._converted or self._has(uuid):
            return
        record = None
        if kind in SPOKEN:
            with suppress(Exception):  # what is raised is raised again when the record is read, after those before it
                record = read_record(found, line, self._refusals)
        self._converted[uuid] = record

    def read_line(self, found: Json, line: int) -> Iterator[Step]:
        """Read one record."""
        kind = text_in(found, "type")
        if kind in _BESIDE:
            self._take_fact(kind, found)
            return
        uuid = text_in(found, "uuid")
        if self._has(uuid):
            self.counts.ignore(REPEATED)
            return
        if not uuid:
            found["uuid"] = self._id_for(found)
        for one in self._waiting.take(Line(found, line)):
            yield from self._read_placed(one.found, one.number)

    def _read_placed(self, found: Json, line: int) -> Iterator[Step]:
        """Read a record whose predecessor was read, if there is one."""
        part, thread = self._thread_of(found)
        record = self._converted.pop(text_in(found, "uuid"), None)
        if rule := rule_for(found):
            thread.follow(text_in(found, "uuid"), parent_of(found))
            prompt = self._prompts.take(found, line) if rule == SYSTEM_PROMPT and not part else None
            if prompt is None:
                self.counts.ignore(rule)
                return
            self.counts.map(left_out_of(found))
            yield from self._in_part(part, found, thread.beside(prompt))
            return
        steps = self._read_chained(thread, found, line, record)
        yield from self._in_part(part, found, steps)

    def _read_chained(self, thread: Thread, found: Json, line: int, record: Record | None) -> Iterator[Step]:
        if unknown := unknown_type(found):
            self.counts.note(unknown)
        else:
            self.counts.map(left_out_of(found))
        yield from thread.read(found, line, record)

    def _in_part(self, part: str, found: Json, steps: Iterator[Step]) -> Iterator[Step]:
        """Yield steps of a conversation of this file, preceded by the facts that identify it."""
        self._note_facts(found)
        for step in steps:
            if not part:
                self._prompts.follow(step)
            if not part and not self._is_subagent and isinstance(step, Said) and step.role == "user":
                self._note_words(step)
            if part != self._part:
                self._part = part
                yield About(part, tags=self._tags(part))
            yield step

    def end(self) -> Iterator[Step]:
        """Yield steps that were held back."""
        for one in self._waiting.end():
            yield from self._read_placed(one.found, one.number)
        for part, thread in self._threads.items():
            yield from self._in_part(part, {}, thread.flush())
        title = next((self._titles[kind] for kind in _TITLES if kind in self._titles), title_of(self._words.title))
        about = About("", title, self._tags(""))
        if self._part is not None and about != self._described:
            self._part, self._described = "", about
            yield about

    def _thread_of(self, found: Json) -> tuple[str, Thread]:
        """Return the conversation that a record belongs to: old versions wrote sub-agents to the session's file."""
        part = ""
        if found.get("isSidechain") is True and not self._is_subagent:
            parent = text_in(found, "parentUuid")
            named = text_in(found, "agentId")
            part = next(
                (part for part, thread in self._threads.items() if part and thread.knows(parent)),
                "/" + id_in_name("agent-" + (named or text_in(found, "uuid")[:8])),
            )
        if part not in self._threads:
            self._threads[part] = Thread(self.counts.refused)
        return part, self._threads[part]

    def _id_for(self, found: Json) -> str:
        """Return an id for a record without one, from its content and the count of earlier equal ones."""
        made = ref_of(found)
        names = (f"{made}-{number}" for number in count(1))
        return next(name for name in names if not self._has(name))

    def _has(self, uuid: str) -> bool:
        return self._knows(uuid) or self._waiting.has(uuid)

    def _knows(self, uuid: str) -> bool:
        for thread in self._threads.values():  # noqa: SIM110 - most files have one, and a generator takes as long
            if thread.knows(uuid):
                return True
        return False

    def _take_fact(self, kind: str, found: Json) -> None:
        self.counts.map()
        if kind == "pr-link":
            self._facts["pull_request"] = link_in(found)
        elif kind != "summary" or self._knows(text_in(found, "leafUuid")):
            self._titles[kind] = title_of(text_in(found, FACTS[kind]))

    def _note_words(self, prompt: Said) -> None:
        origin = map_in(prompt.metadata, "claude_code")
        by_tool = bool(origin.get("isMeta")) or "renderedRole" in origin or "subtype" in origin
        texts = [text_in(block, "text") for part in prompt.parts for block in part.blocks]
        self._words.take(" ".join(filter(None, texts)), by_tool=by_tool)

    def _note_facts(self, found: Json) -> None:
        if cwd := text_in(found, "cwd"):
            self._facts.setdefault("cwd", cwd)
        entrypoint = text_in(found, "entrypoint")
        if entrypoint:  # a person may go on with what a program began
            self._facts["run"] = entrypoint if entrypoint.startswith(_PROGRAMS) else ""
        model = text_in(map_in(found, "message"), "model")
        for name, value in (("branch", text_in(found, "gitBranch")), ("version", text_in(found, "version"))):
            if value:
                self._facts[name] = value
        if model and not model.startswith("<"):
            self._facts["model"] = model

    def _tags(self, part: str) -> dict[str, str]:
        parent = {"parent": self.source.conversation} if part else {}
        return tags_of(**{"tool": NAME, **self._facts, **parent})


def _facts_beside(source: Source) -> Path:
    return Path(source.path).with_suffix(".meta.json")


def _described(source: Source) -> Source:
    """Add the facts from the file beside a sub-agent's transcript."""
    if "parent" not in source.about:
        return source
    try:
        with open_regular(str(_facts_beside(source))) as file:
            found = parse_record(file.read(_META)) or {}
    except (OSError, ValueError, RecursionError):
        return source
    names = {"agent_type": "agentType", "call": "toolUseId", "description": "description"}
    return source._replace(
        about={**source.about, **tags_of(**{tag: text_in(found, key) for tag, key in names.items()})}
    )


TOOL = Tool(
    NAME,
    "Claude Code",
    _places,
    _discover,
    lambda source: Session(_described(source)),
    beside=lambda source: [_facts_beside(source)],
)
