"""The conversation of a session of Gemini CLI, which its records append to, shorten and replace."""

from collections.abc import Iterator

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json
from reel.importing.id_tables import IdMap
from reel.importing.steps import Back, Kept, Part, Said, Step
from reel.importing.tools.gemini_cli.messages import TOKENS, Message, kept_note
from reel.importing.values import digest


class _Entry(NamedTuple):
    """A message of the conversation, or a note in it.

    Args:
        id: the record's id.
        key: the identity of the message; of a note, that of the last message before it.
        print: a hash of the message's content; empty for a note.
        ref: the ref of the last message by then.
        is_context: whether the tool writes the message at the beginning of each session.
        ends: the suffixes of the refs of its parts.
    """

    id: str
    key: str
    print: str
    ref: str
    is_context: bool = False
    ends: tuple[str, ...] = ()

    def has(self, message: Message) -> bool:
        """Return whether it is a message with everything that a record of it says; it may have more calls."""
        is_same = (self.key, self.print) == (message.key, message.print)
        return is_same and all(end in self.ends for end, _ in message.parts)


class History:
    """The current messages.

    A message that is repeated after a different predecessor, or with different text, is a different message: its refs
    end with a hash of both.
    """

    def __init__(self) -> None:
        self._entries: list[_Entry] = []
        self._keys = set[str]()
        # For each message a hash of its first content, and its first predecessor.
        self._first = IdMap()
        # The end of the conversation after the yielded steps.
        self._tip = ""
        # The initial messages of the tool: without a prompt after them, there is no conversation.
        self._waiting: Said | None = None

    @property
    def last(self) -> str:
        """The ref of the last message, or an empty string if the list has no messages."""
        return self._entries[-1].ref if self._entries else ""

    @property
    def _last_key(self) -> str:
        return self._entries[-1].key if self._entries else ""

    def append(self, message: Message, line: int) -> Iterator[Step]:
        """Add a message at the end; if it is the last one already, replace that with its new content."""
        if message.role == "note":
            self._entries.append(_Entry(message.id, self._last_key, "", self.last))
            yield kept_note(message.record, message.id, line)
            return
        while self._entries and self._last_key == message.key:  # notes after it as well
            self._cut(len(self._entries) - 1)
        yield from self._add(message, line)

    def knows(self, key: str) -> bool:
        """Return whether a message is in the conversation, but not the last one."""
        return key in self._keys and self._last_key != key

    def rewind(self, to: str) -> None:
        """Drop a message and everything after it; everything if it does not exist."""
        ids = [entry.id for entry in self._entries]
        self._cut(ids.index(to) if to in ids else 0)

    def replace(self, messages: list[Message], line: int) -> Iterator[Step]:
        """Replace all messages, except the common prefix."""
        places = [number for number, entry in enumerate(self._entries) if entry.print]
        contexts = [number for number in places if self._entries[number].is_context]
        if contexts:  # a resumed session begins with a different one
            messages = [message for message in messages if not message.is_context]
            places = [number for number in places if number not in contexts]
        same = 0
        for number, message in zip(places, messages, strict=False):
            if not self._entries[number].has(message):
                break
            self._entries[number] = self._entries[number]._replace(id=message.id)
            same += 1
        if same < len(places):
            self._cut(places[same])
        for message in messages[same:]:
            yield from self._add(message, line)

    def end(self) -> Iterator[Step]:
        """Yield a pending step back without later messages."""
        if self._tip != self.last and self._waiting is None:
            self._tip = self.last
            yield Back(self.last)

    def _add(self, message: Message, line: int) -> Iterator[Step]:
        before = self.last
        again = self._again(message, before)
        parts = tuple(Part(_ref(message, end, again), blocks) for end, blocks in message.parts)
        said = Said(message.role, parts, message.metadata, message.sent, line)
        ends = tuple(end for end, _ in message.parts)
        self._entries.append(_Entry(message.id, message.key, message.print, parts[-1].ref, message.is_context, ends))
        self._keys.add(message.key)
        waiting, self._waiting = self._waiting, None
        if message.is_context and not self._tip and waiting is None:
            self._waiting = said
            return
        if waiting is not None and waiting.parts[-1].ref == before:
            self._tip = before
            yield waiting
        if self._tip != before:
            yield Back(before)
        self._tip = parts[-1].ref
        yield said
        if usage := _usage(message):
            yield Kept("usage", f"{message.id}/usage", None, usage, message.sent, line)

    def _cut(self, length: int) -> None:
        """Drop all entries but the first ones."""
        self._keys.difference_update(entry.key for entry in self._entries[length:] if entry.print)
        del self._entries[length:]

    def _again(self, message: Message, before: str) -> str:
        """Return the suffix of the refs of a message that is repeated in another place, or with different text."""
        made = digest(before, message.print)
        number, first = int(made, 16) >> 1, self._first.get(message.key)
        if first is None:
            self._first[message.key] = number
        return "" if first in (None, number) else f"@{made}"


def _ref(message: Message, end: str, again: str) -> str:
    if message.role == "tool":
        return f"result{end}{again}"
    return f"{message.id}{end}{again}" if end or again else message.id  # the same string, which is kept


def _usage(message: Message) -> Json:
    """Return the usage of an answer, in the format of Gemini's API."""
    counts = {name: message.tokens[key] for key, name in TOKENS.items() if message.tokens.get(key)}
    return {**message.metadata, "usage": counts} if counts else {}
