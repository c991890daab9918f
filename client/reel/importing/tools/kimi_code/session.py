"""Reads the log of an agent of Kimi Code: messages, the steps of the model, and what became of them."""

from collections.abc import Iterator
from typing import Any

from reel.base.strict_json import Json, encode
from reel.importing.sources.blocks import fitting, made_by, said_from
from reel.importing.sources.companions import companion
from reel.importing.sources.description import Description
from reel.importing.sources.files import JsonLines, Line
from reel.importing.sources.unfinished import as_far_as_written, may_go_on
from reel.importing.steps import Back, Compacted, Kept, Part, Said, Source, Step
from reel.importing.tools.kimi_code.live import Live, is_prompt, kept_beside, live_of, undone
from reel.importing.tools.kimi_code.parts import NAME, block_of, call_of, left_out_of, parts_in
from reel.importing.tools.kimi_code.places import state_beside
from reel.importing.tools.kimi_code.records import (
    COMPACTION,
    CONFIG,
    COUNTS,
    FIELDS,
    IGNORED,
    MESSAGE,
    NOTES,
    REPEATED_PROMPT,
    ROLES,
)
from reel.importing.tools.kimi_code.steps import Answer, read_event
from reel.importing.values import digest, list_in, map_in, milliseconds, other_fields, ref_of, text_in
from reel.providers.blocks import text as text_block
from reel.providers.blocks import tool_result
from reel.providers.content import shortest
from reel.providers.metadata import opaque_block
from reel.providers.refusals import Refusals

# The kind of a record with a message.
_APPENDED = "context.append_message"


class Session(JsonLines):
    """A log that is being read.

    Args:
        source: the location of the log.
    """

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._about = Description(NAME, source)
        self._refusals = Refusals(NAME, self.counts.refused)
        self._live: list[Live] = []
        self._refs: set[str] = set()
        self._number = 0
        self._model = self._prompt = ""
        # The step of the model that is being read, the messages that come after its results, and a prompt whose
        # message has not come yet.
        self._open: Answer | None = None
        self._later: list[tuple[Json, Json, int]] = []
        self._asked: tuple[Json, int] | None = None
        # When Kimi wrote the last record, in milliseconds since the epoch.
        self._written = 0

    def read(self, lines: Iterator[Line]) -> Iterator[Step]:
        """Yield the steps in lines, with what is known by now about the session."""
        known = companion(state_beside(self.source.path), self.counts)
        if not self.source.about:  # a sub-agent has another title
            self._about.name(text_in(known, "title"))
        self._about.facts.setdefault("cwd", text_in(known, "workDir") or text_in(known, "cwd"))
        yield from super().read(lines)

    def read_line(self, found: Json, line: int) -> Iterator[Step]:
        """Read one record."""
        kind = text_in(found, "type")
        self._written = milliseconds(found.get("time")) or self._written
        if kind.startswith("turn."):
            yield from self._settle()
            yield from self._give_up_prompt()
        if kind == _APPENDED and type(found.get("message")) is dict:
            yield from self._take_message(found, found["message"], line)
        elif kind == "context.append_loop_event" and type(found.get("event")) is dict:
            yield from self._take_event(found, found["event"], line)
        elif kind in ("config.update", "profile.bind"):
            yield from self._configure(found, line)
        elif kind == "context.apply_compaction" and _summary_in(found):
            yield from self._compact(found, line)
        elif kind == "context.undo" and type(found.get("count")) is int:
            yield from self._undo(found)
        elif kind == "context.clear":
            yield from self._go_back(found, 0)
        elif kind == "usage.record" and map_in(found, "usage"):
            yield from self._count(found, line)
        elif kind == "turn.prompt" and list_in(found, "input"):
            self._asked = found, line
        else:
            yield from self._read_other(found, kind, line)

    def miss(self, line: Line) -> None:
        """Count a message that cannot be read: those after it keep their numbers."""
        self._number += _APPENDED.encode() in line.data

    def _take_message(self, found: Json, message: Json, line: int) -> Iterator[Step]:
        """Read a message; if calls wait for their results, it is held back until these are there."""
        if self._asked is not None and self._asked[0].get("input") == message.get("content"):
            self._asked = None
            self.counts.ignore(REPEATED_PROMPT)
        if self._open is not None and self._open.calls:
            self._later.append((found, message, line))
            return
        yield from self._settle()
        yield from self._say(found, message, line)

    def _say(self, found: Json, message: Json, line: int) -> Iterator[Step]:
        number, self._number = self._number, self._number + 1
        role, sent = text_in(message, "role"), milliseconds(found.get("time"))
        ref = self._unused(text_in(message, "id") or f"{number}-{digest(encode(found, ascii_only=True))}", found)
        parts = parts_in(message.get("content"))
        calls = list_in(message, "toolCalls")
        if role not in ROLES or not (parts or calls):
            self.counts.note(f"{role} without content" if role in ROLES else f"role {role or 'missing'}")
            yield from self._note(found, ref, None, line)
            return
        self.counts.map()
        self.counts.left_out.update([*other_fields(found, {*FIELDS, "message"}), *left_out_of(parts)])
        self.counts.left_out.update(other_fields(message, MESSAGE, "message."))
        blocks = [block_of(part, self._model) for part in parts]
        blocks += [self._call(call) for call in calls]
        if role == "tool":
            blocks = [self._result(text_in(message, "toolCallId"), blocks, message)]
        if is_prompt(message):
            self._about.prompt(" ".join(block["text"] for block in blocks if block["type"] == "text"))
        yield from self._about.begin()
        speaker = "assistant" if role == "assistant" else "user"
        said = Said(role, (Part(ref, []),), self._metadata(message, role), sent, line)
        yield from said_from(blocks, speaker, said, self._refusals)
        self._live.append(live_of(message, ref))

    def _metadata(self, message: Json, role: str) -> Json:
        """Return who wrote a message: the model, or the tool on behalf of the person."""
        if role == "assistant":
            return made_by(NAME, self._model)
        origin = map_in(message, "origin")
        given = {"origin_json": encode(origin)} if origin not in ({}, {"kind": "user"}) else {}
        made = {**({"role": role} if role == "system" else {}), **given}
        return {"provider": NAME, **made} if made and role != "tool" else {}

    def _call(self, found: Any) -> Json:
        if type(found) is not dict:
            return opaque_block(NAME, {"type": "unknown", "value": found})
        known = {"type", "id", "name", "arguments", "extras", "_streamIndex"}
        self.counts.left_out.update(other_fields(found, known, "toolCalls."))
        return call_of(found, text_in(found, "id"), found.get("arguments"))

    def _result(self, ident: str, blocks: list[Json], found: Json) -> Json:
        """Return the result of a call, with the note that the model gets with it."""
        note = text_in(found, "note")
        parts = [*blocks, text_block(note)] if note else blocks
        content = shortest([fitting(block, "tool_result", self._refusals) for block in parts])
        return tool_result(ident or "call", content, failed=found.get("isError") is True)

    def _take_event(self, found: Json, event: Json, line: int) -> Iterator[Step]:
        """Read what happened in a step of the model."""
        read = read_event(event)
        if read is None:
            kind = text_in(event, "type")
            self.counts.note(f"event {kind or 'without a type'}")
            yield from self._note(found, ref_of(found), None, line)
            return
        self.counts.left_out.update([*other_fields(found, {*FIELDS, "event"}), *read.left_out])
        if read.step and (self._open is None or read.step != self._open.step):
            yield from self._settle()
            yield from self._give_up_prompt()
            self._open = Answer(read.step, milliseconds(found.get("time")), line)
        if self._open is None:  # its step is gone
            self._open = Answer(f"step-{digest(encode(found, ascii_only=True))}", milliseconds(found.get("time")), line)
        self.counts.map()
        if read.part is not None:
            self._open.blocks.append(block_of(read.part, self._model))
        elif read.call is not None:
            ident = text_in(read.call, "toolCallId")
            self._open.blocks.append(call_of(read.call, ident, read.call.get("args")))
            self._open.calls.add(ident)
        elif read.result is not None:
            blocks = [block_of(part, self._model) for part in parts_in(read.result.get("output"))]
            made = self._result(read.answered, blocks, read.result)
            self._open.results.append((read.answered, made, milliseconds(found.get("time")), line))
            self._open.calls.discard(read.answered)
        elif read.ends:
            yield from self._settle()

    def _settle(self) -> Iterator[Step]:
        """Yield the step that was read: the answer, its results, and what was said meanwhile."""
        answer, self._open = self._open, None
        if answer is not None and (answer.blocks or answer.results):
            yield from self._about.begin()
            ref = self._unused(answer.step, {"blocks": answer.blocks})
            said = Said("assistant", (Part(ref, []),), made_by(NAME, self._model), answer.sent, answer.line)
            yield from said_from(answer.blocks, "assistant", said, self._refusals)
            self._live += [Live(ref)] if answer.blocks else []
            for ident, result, sent, line in answer.results:
                name = self._unused(f"{ref}/{ident}", result)
                told = Said("tool", (Part(name, []),), {}, sent, line)
                yield from said_from([result], "user", told, self._refusals)
                self._live.append(Live(name))
        later, self._later = self._later, []
        for found, message, line in later:
            yield from self._say(found, message, line)

    def _configure(self, found: Json, line: int) -> Iterator[Step]:
        """Read the model, the directory and the system prompt."""
        self.counts.map()
        self.counts.left_out.update(other_fields(found, CONFIG))
        self._model = text_in(found, "modelAlias") or self._model
        cwd = text_in(found, "cwd") or text_in(map_in(found, "environmentDisclosure"), "cwd")
        self._about.facts.update({key: value for key, value in (("model", self._model), ("cwd", cwd)) if value})
        prompt = text_in(found, "systemPrompt")
        if prompt and prompt != self._prompt:
            self._prompt = prompt
            yield from self._settle()
            yield from self._about.begin()
            part = Part(f"system-{digest(prompt)}", [text_block(prompt)])
            yield Said("system", (part,), {}, milliseconds(found.get("time")), line)

    def _compact(self, found: Json, line: int) -> Iterator[Step]:
        yield from self._settle()
        self.counts.map()
        self.counts.left_out.update(other_fields(found, COMPACTION))
        ref, summary = self._unused(ref_of(found), found), _summary_in(found)
        before, after = kept_beside(self._live, found)
        yield from self._about.begin()
        said = Said(
            "user", (Part(ref, [text_block(summary)]),), {"provider": NAME}, milliseconds(found.get("time")), line
        )
        yield Compacted(said, tuple(one.ref for one in after), tuple(one.ref for one in before))
        self._live = [*before, Live(ref, is_summary=True), *after]

    def _undo(self, found: Json) -> Iterator[Step]:
        yield from self._settle()
        stays = undone(self._live, found["count"])
        yield from self._go_back(found, len(self._live) if stays is None else stays)

    def _go_back(self, found: Json, stays: int) -> Iterator[Step]:
        """Go back to so many of the first messages."""
        yield from self._settle()
        self.counts.map()
        self.counts.left_out.update(other_fields(found, {*FIELDS, "count"}))
        if stays < len(self._live):
            self._live = self._live[:stays]
            yield Back(self._live[-1].ref if self._live else "")

    def _count(self, found: Json, line: int) -> Iterator[Step]:
        self.counts.map()
        usage = found["usage"]
        self.counts.left_out.update(other_fields(found, {*FIELDS, "model", "usage", "usageScope"}))
        self.counts.left_out.update(other_fields(usage, {*COUNTS}, "usage."))
        counts = {COUNTS[key]: value for key, value in usage.items() if key in COUNTS}
        data = {**made_by(NAME, text_in(found, "model") or self._model), "usage": counts}
        yield from self._about.begin()
        ref = self._unused(ref_of(found), found)
        yield Kept("usage", ref, None, data, milliseconds(found.get("time")), line)

    def _give_up_prompt(self) -> Iterator[Step]:
        """Keep a prompt whose message did not come: the program was killed before."""
        asked, self._asked = self._asked, None
        if asked is not None:
            self.counts.map()
            yield from self._note(asked[0], ref_of(asked[0]), None, asked[1])

    def _read_other(self, found: Json, kind: str, line: int) -> Iterator[Step]:
        if rule := next((rule for beginning, rule in IGNORED.items() if kind.startswith(beginning)), ""):
            self.counts.ignore(rule)
            return
        if kind.startswith(NOTES):
            self.counts.map()
        else:
            self.counts.note(kind or "without a type")
        yield from self._note(found, ref_of(found), None, line)

    def _note(self, found: Json, ref: str, text: str | None, line: int) -> Iterator[Step]:
        yield from self._about.begin()
        yield Kept("note", ref, text, {NAME: encode(found)}, milliseconds(found.get("time")), line)

    def _unused(self, ref: str, found: Any) -> str:
        """Return a ref for something new: a different one if something else has it already."""
        name = ref if ref not in self._refs else f"{ref}-{self._number}-{digest(encode(found, ascii_only=True))}"
        self._refs.add(name)
        return name

    def end(self) -> Iterator[Step]:
        """Yield what is known by now; a step that may still go on, and a prompt, are left for the next call."""
        is_open = self._open is not None and bool(self._open.blocks or self._open.results)
        written = self._written or self.source.modified // 1_000_000
        self.counts.unfinished = (is_open or self._asked is not None) and may_go_on(written)
        if not self.counts.unfinished:
            yield from as_far_as_written(self._settle())
            yield from self._give_up_prompt()
        if self._about.has_begun:
            yield from self._about.end()


def _summary_in(found: Json) -> str:
    """Return the summary that the model gets after a compaction; empty if the record has none."""
    summary = text_in(found, "contextSummary") or text_in(found, "summary")
    parts = list_in(map_in(found, "summary"), "content")
    return summary or "".join(text_in(part, "text") for part in parts)
