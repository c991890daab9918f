"""Claude Code: a file of JSON lines for each session and for each sub-agent, in a directory for each project."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from reel.base.strict_json import Json
from reel.importing.sources.discovery import each_read
from reel.importing.sources.files import JsonLines, files_below, lines_of, open_regular
from reel.importing.sources.person import FirstWords
from reel.importing.steps import REPEATED, About, Back, Found, Problem, Said, Source, Step, Tool
from reel.importing.tools.claude_code.elsewhere import Elsewhere
from reel.importing.tools.claude_code.heads import NAME, Head, head_of, with_origins
from reel.importing.tools.claude_code.prompts import LONGEST, Prompts
from reel.importing.tools.claude_code.prompts import RULE as SYSTEM_PROMPT
from reel.importing.tools.claude_code.records import FACTS, Record, link_in, read_record, session_of
from reel.importing.tools.claude_code.thread import Thread
from reel.importing.tools.claude_code.waiting import Waiting
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
# Where a source has the paths of all files of its session, if there are more than one.
_FILES = "files"
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
    heads = with_origins(head for _, head in each_read(entries, head_of, problems))
    files: dict[str, list[str]] = {}
    for head, _ in heads:
        files.setdefault(head.name, []).append(str(head.entry.path))
    return Found([_source(head, fork_of, files[head.name]) for head, fork_of in heads], problems)


def _source(head: Head, fork_of: str, files: list[str]) -> Source:
    about = {"parent": name_of(NAME, head.ids[0])} if head.is_subagent else {}
    if len(files) > 1:
        about[_FILES] = "\0".join(files)
    return Source(str(head.entry.path), head.name, head.entry.size, head.entry.modified, fork_of, about=about)


class Session(JsonLines):
    """A transcript that is being read.

    Args:
        source: the location of the transcript.
    """

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._threads: dict[str, Thread] = {}
        # Keeps damaged blocks.
        self._refusals = Refusals(PROVIDER)
        self._waiting = Waiting(self._knows)
        self._titles: dict[str, str] = {}
        self._words = FirstWords()
        self._prompts = Prompts()
        about = dict(source.about)
        self._elsewhere = Elsewhere(path for path in about.pop(_FILES, "").split("\0") if path not in ("", source.path))
        self._facts: dict[str, str] = {"source": source.path, **about}
        # What the last record has said of the session.
        self._told: tuple[Any, ...] = ()
        self._part: str | None = None
        self._is_subagent = "parent" in source.about
        self._described: About | None = None

    def steps(self) -> Iterator[Step]:
        """Yield the steps in the lines written since the last call; before the first ones, the system prompt."""
        if not self._position:
            with self.open() as file:
                begun = self._prompts.begin(lines_of(file, limit=LONGEST), is_subagent=self._is_subagent)
            if begun is not None and self._prompts.first is not None:
                self._note_facts(session_of(begun), text_in(map_in(begun, "message"), "model"))
                yield from self._in_part("", [self._prompts.first])
        yield from super().steps()

    def prepare(self, found: Json, line: int) -> Record:
        """Return a record with what it says by itself."""
        return read_record(found, line, self._refusals)

    def read_line(self, found: Record, line: int) -> list[Step]:
        """Take a record, and those that have waited for it."""
        record = found
        if record.kind in _BESIDE:
            self._take_fact(record.kind, record.found)
            return []
        if not record.uuid:
            record = read_record({**record.found, "uuid": self._id_for(record.found)}, line, self._refusals)
        elif self._has(record.uuid):
            self.counts.ignore(REPEATED)
            return []
        steps: list[Step] = []
        for one in self._waiting.take(record):
            steps += self._read_placed(one)
        return steps

    def _read_placed(self, record: Record) -> Sequence[Step]:
        """Read a record whose predecessor was read, if there is one."""
        part, thread = self._thread_of(record)
        for kind in record.refused:
            self.counts.refused[kind] += 1
        if record.rule:
            return self._read_ignored(record, part, thread)
        if record.unknown:
            self.counts.note(record.unknown)
        else:
            self.counts.map(record.left_out)
        self._note_facts(record.session, record.model)
        return self._in_part(part, thread.read(record))

    def _read_ignored(self, record: Record, part: str, thread: Thread) -> Sequence[Step]:
        """Read a record that a rule ignores, unless it has a system prompt that is new."""
        thread.follow(record.uuid, record.parent)
        is_prompt = record.rule == SYSTEM_PROMPT and not part
        prompt = self._prompts.take(record.found, record.line) if is_prompt else None
        if prompt is None:
            self.counts.ignore(record.rule)
            return ()
        self.counts.map(record.left_out)
        self._note_facts(record.session, record.model)
        return self._in_part(part, thread.beside(prompt))

    def _in_part(self, part: str, steps: list[Step]) -> list[Step]:
        """Return steps of a conversation of this file, preceded by the facts that identify it."""
        if not part:
            for step in steps:
                if isinstance(step, Back):
                    self._prompts.go_back()
                if not (self._words.is_found or self._is_subagent) and isinstance(step, Said) and step.role == "user":
                    self._note_words(step)
        if steps and part != self._part:
            self._part = part
            return [About(part, tags=self._tags(part)), *steps]
        return steps

    def end(self) -> Iterator[Step]:
        """Yield steps that were held back."""
        for one in self._waiting.end():
            yield from self._read_placed(one)
        for part, thread in self._threads.items():
            yield from self._in_part(part, thread.flush())
        title = next((self._titles[kind] for kind in _TITLES if kind in self._titles), title_of(self._words.title))
        about = About("", title, self._tags(""))
        if self._part is not None and about != self._described:
            self._part, self._described = "", about
            yield about

    def _thread_of(self, record: Record) -> tuple[str, Thread]:
        """Return the conversation that a record belongs to: old versions wrote sub-agents to the session's file."""
        part, found = "", record.found
        if found.get("isSidechain") is True and not self._is_subagent:
            parent = record.parent or ""
            named = text_in(found, "agentId")
            part = next(
                (part for part, thread in self._threads.items() if part and thread.knows(parent)),
                "/" + id_in_name("agent-" + (named or record.uuid[:8])),
            )
        if part not in self._threads:
            self._threads[part] = Thread(self._elsewhere)
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

    def _note_facts(self, told: tuple[Any, ...], model: str) -> None:
        if told != self._told:  # as hardly ever
            self._told = told
            self._note_session(*[fact if type(fact) is str else "" for fact in told])
        if model and not model.startswith("<"):
            self._facts["model"] = model

    def _note_session(self, cwd: str, entrypoint: str, branch: str, version: str) -> None:
        if cwd:
            self._facts.setdefault("cwd", cwd)
        if entrypoint:  # a person may go on with what a program began
            self._facts["run"] = entrypoint if entrypoint.startswith(_PROGRAMS) else ""
        for name, value in (("branch", branch), ("version", version)):
            if value:
                self._facts[name] = value

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
