"""Pages of a conversation as a provider's items.

Writing an item takes ten times as long as sending it, so written items are cached. An event's id determines everything
before it, and so the items that its message becomes: the cache is keyed by event id, and stays valid whatever happens
to the conversation.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, dropwhile
from typing import Any

from reel.base.strict_json import Json
from reel.wire.msgpack_codec import packer
from reel.wire.short_messages import unpacked
from reeld.core.events import Entry, Pack
from reeld.core.item_forms import place_of
from reeld.core.paging import take_page
from reeld.formats.items.writing import PART, WrittenItems, calls_in, is_alone, write_items
from reeld.protocol.params import PAGE_BYTES, PAGE_ITEMS
from reeld.serving.call import Services
from reeld.serving.pages import View, Window, page_head, read_entries
from reeld.wire.encoded import PackedList

# How many seqs before a page are searched for the call of a result.
_BACK = 200
# Bytes: the cache of one agent in one format, and the overhead of each cached item.
_KEPT = 16 << 20
_OBJECT_SIZE = 200
# The fields that accompany every item, if its message has them.
_BESIDE = ("seq", "time", "sent", "ref")


class _MoreNeeded(Exception):
    """A page cannot be built without earlier messages; ``seq`` is where these begin."""

    def __init__(self, seq: int) -> None:
        super().__init__(seq)
        self.seq = seq


class _KnownCalls(dict[str, Json]):
    """Calls by their ids; looking up an unknown one raises :class:`_MoreNeeded`."""

    def __init__(self, seq: int) -> None:
        super().__init__()
        self._seq = seq
        # Messages that were not read, by the calls that they have.
        self._unread: dict[str, bytes] = {}

    def leave(self, entry: Entry) -> None:
        """Take note of the calls of a message that need not be read now."""
        if entry.tools is not None and entry.message is not None:
            for call_id, _ in entry.tools.calls:
                self._unread[call_id] = entry.message
                self.pop(call_id, None)  # of two calls with one id, the newest counts

    def get(self, call_id: str, default: Any = None) -> Any:
        """Return a call."""
        if call_id not in self and call_id in self._unread:
            self.update(calls_in([unpacked(self._unread[call_id])]))
        if call_id not in self:
            raise _MoreNeeded(self._seq)
        return super().get(call_id, default)


class KeptItems:
    """The cached items of an agent in one format, as MessagePack, by the ids of their events.

    Args:
        room: how many bytes they may take; beyond that, the items that were written first go.
    """

    def __init__(self, room: int = _KEPT) -> None:
        self.size = 0
        self._room = room
        self._items: dict[int, list[bytes]] = {}

    def find(self, event: int) -> list[bytes] | None:
        """Return the items of a message; ``None`` if they are not known."""
        return self._items.get(event)

    def keep(self, event: int, items: list[bytes]) -> None:
        """Keep the items of a message, in place of the oldest ones if there is no room."""
        size = _size_kept(items)
        if size > self._room:
            return
        self._items[event] = items
        self.size += size
        while self.size > self._room:
            self.size -= _size_kept(self._items.pop(next(iter(self._items))))


def _size_kept(items: list[bytes]) -> int:
    return _OBJECT_SIZE + sum(map(len, items))


async def read_item_page(services: Services, row: int, shown: View, window: Window, name: str) -> dict[str, Any]:
    """Return the reply of the method ``messages`` with a format.

    An item may consist of several messages, and the item of a result depends on its call. If a page begins in the
    middle of either, it is read again together with what precedes it.

    Args:
        services: the daemon's.
        row: the agent's.
        shown: the state.
        window: where the page begins.
        name: the format, which may be a client's own.
    """
    store, cache = services.store, services.render_cache
    # Before the page is read: the page may contain what the next erasure removes.
    erasures, age = store.eraser.applied, cache.age
    key = row, f"items {name}"
    kept = cache.take(key) or KeptItems()
    read = partial(read_entries, store, shown, counts=_counts, in_thread=services.long_work.in_thread)
    try:
        page = await read(window, use=lambda found: _page(found, window, name, kept))
    except _MoreNeeded as error:
        seq = error.seq
        before = window._replace(since=max(seq - _BACK, 0), last=None)
        page = await read(before, use=lambda found: _page_from(seq, found, window, name))
    cache.put(key, kept, age)
    items, more = page
    packed = PackedList(list(chain.from_iterable(items)))
    return {**page_head(shown), "items": packed, "more": more, "erasures": erasures}


def _counts(entry: Entry) -> bool:
    """Whether an entry is a message, and the first one of its item."""
    if entry.message is None:
        return False
    return (
        entry.data_json is None
        or PART not in entry.data_json
        or not place_of(unpacked(entry.message)["provider_metadata"])
    )


def _page(entries: Iterable[Entry], window: Window, name: str, kept: KeptItems) -> tuple[list[list[bytes]], bool]:
    """Return the items of each message of a page, and whether there are more."""
    messages = (entry for entry in entries if entry.message is not None)
    first = next(messages, None)
    if first is None:
        return [], False
    if not _counts(first):
        raise _MoreNeeded(first.seq)
    return _taken(_items(chain([first], messages), name, _KnownCalls(first.seq), kept), window)


def _items(entries: Iterator[Entry], name: str, calls: _KnownCalls, kept: KeptItems) -> Iterator[list[bytes]]:
    """Yield the items of messages; cached ones are not written again."""
    pack = packer()
    for entry in entries:
        if (known := kept.find(entry.id)) is not None:
            calls.leave(entry)
            yield known
            continue
        run = _Unwritten(entry, entries, kept)
        for found in write_items(name, run, calls):
            items = _packed(found, pack)
            if is_alone(found.first):
                kept.keep(run.ids[found.first["seq"]], items)
            yield items
        if run.end is not None:
            behind, known = run.end
            calls.leave(behind)
            yield known


class _Unwritten:
    """Messages up to one whose items are known.

    Args:
        first: the first one.
        rest: the entries behind it; those that are read are taken.
        kept: knows the items.
    """

    def __init__(self, first: Entry, rest: Iterator[Entry], kept: KeptItems) -> None:
        self._entries = chain([first], rest)
        self._kept = kept
        # The ids of the messages' events, by their seqs.
        self.ids: dict[int, int] = {}
        # The message whose items are known, and these; ``None`` if there was none.
        self.end: tuple[Entry, list[bytes]] | None = None

    def __iter__(self) -> Iterator[Json]:
        for entry in self._entries:
            known = self._kept.find(entry.id)
            if known is not None:
                self.end = entry, known
                return
            if entry.message is not None:
                self.ids[entry.seq] = entry.id
                yield unpacked(entry.message)


def _page_from(seq: int, entries: Iterable[Entry], window: Window, name: str) -> tuple[list[list[bytes]], bool]:
    """Return a page as :func:`_page` does, but from entries of which some are before its first seq."""
    messages = (unpacked(entry.message) for entry in entries if entry.message is not None)
    before: list[Json] = []
    first: Json = {}
    for first in messages:
        if first["seq"] >= seq:
            break
        before.append(first)
    place = place_of(first["provider_metadata"])
    begun = before[-place:] if place else []
    calls = dict(calls_in(before))
    written = write_items(name, chain(begun, [first], messages), calls)
    pack = packer()
    return _taken(
        (_packed(found, pack) for found in dropwhile(lambda found: found.first["seq"] < seq, written)), window
    )


def _taken(written: Iterable[list[bytes]], window: Window) -> tuple[list[list[bytes]], bool]:
    limit, room = window.limit or PAGE_ITEMS, window.max_bytes or PAGE_BYTES
    return take_page(filter(None, written), limit, room, _size)


def _size(items: list[bytes]) -> int:
    return len(items[0]) if len(items) == 1 else sum(map(len, items))


def _packed(found: WrittenItems, pack: Pack) -> list[bytes]:
    beside = {field: found.first[field] for field in _BESIDE if field in found.first}
    if found.items is None:
        return [pack({**beside, "message": found.first})]
    return [pack({**beside, "item_json": item}) for item in found.items]
