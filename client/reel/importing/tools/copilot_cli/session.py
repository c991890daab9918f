"""Reads a session of Copilot CLI event by event. What a sub-agent says is a conversation of its own."""

from collections.abc import Iterator

from reel.base.strict_json import Json, encode
from reel.importing.sources.blocks import made_by, said_from
from reel.importing.sources.description import Description
from reel.importing.sources.files import JsonLines
from reel.importing.sources.record_tree import START, RecordTree
from reel.importing.steps import REPEATED, Compacted, Kept, Part, Said, Source, Step
from reel.importing.tools.copilot_cli.events import (
    NAME,
    STARTS,
    answer_blocks,
    call_of,
    left_out_of,
    prompt_blocks,
    result_block,
    says_nothing,
    usage_of,
)
from reel.importing.values import id_in_name, map_in, milliseconds, text_in
from reel.providers.blocks import text as text_block
from reel.providers.refusals import Refusals

# Not all of "assistant." and "tool.": what a later version says under a new name is no progress.
_PROGRESS = (
    *("assistant.turn_", "assistant.intent", "assistant.message_", "assistant.reasoning", "assistant.streaming_"),
    *("assistant.tool_call_", "assistant.server_tool_", "assistant.idle"),
    *("tool.execution_start", "tool.execution_progress", "tool.execution_partial", "command.", "model."),
)
# Events that say nothing of the conversation, by the beginnings of their types.
_IGNORED = {
    **dict.fromkeys(_PROGRESS, "progress of a turn"),
    **dict.fromkeys(("hook.", "permission.", "user_input.", "elicitation.", "exit_plan_mode."), "question or hook"),
    **dict.fromkeys(("subagent.", "factory."), "progress of a sub-agent"),
    "session.model_change": "choice of the model",
    **dict.fromkeys(("session.mode_", "session.auto_", "session.permissions_", "capabilities."), "settings"),
    **dict.fromkeys(("session.skills_", "session.mcp_", "session.tools_", "session.custom_agents"), "list of tools"),
    **dict.fromkeys(("session.workspace_", "session.binary_asset"), "state of files"),
    **dict.fromkeys(("session.usage_", "session.context_changed", "session.idle"), "state of the session"),
    "session.compaction_start": "progress of a turn",
}
# Events that are kept as notes, with the field that has their text; the others are unknown, and are kept as well.
_NOTES = {
    **dict.fromkeys(("session.info", "session.warning", "session.error"), "message"),
    **dict.fromkeys(("system.notification", "skill.invoked"), "content"),
    **dict.fromkeys(("session.shutdown", "session.truncation", "session.plan_changed", "session.todos_changed"), ""),
    "session.task_complete": "summary",
    "abort": "reason",
}
_SAID = ("user.message", "assistant.message", "tool.execution_complete", "tool.user_requested")


class Session(JsonLines):
    """A session that is being read.

    Args:
        source: the location of the session.
    """

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._about = {"": Description(NAME, source)}
        self._trees = {"": RecordTree()}
        self._part = ""
        self._refusals = Refusals(NAME, self.counts.refused)
        self._system = ""
        # The requests whose usage is told by an event of its own.
        self._told: set[str] = set()

    def read_line(self, found: Json, line: int) -> Iterator[Step]:
        """Read one event."""
        kind, data = text_in(found, "type"), map_in(found, "data")
        event = self._trees[""].name(text_in(found, "id"), found)
        part = text_in(found, "agentId") or text_in(data, "parentToolCallId")
        parent = found["parentId"] if type(found.get("parentId")) is str else START
        tree, sent = self._trees[""], milliseconds(found.get("timestamp"))
        if not event:
            self.counts.ignore(REPEATED)
            return
        if kind not in (*_SAID, "session.compaction_complete") or part:
            tree.add(event, parent)
        if kind in STARTS:
            self._read_facts(kind, found, data)
        elif kind in _SAID and says_nothing(kind, data):
            tree.add(event, parent)
            self.counts.note(f"{kind} without content")
            yield from self._in(part)
            yield self._note(found, event, None, line)
        elif kind in _SAID:
            yield from self._say(kind, found, data, event, parent, part, sent, line)
        elif kind == "system.message":
            yield from self._read_system(found, data, event, sent, line)
        elif kind in ("session.usage_record", "assistant.usage"):
            if kind == "session.usage_record":
                self.counts.left_out.update(left_out_of(kind, found))
            yield from self._read_usage(map_in(data, "usage") or data, event, part, sent, line)
        elif kind == "session.compaction_complete":
            yield from self._read_compaction(found, data, event, parent, sent, line)
        else:
            yield from self._read_other(found, kind, data, event, part, line)

    def _read_facts(self, kind: str, found: Json, data: Json) -> None:
        self.counts.map()
        self.counts.left_out.update(left_out_of(kind, found))
        facts, context = self._about[""].facts, map_in(data, "context")
        told = {
            "cwd": text_in(context, "cwd"),
            "branch": text_in(context, "branch"),
            "version": text_in(data, "copilotVersion"),
            "model": text_in(data, "selectedModel"),
        }
        facts.update({key: value for key, value in told.items() if value})

    def _about_part(self, part: str) -> Description:
        """Return what is known of the conversation of a part: that of a sub-agent, or the session's own."""
        if part not in self._about:
            source = self.source._replace(about={**self.source.about, "parent": self.source.conversation})
            about = self._about[part] = Description(NAME, source, f"/{id_in_name(part)}")
            about.facts["cwd"] = self._about[""].facts.get("cwd", "")
            self._trees[part] = RecordTree()
        return self._about[part]

    def _in(self, part: str) -> Iterator[Step]:
        """Go to the conversation of a part."""
        about = self._about_part(part)
        if part != self._part or not about.has_begun:
            self._part = part
            yield about.tell()

    def _say(
        self, kind: str, found: Json, data: Json, event: str, parent: str, part: str, sent: int | None, line: int
    ) -> Iterator[Step]:
        self.counts.map()
        self.counts.left_out.update(left_out_of(kind, found))
        about, tree = self._about_part(part), self._trees[part]
        if part:
            parent = tree.newest
        role, metadata, blocks = "user", {}, list[Json]()
        if kind == "user.message":
            blocks = prompt_blocks(data)
            metadata = self._take_prompt(data, part)
        elif kind == "assistant.message":
            role, blocks = "assistant", answer_blocks(data, self._refusals)
            model = text_in(data, "model")
            metadata = made_by(NAME, model)
            about.facts["model"] = model or about.facts.get("model", "")
        elif kind == "tool.user_requested":
            role, blocks, metadata = "assistant", [call_of(data)], {"provider": NAME}
        else:
            blocks = [result_block(data)]
        if not blocks:
            tree.add(event, parent)
            return
        yield from self._in(part)
        yield from tree.follow(parent)
        said = Said(role, (Part(event, []),), metadata, sent, line)
        yield from said_from(blocks, role, said, self._refusals)
        tree.add(event, parent, event)
        if kind == "assistant.message":
            yield from self._count_output(data, event, sent, line)

    def _take_prompt(self, data: Json, part: str) -> Json:
        shown = text_in(data, "content")
        if not text_in(data, "source") and not part:
            self._about[""].prompt(shown)
        is_other = text_in(data, "transformedContent") not in ("", shown)
        return {"provider": NAME, "display": shown} if shown and is_other else {}

    def _count_output(self, data: Json, event: str, sent: int | None, line: int) -> Iterator[Step]:
        """Count the output of an answer whose request has no usage of its own, as in earlier versions."""
        output = data.get("outputTokens")
        if type(output) is int and output and text_in(data, "apiCallId") not in self._told:
            usage = {**made_by(NAME, text_in(data, "model")), "usage": {"output_tokens": output}}
            yield Kept("usage", f"{event}/usage", None, usage, sent, line)

    def _read_usage(self, usage: Json, event: str, part: str, sent: int | None, line: int) -> Iterator[Step]:
        request = text_in(usage, "apiCallId")
        if request and request in self._told:
            self.counts.ignore(REPEATED)
            return
        self.counts.map()
        self._told.add(request)
        response = {"response_id": request} if request else {}
        data: Json = {**made_by(NAME, text_in(usage, "model")), **response, "usage": usage_of(usage)}
        yield from self._in(part)
        yield Kept("usage", f"{event}/usage", None, {**data, "copilot": encode(usage)}, sent, line)

    def _read_system(self, found: Json, data: Json, event: str, sent: int | None, line: int) -> Iterator[Step]:
        text = text_in(data, "content")
        if text and text == self._system:
            self.counts.ignore(REPEATED)
            return
        self.counts.map()
        yield from self._in("")
        if not self._system and text and not self._trees[""].has_messages:
            self._system = text
            self.counts.left_out.update(left_out_of("system.message", found))
            yield Said("system", (Part(event, [text_block(text)]),), {}, sent, line)
        else:
            self._system = text or self._system
            yield self._note(found, event, text or None, line)

    def _read_compaction(
        self, found: Json, data: Json, event: str, parent: str, sent: int | None, line: int
    ) -> Iterator[Step]:
        self.counts.map()
        yield from self._in("")
        summary = text_in(data, "summaryContent")
        if summary and data.get("success") is not False:
            said = Said("user", (Part(event, [text_block(summary)]),), {"provider": NAME}, sent, line)
            yield Compacted(said)
            self._trees[""].add(event, parent, event)
        else:
            self._trees[""].add(event, parent)
        rest = {**found, "data": {key: value for key, value in data.items() if key != "summaryContent"}}
        yield self._note(rest, f"{event}/note", None, line)

    def _read_other(self, found: Json, kind: str, data: Json, event: str, part: str, line: int) -> Iterator[Step]:
        if kind in _NOTES:
            self.counts.map()
        elif rule := next((rule for beginning, rule in _IGNORED.items() if kind.startswith(beginning)), ""):
            self.counts.ignore(rule)
            return
        else:
            self.counts.note(kind or "without a type")
        yield from self._in(part)
        yield self._note(found, event, text_in(data, _NOTES.get(kind, "")) or None, line)

    def _note(self, found: Json, event: str, text: str | None, line: int) -> Kept:
        return Kept("note", event, text, {NAME: encode(found)}, milliseconds(found.get("timestamp")), line)

    def end(self) -> Iterator[Step]:
        """Yield what is known by now about the conversations."""
        for part, about in self._about.items():
            if about.has_begun:
                for told in about.end():
                    self._part = part
                    yield told
