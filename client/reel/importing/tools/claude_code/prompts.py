"""The system prompts of a session, which Claude Code writes again and again.

It writes a snapshot when a session begins, twice within seconds, and after each compaction. The two of a beginning may
differ in a few characters, and the later one is what was sent. So the last one before the first answer is the prompt
that the conversation begins with. Any other counts if it says something else than the one in force.
"""

from collections.abc import Iterator
from itertools import islice

from reel.base.strict_json import Json
from reel.importing.sources.files import Line
from reel.importing.steps import Part, Said
from reel.importing.values import list_in, map_in, milliseconds, parse_record, text_in
from reel.providers.anthropic import PROVIDER
from reel.providers.prompt import system_message

# The type of such an attachment, and the rule for those that say nothing new.
SNAPSHOT, RULE = "prompt_snapshot", "system prompt"
_ANSWER = "assistant"
# Among how many lines the first answer is looked for, and the longest of them: a snapshot may have all tools.
_MOST, LONGEST = 64, 1 << 20


class Prompts:
    """The prompts of a conversation: the one that it begins with, and the one that is in force."""

    def __init__(self) -> None:
        self._first: Said | None = None
        # Whether the record of the first one is still to come.
        self._is_ahead = False
        # What the prompt in force says; empty if that is not known, because the conversation went back.
        self._texts: list[str] = []

    def begin(self, lines: Iterator[Line], *, is_subagent: bool) -> Json | None:
        """Return the record of the prompt that a session begins with; ``None`` if none is before its first answer.

        Args:
            lines: the lines of its file from the beginning on.
            is_subagent: whether the file is that of a sub-agent; that of a session may have records of some.
        """
        begun = None
        for found in map(_record, islice(lines, _MOST)):
            if text_in(found, "type") == _ANSWER:
                break
            if text_in(found, "uuid") and _texts_in(found) and (is_subagent or found.get("isSidechain") is not True):
                # What is written again says nothing new: an import may have come before it.
                begun = found if begun is None or _texts_in(begun) != _texts_in(found) else begun
        if begun is not None:
            self._first, self._texts, self._is_ahead = _said(begun, 0), _texts_in(begun), True
        return begun

    def take(self, found: Json, line: int) -> Said | None:
        """Return the prompt of a snapshot; ``None`` if it says nothing new."""
        if self._first is not None and text_in(found, "uuid") == self._first.parts[0].ref:
            is_new, self._is_ahead = self._is_ahead, False
            # Once more in its place: in a log from when it was not known yet, messages may be before it.
            return self._first if is_new else None
        texts = _texts_in(found)
        if self._is_ahead or not texts or texts == self._texts:
            return None
        self._texts = texts
        return _said(found, line)

    @property
    def first(self) -> Said | None:
        """The prompt that the conversation begins with."""
        return self._first

    def go_back(self) -> None:
        """Take note of a step back, maybe to where another prompt is in force; a compaction keeps it."""
        if self._first is None or self._texts != _texts_of(self._first):
            self._texts = []


def _record(line: Line) -> Json:
    """Return a record that may be a snapshot or an answer; an empty one for others, of which nothing is asked."""
    if SNAPSHOT.encode() not in line.data and _ANSWER.encode() not in line.data:
        return {}
    try:
        return parse_record(line.data) or {}
    except (ValueError, RecursionError):
        return {}


def _texts_in(found: Json) -> list[str]:
    attachment = map_in(found, "attachment")
    if text_in(attachment, "type") != SNAPSHOT:
        return []
    said = attachment.get("systemPrompt")
    texts = [said] if type(said) is str else list_in(attachment, "systemPrompt")
    return [text for text in texts if type(text) is str and text]


def _said(found: Json, line: int) -> Said:
    kept = {"provider": PROVIDER, "role": "system"}
    blocks = [{"type": "text", "text": text} for text in _texts_in(found)]
    (made,) = system_message(PROVIDER, [{"role": "user", "content": blocks, "provider_metadata": kept}])
    metadata = made.get("provider_metadata", {})
    return Said("system", (Part(text_in(found, "uuid"), blocks),), metadata, milliseconds(found.get("timestamp")), line)


def _texts_of(said: Said) -> list[str]:
    return [block["text"] for block in said.parts[0].blocks]
