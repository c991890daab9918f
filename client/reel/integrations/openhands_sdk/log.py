"""The events of a conversation of the OpenHands SDK as its files have them: its own, and those of other clients."""

from __future__ import annotations

import json
from typing import Any, Final

from reel.base.errors import NotFound
from reel.base.light_typing import NamedTuple
from reel.integrations.new_items import NewItems
from reel.integrations.openhands_sdk import events
from reel.integrations.openhands_sdk.events import Json
from reel.integrations.results_first import results_first
from reel.replies import Added, AddedItems
from reel.sync.client import Client

FORMAT: Final = "x-openhands-sdk"
# What the framework writes as the parent of an event that begins a tree anew.
_ROOT: Final = "__root__"


class Entry(NamedTuple):
    """An event, the seq of its message, and whether another client has added it."""

    event: Json
    seq: int
    is_foreign: bool


class Log:
    """A process's copy of the events.

    Args:
        agent: the name of the agent.
        has_tree: whether events have a parent; older versions of the framework refuse that.
    """

    def __init__(self, agent: str, *, has_tree: bool) -> None:
        self._items = NewItems(agent, FORMAT)
        self._has_tree = has_tree
        self._entries: list[Entry] = []
        self._ordered: list[Json] = []
        self._by_id: dict[str, Json] = {}
        # The ids of the events that this process has added.
        self._own: set[str] = set()
        # Whether there is such an agent, as it was read last.
        self.exists = False
        # Changes whenever others have changed the events.
        self.version = 0
        # The seq of the newest event that another client added; 0 if no other client added any.
        self.newest_foreign = 0

    def update(self, client: Client) -> None:
        """Read what is new."""
        try:
            is_everything, found = self._items.read(client)
            self.exists = True
        except NotFound:
            is_everything, found, self.exists = bool(self._entries), [], False
        if not found and not is_everything:
            return
        if is_everything:
            self._entries, self.newest_foreign = [], 0
        new = [entry for item in found for entry in _entries(item)]
        self.version += is_everything or any(entry.event["id"] not in self._own for entry in new)
        self._append(new, is_everything=is_everything)

    def _append(self, new: list[Entry], *, is_everything: bool = False) -> None:
        self._entries += new
        self.newest_foreign = next((each.seq for each in reversed(new) if each.is_foreign), self.newest_foreign)
        if is_everything or self.newest_foreign or any(_is_first(entry.event) for entry in new):
            self._ordered = self._in_order()
            self._by_id = {event["id"]: event for event in self._ordered}
            return
        self._ordered += [entry.event for entry in new]
        self._by_id |= {entry.event["id"]: entry.event for entry in new}

    def note(self, event: Json, added: AddedItems) -> None:
        """Keep an event that this process has added, so that the next read need not fetch it."""
        self._own.add(event["id"])
        if self._items.keep(added):
            self._append([Entry(event, added.seqs[0], is_foreign=False)])

    def note_state(self, added: Added) -> None:
        """Note that this process has written the state, so that the next read need not ask for what is new."""
        self.exists = True
        self._items.keep(added)

    def _in_order(self) -> list[Json]:
        ordered = _ordered(self._entries)
        return _chained(ordered) if self._has_tree else [entry.event for entry in ordered]

    @property
    def names(self) -> list[tuple[int, str]]:
        """The numbers and ids of the events, as the names of the files have them."""
        return [(number, event["id"]) for number, event in enumerate(self._ordered)]

    @property
    def is_hidden(self) -> bool:
        """Whether there are events that the framework does not see before it has written its prompt."""
        return bool(self._entries) and not self._ordered

    @property
    def count(self) -> int:
        """How many events there are."""
        return len(self._ordered)

    def get(self, event_id: str) -> Json | None:
        """Return the event with an id, if there is one."""
        return self._by_id.get(event_id)

    @property
    def newest(self) -> str | None:
        """The id of the newest event that others may follow."""
        return next((event["id"] for event in reversed(self._ordered) if _is_node(event)), None)


def _entries(item: Any) -> list[Entry]:
    if "item_json" in item:
        return [Entry(json.loads(item["item_json"]), item["seq"], is_foreign=False)]
    return [Entry(event, item["seq"], is_foreign=True) for event in events.events_of(item)]


def _is_first(event: Json) -> bool:
    return event.get("kind") == events.PROMPT


def _ordered(entries: list[Entry]) -> list[Entry]:
    """Return the events as the framework is to read them.

    The framework begins with its prompt, and refuses a conversation in which a person speaks before it: one that was
    begun elsewhere, or whose prompt others have taken away, is not there for it until it has written its prompt.
    Nothing may be between a call and its result.
    """
    prompts = [entry for entry in entries if _is_first(entry.event)]
    if not prompts and any(entry.is_foreign for entry in entries):
        return []
    others = [entry for entry in entries if not _is_first(entry.event)]
    foreign = [place for place, entry in enumerate(others) if entry.is_foreign]
    moved = results_first(
        others,
        lambda entry: events.calls_in(entry.event),
        lambda entry: events.results_in(entry.event),
        lambda entry: events.is_prompt(entry.event),
        foreign,
    )
    return [*prompts, *moved]


def _chained(entries: list[Entry]) -> list[Json]:
    """Return events with their parents: each event of others is between the one before it and the one that follows.

    So the branch of the newest event has it. The parent of an event may be gone, or others may have changed it.
    """
    made: list[Json] = []
    known: set[str] = set()
    before, own = None, None
    for event, _, is_foreign in entries:
        parent = event.get("parent_id")
        is_lost = parent is not None and parent != _ROOT and parent not in known
        if is_foreign or is_lost or (parent is not None and parent == own):
            made.append({key: value for key, value in event.items() if key != "parent_id"} | _parent(before))
        else:
            made.append(event)
        known.add(event["id"])
        if _is_node(event):
            before, own = event["id"], own if is_foreign else event["id"]
    return made


def _parent(event_id: str | None) -> Json:
    return {} if event_id is None else {"parent_id": event_id}


def _is_node(event: Json) -> bool:
    return event.get("kind") != events.UPDATE
