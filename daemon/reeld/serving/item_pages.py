"""Pages of a conversation as a provider's items."""

from collections.abc import Iterable, Iterator
from itertools import chain, dropwhile
from typing import Any

from reel.frames import PackedList
from reel.msgpack_codec import packer, unpack
from reel.strict_json import Json
from reeld.core.events import Entry, Pack
from reeld.core.item_forms import place_of
from reeld.core.paging import take_page
from reeld.formats.items.writing import PART, WrittenItems, calls_in, write_items
from reeld.serving.call import Services
from reeld.serving.pages import PAGE_BYTES, PAGE_ITEMS, View, Window, page_head, read_entries

# Among how many seqs before a page the call of a result is looked for.
_BACK = 200
# What every item has beside itself, as far as its message has it.
_BESIDE = ("seq", "time", "sent", "ref")


class _MoreNeeded(Exception):
    """A page cannot be made without what is before it; ``seq`` is where it begins."""

    def __init__(self, seq: int) -> None:
        super().__init__(seq)
        self.seq = seq


class _KnownCalls(dict[str, Json]):
    """Calls by their ids; to ask for another one raises :class:`_MoreNeeded`."""

    def __init__(self, seq: int) -> None:
        super().__init__()
        self._seq = seq

    def get(self, call_id: str, default: Any = None) -> Any:
        """Return a call."""
        if call_id not in self:
            raise _MoreNeeded(self._seq)
        return super().get(call_id, default)


async def read_item_page(services: Services, shown: View, window: Window, name: str) -> dict[str, Any]:
    """Return the reply of the method ``messages`` with a format.

    An item may be of several messages, and what a result becomes depends on its call. If a page begins behind either,
    it is read again with what is before it.
    """
    store, in_thread = services.store, services.render_cache.run_in_thread
    erasures = store.eraser.applied  # before the page is read: it may have what the next one erases
    try:
        page = await read_entries(store, shown, window, _counts, lambda found: _page(found, window, name), in_thread)
    except _MoreNeeded as error:
        seq = error.seq
        page = await read_entries(
            store,
            shown,
            window._replace(since=max(seq - _BACK, 0), last=None),
            _counts,
            lambda found: _page_from(seq, found, window, name),
            in_thread,
        )
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
        or not place_of(unpack(entry.message)["provider_metadata"])
    )


def _messages(entries: Iterable[Entry]) -> Iterator[Json]:
    return (unpack(entry.message) for entry in entries if entry.message is not None)


def _page(entries: Iterable[Entry], window: Window, name: str) -> tuple[list[list[bytes]], bool]:
    """Return the items of each message of a page, and whether there are more."""
    messages = _messages(entries)
    first = next(messages, None)
    if first is None:
        return [], False
    if place_of(first["provider_metadata"]):
        raise _MoreNeeded(first["seq"])
    return _taken(write_items(name, chain([first], messages), _KnownCalls(first["seq"])), window)


def _page_from(seq: int, entries: Iterable[Entry], window: Window, name: str) -> tuple[list[list[bytes]], bool]:
    """Return what :func:`_page` does of a page that begins at a seq, from entries of which some are before it."""
    messages = _messages(entries)
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
    return _taken(dropwhile(lambda found: found.first["seq"] < seq, written), window)


def _taken(written: Iterable[WrittenItems], window: Window) -> tuple[list[list[bytes]], bool]:
    pack = packer()
    packed = (_packed(found, pack) for found in written if found.items != [])
    limit, room = window.limit or PAGE_ITEMS, window.max_bytes or PAGE_BYTES
    return take_page(packed, limit, room, lambda items: sum(map(len, items)))


def _packed(found: WrittenItems, pack: Pack) -> list[bytes]:
    beside = {field: found.first[field] for field in _BESIDE if field in found.first}
    if found.items is None:
        return [pack({**beside, "message": found.first})]
    return [pack({**beside, "item_json": item}) for item in found.items]
