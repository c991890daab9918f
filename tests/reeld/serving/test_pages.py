"""Pages of a list of entries: the entries on a page, and whether more follow."""

from typing import Any

import pytest
from msgpack import unpackb

from reel.msgpack_codec import packer
from reeld.core.conversation import Conversation
from reeld.core.events import Entry, read
from reeld.core.state import Profile
from reeld.serving.pages import PAGE_BYTES, PAGE_ITEMS, Window, page, state_page

pack = packer()


def entry(seq: int, kind: str = "user", content: str | None = None) -> Entry:
    """Return an entry whose content is its seq."""
    content = str(seq) if content is None else content
    message, tools = read(pack, kind, content, None, seq, 1)
    return Entry(seq * 10, seq, kind, content, None, 1, message, tools)


def seqs(entries: list[Entry], **window: Any) -> tuple[list[int], bool]:
    """Return the seqs on a page, and whether there are more."""
    packed, more = page(entries, Window(**window), pack)
    return [unpackb(item)["seq"] for item in packed.items], more


TEN = [entry(seq) for seq in range(1, 11)]
# Two prompts and a note between messages.
MIXED = [entry(1, "system"), entry(2), entry(3, "system"), entry(5), entry(6, "assistant")]


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
def test_the_window_of_a_page(window: dict[str, Any], expected: list[int], more: bool) -> None:
    """A page begins after ``since`` or with the last so many entries, and ends at its limit or size."""
    assert (expected, more) == seqs(TEN, **window)


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
def test_records_without_a_message(window: dict[str, Any], expected: list[int], more: bool) -> None:
    """The view of messages has messages only; the other view has every record."""
    assert (expected, more) == seqs(MIXED, **window)


def test_nothing_follows_but_records_without_a_message() -> None:
    """A page is the last one if no message follows it."""
    assert ([1], False) == seqs([entry(1), entry(2, "system")], limit=1)


def test_bytes_of_a_page() -> None:
    """A page has as many entries as fit, and one at least."""
    size = len(TEN[0].message or b"")

    assert ([1, 2, 3], True) == seqs(TEN, max_bytes=3 * size)
    assert ([1, 2], True) == seqs(TEN, max_bytes=3 * size - 1)


def test_the_default_size_of_a_page() -> None:
    """A page has a thousand entries or 8 MiB by default."""
    many = [entry(seq) for seq in range(1, PAGE_ITEMS + 2)]
    large = [entry(seq, content="x" * (PAGE_BYTES // 2)) for seq in (1, 2, 3)]

    assert (list(range(1, 1001)), True) == seqs(many)
    assert ([1], True) == seqs(large)


def test_state_page() -> None:
    """A page of an agent's state has the agent's name, head and prompt."""
    profile = Profile(1, "id", "demo", None, {}, None, 1, 1, None, 9)
    shown = state_page(profile, Conversation(MIXED), 6, Window("conversation", limit=1), pack)
    items = shown.pop("conversation").items

    assert shown == {"agent": "id", "head": 9, "at": 6, "system": "3", "more": True}
    assert [{"seq": 1, "kind": "system", "content": "1", "data_json": None, "time": 1}] == list(map(unpackb, items))
