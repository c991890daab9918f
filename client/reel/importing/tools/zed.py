"""Zed: a database with one row for each thread, which holds the thread as JSON, usually compressed."""

import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reel.base.strict_json import Json, encode
from reel.importing.sources.blocks import call_block, made_by, said_from
from reel.importing.sources.databases import Damaged, Database, databases_below, open_database
from reel.importing.sources.files import MAX_LINE, open_zstd
from reel.importing.steps import NOT_JSON, TOO_LONG, About, Counts, Found, Kept, Part, Problem, Said, Source, Step, Tool
from reel.importing.values import (
    as_map,
    digest,
    id_in_name,
    list_in,
    map_in,
    milliseconds,
    other_fields,
    parse_record,
    tags_of,
    text_in,
    title_of,
)
from reel.providers.anthropic import PROVIDER as ANTHROPIC
from reel.providers.blocks import text as text_block
from reel.providers.blocks import tool_result
from reel.providers.content import is_base64, shortest
from reel.providers.gemini import PROVIDER as GEMINI
from reel.providers.metadata import opaque_block
from reel.providers.refusals import Refusals

_NAME = "zed"
_FILE = "threads.db"
_LONGEST = 4 * MAX_LINE
# The fields of a thread of which something is made, or that are about the editor.
_THREAD = frozenset(
    {
        *("title", "summary", "messages", "updated_at", "model", "version", "request_token_usage"),
        *("cumulative_token_usage", "initial_project_snapshot", "completion_mode", "profile", "imported"),
    }
)
_CALL = frozenset({"id", "name", "raw_input", "input", "is_input_complete", "thought_signature"})
_RESULT = frozenset({"tool_use_id", "tool_name", "is_error", "content", "output"})
_ROLES = {"user": "user", "assistant": "assistant", "system": "user"}


def _places(environment: Mapping[str, str]) -> Iterator[Path]:
    home = Path(environment.get("HOME", "/"))
    data = Path(environment.get("XDG_DATA_HOME") or home / ".local/share")
    for place in (data / "zed", home / "Library/Application Support/Zed", home / ".var/app/dev.zed.Zed/data/zed"):
        yield place / "threads" / _FILE


def _discover(root: Path) -> Found:
    return databases_below(root, _NAME, (_FILE,), {"threads": "id"})


class Threads:
    """A database that is being read.

    Args:
        source: the location of the database.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.counts = Counts()
        self._refusals = Refusals(_NAME, self.counts.refused)
        # Of the thread that is being read: its model, and who signs what the model thinks.
        self._model = self._signer = ""

    def steps(self) -> Iterator[Step]:
        """Yield the steps of all threads."""
        with open_database(self.source.path) as database:
            for thread, numbers in database.groups("threads", "id").items():
                try:
                    yield from self._thread(database, thread, numbers[0])
                except Damaged as error:
                    self._problem(thread, str(error))

    def _problem(self, thread: str, what: str) -> None:
        self.counts.problem(Problem(self.source.path, 0, f"thread {thread}: {what}"))

    def _thread(self, database: Database, thread: str, number: int) -> Iterator[Step]:
        row = database.row("threads", number)
        found = self._parsed(row, thread)
        if found is None:
            return
        self.counts.left_out.update(other_fields(found, _THREAD))
        model = map_in(found, "model")
        self.counts.left_out.update(other_fields(model, {"provider", "model"}, "model."))
        self._model = text_in(model, "model")
        told = f"{text_in(model, 'provider')} {self._model}".lower()
        self._signer = ANTHROPIC if "claude" in told else GEMINI if "gemini" in told else ""
        parent = text_in(row, "parent_id")
        facts = tags_of(
            tool=_NAME,
            source=self.source.path,
            model=self._model,
            cwd=(text_in(row, "folder_paths").splitlines() or [""])[0],
            parent=f"{_NAME}/{id_in_name(parent)}" if parent else "",
        )
        title = text_in(found, "title") or text_in(found, "summary") or text_in(row, "summary")
        yield About(f"/{id_in_name(thread)}", title_of(title), facts)
        # No message has a time of its own.
        sent = milliseconds(row.get("created_at") or row.get("updated_at") or found.get("updated_at"))
        usage = map_in(found, "request_token_usage")
        last, since = "", 0
        prompts = {text_in(map_in(message, "User"), "id") for message in list_in(found, "messages")}
        self.counts.left_out.update(other_fields(usage, prompts, "request_token_usage."))
        for index, message in enumerate(list_in(found, "messages")):
            said = text_in(map_in(message, "User"), "id")
            last, since = (said, 0) if said else (last, since + 1)
            ref = last if said else f"{last or 'start'}/{since}"
            yield from self._read(message, ref if "role" not in as_map(message) else f"message-{index}", sent)
            if said and (counts := map_in(usage, said)):
                data = {**made_by(_NAME, self._model), "usage": counts}
                yield Kept("usage", f"{said}/usage", None, data, sent)

    def _parsed(self, row: Json, thread: str) -> Json | None:
        """Return a thread; ``None`` if it is damaged, which is reported.

        Raises:
            OSError: it is compressed, and no module can read that.
        """
        data = row.get("data")
        data = data.encode("utf-8", "replace") if type(data) is str else data if type(data) is bytes else b""
        if row.get("data_type") == "zstd":
            try:
                with open_zstd(io.BytesIO(data), self.source.path) as file:
                    data = file.read(_LONGEST + 1)
            except OSError as error:
                if error.__cause__ is None:
                    raise
                return self._refuse(NOT_JSON, thread, error.strerror or str(error))
        if len(data) > _LONGEST:
            return self._refuse(TOO_LONG, thread, f"has more than {_LONGEST:,} bytes")
        try:
            found = parse_record(data)
        except (ValueError, RecursionError) as error:
            return self._refuse(NOT_JSON, thread, f"not JSON: {error}")
        return self._refuse(NOT_JSON, thread, "not a JSON object") if found is None else found

    def _refuse(self, kind: str, thread: str, what: str) -> Json | None:
        self.counts.note(kind)
        self._problem(thread, what)
        return None

    def _read(self, message: Any, ref: str, sent: int | None) -> Iterator[Step]:
        found = as_map(message)
        if type(found.get("User")) is dict:
            yield from self._say("user", "User", found, list_in(found["User"], "content"), [], ref, sent)
        elif type(found.get("Agent")) is dict:
            results = map_in(found["Agent"], "tool_results")
            answered = [result for result in results.values() if type(result) is dict]
            strange = {key: result for key, result in results.items() if type(result) is not dict}
            self.counts.left_out.update(other_fields(strange, set(), "tool_results."))
            yield from self._say("assistant", "Agent", found, list_in(found["Agent"], "content"), answered, ref, sent)
        elif text_in(found, "role") in _ROLES and "segments" in found:
            yield from self._read_older(found, ref, sent)
        else:
            self.counts.note(message if type(message) is str else next(iter(found), "empty"))
            yield Kept("note", f"{ref}-{digest(encode(found, ascii_only=True))}", None, {_NAME: encode(found)}, sent)

    def _say(
        self, role: str, kind: str, found: Json, parts: list[Any], results: list[Json], ref: str, sent: int | None
    ) -> Iterator[Step]:
        self.counts.map()
        known = {"id", "content"} if kind == "User" else {"content", "tool_results", "reasoning_details"}
        self.counts.left_out.update(other_fields(found, {kind}))
        self.counts.left_out.update(other_fields(found[kind], known, f"{kind}."))
        metadata = made_by(self._signer or _NAME, self._model)
        if kind == "Agent" and (details := found[kind].get("reasoning_details")):
            metadata["reasoning_json"] = encode({"details": details})
        blocks = [self._block(part) for part in parts]
        said = Said(role, (Part(ref, []),), metadata if role == "assistant" else {}, sent)
        yield from said_from(blocks, role, said, self._refusals)
        answers = [self._result(result) for result in results]
        yield from said_from(answers, "user", Said("tool", (Part(f"{ref}/results", []),), {}, sent), self._refusals)

    def _block(self, part: Any) -> Json:
        found = as_map(part)
        kind = next(iter(found), "")
        value: Any = found.get(kind)
        block: Json | None = None
        if kind == "Text" and type(value) is str:
            block = text_block(value)
        elif kind == "Thinking" and type(value) is dict and value.keys() <= {"text", "signature"}:
            block = self._thinking(value)
        elif kind == "RedactedThinking" and type(value) is str and self._signer == ANTHROPIC:
            block = {"type": "redacted_thinking", "data": value, **made_by(ANTHROPIC, self._model)}
        elif kind == "ToolUse" and type(value) is dict:
            self.counts.left_out.update(other_fields(value, _CALL, "ToolUse."))
            block = self._call(value)
        elif kind == "Mention" and text_in(value, "content"):
            rest = {key: kept for key, kept in value.items() if key != "content"}
            kept = {"provider_metadata": {"provider": _NAME, "mention_json": encode(rest)}} if rest else {}
            block = {**text_block(value["content"]), **kept}
        elif kind == "Image" and is_base64(text_in(value, "source")) and text_in(value, "source"):
            self.counts.left_out.update(other_fields(value, {"source", "size"}, "Image."))
            block = {"type": "media", "mime_type": "image/png", "data_base64": value["source"]}
        if block is not None:
            self.counts.left_out.update(other_fields(found, {kind}))
        return block or opaque_block(_NAME, found)

    def _thinking(self, value: Json) -> Json:
        signature = text_in(value, "signature")
        by = made_by(self._signer or _NAME, self._model)
        signed = {"signature": signature} if self._signer else {"provider_metadata": {**by, "signature": signature}}
        return {"type": "thinking", "text": text_in(value, "text"), **by, **(signed if signature else {})}

    def _call(self, value: Json) -> Json:
        arguments = value.get("input") if value.get("is_input_complete") is not False else value.get("raw_input")
        block = call_block(text_in(value, "id"), text_in(value, "name"), arguments)
        if (signature := text_in(value, "thought_signature")) and self._signer == GEMINI:
            kept = {**made_by(GEMINI, self._model), "signature": signature}
            return {**block, "provider_metadata": kept}
        return block

    def _result(self, value: Json) -> Json:
        self.counts.left_out.update(other_fields(value, _RESULT, "tool_results."))
        content = value.get("content")
        text = content if type(content) is str else shortest([self._block(part) for part in _parts_of(content)])
        return tool_result(text_in(value, "tool_use_id") or "call", text, failed=value.get("is_error") is True)

    def _read_older(self, found: Json, ref: str, sent: int | None) -> Iterator[Step]:
        """Read a message of the versions before 0.3, with segments, and calls and results beside them."""
        self.counts.map()
        known = {"id", "role", "segments", "tool_uses", "tool_results", "context", "creases", "is_hidden"}
        self.counts.left_out.update(other_fields(found, known))
        role = _ROLES[text_in(found, "role")]
        context = text_in(found, "context")
        blocks = [text_block(context)] if context else []
        blocks += [self._segment(as_map(segment)) for segment in list_in(found, "segments")]
        blocks += [self._call(as_map(call)) for call in list_in(found, "tool_uses")]
        metadata = made_by(self._signer or _NAME, self._model)
        said = Said(role, (Part(ref, []),), metadata if role == "assistant" else {}, sent)
        yield from said_from(blocks, role, said, self._refusals)
        answers = [self._result(as_map(result)) for result in list_in(found, "tool_results")]
        yield from said_from(answers, "user", Said("tool", (Part(f"{ref}/results", []),), {}, sent), self._refusals)

    def _segment(self, found: Json) -> Json:
        kind = text_in(found, "type")
        if kind == "thinking" and found.keys() <= {"type", "text", "signature"}:
            return self._thinking(found)
        is_text = kind == "text" and found.keys() == {"type", "text"} and type(found["text"]) is str
        return text_block(found["text"]) if is_text else opaque_block(_NAME, found)


def _parts_of(content: Any) -> list[Any]:
    return content if type(content) is list else [] if content is None else [content]


TOOL = Tool(_NAME, "Zed", _places, _discover, Threads)
