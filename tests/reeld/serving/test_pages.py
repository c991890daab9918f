"""Pages of a list of entries: the entries on a page, and whether more follow."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgpack import packb, unpackb

from reel.wire.msgpack_codec import packer
from reel.wire.short_messages import unpacked
from reeld.core.conversation import Conversation
from reeld.core.events import Entry, read
from reeld.core.state import Profile
from reeld.protocol.params import PAGE_BYTES, PAGE_ITEMS
from reeld.serving.long_work import LongWork
from reeld.serving.pages import Window, read_page, view_of
from reeld.store.store import Store, open_store
from tests.patience import PATIENCE
from tests.reeld.store.making import event, made, write

pack = packer()


def entry(seq: int, kind: str = "user", content: str | None = None) -> Entry:
    """Return an entry whose content is its seq."""
    content = str(seq) if content is None else content
    message, tools = read(pack, kind, content, None, seq, 1)
    return Entry(seq * 10, seq, kind, content, None, 1, message, tools)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """A new store, with a time limit."""
    with anyio.fail_after(PATIENCE):
        async with open_store(str(tmp_path / "reel.db")) as opened:
            yield opened


PROFILE = Profile(1, "id", "demo", None, {}, None, 1, 1, None, 9)


async def seqs(store: Store, conversation: Conversation, **window: Any) -> tuple[list[int], bool]:
    """Return the seqs on a page, and whether there are more."""
    shown = view_of(PROFILE, conversation, 9, conversation.tip)
    page = await read_page(store, shown, Window(**window), LongWork().in_turn)
    return [unpacked(item)["seq"] for item in page[window.get("view", "messages")].items], page["more"]


TEN = Conversation([entry(seq) for seq in range(1, 11)])
# Two prompts and a note between messages.
MIXED = Conversation([entry(1, "system"), entry(2), entry(3, "system"), entry(5), entry(6, "assistant")])


@pytest.mark.parametrize(
    ("window", "expected", "more"),
    [
        ({}, list(range(1, 11)), False),
        ({"limit": 3}, [1, 2, 3], True),
        ({"limit": 10}, list(range(1, 11)), False),
        ({"since": 8}, [9, 10], False),
        ({"since": 8, "limit": 1}, [9], True),
        ({"since": 10}, [], False),
        ({"since": 99}, [], False),
        ({"last": 2}, [9, 10], False),
        ({"last": 99}, list(range(1, 11)), False),
        ({"last": 3, "since": 8}, [9, 10], False),
        ({"last": 5, "limit": 2}, [6, 7], True),
        ({"max_bytes": 1}, [1], True),
        ({"max_bytes": 1, "since": 9}, [10], False),
    ],
)
async def test_the_window_of_a_page(store: Store, window: dict[str, Any], expected: list[int], more: bool) -> None:
    """A page begins after ``since`` or with the last so many entries, and ends at its limit or size."""
    assert (expected, more) == await seqs(store, TEN, **window)


@pytest.mark.parametrize(
    ("window", "expected", "more"),
    [
        ({}, [2, 5, 6], False),
        ({"limit": 3}, [2, 5, 6], False),
        ({"limit": 2}, [2, 5], True),
        ({"last": 3}, [2, 5, 6], False),
        ({"last": 1}, [6], False),
        ({"since": 2}, [5, 6], False),
        ({"view": "conversation", "last": 3}, [3, 5, 6], False),
        ({"view": "conversation"}, [1, 2, 3, 5, 6], False),
    ],
)
async def test_records_without_a_message(store: Store, window: dict[str, Any], expected: list[int], more: bool) -> None:
    """The view of messages has messages only; the other view has every record."""
    assert (expected, more) == await seqs(store, MIXED, **window)


async def test_nothing_follows_but_records_without_a_message(store: Store) -> None:
    """A page is the last one if no message follows it."""
    assert ([1], False) == await seqs(store, Conversation([entry(1), entry(2, "system")]), limit=1)


async def test_bytes_of_a_page(store: Store) -> None:
    """A page has as many entries as fit, and one at least."""
    size = len(packb(unpacked(TEN.entries[0].message or b"")))

    assert ([1, 2, 3], True) == await seqs(store, TEN, max_bytes=3 * size)
    assert ([1, 2], True) == await seqs(store, TEN, max_bytes=3 * size - 1)


async def test_the_default_size_of_a_page(store: Store) -> None:
    """A page has a thousand entries or 8 MiB by default."""
    many = Conversation([entry(seq) for seq in range(1, PAGE_ITEMS + 2)])
    large = Conversation([entry(seq, content="x" * (PAGE_BYTES // 2)) for seq in (1, 2, 3)])

    assert (list(range(1, 1001)), True) == await seqs(store, many)
    assert ([1], True) == await seqs(store, large)


async def test_the_reply(store: Store) -> None:
    """A page of an agent's state has the agent's id, head and prompt."""
    shown = await read_page(
        store, view_of(PROFILE, MIXED, 6, MIXED.tip), Window("conversation", limit=1), LongWork().in_turn
    )
    items = shown.pop("conversation").items

    assert {"agent": "id", "head": 9, "at": 6, "system": "3", "more": True} == shown
    assert [{"seq": 1, "kind": "system", "content": "1", "data_json": None, "time": 1}] == list(map(unpackb, items))


async def test_an_earlier_state(store: Store) -> None:
    """A page of an earlier state is cut from what is in memory, with the prompt of that time."""
    shown = await read_page(store, view_of(PROFILE, MIXED, 2, 20), Window(), LongWork().in_turn)

    assert ([2], "1") == ([unpacked(item)["seq"] for item in shown["messages"].items], shown["system"])


WINDOWS = [
    {
        "view": view,
        **({} if since is None else {"since": since}),
        **({} if last is None else {"last": last}),
        "limit": 7,
    }
    for view in ("messages", "conversation")
    for since in (None, 3, 29, 30, 31, 55)
    for last in (None, 1, 5, 26, 60)
]


async def test_pages_of_what_is_not_in_memory(store: Store) -> None:
    """A page is the same whether its entries are in memory or some of them are only in the log."""
    kinds = ["user", "system", "usage", "assistant", "mark"] * 12
    log = [event(seq, kind, "x", data_json="{}" if kind == "mark" else None) for seq, kind in enumerate(kinds, 2)]
    await write(store, made(1, *log))
    whole = await store.whole((await store.load(1)).conversation.tip)
    short = Conversation(sorted([*whole.entries, *whole.marks], key=lambda node: node.id), step=4)
    store.writer.note(short.take_new_milestones())
    store.writer.flush()
    await store.writer.heartbeat()  # it comes after what was flushed
    short.trim(5)

    assert short.base is not None
    assert len(short.entries) < 10
    for window in WINDOWS:
        assert await seqs(store, whole, **window) == await seqs(store, short, **window), window
