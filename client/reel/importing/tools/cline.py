"""Cline, and the extensions that were made from it, Roo Code and Kilo Code: a directory for each task."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from reel.base.strict_json import Json, encode, parse
from reel.base.values import clean_deep
from reel.importing.sources.blocks import anthropic_blocks, fitting, made_by, said_from
from reel.importing.sources.discovery import one_of_each
from reel.importing.sources.files import files_below, open_regular
from reel.importing.sources.json_elements import MAX_ELEMENT
from reel.importing.sources.salvage import GAP, with_gaps
from reel.importing.sources.vscode_storage import user_directories
from reel.importing.steps import (
    NOT_JSON,
    TOO_LONG,
    About,
    Compacted,
    Counts,
    Found,
    Kept,
    Part,
    Problem,
    Said,
    Source,
    Step,
    Tool,
)
from reel.importing.values import (
    digest,
    map_in,
    milliseconds,
    name_of,
    other_fields,
    parse_record,
    tags_of,
    text_in,
    title_of,
)
from reel.providers.anthropic import PROVIDER
from reel.providers.refusals import Refusals

_NAME = "cline"
_FILE, _SHOWN, _TASKS = "api_conversation_history.json", "ui_messages.json", "tasks"
_EXTENSIONS = ("saoudrizwan.claude-dev", "rooveterinaryinc.roo-cline", "kilocode.kilo-code")
_ROLES = ("user", "assistant")
_FIRST_KEYS = ("role", "content")
_LONGEST = 2 * MAX_ELEMENT
# What Cline writes around the first prompt, and into it.
_TASK = re.compile(r"<(task|user_message)>\s*(.*?)\s*</\1>", re.DOTALL)
_DIRECTORY = re.compile(r"^# Current (?:Working|Workspace) Directory \((.+?)\) Files$", re.MULTILINE)
_FIELDS = frozenset(
    {"role", "content", "ts", "modelInfo", "metrics", "id", "isSummary", "condenseId", "condenseParent"}
)
_COUNTS = {"tokensIn": "input", "tokensOut": "output", "cacheReads": "cacheRead", "cacheWrites": "cacheWrite"}


def _places(environment: Mapping[str, str]) -> Iterator[Path]:
    home = Path(environment.get("HOME", "/"))
    stores = [place / "globalStorage" for place in user_directories(environment)]
    for place in [store / extension / _TASKS for store in stores for extension in _EXTENSIONS]:
        if place.is_dir():
            yield place
    yield Path(environment.get("CLINE_DIR") or home / ".cline") / "data" / _TASKS


def _discover(root: Path) -> Found:
    """Find the tasks; of one that is in several places, the longest file."""
    problems: list[Problem] = []
    sources: list[Source] = []
    for entry in files_below(root, (_FILE,), problems):
        path = entry.path
        if path.name != _FILE and path != root.resolve():
            continue
        extension = next((name for name in _EXTENSIONS if name in path.parts), "")
        about = {"extension": extension} if extension else {}
        sources.append(Source(str(path), name_of(_NAME, path.parent.name), entry.size, entry.modified, about=about))
    return Found(one_of_each(sources, lambda source: source.size), problems)


def _shown_beside(source: Source) -> Path:
    return Path(source.path).with_name(_SHOWN)


class Task:
    """A task that is being read.

    Args:
        source: the location of its messages.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.counts = Counts()
        self._refusals = Refusals(PROVIDER, self.counts.refused)
        self._facts = {"tool": _NAME, "source": source.path, **source.about}

    def steps(self) -> Iterator[Step]:
        """Yield the steps of the task."""
        messages = self._list_in(Path(self.source.path), must_be=True)
        shown = self._list_in(_shown_beside(self.source))
        title = self._describe(next(filter(_is_message, messages), {}))
        yield About("", title_of(title), tags_of(**self._facts))
        for number, message in enumerate(messages):
            if message is GAP:
                continue
            if _is_message(message):
                yield from self._read(message, number, counts_here=not shown)
                continue
            role = text_in(message, "role")
            self.counts.note(f"{role} without content" if role in _ROLES else f"role {role or 'missing'}")
            whole = encode({"message": message}, ascii_only=True)
            yield Kept("note", f"{number}-{digest(whole)}", None, {_NAME: whole}, None)
        yield from self._usage(shown)
        yield About("", "", tags_of(**self._facts))

    def _list_in(self, path: Path, *, must_be: bool = False) -> list[Any]:
        """Return the messages in a file; of a damaged one, those that are not."""
        try:
            with open_regular(str(path)) as file:
                data = file.read(_LONGEST + 1)
        except FileNotFoundError:
            if must_be:
                raise
            return []
        try:
            found = parse(data.decode("utf-8", "replace")) if len(data) <= _LONGEST else None
            what = "is not a list of messages" if len(data) <= _LONGEST else f"has more than {_LONGEST:,} bytes"
        except (ValueError, RecursionError) as error:
            found, what = None, f"not JSON: {error}"
        if type(found) is list:
            return clean_deep(found)[0]  # type: ignore[no-any-return]  # a list as before
        self.counts.refuse(NOT_JSON if len(data) <= _LONGEST else TOO_LONG, Problem(str(path), 0, what))
        return list(with_gaps(data, _FIRST_KEYS, _is_message)) if must_be else []

    def _describe(self, message: Json) -> str:
        """Take the facts in the first prompt, and return its text."""
        blocks = anthropic_blocks(message.get("content", []), Refusals(_NAME))
        text = "\n".join(block["text"] for block in blocks if block["type"] == "text")
        if (directory := _DIRECTORY.search(text)) is not None:
            self._facts["cwd"] = directory[1]
        task = _TASK.search(text)
        return task[2] if task is not None else text

    def _read(self, message: Json, number: int, *, counts_here: bool) -> Iterator[Step]:
        self.counts.map()
        self.counts.left_out.update(other_fields(message, _FIELDS))
        role, sent, info = message["role"], milliseconds(message.get("ts")), map_in(message, "modelInfo")
        model = text_in(info, "modelId")
        self._facts["model"] = model or self._facts.get("model", "")
        ref = f"{number}-{digest(encode({'content': message['content']}, ascii_only=True))}"
        blocks = anthropic_blocks(message["content"], self._refusals, model if role == "assistant" else "")
        metadata = made_by(PROVIDER, model) if role == "assistant" else {}
        said = Said(role, (Part(ref, blocks),), metadata, sent)
        if message.get("isSummary") is True and blocks and role == "user":
            texts = [fitting(block, role, self._refusals) for block in blocks]
            yield Compacted(said._replace(parts=(Part(ref, texts),)))
        else:
            yield from said_from(blocks, role, said, self._refusals)
        tokens = map_in(map_in(message, "metrics"), "tokens")
        if counts_here and tokens:
            usage = {
                "input": tokens.get("prompt"),
                "output": tokens.get("completion"),
                "cacheRead": tokens.get("cached"),
            }
            yield self._counted(usage, f"{ref}/usage", model, sent)

    def _usage(self, shown: list[Any]) -> Iterator[Step]:
        """Yield the usage of the requests, which is among what was shown to the person."""
        for message in shown:
            if text_in(message, "say") != "api_req_started":
                continue
            told: Json = {}
            with suppress(ValueError, RecursionError):  # a request that has just begun
                told = parse_record(text_in(message, "text").encode("utf-8", "replace")) or {}
            usage = {name: told[key] for key, name in _COUNTS.items() if type(told.get(key)) is int}
            if any(usage.values()):
                model, ts = text_in(map_in(message, "modelInfo"), "modelId"), message.get("ts")
                yield self._counted(usage, f"request-{ts}", model, milliseconds(ts))

    def _counted(self, usage: Json, ref: str, model: str, sent: int | None) -> Kept:
        by = made_by(_NAME, model or self._facts.get("model", ""))
        return Kept("usage", ref, None, {**by, "usage": usage}, sent)


def _is_message(found: Any) -> bool:
    return text_in(found, "role") in _ROLES and "content" in found


TOOL = Tool(
    _NAME, "Cline, Roo Code and Kilo Code", _places, _discover, Task, beside=lambda source: [_shown_beside(source)]
)
