"""Continue: a file with one object for each session, beside a list of all of them."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from reel.base.strict_json import Json, encode, parse
from reel.importing.sources.blocks import call_block, made_by, said_from
from reel.importing.sources.files import MAX_LINE, files_below, open_regular
from reel.importing.sources.salvage import GAP, with_gaps
from reel.importing.steps import NOT_JSON, TOO_LONG, About, Counts, Found, Kept, Part, Problem, Said, Source, Step, Tool
from reel.importing.values import (
    as_map,
    digest,
    list_in,
    map_in,
    milliseconds,
    name_of,
    other_fields,
    parse_record,
    tags_of,
    text_in,
    title_of,
)
from reel.providers.blocks import text as text_block
from reel.providers.blocks import tool_result
from reel.providers.content import shortest
from reel.providers.metadata import opaque_block
from reel.providers.refusals import Refusals

_NAME = "continue"
_SUFFIX, _LIST = ".json", "sessions.json"
_ROLES = {"user": "user", "tool": "user", "system": "user", "assistant": "assistant", "thinking": "assistant"}
_LONGEST = 2 * MAX_LINE
# The fields of which something is made, or that hold the same once more: the log of a request has its whole prompt.
_SESSION_FIELDS = frozenset({"sessionId", "title", "workspaceDirectory", "history", "dateCreated"})
_HISTORY = re.compile(rb'"history"\s*:\s*(?=\[)')
_FIRST_KEYS = ("message", "contextItems", "editorState")
_ITEM_FIELDS = frozenset({"message", "contextItems", "editorState", "isGatheringContext", "promptLogs"})
_MESSAGE_FIELDS = frozenset(
    {"role", "content", "id", "toolCalls", "toolCallId", "signature", "redactedThinking", "usage"}
)


def _places(environment: Mapping[str, str]) -> Iterator[Path]:
    named = environment.get("CONTINUE_GLOBAL_DIR")
    yield (Path(named) if named else Path(environment.get("HOME", "/")) / ".continue") / "sessions"


def _discover(root: Path) -> Found:
    problems: list[Problem] = []
    times: dict[Path, dict[str, str]] = {}
    sources = []
    for entry in files_below(root, (_SUFFIX,), problems):
        path = entry.path
        if path.name != _LIST and (path == root.resolve() or path.parent.name == "sessions"):
            created = times.setdefault(path.parent, _times_in(path.parent)).get(path.stem, "")
            about = {"created": created} if created else {}
            sources.append(Source(str(path), name_of(_NAME, path.stem), entry.size, entry.modified, about=about))
    return Found(sources, problems)


def _times_in(directory: Path) -> dict[str, str]:
    """Return when the sessions of a directory began, as their list says."""
    with suppress(OSError, ValueError, RecursionError), open_regular(str(directory / _LIST)) as file:
        listed = parse(file.read(MAX_LINE).decode("utf-8", "replace"))
        if type(listed) is list:
            return {text_in(one, "sessionId"): text_in(one, "dateCreated") for one in listed}
    return {}


class Session:
    """A session that is being read.

    Args:
        source: the location of the session.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.counts = Counts()
        self._refusals = Refusals(_NAME, self.counts.refused)
        created = source.about.get("created", "")
        # No message has a time of its own.
        self._sent = milliseconds(int(created)) if created.isascii() and created.isdigit() else None

    def steps(self) -> Iterator[Step]:
        """Yield the steps of the session."""
        found = self._parsed()
        self.counts.left_out.update(other_fields(found, _SESSION_FIELDS))
        history = list_in(found, "history")
        cwd = unquote(text_in(found, "workspaceDirectory").removeprefix("file://"))
        model = next(filter(None, map(_model_of, reversed(history))), "")
        yield About(
            "",
            title_of(text_in(found, "title")),
            tags_of(tool=_NAME, source=self.source.path, cwd=cwd, model=model),
        )
        for number, item in enumerate(history):
            if item is not GAP:
                yield from self._read(item, number)

    def _parsed(self) -> Json:
        """Return the session; if it is damaged, its undamaged messages."""
        with open_regular(self.source.path) as file:
            data = file.read(_LONGEST + 1)
        if len(data) > _LONGEST:
            return self._refuse(TOO_LONG, f"has more than {_LONGEST:,} bytes", b"")
        try:
            found = parse_record(data) or {}
        except (ValueError, RecursionError) as error:
            return self._refuse(NOT_JSON, f"not JSON: {error}", data)
        if type(found.get("history")) is not list:
            return self._refuse("not a session", "has no history of messages", data)
        return found

    def _refuse(self, kind: str, what: str, data: bytes) -> Json:
        self.counts.refuse(kind, Problem(self.source.path, 0, what))
        begin = found.end() if (found := _HISTORY.search(data)) is not None else 0
        return {"history": list(with_gaps(data[begin:], _FIRST_KEYS, lambda item: bool(map_in(item, "message"))))}

    def _read(self, item: Any, number: int) -> Iterator[Step]:
        message = map_in(item, "message")
        role = text_in(message, "role")
        if role not in _ROLES or "content" not in message:
            self.counts.note(f"{role} without content" if role in _ROLES else f"role {role or 'missing'}")
            whole = encode({"item": item}, ascii_only=True)
            yield Kept("note", f"{number}-{digest(whole)}", None, {_NAME: whole}, self._sent)
            return
        blocks = [*self._context(item), *self._blocks(message, role)]
        if not blocks:
            self.counts.ignore("empty")
            return
        self.counts.map()
        self.counts.left_out.update([*other_fields(item, _ITEM_FIELDS), *other_fields(message, _MESSAGE_FIELDS)])
        ref = text_in(message, "id") or f"{number}-{digest(encode(message, ascii_only=True))}"
        model = _model_of(item)
        metadata = made_by(_NAME, model)
        if role == "system" and number:
            metadata["role"] = role
        speaker = _ROLES[role]
        if role == "system" and not number:
            texts = [block if block["type"] == "text" else text_block(encode(block)) for block in blocks]
            yield Said("system", (Part(ref, texts),), {}, self._sent)
            return
        kept = metadata if speaker == "assistant" or role == "system" else {}
        yield from said_from(blocks, speaker, Said(speaker, (Part(ref, []),), kept, self._sent), self._refusals)
        if usage := map_in(message, "usage"):
            data = {**made_by(_NAME, model), "usage": _usage(usage)}
            yield Kept("usage", f"{ref}/usage", None, {**data, _NAME: encode(usage)}, self._sent)

    def _context(self, item: Json) -> Iterator[Json]:
        """Yield what was given with a prompt: files and the like, which the model gets before it."""
        for found in list_in(item, "contextItems"):
            if type(found) is dict and (text := text_in(found, "content")):
                rest = {key: value for key, value in found.items() if key != "content"}
                yield {**text_block(text), "provider_metadata": {"provider": _NAME, "item_json": encode(rest)}}
            else:
                yield opaque_block(_NAME, as_map(found))

    def _blocks(self, message: Json, role: str) -> list[Json]:
        if role == "tool":
            return [tool_result(text_in(message, "toolCallId") or "call", shortest(self._content(message)))]
        if role == "thinking":
            return [_thinking(message)]
        return [*self._content(message), *map(_call, list_in(message, "toolCalls"))]

    def _content(self, message: Json) -> list[Json]:
        content = message["content"]
        if type(content) is str:
            return [text_block(content)] if content else []
        parts = content if type(content) is list else [] if content is None else [content]
        return [_part(part) for part in parts]


def _part(part: Any) -> Json:
    """Convert a part of a message."""
    if type(part) is dict and part.keys() == {"type", "text"} and type(part["text"]) is str:
        return text_block(part["text"])
    url = text_in(map_in(part, "imageUrl"), "url")
    head, comma, data = url.partition(",")
    if comma and head.startswith("data:") and head.endswith(";base64") and data:
        return {"type": "media", "mime_type": head[len("data:") : -len(";base64")] or "image/png", "data_base64": data}
    if url.startswith(("https://", "http://")):
        return {"type": "media", "mime_type": "image/*", "url": url}
    return opaque_block(_NAME, as_map(part))


def _call(found: Any) -> Json:
    function = map_in(found, "function")
    rest = {key: found[key] for key in other_fields(found, {"id", "type", "function"})} if type(found) is dict else {}
    rest |= {key: function[key] for key in other_fields(function, {"name", "arguments"})}
    kept = {"provider_metadata": {"provider": _NAME, "call_json": encode(rest)}} if rest else {}
    return {**call_block(text_in(found, "id"), text_in(function, "name"), function.get("arguments")), **kept}


def _thinking(message: Json) -> Json:
    kept = {key: message[key] for key in ("signature", "redactedThinking") if message.get(key)}
    content = message["content"]
    text = content if type(content) is str else encode({"content": content})
    metadata = {"provider_metadata": {"provider": _NAME, "thinking_json": encode(kept)}} if kept else {}
    return {"type": "thinking", "text": text, "provider": _NAME, **metadata}


def _model_of(item: Any) -> str:
    """Return the model of an answer, as the log of its request names it."""
    logs = [log for log in list_in(item, "promptLogs") if type(log) is dict]
    names = [text_in(map_in(log, "completionOptions"), "model") or text_in(log, "modelTitle") for log in logs]
    return next(filter(None, reversed(names)), "")


def _usage(usage: Json) -> Json:
    """Return the usage of an answer in OpenAI's words."""
    details = map_in(usage, "promptTokensDetails")
    return {
        "prompt_tokens": usage.get("promptTokens"),
        "completion_tokens": usage.get("completionTokens"),
        "prompt_tokens_details": {
            "cached_tokens": details.get("cachedTokens"),
            "cache_write_tokens": details.get("cacheWriteTokens"),
        },
    }


TOOL = Tool(_NAME, "Continue", _places, _discover, Session)
