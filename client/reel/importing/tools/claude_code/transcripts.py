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
- What a clone into the agent brought replaces what the agent had. It is not in the agent's log, so it is read from the
  conversation as it was then.

The log is folded once, into a :class:`Log`, to which the entries that come next are added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any
from uuid import NAMESPACE_URL, uuid5

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json
from reel.base.values import clean_deep
from reel.importing.adding.log import MOVES, Log, brought_by, in_log, order_of, ref_for
from reel.importing.tools.claude_code.entries import entry_from, entry_in_note, entry_of, follow, is_part, parts_of
from reel.importing.tools.claude_code.thread import Thread
from reel.importing.values import text_in
from reel.said.blocks import InvalidRecord
from reel.said.kinds import is_conversation_kind
from reel.said.messages import Event, Record
from reel.said.records import read_exactly

if TYPE_CHECKING:
    from reel.reading.log_tree import Place

# Commands that may bring another conversation.
_BRINGING = ("restore", "clone")
# Returns a message in Anthropic's format, by its seq: one item, several or none.
Converter = Callable[[int], list[Json]]


class _Found(NamedTuple):
    """An entry, or a foreign message.

    Args:
        place: its place.
        command: the command that added it.
        uuid: its id.
        time: when it was added.
        entry: the entry; ``None`` for a foreign message.
        is_node: whether it is a message rather than a note.
        is_copy: whether it is in the log again, because it is kept beside a summary.
    """

    place: Place
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
        conversation_at: returns the conversation at a seq.
    """

    def __init__(self, events: Iterable[Event], own: str, conversation_at: Callable[[int], Iterable[Record]]) -> None:
        self._own = own
        self._conversation_at = conversation_at
        # The agents whose events are in the log.
        self._agents: set[str] = set()
        self._found: list[_Found] = []
        self.log = Log()
        self._tree = self.log.tree
        # Messages by their seqs and times, which tell them from others with the same seq.
        self._known: dict[tuple[int, int], Place] = {}
        # Messages that other clients removed.
        self._dropped: set[Place] = set()
        # The messages collected for an entry with several, and their expected number.
        self._parts: list[Json] = []
        self._of = 0
        # The prompts that conversations began with.
        self._prompts: set[Place] = set()
        for event in events:
            self._read(event)
        self.log.settle()
        self._live = self._path(self._tree.tip)

    def _read(self, event: Event) -> None:
        kind = event["kind"]
        self._agents.add(event["agent"])
        parent = self._parent_of(event)
        if kind in MOVES and event["client"] != self._own:
            self._move(parent)
        place = self.log.take(event, parent, self._own)
        if kind == "note":
            if (entry := entry_in_note(event["data_json"])) is not None:
                self._note(event, place, entry, is_node=False)
        elif is_conversation_kind(kind):
            self._add(event, place, parent)

    def _parent_of(self, event: Event) -> Place | None:
        """Return where the parent of an event is; what is not in the log was brought by a clone, or is so now."""
        kind, parent = event["kind"], event["parent"]
        if parent is None or parent["agent"] in self._agents:
            return in_log(parent["seq"]) if parent else None
        tip = self._bring(event) if kind in _BRINGING else self._tree.tip
        if kind not in MOVES:
            return tip
        # A mark that was brought is not among them.
        return max((place for place in self._path(tip) if place[1] <= parent["seq"]), key=order_of, default=None)

    def _bring(self, event: Event) -> Place | None:
        """Read a conversation that is not in the log, and return the place of its end."""
        before: Place | None = None
        for record in self._conversation_at(event["seq"]):
            place = self._known.get((record["seq"], record["time"]))
            if place is None:
                place = brought_by(event["seq"], record["seq"])
                self.log.bring(place, before)
                agent = event["parent"]["agent"] if event["parent"] else ""
                self._add({**event, **record, "agent": agent, "client": ""}, place, before)
            before = place
        return before

    def _add(self, event: Event, place: Place, before: Place | None) -> None:
        """Add a message or a prompt."""
        kind = event["kind"]
        self._known[event["seq"], event["time"]] = place
        if kind != "system":
            self._read_message(event, place)
        elif before is None:
            self._prompts.add(place)

    def _read_message(self, event: Event, place: Place) -> None:
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
                self._note(event, place, entry)
                return
        elif count > 1:
            self._parts, self._of = [message], count
        elif count and (entry := entry_of([message])) is not None:
            self._note(event, place, entry)
            return
        self._note(event, place, None)

    def _forget_parts(self) -> None:
        """Discard the collected messages of an entry."""
        seqs = {message["seq"] for message in self._parts}
        while self._found and self._found[-1].place[1] in seqs:
            self._found.pop()
        self._parts = []

    def _note(self, event: Event, place: Place, entry: Json | None, *, is_node: bool = True) -> None:
        seq = event["seq"]
        ref = event.get("ref", "")
        if entry is not None:
            uuid = text_in(entry, "uuid") or ref
        elif ref and event["client"] == self._own and ref_for(ref) == ref:
            uuid = ref  # the entry was redacted: others name it as their predecessor
        else:
            uuid = _uuid_for(event["agent"], seq)
        is_copy = entry is not None and ref != ref_for(uuid)
        self._found.append(_Found(place, event["command"], uuid, event["time"], entry, is_node, is_copy))

    def _path(self, tip: Place | None) -> set[Place]:
        return set(self._tree.path(tip))

    def _move(self, to: Place | None) -> None:
        """Record that another client moved to another place: everything later, on all branches, is removed.

        What a clone brought also replaced everything after the last place that it shares with the log.
        """
        path, end = self._path(to), order_of(to) if to else (0, 0)
        places = sorted(map(order_of, path))
        brought = next((number for number, (_, own) in enumerate(places) if own), None)
        shared = places[brought - 1] if brought else (0, 0)
        first = (0, 0) if brought is None else places[brought]
        self._dropped -= path
        self._dropped |= {
            found.place
            for found in self._found
            if found.place not in path and (order_of(found.place) > end or shared < order_of(found.place) < first)
        }

    def _kept(self) -> Iterator[_Found]:
        """Yield the parts of the transcript, each entry once: entries kept beside a summary are in the log twice."""
        nodes: dict[int, list[Place]] = {}
        for found in self._found:
            if found.is_node:
                nodes.setdefault(found.command, []).append(found.place)
        taken_back = {command for command, places in nodes.items() if self._dropped.issuperset(places)}
        seen = set[str]()
        for found in self._found:
            if found.entry is None:
                if found.place in self._live:
                    yield found
                continue
            is_gone = found.place in self._dropped if found.is_node else found.command in taken_back
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
            if "parentUuid" in entry and (not found.is_node or found.place in self._live):
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
            items = convert(one.place[1])
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

    @property
    def base(self) -> int | None:
        """The seq of the prompt that the conversation begins with, or ``None``."""
        return next((seq for _, seq in self._prompts & self._live), None)

    def places(self) -> dict[str, int]:
        """Return the places of messages that the log does not have under their ids: foreign messages, and copies."""
        brought = [found for found in self._found if order_of(found.place)[1] and self.log.has(found.place)]
        other = [found for found in self._found if found.place in self._live and (found.entry is None or found.is_copy)]
        return {found.uuid: found.place[1] for found in (*brought, *other)}


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
