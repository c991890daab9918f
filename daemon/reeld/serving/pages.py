"""Pages: which part of a conversation one reply holds."""

from bisect import bisect_right
from typing import Any, NamedTuple

from reel.frames import PackedList
from reeld.core.conversation import Conversation
from reeld.core.events import Entry, Pack
from reeld.core.paging import packed_page
from reeld.core.state import Profile

PAGE_BYTES = 8 << 20
PAGE_ITEMS = 1000
ROW = ("seq", "kind", "content", "data_json", "time")


class Window(NamedTuple):
    """The part that a client asks for: after ``since``, the ``last`` so many, at most ``limit`` and ``max_bytes``."""

    view: str = "messages"
    since: int | None = None
    limit: int | None = None
    last: int | None = None
    max_bytes: int | None = None


def record(entry: Entry, pack: Pack) -> bytes:
    """Return an entry as a record in MessagePack."""
    return pack({field: getattr(entry, field) for field in ROW})


def page(entries: list[Entry], window: Window, pack: Pack) -> tuple[PackedList, bool]:
    """Return the items of a page, at least one, and whether there are more."""
    read = range(_start(entries, window), len(entries))
    if window.view == "conversation":
        items = (record(entries[index], pack) for index in read)
    else:
        items = (message for index in read if (message := entries[index].message) is not None)
    found = packed_page(items, window.limit or PAGE_ITEMS, window.max_bytes or PAGE_BYTES)
    return PackedList(found.items), found.more


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
    """Return the reply of the method ``messages``."""
    items, more = page(conversation.entries, window, pack)
    return {
        "agent": profile.uid,
        "head": profile.head,
        "at": at,
        "system": conversation.system,
        window.view: items,
        "more": more,
    }
