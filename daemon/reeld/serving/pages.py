"""Pages: selects the part of a conversation that one reply holds."""

from bisect import bisect_right
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from itertools import chain, islice
from operator import attrgetter
from typing import Any, TypeAlias, TypeVar

from reel.base.light_typing import NamedTuple
from reel.wire import short_messages
from reel.wire.msgpack_codec import packer
from reeld.core.conversation import Conversation
from reeld.core.events import Entry, Event, Pack, system_of
from reeld.core.milestones import Milestone
from reeld.core.paging import PackedPage, packed_page, take_page
from reeld.core.state import Profile
from reeld.protocol.params import PAGE_BYTES, PAGE_ITEMS
from reeld.store.store import Store
from reeld.wire.encoded import PackedList, PackedMessages

T = TypeVar("T")
# Runs a function, and returns its result: a method of :class:`reeld.serving.long_work.LongWork`.
InThread: TypeAlias = Callable[[Callable[[], Any]], Awaitable[Any]]

# From this many entries on, it is worth its cost to run a function in a thread.
_MANY = 50
_MESSAGE = attrgetter("message")
ROW = ("seq", "kind", "content", "data_json", "time")


class Window(NamedTuple):
    """The part that a client asks for: after ``since``, only the ``last`` ones, at most ``limit`` and ``max_bytes``."""

    view: str = "messages"
    since: int | None = None
    limit: int | None = None
    last: int | None = None
    max_bytes: int | None = None


def record(entry: Entry | Event, pack: Pack) -> bytes:
    """Return an entry, or the event that becomes one, as a record in MessagePack."""
    fields = {field: getattr(entry, field) for field in ROW}
    return pack(fields if entry.origin is None else {**fields, **entry.origin.as_map()})


class View(NamedTuple):
    """The part of a state that is in memory, from which pages are cut.

    Args:
        profile: the agent's.
        at: the position.
        base: what is before the entries; ``None`` if nothing is.
        entries: the newest entries, or all.
        system: the system prompt.
    """

    profile: Profile
    at: int
    base: Milestone | None
    entries: list[Entry]
    system: str | None

    @property
    def messages(self) -> int:
        """How many messages there are."""
        before = 0 if self.base is None else self.base.extent.messages
        return before + sum(entry.message is not None for entry in self.entries)


def view_of(profile: Profile, conversation: Conversation, at: int, tip: int | None) -> View:
    """Return the prefix with this tip of a conversation, which has it."""
    end = bisect_right(conversation.entries, tip or 0, key=lambda entry: entry.id)
    base = None if tip is None else conversation.base
    return View(profile, at, base, conversation.entries[:end], system_of(conversation.prompt_at(tip)))


async def read_page(store: Store, shown: View, window: Window, in_thread: InThread) -> dict[str, Any]:
    """Return the reply of the method ``messages``; entries that are not in memory are read from the log."""
    counts = is_message if window.view == "messages" else lambda _: True
    use = partial(_page, window=window)
    found: PackedPage = await read_entries(store, shown, window, counts, use, in_thread)
    items = PackedMessages(found.items) if window.view == "messages" else PackedList(found.items)
    return {**page_head(shown), window.view: items, "more": found.more}


def page_head(shown: View) -> dict[str, Any]:
    """Return the fields of a page besides its items."""
    return {"agent": shown.profile.uid, "head": shown.profile.head, "at": shown.at, "system": shown.system}


async def read_entries(
    store: Store,
    shown: View,
    window: Window,
    counts: Callable[[Entry], bool],
    use: Callable[[Iterable[Entry]], T],
    in_thread: InThread,
) -> T:
    """Call a function with the entries from which a page is cut, and return its result.

    Args:
        store: the log.
        shown: the state.
        window: where the page begins; the function knows where it ends.
        counts: whether an entry counts for ``last``.
        use: the function; it runs in a thread if something has to be read.
        in_thread: runs it, if there are many entries.
    """
    begin = _begin(shown, window, counts)
    if begin.base is None:
        entries = shown.entries[begin.first :]
        return use(entries) if len(entries) < _MANY else await in_thread(lambda: use(entries))
    return await store.read_entries(
        begin.base, window.since or 0, begin.missing, counts, lambda older: use(chain(older, shown.entries))
    )


class _Begin(NamedTuple):
    """Where a page begins: at an entry in memory, or before all of them; ``missing`` wanted entries are before them."""

    first: int
    base: Milestone | None
    missing: int | None


def _begin(shown: View, window: Window, counts: Callable[[Entry], bool]) -> _Begin:
    entries, since = shown.entries, window.since or 0
    start = bisect_right(entries, since, key=lambda entry: entry.seq)
    wanted, index = window.last, start
    if wanted is not None:
        index = len(entries)
        while index > start and wanted:
            index -= 1
            wanted -= counts(entries[index])
    is_before = shown.base is not None and index == 0 and wanted != 0 and shown.base.seq > since
    return _Begin(index, shown.base if is_before else None, wanted)


def is_message(entry: Entry) -> bool:
    """Whether an entry is a message."""
    return entry.message is not None


def _page(entries: Iterable[Entry], window: Window) -> PackedPage:
    """Return the items of a page, at least one, and whether there are more; it may run in a thread."""
    limit, max_bytes = window.limit or PAGE_ITEMS, window.max_bytes or PAGE_BYTES
    if window.view == "conversation":
        pack = packer()
        return packed_page((record(entry, pack) for entry in entries), limit, max_bytes)
    items = filter(None, map(_MESSAGE, entries))
    if type(entries) is not list:  # they are being read
        return PackedPage(*take_page(items, limit, max_bytes, short_messages.size))
    # Nearly every page fits, and checking that is faster than filling it item by item.
    page = list(islice(items, limit))
    if short_messages.at_most(page) <= max_bytes:
        return PackedPage(page, any(True for _ in items))
    return PackedPage(*take_page(chain(page, items), limit, max_bytes, short_messages.size))
