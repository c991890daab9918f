"""Reads a conversation of OpenHands event by event: each is a file of its own."""

from collections.abc import Iterator
from pathlib import Path

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json, encode
from reel.importing.sources.blocks import fitting, made_by, said_from
from reel.importing.sources.companions import companion
from reel.importing.sources.description import Description
from reel.importing.sources.files import MAX_LINE, open_regular
from reel.importing.sources.record_tree import RecordTree
from reel.importing.steps import (
    NOT_JSON,
    REPEATED,
    TOO_LONG,
    Compacted,
    Counts,
    Kept,
    Part,
    Problem,
    Said,
    Source,
    Step,
)
from reel.importing.tools.openhands.events import FIELDS, NAME, left_out_of, read_blocks, says_nothing
from reel.importing.tools.openhands.places import STATE, event_files
from reel.importing.values import list_in, map_in, milliseconds, parse_record, text_in
from reel.providers.blocks import text as text_block
from reel.providers.refusals import Refusals

# Events that say nothing about the conversation.
_IGNORED = {
    "ConversationStateUpdateEvent": "state of the conversation",
    "CondensationRequest": "progress of a turn",
    **dict.fromkeys(("TokenEvent", "StreamingDeltaEvent"), "progress of a turn"),
    "LLMCompletionLogEvent": "log of a request, which has the whole conversation",
}
# Events that are kept as notes, as are those of unknown kinds; each with the field that has its text.
_NOTES = {"ConversationErrorEvent": "detail", "PauseEvent": "", "HookExecutionEvent": "", "InterruptEvent": ""}
_ANSWERS = ("MessageEvent", "ActionEvent")


class Live(NamedTuple):
    """An event that the model gets: its id, and whether it is the prompt of the system."""

    ref: str
    is_prompt: bool


class Conversation:
    """A conversation that is being read.

    Args:
        source: the location of the file about it as a whole, or of its first event.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.counts = Counts()
        self._about = Description(NAME, source)
        self._refusals = Refusals(NAME, self.counts.refused)
        self._names = RecordTree()
        self._live: list[Live] = []
        self._model = ""
        # An answer whose calls are in several events, and the id of the response that they are from.
        self._answer: Said | None = None
        self._response = ""

    def steps(self) -> Iterator[Step]:
        """Yield the steps of the conversation."""
        state = companion(Path(self.source.path).with_name(STATE), self.counts)
        self._model = text_in(map_in(map_in(state, "agent"), "llm"), "model")
        facts = {"model": self._model, "cwd": text_in(map_in(state, "workspace"), "working_dir")}
        self._about.facts.update({key: value for key, value in facts.items() if value})
        for path in event_files(self.source.path):
            found = self._parsed(path)
            if found is not None:
                yield from self._read(found)
        yield from self._finish_answer()
        if self._about.has_begun:
            yield from self._about.end()
            yield from self._usage(state)

    def _parsed(self, path: str) -> Json | None:
        """Return an event; ``None`` if it is damaged, which is reported."""
        with open_regular(path) as file:
            data = file.read(MAX_LINE + 1)
        try:
            found = parse_record(data) if len(data) <= MAX_LINE else None
            what = "not a JSON object"
        except (ValueError, RecursionError) as error:
            found, what = None, f"not JSON: {error}"
        if len(data) > MAX_LINE:
            self.counts.refuse(TOO_LONG, Problem(path, 0, f"has more than {MAX_LINE:,} bytes"))
        elif found is None:
            self.counts.refuse(NOT_JSON, Problem(path, 0, what))
        return found

    def _read(self, found: Json) -> Iterator[Step]:
        kind, sent = text_in(found, "kind"), milliseconds(found.get("timestamp"))
        ref = self._names.name(text_in(found, "id"), found)
        if not ref:
            self.counts.ignore(REPEATED)
            return
        self._names.add(ref, self._names.newest)
        if kind == "Condensation" and text_in(found, "summary") and type(found.get("summary_offset")) is int:
            yield from self._condense(found, ref, sent)
        elif kind in _IGNORED:
            self.counts.ignore(_IGNORED[kind])
        elif kind not in FIELDS or says_nothing(found):
            yield from self._note(found, kind, ref, sent)
        elif blocks := read_blocks(found, self._refusals, self._model):
            self.counts.map()
            self.counts.left_out.update(left_out_of(found))
            yield from self._say(found, kind, ref, blocks, sent)
        else:
            self.counts.ignore("empty")

    def _say(self, found: Json, kind: str, ref: str, blocks: list[Json], sent: int | None) -> Iterator[Step]:
        role = "assistant" if kind == "ActionEvent" else text_in(map_in(found, "llm_message"), "role")
        response = text_in(found, "llm_response_id") if kind in _ANSWERS and role == "assistant" else ""
        if self._answer is not None and response and response == self._response:
            self._answer = self._answer._replace(parts=(*self._answer.parts, Part(ref, blocks)))
            self._live.append(Live(ref, is_prompt=False))
            return
        yield from self._finish_answer()
        if kind == "MessageEvent" and role == "user":
            self._about.prompt(" ".join(block["text"] for block in blocks if block["type"] == "text"))
        yield from self._about.begin()
        self._live.append(Live(ref, kind == "SystemPromptEvent"))
        if kind == "SystemPromptEvent":
            yield Said("system", (Part(ref, blocks),), {}, sent)
        elif role == "assistant":
            self._answer = Said("assistant", (Part(ref, blocks),), made_by(NAME, self._model), sent)
            self._response = response
        else:
            yield from said_from(blocks, "user", Said("user", (Part(ref, []),), {}, sent), self._refusals)

    def _finish_answer(self) -> Iterator[Step]:
        """Yield an answer: its events are parts of one message."""
        answer, self._answer = self._answer, None
        if answer is not None:
            parts = [
                part._replace(blocks=[fitting(block, "assistant", self._refusals) for block in part.blocks])
                for part in answer.parts
            ]
            yield answer._replace(parts=tuple(parts))

    def _condense(self, found: Json, ref: str, sent: int | None) -> Iterator[Step]:
        """Put a summary in the place of the forgotten events; some at the beginning may stay before it."""
        yield from self._finish_answer()
        self.counts.map()
        self.counts.left_out.update(left_out_of(found))
        forgotten = set(filter(lambda one: type(one) is str, list_in(found, "forgotten_event_ids")))
        stays = [one for one in self._live if one.ref not in forgotten]
        offset = max(found["summary_offset"], 0)
        before, after = stays[:offset], stays[offset:]
        yield from self._about.begin()
        said = Said("user", (Part(ref, [text_block(found["summary"])]),), {"provider": NAME}, sent)
        refs = [tuple(one.ref for one in part if not one.is_prompt) for part in (after, before)]
        yield Compacted(said, *refs)
        self._live = [*before, Live(ref, is_prompt=False), *after]

    def _note(self, found: Json, kind: str, ref: str, sent: int | None) -> Iterator[Step]:
        if kind in _NOTES or kind == "Condensation":
            self.counts.map()
        else:
            self.counts.note(f"{kind} without content" if kind in FIELDS else kind or "without a kind")
        yield from self._about.begin()
        yield Kept("note", ref, text_in(found, _NOTES.get(kind, "")) or None, {NAME: encode(found)}, sent)

    def _usage(self, state: Json) -> Iterator[Step]:
        """Yield the tokens that each of the agent's models used, which are counted for the conversation as a whole."""
        metrics = map_in(map_in(state, "stats"), "usage_to_metrics")
        for name, found in metrics.items():
            counted = map_in(found, "accumulated_token_usage")
            usage = {
                "prompt_tokens": counted.get("prompt_tokens"),
                "completion_tokens": counted.get("completion_tokens"),
                "prompt_tokens_details": {
                    "cached_tokens": counted.get("cache_read_tokens"),
                    "cache_write_tokens": counted.get("cache_write_tokens"),
                },
                "completion_tokens_details": {"reasoning_tokens": counted.get("reasoning_tokens")},
            }
            if usage["prompt_tokens"] or usage["completion_tokens"]:
                data = {**made_by(NAME, text_in(found, "model_name") or self._model), "usage": usage}
                yield Kept("usage", f"usage-{name}", None, data, self.source.modified // 1_000_000)
