"""Reads a session of VS Code's chat: what was asked, and the rounds in which the model answered."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from reel.base.strict_json import Json, encode
from reel.importing.sources.blocks import call_block, made_by, said_from
from reel.importing.sources.companions import companion
from reel.importing.sources.description import Description
from reel.importing.sources.record_tree import RecordTree
from reel.importing.sources.unfinished import as_far_as_written, may_go_on, postpone
from reel.importing.steps import REPEATED, Compacted, Counts, Kept, Part, Said, Source, Step
from reel.importing.tools.vscode_chat.log import read_session
from reel.importing.tools.vscode_chat.parts import (
    NAME,
    is_progress,
    left_out_of_prompt,
    left_out_of_result,
    left_out_of_shown,
    result_of,
    shown_block,
    thought_in,
)
from reel.importing.values import as_map, digest, list_in, map_in, milliseconds, other_fields, text_in
from reel.providers.blocks import text as text_block
from reel.providers.metadata import opaque_block
from reel.providers.refusals import Refusals

WORKSPACE = "workspace.json"
# The fields that are used, or that are about the editor.
_SESSION = frozenset(
    {
        *("version", "sessionId", "creationDate", "lastMessageDate", "customTitle", "requests", "isImported"),
        *("requesterUsername", "requesterAvatarIconUri", "responderUsername", "responderAvatarIconUri"),
        *("initialLocation", "inputState", "hasPendingEdits", "pendingRequests", "repoData"),
    }
)
_REQUEST = frozenset(
    {
        *("requestId", "message", "variableData", "response", "responseId", "result", "responseMarkdownInfo"),
        *("followups", "isCanceled", "agent", "slashCommand", "contentReferences", "codeCitations", "timestamp"),
        *(
            "modelId",
            "modelState",
            "timeSpentWaiting",
            "shouldBeRemovedOnSend",
            "vote",
            "voteDownReason",
            "locationData",
        ),
        *("attempt", "isHidden", "confirmation", "editedFileEvents", "modeInfo", "elapsedMs", "completionTokens"),
    }
)
_ROUND = frozenset(
    {
        *("response", "toolCalls", "toolInputRetry", "id", "statefulMarker", "thinking", "timestamp", "summary"),
        *("phase", "phaseModelId", "compaction"),
    }
)
_METADATA = frozenset(
    {
        *("codeBlocks", "renderedUserMessage", "renderedGlobalContext", "cacheKey", "toolCallRounds"),
        *("toolCallResults", "modelMessageId", "responseId", "sessionId", "agentId", "promptTokens", "outputTokens"),
        *("summary", "summaries", "maxToolCallsExceeded", "resolvedModel", "command", "modelId"),
    }
)
_TOKENS = ("promptTokens", "outputTokens", "completionTokens")
_TIMINGS = frozenset({"firstProgress", "totalElapsed", "timeSpentWaiting"})
_PICTURE = "image"
_SHOWN, _PROGRESS = "shown, and in the rounds of the model as well", "progress of a turn"


class Session:
    """A session that is being read.

    Args:
        source: the location of the session.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.counts = Counts()
        self._about = Description(NAME, source)
        self._refusals = Refusals(NAME, self.counts.refused)
        self._names = RecordTree()

    def steps(self) -> Iterator[Step]:
        """Yield the steps of the session."""
        found = read_session(self.source, self.counts)
        self.counts.left_out.update(other_fields(found, _SESSION))
        self._about.name(text_in(found, "customTitle"))
        folder = text_in(companion(workspace_of(self.source), self.counts), "folder")
        if folder:
            self._about.facts["cwd"] = unquote(folder.removeprefix("file://"))
        requests = list_in(found, "requests")
        for number, request in enumerate(requests):
            yield from self._read(request, is_last=number == len(requests) - 1)
        if self._about.has_begun:
            yield from self._about.end()

    def _read(self, found: Any, *, is_last: bool) -> Iterator[Step]:
        request = as_map(found)
        ref = self._names.name(text_in(request, "requestId"), request)
        if not ref:
            self.counts.ignore(REPEATED)
            return
        self._names.add(ref, self._names.newest)
        sent, result = milliseconds(request.get("timestamp")), map_in(request, "result")
        typed = _typed(request)
        metadata = map_in(result, "metadata")
        if not typed and not list_in(metadata, "renderedUserMessage"):
            self.counts.note("request without a message")
            yield from self._note(request, ref, None, sent)
            return
        is_open = is_last and request.get("result") is None and request.get("isCanceled") is not True
        if is_open and may_go_on(self.source.modified // 1_000_000):
            # The prompt waits as well: the form in which the model got it is written with the answer.
            postpone(self.counts, 1 + len(list_in(request, "response")))
            return
        model = text_in(request, "modelId")
        self._about.facts["model"] = model or self._about.facts.get("model", "")
        self._about.prompt(typed)
        yield from self._about.begin()
        for steps in (
            self._ask(request, metadata, ref, typed, sent),
            self._answer(request, metadata, ref, model, sent),
        ):
            yield from as_far_as_written(steps) if is_open else steps
        yield from self._ends(request, result, metadata, ref, model, sent)
        if more := other_fields(request, _REQUEST):
            yield from self._note({key: request[key] for key in more}, f"{ref}/more", None, sent)

    def _ask(self, request: Json, metadata: Json, ref: str, typed: str, sent: int | None) -> Iterator[Step]:
        """Yield a prompt as the model got it, with what was typed beside it."""
        self.counts.map()
        self.counts.left_out.update(left_out_of_prompt(request))
        rendered = [*list_in(metadata, "renderedGlobalContext"), *list_in(metadata, "renderedUserMessage")]
        texts = [part["text"] for part in rendered if text_in(part, "text")]
        blocks = [text_block(text) for text in texts or [typed]]
        pictures = list_in(map_in(request, "variableData"), "variables")
        blocks += [opaque_block(NAME, {"type": "unknown", **one}) for one in pictures if _is_picture(one)]
        shown = {"provider": NAME, "display": typed} if texts and typed else {}
        yield from said_from(blocks, "user", Said("user", (Part(ref, []),), shown, sent), self._refusals)

    def _answer(self, request: Json, metadata: Json, ref: str, model: str, sent: int | None) -> Iterator[Step]:
        """Yield what the model said: in rounds, or, if these are not in the file, as it was shown."""
        rounds = [one for one in list_in(metadata, "toolCallRounds") if type(one) is dict]
        parts = list_in(request, "response")
        called = {text_in(call, "id") for one in rounds for call in list_in(one, "toolCalls")}
        results = map_in(metadata, "toolCallResults")
        self.counts.left_out.update(other_fields(results, called, "toolCallResults."))
        if rounds:
            for number, one in enumerate(rounds):
                yield from self._round(one, f"{ref}/{text_in(one, 'id') or number}", metadata, model, sent)
            for part in parts:
                self.counts.ignore(_PROGRESS if is_progress(part) else _SHOWN)
            return
        blocks = []
        for part in parts:
            if is_progress(part):
                self.counts.ignore(_PROGRESS)
                continue
            self.counts.map()
            self.counts.left_out.update(left_out_of_shown(part))
            blocks.append(shown_block(part))
        said = Said("assistant", (Part(f"{ref}/answer", []),), made_by(NAME, model), sent)
        yield from said_from(_joined(blocks), "assistant", said, self._refusals)

    def _round(self, found: Json, ref: str, metadata: Json, model: str, sent: int | None) -> Iterator[Step]:
        self.counts.map()
        self.counts.left_out.update(other_fields(found, _ROUND, "toolCallRounds."))
        sent = milliseconds(found.get("timestamp")) or sent
        calls = [call for call in list_in(found, "toolCalls") if type(call) is dict]
        blocks = _thoughts(found.get("thinking"), model)
        blocks += [text_block(text)] if (text := text_in(found, "response")) else []
        blocks += [self._call(call) for call in calls]
        said = Said("assistant", (Part(ref, []),), made_by(NAME, model), sent)
        yield from said_from(blocks, "assistant", said, self._refusals)
        results = map_in(metadata, "toolCallResults")
        for call in calls:
            ident = text_in(call, "id")
            if ident in results:
                self.counts.left_out.update(left_out_of_result(results[ident]))
                told = Said("tool", (Part(f"{ref}/{ident}", []),), {}, sent)
                made = result_of(ident or "call", results[ident], self._refusals)
                yield from said_from([made], "user", told, self._refusals)
        if summary := text_in(found, "summary"):
            part = Part(f"{ref}/summary", [text_block(summary)])
            yield Compacted(Said("user", (part,), {"provider": NAME}, sent))

    def _call(self, found: Json) -> Json:
        self.counts.left_out.update(other_fields(found, {"id", "name", "arguments", "type"}, "toolCalls."))
        return call_block(text_in(found, "id"), text_in(found, "name"), found.get("arguments"))

    def _ends(
        self, request: Json, result: Json, metadata: Json, ref: str, model: str, sent: int | None
    ) -> Iterator[Step]:
        """Yield how an answer ended, and what it used."""
        self.counts.left_out.update(other_fields(metadata, _METADATA, "result.metadata."))
        known = {"timings", "metadata", "details", "errorDetails", "nextQuestion", "usage", *_TOKENS}
        self.counts.left_out.update(other_fields(result, known, "result."))
        self.counts.left_out.update(other_fields(map_in(result, "timings"), _TIMINGS, "result.timings."))
        error = map_in(result, "errorDetails")
        if error or request.get("isCanceled") is True:
            text = text_in(error, "message") or "canceled"
            yield Kept("note", f"{ref}/end", text, {NAME: encode(error or {"isCanceled": True})}, sent)
        told = {**map_in(result, "usage"), **result, **metadata}
        usage = {
            "prompt_tokens": told.get("promptTokens"),
            "completion_tokens": told.get("outputTokens") or told.get("completionTokens"),
        }
        if any(usage.values()):
            yield Kept("usage", f"{ref}/usage", None, {**made_by(NAME, model), "usage": usage}, sent)

    def _note(self, found: Json, ref: str, text: str | None, sent: int | None) -> Iterator[Step]:
        yield from self._about.begin()
        yield Kept("note", ref or f"request-{digest(encode(found))}", text, {NAME: encode(found)}, sent)


def workspace_of(source: Source) -> Path:
    """Return the file that names the directory that a session was about."""
    return Path(source.path).parent.parent / WORKSPACE


def _typed(request: Json) -> str:
    """Return what the person typed."""
    message = request.get("message")
    return message if type(message) is str else text_in(message, "text")


def _is_picture(variable: Any) -> bool:
    return text_in(variable, "kind") == _PICTURE


def _thoughts(found: Any, model: str) -> list[Json]:
    """Return what the model thought, with what its provider wants back."""
    given = map_in({"thinking": found}, "thinking")
    rest = {key: value for key, value in given.items() if key != "text" and value not in (None, "", [], {})}
    text = thought_in(given.get("text"))
    if not text and not rest:
        return []
    by = made_by(NAME, model)
    kept = {"provider_metadata": {**by, "thinking_json": encode(rest)}} if rest else {}
    return [{"type": "thinking", "text": text, **by, **kept}]


def _joined(blocks: list[Json]) -> list[Json]:
    """Return blocks with adjacent texts as one: VS Code breaks a text where it shows a reference in it."""
    joined: list[Json] = []
    for block in blocks:
        if block["type"] == "text" and joined and joined[-1]["type"] == "text":
            joined[-1] = text_block(joined[-1]["text"] + block["text"])
        else:
            joined.append(block)
    return [block for block in joined if block != text_block("")]
