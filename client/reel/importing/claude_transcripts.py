"""The log of an agent, as a transcript of Claude Code: a list of entries, each of which names its predecessor.

Theory of operation
-------------------

A transcript is a tree, and Claude Code continues at its last entry. The log of an agent is also a tree, one path of
which is the conversation. Both agree as long as no other client writes: a branch that Claude Code abandons is abandoned
in the log, and remains in the transcript.

Changes by other clients are applied to the transcript, so that Claude Code sees them when it continues:

- Messages that they removed, with everything after them, are left out.
- A message that they added becomes an entry before the next prompt, or at the end. The prompt then names it as its
  predecessor.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple
from uuid import NAMESPACE_URL, uuid5

from reel.blocks import InvalidRecord
from reel.importing.claude_entries import entry_from, entry_in_note, entry_of, follow, is_part, parts_of
from reel.importing.claude_thread import Thread
from reel.importing.log import ref_for
from reel.importing.values import text_in
from reel.kinds import is_conversation_kind
from reel.messages import Event
from reel.records import read_exactly
from reel.strict_json import Json
from reel.values import clean_deep

# Commands that set the point at which a conversation continues.
_MOVES = ("clear", "rewind", "restore", "clone")
_MARK = "mark"
# Returns a message in Anthropic's format, by its seq: one item, several or none.
Converter = Callable[[int], list[Json]]


class _Found(NamedTuple):
    """An entry, or a foreign message.

    Args:
        seq: its place in the log.
        command: the command that added it.
        uuid: its id.
        time: when it was added.
        entry: the entry; ``None`` for a foreign message.
        is_node: whether it is a message rather than a note.
        is_copy: whether it is in the log again, because it is kept beside a summary.
    """

    seq: int
    command: int
    uuid: str
    time: int
    entry: Json | None
    is_node: bool
    is_copy: bool


class Transcript:
    """The transcript in the log of an agent, read event by event.

    Args:
        events: the log, including inherited events.
        own: the name of the client that adds entries.
    """

    def __init__(self, events: Iterable[Event], own: str) -> None:
        self._own = own
        self._found: list[_Found] = []
        # The predecessor of each message or mark.
        self._before: dict[int, int | None] = {}
        self._tip: int | None = None
        # Messages that other clients removed.
        self._dropped: set[int] = set()
        # The messages collected for an entry with several, and their expected number.
        self._parts: list[Json] = []
        self._of = 0
        # The prompt at the beginning.
        self.base: int | None = None
        for event in events:
            self._read(event)
        self._live = self._path(self._tip)

    def _read(self, event: Event) -> None:
        kind, parent = event["kind"], event["parent"]["seq"] if event["parent"] else None
        if kind == "note":
            if (entry := entry_in_note(event["data_json"])) is not None:
                self._note(event, entry, is_node=False)
            return
        if kind in _MOVES:
            if event["client"] != self._own:
                self._move(parent)
            self._tip = parent
            return
        if kind != _MARK and not is_conversation_kind(kind):
            return
        seq = event["seq"]
        self._before[seq] = parent
        self._tip = seq
        if kind == "system" and parent is None:
            self.base = seq
        elif kind not in ("system", _MARK):
            self._read_message(event)

    def _read_message(self, event: Event) -> None:
        try:
            # Exactly: entries are added with text in place of numbers that metadata cannot hold.
            parts = read_exactly(event["kind"], event["content"], event["data_json"])
        except InvalidRecord:
            parts = None
        if parts is None:
            return
        message = {**parts._asdict(), "seq": event["seq"]}
        count = parts_of(message)
        if self._parts and is_part(message, len(self._parts)):
            self._parts.append(message)
            if len(self._parts) == self._of and (entry := entry_of(self._parts)) is not None:
                self._forget_parts()
                self._note(event, entry)
                return
        elif count > 1:
            self._parts, self._of = [message], count
        elif count and (entry := entry_of([message])) is not None:
            self._note(event, entry)
            return
        self._note(event, None)

    def _forget_parts(self) -> None:
        """Discard the collected messages of an entry."""
        seqs = {message["seq"] for message in self._parts}
        while self._found and self._found[-1].seq in seqs:
            self._found.pop()
        self._parts = []

    def _note(self, event: Event, entry: Json | None, *, is_node: bool = True) -> None:
        seq = event["seq"]
        ref = event.get("ref", "")
        if entry is not None:
            uuid = text_in(entry, "uuid") or ref
        elif ref and event["client"] == self._own and ref_for(ref) == ref:
            uuid = ref  # the entry was redacted: others name it as their predecessor
        else:
            uuid = _uuid_for(event["agent"], seq)
        is_copy = entry is not None and ref != ref_for(uuid)
        self._found.append(_Found(seq, event["command"], uuid, event["time"], entry, is_node, is_copy))

    def _path(self, tip: int | None) -> set[int]:
        path = set[int]()
        while tip is not None and tip not in path:
            path.add(tip)
            tip = self._before.get(tip)
        return path

    def _move(self, to: int | None) -> None:
        """Record that another client moved to another place: everything later, on all branches, is removed."""
        path = self._path(to)
        self._dropped -= path
        self._dropped |= {seq for seq in self._before if seq not in path and (to is None or seq > to)}

    def _kept(self) -> Iterator[_Found]:
        """Yield the parts of the transcript, each entry once: entries kept beside a summary are in the log twice."""
        nodes: dict[int, list[int]] = {}
        for found in self._found:
            if found.is_node:
                nodes.setdefault(found.command, []).append(found.seq)
        taken_back = {command for command, seqs in nodes.items() if self._dropped.issuperset(seqs)}
        seen = set[str]()
        for found in self._found:
            if found.entry is None:
                if found.seq in self._live:
                    yield found
                continue
            is_gone = found.seq in self._dropped if found.is_node else found.command in taken_back
            if not is_gone and found.uuid not in seen:
                seen.add(found.uuid)
                yield found

    def entries(self, convert: Converter) -> list[Json]:
        """Return the entries.

        Args:
            convert: returns a foreign message in Anthropic's format.
        """
        entries: list[Json] = []
        kept = list(self._kept())
        lost = {found.uuid for found in self._found} - {found.uuid for found in kept}
        waiting: list[_Found] = []
        last: str | None = None
        for found in kept:
            entry = found.entry
            if entry is None:
                waiting.append(found)
                continue
            if "parentUuid" in entry and (not found.is_node or found.seq in self._live):
                parent = entry["parentUuid"]
                new = last if type(parent) is str and parent in lost else parent
                follows = any(one.uuid == parent for one in waiting)
                if waiting and (follows or _is_prompt(entry)):
                    for added in self._added(waiting, last if follows else new, entry, convert):
                        entries.append(added)
                        new = added["uuid"]
                    waiting = []
                if new != parent:
                    entry = {**entry, "parentUuid": new}
                last = found.uuid
            entries.append(entry)
        return [*entries, *self._added(waiting, last, entries[-1] if entries else {}, convert)]

    def _added(self, found: list[_Found], parent: str | None, like: Json, convert: Converter) -> Iterator[Json]:
        """Yield entries for foreign messages."""
        for one in found:
            items = convert(one.seq)
            for number, item in enumerate(items, 1):
                # The last one has the id itself: the next entry follows all of them.
                uuid = one.uuid if number == len(items) else _uuid_for(one.uuid, number)
                yield entry_from(item, uuid, parent, like, one.time)
                parent = uuid

    def own_entries(self) -> list[Json]:
        """Return the entries that were added here, in their original form."""
        return [found.entry for found in self._kept() if found.entry is not None]

    def thread(self) -> Thread:
        """Return the conversation, for entries that come next."""
        thread = Thread()
        for found in self._kept():
            if found.entry is None:
                thread.join(found.uuid)
            else:
                entry, _ = clean_deep(found.entry)
                for _ in follow(entry, found.uuid, thread):
                    pass
        return thread

    def places(self) -> dict[str, int]:
        """Return the places of messages that the log does not have under their ids: foreign messages, and copies."""
        return {
            found.uuid: found.seq
            for found in self._found
            if found.seq in self._live and (found.entry is None or found.is_copy)
        }


def _uuid_for(*place: str | int) -> str:
    """Return an id for a message without one: always the same."""
    return str(uuid5(NAMESPACE_URL, ":".join(map(str, place))))


def _is_prompt(entry: Json) -> bool:
    """Return whether an entry is a user's prompt, before which a message may be inserted."""
    message: Any = entry.get("message")
    content = message.get("content") if type(message) is dict else None
    if entry.get("type") != "user" or content is None:
        return False
    return type(content) is str or not any(text_in(block, "type") == "tool_result" for block in content)
