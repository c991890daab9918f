"""Reads a rollout of Codex line by line.

The input and output of the model are items of the Responses API. Beside them are events: what a person saw of the same.
All items are read; of the events, only those with data that the items lack.
"""

from collections import Counter
from collections.abc import Iterator
from math import inf
from typing import Any, BinaryIO

from reel.base.strict_json import Json, encode
from reel.importing.sources.files import JsonLines, Line, lines_of, open_regular, open_zstd
from reel.importing.sources.responses_items import Item, Items, left_out_of
from reel.importing.steps import About, Back, Compacted, Counts, Kept, Part, Said, Source, Step
from reel.importing.tools.codex import base, events
from reel.importing.values import (
    digest,
    list_in,
    map_in,
    milliseconds,
    other_fields,
    tags_of,
    text_in,
    title_of,
)
from reel.providers.blocks import text as text_block
from reel.providers.openai import PROVIDER

NAME = "codex"
# Records that contribute nothing to the conversation.
_IGNORED = {
    "world_state": "state of files",
    "security_risk_score": "score",
    "retained_context": "retained context",
    "inter_agent_communication_metadata": "metadata",
    "token_usage_record": "usage of the account",
    "realtime_item": "realtime",
}
_IGNORED_ITEMS = {"ghost_snapshot": "state of files"}
_WITH_PAYLOAD = ("turn_context", "response_item", "event_msg", "compacted")
# The fields of which something is made, or that say where a record belongs.
_ENVELOPE_FIELDS = frozenset({"type", "timestamp", "payload"})
_META_FIELDS = frozenset(
    {
        *("id", "cwd", "cli_version", "git", "base_instructions", "instructions", "source", "timestamp", "type"),
        *("forked_from_id", "parent_thread_id", "originator", "history_base", "forked_from_ordinal_exclusive"),
    }
)
_PROGRAMS = ("exec", "mcp")
_GIT_FIELDS = frozenset({"branch", "commit_hash"})
_CONTEXT_FIELDS = frozenset({"model", "cwd"})
_SHOWN_FIELDS = frozenset({"type", "message", "text", "content", "id"})
_USAGE_FIELDS = frozenset({"type", "info"})
_INFO_FIELDS = frozenset({"last_token_usage", "total_token_usage"})
_COMPACTION_FIELDS = frozenset({"message", "replacement_history"})
_ROLLBACK_FIELDS = frozenset({"type", "num_turns"})
# How a user's message begins if the tool wrote it, rather than a person.
_CONTEXT = (
    *("<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<turn_aborted>", "<skill>"),
    *("<user_shell_command>", "<permissions instructions>", "<subagent_notification>", "<collaboration_mode>"),
)


def open_rollout(path: str) -> BinaryIO:
    """Open the file of a rollout, which may be compressed."""
    file = open_regular(path)
    return open_zstd(file, path) if path.endswith(base.COMPRESSED) else file


class Rollout(JsonLines):
    """A rollout that is being read.

    Args:
        source: the location of the rollout.
    """

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._name = source.about.get("name", "")
        self._history = base.read(source.about.get(base.HISTORY, "[]"))
        parent = source.about.get("parent", "")
        self._facts: dict[str, str] = {"source": source.path, "parent": parent}
        self._items = Items(self.counts.refused)
        self._title = ""
        self._described: About | None = None
        self._model = ""
        self._repeated: Counter[str] = Counter()
        # The id of the file that is being read; empty for the first one of a history. See `_said_ref`.
        self._file = ""
        self._answer: Said | None = None
        # The messages of the conversation, and among them the prompts, each with its predecessor.
        self._last = ""
        self._prompts: list[tuple[str, str]] = []
        self._total_usage = ""
        self._has_meta = self._has_instructions = False
        # Whether the answers exist only as events.
        self._events_only: bool | None = None

    def open(self) -> BinaryIO:
        """Open the file, which may be compressed."""
        return open_rollout(self.source.path)

    @property
    def end_when_found(self) -> float:
        """Where the file ended when it was found; of a compressed one, its size says nothing of its lines."""
        return inf if self.source.path.endswith(base.COMPRESSED) else super().end_when_found

    def steps(self) -> Iterator[Step]:
        """Yield the steps of the lines written since the last call."""
        if self._events_only is None:
            with self.open() as file:
                self._events_only = events.has_events_only(file)
            yield from self._read_history()
        yield from super().steps()

    def _read_history(self) -> Iterator[Step]:
        """Read what comes before this rollout in other files, where it is counted."""
        if not self._history:
            return
        with self.open() as file:  # this rollout says itself where it works
            first = next(self._records(lines_of(file)), None)
        if first is not None and text_in(first[0], "type") == "session_meta":
            yield from self.read_line(*first)
        for stretch in self._history:
            self._file = "" if stretch is self._history[0] else base.file_id(stretch.path)
            with open_rollout(stretch.path) as file:
                for found, line in self._records(stretch.lines(file)):
                    if stretch.has(found):
                        yield from self.read_line(found, line)
        self.counts, self._has_meta, self._file = Counts(), False, base.file_id(self.source.path)
        self._items = Items(self.counts.refused)

    def _records(self, lines: Iterator[Line]) -> Iterator[tuple[Json, int]]:
        for line in lines:
            for found in self._parse(line):
                yield found, line.number

    def read_line(self, found: Json, line: int) -> Iterator[Step]:
        """Read one record."""
        if "payload" in found:
            self._leave(found, _ENVELOPE_FIELDS)
        kind, payload, sent = text_in(found, "type"), map_in(found, "payload"), milliseconds(found.get("timestamp"))
        if kind in _WITH_PAYLOAD and not payload:
            self.counts.note(f"{kind} without payload")
            yield self._note(found, sent, line)
        elif kind == "session_meta" or (not kind and "id" in found):
            yield from self._read_meta(payload or found, sent, line)
        elif kind == "turn_context":
            self._read_context(payload)
        elif kind == "response_item":
            yield from self._read_item(payload, sent, line)
        elif kind == "event_msg":
            yield from self._read_event(payload, sent, line)
        elif kind == "compacted":
            yield from self._read_compaction(payload, sent, line)
        elif kind == "" and "record_type" in found:
            self.counts.ignore("state of files")
        elif kind in _IGNORED:
            self.counts.ignore(_IGNORED[kind])
        elif kind and "payload" not in found:  # the first versions wrote items without an envelope
            yield from self._read_item(found, sent, line)
        else:
            self.counts.note(kind or "without a type")
            yield self._note(found, sent, line)

    def end(self) -> Iterator[Step]:
        """Yield steps that were held back."""
        yield from self._flush()
        about = About("", self._name or self._title, self._tags())
        if self._described is not None and about != self._described:
            self._described = about
            yield about

    def _tags(self) -> dict[str, str]:
        return tags_of(**{"tool": NAME, **self._facts})

    def _describe(self) -> Iterator[Step]:
        if self._described is None:
            self._described = About("", self._name or self._title, self._tags())
            yield self._described

    def _read_meta(self, meta: Json, sent: int | None, line: int) -> Iterator[Step]:
        instructions = text_in(map_in(meta, "base_instructions"), "text") or text_in(meta, "instructions")
        if self._has_meta:
            self.counts.ignore("metadata of the thread that was forked")
            yield from self._instruct(instructions, sent, line)
            return
        self._has_meta = True
        self.counts.map()
        git = map_in(meta, "git")
        self._leave(meta, _META_FIELDS)
        self._leave(git, _GIT_FIELDS, "git.")
        for tag, value in (
            ("cwd", text_in(meta, "cwd")),
            ("branch", text_in(git, "branch")),
            ("version", text_in(meta, "cli_version")),
            ("commit", text_in(git, "commit_hash")),
            ("run", _program_in(meta)),
        ):
            if value:
                self._facts[tag] = value
        yield from self._instruct(instructions, sent, line)

    def _instruct(self, instructions: str, sent: int | None, line: int) -> Iterator[Step]:
        """Yield the system prompt; a fork may leave it to its history, but has at most one, at its beginning."""
        if instructions and not self._has_instructions and not self._last:
            self._has_instructions = True
            yield from self._describe()
            block = text_block(instructions)
            yield Said("system", (Part("instructions", [block]),), {}, sent, line)

    def _leave(self, found: Json, known: frozenset[str], where: str = "") -> None:
        self.counts.left_out.update(other_fields(found, known, where))

    def _read_context(self, context: Json) -> None:
        self.counts.map()
        self._leave(context, _CONTEXT_FIELDS)
        self._model = text_in(context, "model") or self._model
        if self._model:
            self._facts["model"] = self._model
        if cwd := text_in(context, "cwd"):
            self._facts.setdefault("cwd", cwd)

    def _read_item(self, payload: Json, sent: int | None, line: int) -> Iterator[Step]:
        kind = text_in(payload, "type")
        if kind in _IGNORED_ITEMS:
            self.counts.ignore(_IGNORED_ITEMS[kind])
            return
        self.counts.map()
        self.counts.left_out.update(left_out_of(payload))
        ref = self._said_ref(payload)
        yield from self._say(self._items.read(_as_item(payload), ref, self._model), ref, sent, line)

    def _say(self, item: Item, ref: str, sent: int | None, line: int) -> Iterator[Step]:
        """Yield a message; consecutive items of the assistant form one."""
        yield from self._describe()
        metadata: Json = {"provider": PROVIDER}
        if item.role == "assistant" and self._model:
            metadata["model"] = self._model
        metadata |= item.metadata
        part = Part(ref, item.blocks)
        if item.role == "assistant" and self._answer is not None:
            self._answer = self._answer._replace(parts=(*self._answer.parts, part))
            return
        yield from self._flush()
        said = Said(item.role, (part,), metadata if item.role == "assistant" or item.metadata else {}, sent, line)
        if item.role == "user" and not item.kept_role and not _is_context(item.blocks):
            self._prompts.append((ref, self._last))
            self._title = self._title or title_of(_text_of(item.blocks))
        self._last = ref
        if item.role == "assistant":
            self._answer = said
        else:
            yield said

    def _flush(self) -> Iterator[Step]:
        if self._answer is not None:
            self._last = self._answer.parts[-1].ref
            yield self._answer
            self._answer = None

    def _read_event(self, event: Json, sent: int | None, line: int) -> Iterator[Step]:
        kind, what, item = text_in(event, "type"), events.kind_of(event), map_in(event, "item")
        if kind == "token_count":
            yield from self._read_usage(event, sent, line)
        elif kind == "thread_rolled_back":
            self.counts.map()
            self._leave(event, _ROLLBACK_FIELDS)
            yield from self._roll_back(event.get("num_turns"))
        elif self._events_only and (said := events.said_in(what, item or event)) is not None:
            self.counts.map()
            self._leave(item or event, _SHOWN_FIELDS)
            yield from self._say(said, self._said_ref(event), sent, line)
        elif rule := events.rule_for(what):
            self.counts.ignore(rule)
        elif kind == "item_completed" and what:
            if what in events.DONE_ITEMS:
                self.counts.map()
            else:
                self.counts.note(f"item_completed/{what}")
            yield self._note(event, sent, line)
        else:
            self.counts.note(f"event_msg/{kind}")
            yield self._note(event, sent, line)

    def _read_usage(self, event: Json, sent: int | None, line: int) -> Iterator[Step]:
        """Read the usage of a request; it may be written again without a new request, which the total reveals."""
        info = map_in(event, "info")
        last, total = map_in(info, "last_token_usage"), encode(map_in(info, "total_token_usage"))
        if not last or total == self._total_usage:
            self.counts.ignore("usage that was told before")
            return
        self._total_usage = total
        self.counts.map()
        self._leave(event, _USAGE_FIELDS)
        self._leave(info, _INFO_FIELDS, "info.")
        data: Json = {"provider": PROVIDER, "usage": last}
        if self._model:
            data["model"] = self._model
        yield from self._flush()
        yield from self._describe()
        yield Kept("usage", self._ref({"usage": total}), None, data, sent, line)

    def _roll_back(self, turns: object) -> Iterator[Step]:
        yield from self._flush()
        if type(turns) is not int or turns < 1 or not self._prompts:
            return
        first = self._prompts[-turns:][0]
        del self._prompts[-turns:]
        self._last = first[1]
        yield Back(self._last)

    def _read_compaction(self, payload: Json, sent: int | None, line: int) -> Iterator[Step]:
        """Read a compaction: the items that replace all earlier ones, or the prompts and a summary."""
        self.counts.map()
        yield from self._flush()
        yield from self._describe()
        ref = self._said_ref({"compacted": payload})
        items = [_as_map(item) for item in list_in(payload, "replacement_history")]
        self._leave(payload, _COMPACTION_FIELDS if items else _COMPACTION_FIELDS - {"replacement_history"})
        prompts = tuple(prompt for prompt, _ in self._prompts)
        self._prompts = []
        if not items:
            summary = Part(ref, [text_block(text_in(payload, "message"))])
            yield Compacted(Said("user", (summary,), {}, sent, line), before=prompts)
            self._last = ref
            return
        for number, found in enumerate(items):
            place = f"{ref}/{number}"
            self.counts.left_out.update(left_out_of(found))
            for step in self._say(self._items.read(_as_item(found), place, self._model), place, sent, line):
                yield step if number or type(step) is not Said else Compacted(step)
            if number == 0 and self._answer is not None:
                first, self._answer = self._answer, None
                self._last = first.parts[-1].ref
                yield Compacted(first)

    def _ref(self, payload: Json) -> str:
        """Return a ref for an item, from its content, as forks have copies of it, and from the count of repetitions."""
        made = digest(encode(payload, ascii_only=True))
        self._repeated[made] += 1
        return f"{made}-{self._repeated[made]}"

    def _said_ref(self, payload: Json) -> str:
        """Return a ref for what was said.

        After a rewind, or in a fork, words that are said again are not those of the branch that was left. Only the file
        tells them apart; the first one of a history says them as it always has.
        """
        return f"{self._ref(payload)}:{self._file}" if self._file else self._ref(payload)

    def _note(self, found: Json, sent: int | None, line: int) -> Kept:
        return Kept("note", self._ref(found), None, {"codex": encode(found)}, sent, line)


def _program_in(meta: Json) -> str:
    """Return what began a thread, if it was not a person: ``exec``, or the kind of a sub-agent such as a review."""
    source = text_in(meta, "source")
    if source in _PROGRAMS or text_in(meta, "originator") == "codex_exec":
        return source if source in _PROGRAMS else "exec"
    return text_in(map_in(meta, "source"), "subagent")


def _as_map(item: Any) -> Json:
    return item if type(item) is dict else {"type": "unknown", "value": item}


def _as_item(payload: Json) -> Json:
    """Return an item of the API: old versions wrote the content of an output and whether it succeeded as one object."""
    output = payload.get("output")
    if type(output) is not dict or output.keys().isdisjoint(("content", "content_items")):
        return payload
    failed = {"status": "failed"} if output.get("success") is False else {}
    return {**payload, "output": output.get("content_items") or output.get("content"), **failed}


def _text_of(blocks: list[Json]) -> str:
    return " ".join(block["text"] for block in blocks if block["type"] == "text")


def _is_context(blocks: list[Json]) -> bool:
    return _text_of(blocks).lstrip().startswith(_CONTEXT)
