"""The pages at their addresses, read from a real daemon."""

import re
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import anyio
import pytest

import reel
from reel.sync.client import Client
from reel.viewing.exchange import Request, Response
from reel.viewing.guard import Guard
from reel.viewing.site import Site
from tests.daemon import Daemon, until_indexed
from tests.patience import PATIENCE
from tests.reel.viewing.test_guard import HOST, PORT, cookie, entrance


class Visitor:
    """A browser with a session."""

    def __init__(self, site: Site, guard: Guard) -> None:
        self._site = site
        self._cookie = cookie(guard.check(entrance(guard)))

    async def get(self, target: str, **headers: str) -> Response:
        """Return the response to a request."""
        address = urlsplit(target)
        query = dict(parse_qsl(address.query, keep_blank_values=True))
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self._site.answer(
            Request("GET", address.path, query, {"host": HOST, "cookie": self._cookie, **named})
        )

    async def read(self, target: str, status: int = 200) -> str:
        """Return the text of a response."""
        response = await self.get(target)
        assert isinstance(response.body, bytes)
        assert status == response.status, response.body
        return response.body.decode()


@pytest.fixture
async def visitor(daemon: Daemon) -> AsyncIterator[Visitor]:
    """A browser that looks at the pages of the daemon."""
    guard = Guard(PORT, "/")
    with anyio.fail_after(PATIENCE):
        async with reel.aio.connect(daemon.socket, patience=0) as connected:
            yield Visitor(Site(connected, guard), guard)


@pytest.fixture(scope="module", autouse=True)
def talk(daemon: Daemon) -> str:
    """The id of a conversation with a branch, a clone and some usage: seqs 1 to 7."""
    with daemon.client() as client:
        made = client.create("talk", title="Tapes", system="Be brief.")
        client.add("talk", "What is a tape deck?")
        client.add("talk", [{"role": "assistant", "content": "A **machine**."}])
        client.clone("talk", "copy")
        client.undo("talk")
        client.add("talk", "What is a reel?")
        usage = '{"provider": "p", "model": "m", "usage": {"input_tokens": 1234, "output_tokens": 5}}'
        client.add("talk", [{"kind": "usage", "data_json": usage}])
        for number in range(100):
            client.add("long", f"Message {number}", create=True)
        until_indexed(client)
        return made.id


def ids(page: str) -> list[int]:
    """Return the seqs of the messages that are on a page."""
    return [int(seq) for seq in re.findall(r'id="m(\d+)"', page)]


async def test_the_first_page(visitor: Visitor) -> None:
    """It has the list, and nothing else of a conversation; with a search, its results in place of the list."""
    page, found = await visitor.read("/"), await visitor.read("/?q=machine")

    assert {"talk", "copy", "long"} <= set(re.findall(r"<b>(\S+?)</b>", page))
    assert 'data-kind="home"' in page
    assert "<mark>machine</mark>" in found
    assert 'value="machine"' in found


async def test_a_conversation(visitor: Visitor, talk: str) -> None:
    """Its page says what the script needs: whose it is, and from which event on it is followed."""
    page = await visitor.read("/conversation?agent=talk")

    assert f'data-agent="{talk}" data-since="7"' in page
    assert "<title>Tapes · reel</title>" in page
    assert "What is a reel?" in page
    assert "Be brief." in page


async def test_what_a_conversation_waits_for(visitor: Visitor, client: Client) -> None:
    """It is said below the conversation, and nowhere in what it was before or in one that waits for nobody."""
    asks: Any = {"type": "opaque", "provider": "x", "data_json": '{"type": "approval_request", "name": "<rm>"}'}
    client.add("asks", [{"role": "assistant", "content": [asks]}], create=True)
    client.add("asks", [{"kind": "note", "content": "later"}])
    pages = [await visitor.read(f"/conversation?agent={name}") for name in ("asks", "asks&at=2", "talk")]

    said = '<p id="waits" class="note" role="status">waiting for an approval: &lt;rm&gt;</p>'
    assert [True, False, False] == [said in page for page in pages]


async def test_a_conversation_as_it_was(visitor: Visitor) -> None:
    """Its page is not followed; a position after the end is the end."""
    page = await visitor.read("/conversation?agent=talk&at=4")
    later = await visitor.read("/conversation?agent=talk&at=99")

    assert ([3, 4], True, False) == (ids(page), 'data-at="4"' in page, "data-since" in page)
    assert (True, True) == ("What is a reel?" in later, "data-since" in later)


async def test_pieces_of_a_long_conversation(visitor: Visitor) -> None:
    """The end comes first; what is linked to comes with what is around it; a page that is read again has as much."""
    end = ids(await visitor.read("/conversation?agent=long"))
    around = ids(await visitor.read("/conversation?agent=long&around=30"))
    again = ids(await visitor.read("/conversation?agent=long&first=12"))

    assert [*range(42, 102)] == end
    assert [*range(10, 91)] == around
    assert [*range(12, 102)] == again


async def test_pieces_that_are_loaded_later(visitor: Visitor) -> None:
    """A piece goes on where the page ends, says where it ends itself, and is not a whole page."""
    before = await visitor.read("/parts?agent=long&before=42")
    after = await visitor.read("/parts?agent=long&after=90")
    beginning = await visitor.read("/parts?agent=long&before=2")

    assert before.startswith('<div class="piece" data-first="1" data-last="41" data-head="101">')
    assert [*range(2, 42)] == ids(before)
    assert [*range(91, 102)] == ids(after)
    assert [] == ids(beginning)


async def test_branches(visitor: Visitor, talk: str) -> None:
    """What was left behind is linked to as it was."""
    page = await visitor.read("/branches?agent=talk")

    assert f'href="/conversation?agent={talk}&amp;at=4"' in page
    assert "clone copy at #4" in page


async def test_differences(visitor: Visitor) -> None:
    """Two moments are compared; the form keeps what was asked; without a second one there is the form alone."""
    page = await visitor.read("/differences?one=talk@4&other=talk")
    form = await visitor.read("/differences?agent=talk&at=4")
    wrong = await visitor.read("/differences?one=talk&other=nobody", 400)

    assert (True, True) == ("only in the first" in page, "only in the second" in page)
    assert 'name="one" value="talk@4"' in form
    assert 'name="other" value="talk"' in form
    assert 'name="other" value="nobody"' in wrong
    assert 'role="alert">' in wrong


@pytest.mark.parametrize(
    ("one", "heard"),
    [("talk@~0", "What is a reel?"), ("talk@~1", "What is a tape deck?"), ("talk@~9", "is before the beginning")],
)
async def test_positions_from_the_end(visitor: Visitor, one: str, heard: str) -> None:
    """A moment may be counted from the last message."""
    page = await visitor.get(f"/differences?one={one}&other=copy@1")

    assert isinstance(page.body, bytes)
    assert heard in page.body.decode()


async def test_usage(visitor: Visitor) -> None:
    """Tokens are summed by model, unless another known grouping is asked for."""
    pages = [await visitor.read(f"/usage?agent=talk{more}") for more in ("", "&by=hologram", "&by=day", "&by=tag:x")]

    assert ["model", "model", "day", "tag:x"] == [
        found for page in pages for found in re.findall(r'<thead><tr><th scope="col">(\S+?)</th>', page)
    ]
    assert '<th scope="row">m</th><td>1</td><td>1,234</td>' in pages[0]


async def test_the_list(visitor: Visitor, talk: str) -> None:
    """It is a piece of a page: the conversations, the current one marked, or what was found."""
    listed = await visitor.read(f"/list?current={talk}&q=%20")
    found = await visitor.read("/list?q=nothing-like-this")

    assert 1 == listed.count('aria-current="page"')
    assert "<html" not in listed
    assert "Nothing was found." in found


async def test_pages_of_the_list(visitor: Visitor, client: Client) -> None:
    """A long list leads to the rest of it, without a conversation twice."""
    for number in range(61):
        client.create(f"crowd-{number}")
    first = await visitor.read("/list")
    (more,) = re.findall(r'<li class="more"><a href="(\S+?)">', first)
    second = await visitor.read(more.replace("&amp;", "&"))

    names = re.findall(r"<b>(\S+?)</b>", first + second)
    assert {f"crowd-{number}" for number in range(61)} <= set(names)
    assert len(names) == len({*names})


@pytest.mark.parametrize(
    ("target", "status", "title"),
    [
        ("/nothing", 404, "Not found"),
        ("/conversation", 404, "This cannot be shown"),
        ("/conversation?agent=nobody", 404, "This cannot be shown"),
        ("/parts?agent=nobody", 404, "This cannot be shown"),
        ("/usage?agent=nobody", 404, "This cannot be shown"),
        ("/live?agent=talk&since=x", 400, "This cannot be shown"),
        ("/live?agent=talk&since=" + "9" * 16, 400, "This cannot be shown"),
    ],
)
async def test_what_cannot_be_shown(visitor: Visitor, target: str, status: int, title: str) -> None:
    """The page says why."""
    assert f"<h1>{title}</h1>" in await visitor.read(target, status)


async def test_the_place_of_a_browser_that_comes_back(visitor: Visitor) -> None:
    """It says which event it saw last, which counts more than the address."""
    wrong = await visitor.get("/live?agent=talk&since=2", last_event_id="x")
    right = await visitor.get("/live?agent=talk&since=x", last_event_id="2")

    assert (400, 200) == (wrong.status, right.status)
    assert "text/event-stream" == right.content_type


async def test_what_pages_are_made_with(visitor: Visitor) -> None:
    """The script and the style are served as such."""
    style, script = await visitor.get("/view.css"), await visitor.get("/view.js")

    assert ("text/css; charset=utf-8", "text/javascript; charset=utf-8") == (style.content_type, script.content_type)
    assert all(isinstance(found.body, bytes) and found.body for found in (style, script))


async def test_without_a_session(visitor: Visitor) -> None:
    """No address is looked at before the guard has let the request in."""
    assert 403 == (await visitor.get("/conversation?agent=nobody", cookie="")).status


async def test_without_a_daemon(prepared: Daemon) -> None:
    """The page says that the daemon is away, and when to try again."""
    guard = Guard(PORT, "/")
    await anyio.to_thread.run_sync(prepared.start)
    async with reel.aio.connect(prepared.socket, patience=0) as connected:
        visitor = Visitor(Site(connected, guard), guard)
        await visitor.read("/")
        await anyio.to_thread.run_sync(prepared.end)

        assert "Reload this page when it is back." in await visitor.read("/", 503)
