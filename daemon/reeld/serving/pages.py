"""Pages of a conversation: pure functions from a list of entries to what one reply holds."""

from bisect import bisect_right
from typing import Any, NamedTuple

from reel.frames import PackedList
from reeld.core.conversation import Conversation
from reeld.core.events import Entry, Pack
from reeld.core.state import Profile

PAGE_BYTES = 8 << 20
PAGE_ITEMS = 1000
ROW = ("seq", "kind", "content", "data_json", "time")


class Window(NamedTuple):
    """Which part of a list is wanted: after ``since``, the ``last`` so many, at most ``limit`` and ``max_bytes``."""

    view: str = "messages"
    since: int | None = None
    limit: int | None = None
    last: int | None = None
    max_bytes: int | None = None


def record(entry: Entry, pack: Pack) -> bytes:
    """Encode an entry as a record."""
    return pack({field: getattr(entry, field) for field in ROW})


def page(entries: list[Entry], window: Window, pack: Pack) -> tuple[PackedList, bool]:
    """Give the items of a page, and whether there are more after it; one item comes at least."""
    everything = window.view == "conversation"
    limit, room = window.limit or PAGE_ITEMS, window.max_bytes or PAGE_BYTES
    items: list[bytes] = []
    for index in range(_start(entries, window), len(entries)):
        entry = entries[index]
        item = record(entry, pack) if everything else entry.message
        if item is None:
            continue
        room -= len(item)
        if len(items) == limit or (room < 0 and items):
            return PackedList(items), True
        items.append(item)
    return PackedList(items), False


def _start(entries: list[Entry], window: Window) -> int:
    start = 0 if window.since is None else bisect_right(entries, window.since, key=lambda entry: entry.seq)
    if window.last is None:
        return start
    wanted = window.last
    index = len(entries)
    while index > start and wanted:
        index -= 1
        wanted -= window.view == "conversation" or entries[index].message is not None
    return index


def state_page(profile: Profile, conversation: Conversation, at: int, window: Window, pack: Pack) -> dict[str, Any]:
    """Answer the method ``messages``."""
    items, more = page(conversation.entries, window, pack)
    return {
        "agent": profile.uid,
        "head": profile.head,
        "at": at,
        "system": conversation.system,
        window.view: items,
        "more": more,
    }
