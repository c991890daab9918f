"""Items in a provider's words, added and read through a connection."""

import json
from typing import Any

import pytest

from reel.base.errors import Conflict, InvalidMessage, InvalidParams, NotFound
from reel.base.strict_json import parse
from reel.said.item_forms import canonical
from reeld.serving.call import Services
from reeld.serving.item_pages import KeptItems
from tests.reeld.formats.item_samples import SAMPLES
from tests.reeld.serving.conftest import Connect, Peer

CHAT = "openai-chat"
ITEMS = [{"role": "user", "content": f"item {number}", "id": number} for number in range(5)]
# An item that is two messages: a result, and words.
BOTH = SAMPLES["anthropic"][2]
CALL, RESULT = SAMPLES["gemini"][1], SAMPLES["gemini"][2]


async def add(peer: Peer, items: Any, format: str = CHAT, **more: Any) -> dict[str, Any]:  # noqa: A002 - the protocol's word
    return await peer.call("add", {"agent": "demo", "items": items, "format": format, **more})


async def page(peer: Peer, format: str = CHAT, **more: Any) -> dict[str, Any]:  # noqa: A002 - as above
    return await peer.call("messages", {"agent": "demo", "format": format, **more})


async def items(peer: Peer, format: str = CHAT, **more: Any) -> list[Any]:  # noqa: A002 - as above
    return [parse(item["item_json"]) for item in (await page(peer, format, **more))["items"]]


@pytest.mark.parametrize("name", SAMPLES)
async def test_items_are_read_as_they_were_added(connect: Connect, services: Services, name: str) -> None:
    """An agent that is made for items has them, after a restart too, and an undo takes all of them back."""
    peer = connect()
    added = await add(peer, json.dumps(SAMPLES[name]), name, create=True, model="a-model")
    read = await page(peer, name)

    assert list(map(canonical, SAMPLES[name])) == [canonical(parse(item["item_json"])) for item in read["items"]]
    assert added["seqs"] == [item["seq"] for item in read["items"]]
    services.registry.residency.evict_idle(keep=0)
    assert read == await page(peer, name)
    await peer.call("undo", "demo")
    assert [] == await items(peer, name)


async def test_items_follow_the_conversation(connect: Connect) -> None:
    """Redo, rewind, restore and clones have the items that their state has."""
    peer = connect()
    await add(peer, ITEMS[:2], create=True)
    await peer.call("mark", "demo", "here")
    await add(peer, ITEMS[2:3])
    await peer.call("undo", "demo")
    assert ITEMS[:2] == await items(peer)
    await peer.call("redo", "demo")
    await peer.call("clone", "demo", "twin")
    await peer.call("rewind", "demo", "here")
    assert ITEMS[:2] == await items(peer)
    twin = await peer.call("messages", {"agent": "twin", "format": CHAT, "last": 1})
    assert ITEMS[2:3] == [parse(item["item_json"]) for item in twin["items"]]


async def test_items_replace_those_from_a_seq_on(connect: Connect) -> None:
    """With ``from`` and no items, the last one is taken back."""
    peer = connect()
    seqs = (await add(peer, ITEMS, create=True))["seqs"]
    added = await add(peer, ITEMS[:1], **{"from": seqs[3]})
    assert (added["dropped"], added["seqs"]) == (2, [added["head"]])
    removed = await add(peer, [], **{"from": added["head"]})
    assert (0, []) == (removed["first"], removed["seqs"])
    assert ITEMS[:3] == await items(peer)


async def test_items_have_a_time_and_a_ref(connect: Connect) -> None:
    """An item whose ref is known is left out as a whole; the seqs tell where all of them are."""
    peer = connect()
    first = await add(peer, [BOTH], "anthropic", create=True, refs=["a"], sent=[5])
    again = await add(peer, [ITEMS[0], BOTH, ITEMS[1]], "anthropic", refs=["b", "a", None], sent=[0, 6, None])

    assert ([2], [{"index": 1, "seq": 2}], [4, 2, 5]) == (first["seqs"], again["known"], again["seqs"])
    beside = [(item["seq"], item.get("sent"), item.get("ref")) for item in (await page(peer, "anthropic"))["items"]]
    assert [(2, 5, "a"), (4, 0, "b"), (5, None, None)] == beside


async def test_a_repeated_command_adds_items_once(connect: Connect) -> None:
    """A key and ``if_seq`` do with items what they do with messages."""
    peer = connect()
    first = await add(peer, ITEMS, create=True, key="k")
    assert {**first, "repeated": True} == await add(peer, ITEMS, create=True, key="k")
    with pytest.raises(Conflict):
        await add(peer, ITEMS, if_seq=1)
    assert ITEMS == await items(peer)


async def test_pages_of_items(connect: Connect, services: Services) -> None:
    """``since``, ``limit``, ``last``, ``max_bytes`` and ``at`` count items, of which one may be several messages."""
    peer = connect()
    given = [BOTH, ITEMS[0], BOTH, ITEMS[1]]
    seqs = (await add(peer, given, "anthropic", create=True))["seqs"]
    for is_evicted in (False, True):
        if is_evicted:
            services.registry.residency.evict_idle(keep=0)
        for count in range(1, 5):
            assert given[-count:] == await items(peer, "anthropic", last=count)
            limited = await page(peer, "anthropic", limit=count)
            assert (seqs[:count], count < 4) == ([item["seq"] for item in limited["items"]], limited["more"])
            assert given[count:] == await items(peer, "anthropic", since=seqs[count - 1])
        assert given[:1] == await items(peer, "anthropic", max_bytes=1)
        assert given == await items(peer, "anthropic", at=seqs[0])
        assert [] == await items(peer, "anthropic", since=99)
    await peer.call("add", "demo", "More", {"from": seqs[0] + 1})
    assert 2 == len(await items(peer, "anthropic"))


async def test_a_result_finds_its_call_before_the_page(connect: Connect) -> None:
    """What a result of another origin becomes depends on its call, which may be on an earlier page."""
    peer = connect()
    await add(peer, [CALL], "gemini", create=True)
    result = {"type": "tool_result", "tool_call_id": "c1", "content": "done"}
    await peer.call("add", "demo", [{"role": "tool", "content": [result]}])
    (item,) = await items(peer, "gemini", last=1)
    assert "weather" == item["parts"][0]["functionResponse"]["name"]


async def test_a_result_finds_its_call_that_was_read_before(connect: Connect, services: Services) -> None:
    """A result becomes what its call says, also if the items of that are kept, and are not made again."""
    peer = connect()
    await add(peer, [CALL], "gemini", create=True)
    await items(peer, "gemini")
    result = {"type": "tool_result", "tool_call_id": "c1", "content": "done"}
    await peer.call("add", "demo", [{"role": "tool", "content": [result]}, "Go on."])
    for _ in range(2):
        call, answer, _ = await items(peer, "gemini")
        assert (CALL, "weather") == (call, answer["parts"][0]["functionResponse"]["name"])
    seqs = [item["seq"] for item in (await page(peer, "gemini"))["items"]]
    (kept,) = [kept for kept, _ in services.render_cache._entries.values()]
    assert isinstance(kept, KeptItems)
    assert len(seqs) == len(kept._items)


def test_items_are_kept_up_to_a_size() -> None:
    """The oldest items make room for new ones; those that are too large for the room are not kept."""
    kept = KeptItems(room=1500)
    for event in range(1, 5):
        kept.keep(event, [b"%d" % event * 500])
    kept.keep(5, [b"5" * 1500])

    assert [None, None, [b"3" * 500], [b"4" * 500], None] == [kept.find(event) for event in range(1, 6)]
    assert 1000 < kept.size <= 1500


async def test_a_long_conversation_is_read_in_a_thread(connect: Connect) -> None:
    """Many items, and a large one, hold up nobody else; an unknown result among them has no name."""
    peer = connect()
    many = [*ITEMS * 20, {"role": "user", "content": "x" * (1 << 17)}]
    await peer.call("create", "demo", "be brief")
    assert [] == await items(peer)
    await add(peer, many)
    assert many == await items(peer, last=len(many) + 1)
    orphan = {"role": "tool", "content": [{"type": "tool_result", "tool_call_id": "c9", "content": "done"}]}
    await peer.call("add", "demo", [orphan])
    assert many == (await items(peer))[:-1]


async def test_a_result_without_an_id_answers_an_open_call(connect: Connect) -> None:
    """Calls and results that have no ids belong together across commands."""
    peer = connect()
    nameless = [json.loads(json.dumps(item).replace('"id": "c1", ', "")) for item in (CALL, RESULT)]
    large = {"role": "user", "parts": [{"text": "x" * (1 << 17)}]}
    await add(peer, nameless[:1], "gemini", create=True)
    assert [] == (await add(peer, nameless[1:], "gemini"))["open_calls"]
    await add(peer, nameless[:1], "gemini")
    assert [] == (await add(peer, [*nameless[1:], large], "gemini"))["open_calls"]
    assert [*nameless, *nameless, large] == await items(peer, "gemini")


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"items": ITEMS}, "format is missing"),
    ({"items": ITEMS, "messages": "x", "format": CHAT}, "give messages or items"),
    ({"format": CHAT}, "format applies to items"),
    ({}, "messages is missing"),
    ({"items": [], "format": CHAT}, "an empty one"),
    ({"items": ITEMS, "format": CHAT, "refs": ["a"]}, "one for each of 5 items, got a list of 1"),
    ({"items": ITEMS, "format": CHAT, "sent": "a"}, "one for each of 5 items, got a string"),
    ({"items": ITEMS, "format": "morse"}, "format: expected openai-chat,"),
    ({"items": [{}, {}], "format": CHAT, "refs": ["a", "a"]}, r"items\[1\].ref: items\[0\] has 'a' already"),
    ({"items": [{}, {}], "format": CHAT, "sent": [1, "x"]}, r"items\[1\].sent: expected milliseconds"),
    ({"items": [{}, 1], "format": CHAT}, r"items\[1\]: expected an object, got an integer"),
]


async def test_what_cannot_be_items_is_refused(connect: Connect) -> None:
    """Nothing is made or added then."""
    peer = connect()
    for given, why in WRONG:
        with pytest.raises((InvalidParams, InvalidMessage), match=why):
            await peer.call("add", {"agent": "demo", "create": True, **given})
    assert [] == (await peer.call("agents"))["agents"]


async def test_items_need_an_agent_and_no_view(connect: Connect) -> None:
    """A missing agent is made only if that is asked for; items are not records."""
    peer = connect()
    with pytest.raises(NotFound):
        await add(peer, ITEMS)
    await add(peer, ITEMS, create=True)
    with pytest.raises(InvalidParams, match="view: items have no view"):
        await page(peer, view="conversation")
