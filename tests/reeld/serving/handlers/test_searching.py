"""The method ``search``, over a store of the test's own."""

import os
import sqlite3
import stat
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest

from reel.base.errors import InvalidParams, NotFound, Storage
from reeld.search import finding, hit_pages, planning, service
from reeld.serving.call import Services
from tests.patience import PATIENCE
from tests.reeld.serving.conftest import Connect, Peer

pytestmark = pytest.mark.slow

SAID = {
    "tapes": ["how do I clean a tape deck?", "use parse_http_url", "修复auth模块"],
    "other": ["a deck of cards", "deck parseHttpUrl"],
}


@pytest.fixture
async def peer(services: Services, connect: Connect) -> AsyncIterator[Peer]:
    """A connection to a daemon that fills its index, with two conversations."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(services.search.run)
        peer = connect()
        for name, texts in SAID.items():
            await peer.call("create", name, {"title": f"About {name}", "tags": {"topic": name}})
            for text in texts:
                await peer.call("add", name, text)
        await caught_up(services)
        yield peer
        tasks.cancel_scope.cancel()


async def caught_up(services: Services) -> None:
    """Wait until everything is in the index."""
    with anyio.fail_after(PATIENCE):
        while services.search.behind:
            await anyio.lowlevel.checkpoint()


async def fill_the_index(services: Services) -> None:
    """Run the search until everything is in the index, and end it."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(services.search.run)
        await caught_up(services)
        tasks.cancel_scope.cancel()


def mode(path: str) -> int:
    """Return the rights of a file."""
    return stat.S_IMODE(Path(path).stat().st_mode)


def damage_all_but_the_first_page(path: str) -> None:
    """Write random bytes into a database, which has all that is in its WAL."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    with Path(path).open("r+b") as file:
        size = file.seek(0, os.SEEK_END) - 4096
        file.seek(4096)
        file.write(os.urandom(size))


def replace(path: str, content: bytes | None) -> None:
    """Put a file to a path, or a directory."""
    if content is None:
        Path(path).mkdir()
    else:
        Path(path).write_bytes(content)


def texts(reply: dict[str, Any]) -> list[str]:
    """Return the snippets of hits."""
    return [hit["snippet"] for hit in reply["hits"]]


async def test_hits_in_lines(peer: Peer) -> None:
    """The hits come with their lines and what to look for; a second page does not repeat the name above it."""
    page = await peer.call("hits", {"query": "deck", "limit": 1})
    assert ["About other", "note"] == [page["hits"][0]["title"], page["lines"][1]["spans"][2][1]]
    assert ["name", "match"] == [page["lines"][0]["spans"][0][1], page["lines"][2]["spans"][2][1]]
    above = page["hits"][0]["agent"]
    page = await peer.call("hits", {"query": "deck", "after": page["next"], "above": above})

    assert [0, 0, None, 1, 1, 1] == [line["hit"] for line in page["lines"]]
    assert [["a ", "deck", " of cards"], ["how do I clean a tape ", "deck", "?"]] == [
        hit["context"] for hit in page["hits"]
    ]


async def test_hit(peer: Peer) -> None:
    """A hit says who said what where, and where the words are in it."""
    reply = await peer.call("search", "clean DECK")

    (hit,) = reply["hits"]
    assert {
        "name": "tapes",
        "title": "About tapes",
        "seq": 2,
        "role": "user",
        "kind": "user",
        "live": True,
    } == {field: hit[field] for field in ("name", "title", "seq", "role", "kind", "live")}
    assert ["clean", "deck"] == [hit["snippet"][begin:end] for begin, end in hit["matches"]]
    assert {"hits", "more", "behind"} == reply.keys()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("deck", ["deck parseHttpUrl", "a deck of cards", "how do I clean a tape deck?"]),
        ("deck agent:tapes", ["how do I clean a tape deck?"]),
        ("deck tag:topic=other -cards", ["deck parseHttpUrl"]),
        ("deck role:assistant", []),
        ("http url", ["deck parseHttpUrl", "use parse_http_url"]),
        ("复auth", ["修复auth模块"]),
        ("about", ["About other\nother", "About tapes\ntapes"]),
        ("agent:nobody", []),
        ("tag:none", []),
        ("tag:topic=tapes role:user", SAID["tapes"][::-1]),
        ("before:2000", []),
        ("before:2000-01-01 deck", []),
        ("after:2000-01-01 cards", ["a deck of cards"]),
        ("live:no deck", []),
        ("***", []),
        ("has:arseHttp", ["deck parseHttpUrl"]),
        ("has:p_u", ["use parse_http_url"]),
        ("/a tape/", ["how do I clean a tape deck?"]),
        ("deck -has:tape", ["deck parseHttpUrl", "a deck of cards"]),
        ("-cards has:deck", ["deck parseHttpUrl", "how do I clean a tape deck?"]),
        ("deck has:tape role:assistant", []),
        ("has:deck agent:other", ["deck parseHttpUrl", "a deck of cards"]),
        ("live:no has:deck", []),
    ],
)
async def test_queries(peer: Peer, query: str, expected: list[str]) -> None:
    """A query finds what it asks for, newest first."""
    assert texts(await peer.call("search", query)) == expected


@pytest.mark.parametrize(
    ("given", "number"),
    [
        ({"agent": "other"}, 2),
        ({"tags": {"topic": "tapes"}}, 1),
        ({"roles": ["tool"]}, 0),
        ({"kinds": ["user"]}, 3),
        ({"kinds": ["note"], "roles": ["user"]}, 0),
        ({"live": False}, 0),
        ({"since": 1}, 3),
        ({"until": 1}, 0),
    ],
)
async def test_parameters(peer: Peer, given: dict[str, Any], number: int) -> None:
    """Parameters narrow a search down as filters in the query do."""
    assert len(texts(await peer.call("search", "deck", given))) == number


@pytest.mark.parametrize(
    "given",
    [
        {"roles": ["me"]},
        {"order": "oldest"},
        {"after": "x"},
        {"after": "9.-2000"},
        {"limit": 0},
        {"kinds": ["x"]},
        {"since": -1},
    ],
)
async def test_wrong_parameters(peer: Peer, given: dict[str, Any]) -> None:
    """A wrong parameter is refused by its name."""
    with pytest.raises(InvalidParams, match=f"^invalid_params: {next(iter(given))}: "):
        await peer.call("search", "deck", given)


async def test_unknown_agent(peer: Peer) -> None:
    """An agent that does not exist is an error if it is a parameter."""
    with pytest.raises(NotFound):
        await peer.call("search", "deck", "nobody")


@pytest.mark.parametrize("order", ["newest", "best"])
async def test_pages(peer: Peer, order: str) -> None:
    """Pages have each hit once."""
    found: list[str] = []
    after: dict[str, Any] = {}
    for _ in range(3):
        reply = await peer.call("search", "deck", {"limit": 1, "order": order, **after})
        found += texts(reply)
        after = {"after": reply.get("next")}

    assert sorted(found) == sorted(["deck parseHttpUrl", "a deck of cards", "how do I clean a tape deck?"])
    assert not reply["more"] or not (await peer.call("search", "deck", {"limit": 1, "order": order, **after}))["hits"]


async def test_waiting_for_the_index(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that waits finds what was acknowledged before, and does not wait for the next batch."""
    monkeypatch.setattr("reeld.search.service._DELAY", PATIENCE)
    await peer.call("add", "tapes", "a needle")

    with anyio.fail_after(PATIENCE / 2):
        found = await peer.call("search", "needle", {"wait": 10_000})

    assert (["a needle"], 0) == (texts(found), found["behind"])


async def test_order_of_what_was_said(peer: Peer, services: Services) -> None:
    """With an order, the newest is what was said last, whenever it was added; pages go on where the last one ended."""
    for sent in (3000, 1000, 2000):
        await peer.call("add", "tapes", {"role": "user", "content": f"needle {sent}", "sent": sent})
    await caught_up(services)

    found, after = list[str](), None
    while page := await peer.call("search", "needle", {"order": "newest", "limit": 1, "after": after}):
        found += texts(page)
        if (after := page.get("next")) is None:
            break

    assert ["needle 3000", "needle 2000", "needle 1000"] == found
    assert ["needle 2000", "needle 1000", "needle 3000"] == texts(await peer.call("search", "needle"))


@pytest.mark.parametrize("order", ["best", "fresh"])
async def test_pages_of_the_best(peer: Peer, services: Services, order: str) -> None:
    """Pages of ranked hits have each hit once; what is not live can be left out."""
    for number in range(7):
        await peer.call("add", "tapes", f"needle {'x ' * number}")
    await peer.call("undo", "tapes")
    await caught_up(services)

    found, after = list[str](), None
    while page := await peer.call("search", "needle hay", {"order": order, "limit": 3, "after": after}):
        found += texts(page)
        assert all(["hay"] == hit["without"] for hit in page["hits"])
        if (after := page.get("next")) is None:
            break

    assert [f"needle {'x ' * number}" for number in range(7)] == found
    assert 6 == len(texts(await peer.call("search", "needle live:yes", {"order": order})))
    assert 1 == len(texts(await peer.call("search", "needle", {"order": order, "live": False})))


async def test_best_first(services: Services, peer: Peer) -> None:
    """The best hit is the one with the words more often, not the newest."""
    await peer.call("add", "other", "tape tape tape")
    await peer.call("add", "other", f"a tape {'and more ' * 100}")
    await caught_up(services)

    assert "tape tape tape" == texts(await peer.call("search", "tape", {"order": "best"}))[0]


async def test_rewound(services: Services, peer: Peer) -> None:
    """What was undone is found, and not live."""
    await peer.call("undo", "other")
    await caught_up(services)

    assert ["deck parseHttpUrl"] == texts(await peer.call("search", "deck", {"live": False}))


async def test_file(services: Services, peer: Peer) -> None:
    """The index is for its owner only, and counted in stats."""
    stats = await peer.call("stats")

    assert 0o600 == mode(services.search.path)
    assert 0 == stats["search_behind"]
    assert 0 < stats["search_without_trigrams"] <= stats["search_indexed"]  # too few for a block
    assert stats["search_problem"] is None
    assert stats["search_index_bytes"] > 0


@pytest.mark.parametrize("damage", [b"not a database", None])
async def test_damaged_file(services: Services, connect: Connect, damage: bytes | None) -> None:
    """A file that is not an index is replaced; a directory in its place is an error, and everything else works."""
    peer = connect()
    replace(services.search.path, damage)
    await peer.call("create", "demo", {"title": "hello"})
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(services.search.run)
        if damage is None:
            with pytest.raises(Storage, match="cannot be used"):
                await peer.call("search", "hello")
            assert "cannot be used" in (await peer.call("stats"))["search_problem"]
        else:
            await caught_up(services)
            assert 1 == len(texts(await peer.call("search", "hello")))
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("order", [None, "newest", "best", "fresh"])
async def test_a_search_right_after_the_start(services: Services, connect: Connect, order: str | None) -> None:
    """It waits until the index is open, and finds what the index has."""
    peer = connect()
    await peer.call("add", {"agent": "demo", "messages": "a word", "create": True})
    await fill_the_index(services)
    assert services.search.behind
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(services.search.run)
        found = await peer.call("search", {"query": "word", "order": order})
        tasks.cancel_scope.cancel()

    assert (["a word"], 0) == (texts(found), found["behind"])


async def test_edits_right_after_the_start(services: Services, connect: Connect) -> None:
    """What lists edits waits for the index, too."""
    peer = connect()
    await peer.call("create", "demo")
    await fill_the_index(services)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(services.search.run)
        found = await peer.call("edits")
        tasks.cancel_scope.cancel()

    assert 0 == found["behind"]


async def test_stats_right_after_the_start(
    services: Services, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They do not say that everything is behind before the index is open."""
    peer = connect()
    await peer.call("add", {"agent": "demo", "messages": "a word", "create": True})
    await fill_the_index(services)
    monkeypatch.setattr(service, "_CALM", PATIENCE)
    services.search._is_needed = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(services.search.run)
        await anyio.wait_all_tasks_blocked()
        stats = await peer.call("stats")
        tasks.cancel_scope.cancel()

    assert (0, 2) == (stats["search_behind"], stats["search_indexed"])


@pytest.mark.slow
async def test_damage_while_it_runs(services: Services, peer: Peer) -> None:
    """An index that turns out to be damaged is built again; if that happens again, only after a pause."""
    await peer.call("add", "tapes", ["filler words that fill pages"] * 5000)
    await caught_up(services)
    damage_all_but_the_first_page(services.search.path)
    await until_search(peer, succeeds=True)
    await caught_up(services)
    damage_all_but_the_first_page(services.search.path)
    await until_search(peer, succeeds=False)

    assert "soon after a rebuild" in (await peer.call("stats"))["search_problem"]


async def until_search(peer: Peer, *, succeeds: bool) -> None:
    """Add and search until searching works, or until it is said not to."""
    with anyio.fail_after(PATIENCE):
        while True:
            await peer.call("add", "tapes", "more words")
            try:
                if texts(await peer.call("search", "clean tape deck")) and succeeds:
                    return
            except Storage as error:
                if not succeeds and "soon after" in str(error):
                    return
            await anyio.sleep(0.005)  # between two polls: what builds the index has the same core


async def test_the_newest_event_is_purged_before_it_is_indexed(services: Services, connect: Connect) -> None:
    """The index lacks nothing, although it never has an event that is gone."""
    async with anyio.create_task_group() as tasks:
        peer = connect()
        await peer.call("add", {"agent": "left", "messages": "a word", "create": True})
        await peer.call("create", "gone")
        await peer.call("purge", "gone")
        tasks.start_soon(services.search.run)
        await caught_up(services)
        found = await peer.call("search", "word")
        tasks.cancel_scope.cancel()

    assert (["a word"], 0) == (texts(found), found["behind"])


async def test_what_comes_back_by_way_of_a_clone(peer: Peer, services: Services) -> None:
    """An agent's own message is in its conversation again after it took over the state of its clone."""
    for text in ("before", "apart"):
        await peer.call("add", {"agent": "own", "messages": text, "create": True})
    await peer.call("clone", "own", {"at": 2, "name": "copy"})
    await peer.call("add", "copy", "more")
    await peer.call("clear", "own")
    await caught_up(services)
    cleared = await peer.call("search", "before OR apart", {"agent": "own"})
    await peer.call("clone", "copy", {"into": "own"})
    await caught_up(services)
    back = await peer.call("search", "before OR apart", {"agent": "own"})

    live = [{hit["snippet"]: hit["live"] for hit in reply["hits"]} for reply in (cleared, back)]
    assert [{"before": False, "apart": False}, {"before": True, "apart": False}] == live


@pytest.mark.parametrize("order", [None, "newest", "best", "fresh"])
async def test_patterns_in_every_order(peer: Peer, order: str | None) -> None:
    """A pattern is a condition in every order, and its matches are marked; pages go on where the last one ended."""
    seen: list[str] = []
    after: dict[str, str] = {}
    while True:
        reply = await peer.call(
            "search", "has:EcK", {"limit": 1, **({} if order is None else {"order": order}), **after}
        )
        seen += [hit["snippet"][slice(*hit["matches"][0])] for hit in reply["hits"]]
        if not reply["more"]:
            break
        after = {"after": reply["next"]}

    assert ["eck"] * 3 == seen


async def test_words_that_very_many_have(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of the best hits says so if not all events with the words were ranked."""
    assert "partial" not in await peer.call("search", "deck", {"order": "best"})
    monkeypatch.setattr(planning, "MOST_EVENTS", 1)
    found = await peer.call("search", "deck", {"order": "best"})

    assert found["partial"]
    assert ["deck parseHttpUrl"] == [hit["snippet"] for hit in found["hits"]]


async def test_a_page_without_time(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages that end early lose nothing: the next one goes on where all volumes have arrived."""
    monkeypatch.setattr(hit_pages, "_PATIENCE", 0.0)
    monkeypatch.setattr(finding, "_SECONDS", 0.0)
    monkeypatch.setattr(finding, "_LOOKED_AT", 2)
    seen: list[str] = []
    reply = await peer.call("search", "has:deck", {"order": "newest", "limit": 2})
    seen += texts(reply)
    while reply["more"]:
        reply = await peer.call("search", "has:deck", {"order": "newest", "limit": 2, "after": reply["next"]})
        seen += texts(reply)

    assert ["deck parseHttpUrl", "a deck of cards", "how do I clean a tape deck?"] == seen


async def test_a_pattern_that_is_none(peer: Peer) -> None:
    """A pattern that cannot be used is refused, with its place."""
    with pytest.raises(InvalidParams, match="at most 1000 are allowed, at character 10 of the query"):
        await peer.call("search", f"deck has:{'x' * 50_000}")
