"""Reads JSON lines of any program: a message on each line, or a whole conversation."""

from collections.abc import Iterator
from pathlib import Path
from shlex import join
from typing import Any

from reel.base.strict_json import Json, encode
from reel.importing.sources.blocks import anthropic_blocks
from reel.importing.sources.files import JsonLines, Line, files_below
from reel.importing.steps import About, Found, Kept, Problem, Source, Step, Tool, nowhere
from reel.importing.tools.jsonl.envelopes import is_item, tool_of, unwrapped
from reel.importing.tools.jsonl.messages import REASONING, Chat, Spoken, left_out_of, read_prompt, role_in, said_from
from reel.importing.values import (
    id_in_name,
    list_in,
    map_in,
    milliseconds,
    name_of,
    other_fields,
    tags_of,
    text_in,
    title_of,
)
from reel.providers.openai import PROVIDER
from reel.providers.refusals import Refusals

_NAME = "jsonl"
# The keys of a conversation's messages: Chat Completions and Anthropic, ShareGPT, Gemini, Responses.
_LISTS = ("messages", "conversations", "conversation", "contents", "input")
_PROMPTS = ("system", "instructions", "systemInstruction", "system_instruction", "system_prompt")
_IDS = ("id", "conversation_id", "custom_id", "uuid")
# The keys of a message's content.
_SAID = ("content", "value", "parts", "tool_calls", "function_call", *REASONING)
# The maximum length of the excerpt of a line that is not a message.
_SHOWN = 60
_TIMES = ("timestamp", "created_at", "create_time", "time")
# The facts about a conversation; of several ids or times, the first counts.
_FACTS = ("title", "model", *_IDS, *_TIMES)


def _discover(root: Path) -> Found:
    problems: list[Problem] = []
    sources = [
        Source(str(entry.path), name_of(_NAME, entry.path.stem), entry.size, entry.modified)
        for entry in files_below(root, (".jsonl", ".ndjson"), problems)
    ]
    return Found(sources, problems)


class Messages(JsonLines):
    """A file of JSON lines that is being read.

    Args:
        source: the location of the file.
    """

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        # The number of the next message in a file with one on each line, and whether there was one.
        self._number = 0
        self._has_begun = False
        self._chat = Chat(self.counts.refused)
        self._parts: set[str] = set()
        self._about = About("", "", tags_of(tool=_NAME, source=source.path))

    def read_line(self, found: Json, line: int) -> Iterator[Step]:
        """Read one record."""
        where = next((key for key in _LISTS if type(found.get(key)) is list), "")
        if not self._has_begun and (tool := tool_of(found, self.source.path)):
            command = join(["reel", "import", tool, self.source.path])
            raise OSError(0, f"is a file of another tool; import it with: {command}")
        if where:
            self.counts.map()
            yield from self._read_conversation(found, where, line)
        elif _is_message(message := unwrapped(found)) or is_item(found):
            yield from self._read_message(message, line)
        elif kind := text_in(found, "type"):
            self.counts.note(kind)
            yield self._about
            yield Kept("note", f"line-{line}", None, {_NAME: encode(found)}, _time_of(found), line)
        else:
            what = f"neither a message nor one of {', '.join(_LISTS)}"
            self.counts.refuse("neither a message nor a conversation", Problem(self.source.path, line, what))

    def miss(self, line: Line) -> None:
        """Count a message that cannot be read, so that those after it keep their numbers; a conversation has none."""
        self._number += not any(f'"{key}"'.encode() in line.data for key in _LISTS)

    def _read_message(self, found: Json, line: int) -> Iterator[Step]:
        self.counts.map()
        if not self._has_begun:
            yield self._about
        self._has_begun = True
        spoken = self._chat.read(found, self._number, is_first=not self._number)
        self.counts.left_out.update(left_out_of(found))
        yield from said_from(spoken, f"message-{self._number}", _time_of(found), line)
        self._number += 1

    def _read_conversation(self, found: Json, where: str, line: int) -> Iterator[Step]:
        given = next((str(found[key]) for key in _IDS if type(found.get(key)) in (str, int)), "")
        part = "/" + id_in_name(given or str(line))
        if part in self._parts:
            part = "/" + id_in_name(f"{given}-{line}")
        self._parts.add(part)
        facts = tags_of(tool=_NAME, source=self.source.path, model=text_in(found, "model"))
        yield About(part, title_of(text_in(found, "title")), facts)
        number, (key, prompt), sent = 0, self._prompt_in(found), _time_of(found)
        self.counts.left_out.update(other_fields(found, {where, key, *_FACTS}))
        if prompt:
            number = 1
            yield from said_from(prompt, "prompt", sent, line)
        chat = Chat(self.counts.refused, text_in(found, "model"))
        for index, message in enumerate(list_in(found, where)):
            if type(message) is dict and (_is_message(said := unwrapped(message)) or "type" in message):
                spoken = chat.read(said, index, is_first=not number)
                self.counts.left_out.update(left_out_of(said))
                yield from said_from(spoken, f"message-{number}", _time_of(said) or sent, line)
                number += 1
            else:
                self.counts.problem(Problem(self.source.path, line, f"not a message: {encode(message)[:_SHOWN]}"))

    def _prompt_in(self, found: Json) -> tuple[str, list[Spoken]]:
        """Return the prompt of a request that has it beside its messages, and the key that has it."""
        for key in _PROMPTS:
            value: Any = found.get(key)
            provider = "anthropic" if key == "system" else "gemini" if key.startswith("system") else PROVIDER
            content = list_in(map_in(found, key), "parts") or value
            if type(content) is list:
                # Gemini's texts have no type.
                content = [{"type": "text", **part} if type(part) is dict else part for part in content]
            if content:
                refusals = Refusals(provider, self.counts.refused)
                return key, read_prompt(provider, anthropic_blocks(content, refusals))
        return "", []


def _is_message(found: Json) -> bool:
    """Return whether a record is a non-empty message."""
    return "parts" in found or (bool(role_in(found)) and not found.keys().isdisjoint(_SAID))


def _time_of(found: Json) -> int | None:
    return next((time for key in _TIMES if (time := milliseconds(found.get(key))) is not None), None)


TOOL = Tool(_NAME, "JSONL", nowhere, _discover, Messages, by_position=True)
