"""The roots of a client."""

from typing import Any

import anyio
import pytest

from reel.mcp.protocol.peer import Peer
from reel.mcp.roots import MOST_DIRECTORIES, directories_in
from tests.daemon import Daemon
from tests.reel.mcp.asking import asker


def roots(*uris: Any) -> dict[str, Any]:
    """Return the reply of a client with these roots."""
    return {"roots": [{"uri": uri} for uri in uris]}


def test_the_directories() -> None:
    """Roots are URIs, of which some are directories, in the order of the client."""
    found = directories_in(roots("file:///b/c%20d/", "https://example.com/a", "FILE:///a", "file:///b/c%20d"))

    assert ("/b/c d", "/a") == found


@pytest.mark.parametrize(
    "uri", ["file://[a/b", "file:///a%00b", f"file:///{'a' * 5000}", "file:///", "file:a", "", 5, None, ["file:///a"]]
)
def test_what_is_no_directory(uri: Any) -> None:
    """A root in which no conversation can be held is left out, and those beside it count."""
    assert ("/a",) == directories_in(roots(uri, "file:///a"))


@pytest.mark.parametrize("result", [None, [], "x", {}, {"roots": None}, {"roots": "x"}, {"roots": [None, 5, {}]}])
def test_what_are_no_roots(result: Any) -> None:
    """A client that answers with something else has no roots."""
    assert () == directories_in(result)


def test_very_many() -> None:
    """No more count than the daemon looks at."""
    many = directories_in(roots(*(f"file:///r/{number}" for number in range(500))))

    assert MOST_DIRECTORIES == len(many)
    assert "/r/0" == many[0]


class Changing(Peer):
    """A client whose roots change when they have just been told."""

    def __init__(self, forget: Any) -> None:
        self._forget = forget
        self._told = [roots("file:///before"), roots("file:///now\nhere%0Athere")]

    async def ask(self, method: str, params: dict[str, Any]) -> Any:
        """Tell the roots, and change them before anybody can look at what was told."""
        assert ("roots/list", {}) == (method, params)
        await anyio.lowlevel.checkpoint()
        if len(self._told) > 1:
            self._forget()
        return self._told.pop(0)


@pytest.mark.slow
async def test_a_change_while_they_are_told(daemon: Daemon) -> None:
    """Roots that change while they are told are asked for again, and a name with a line break makes no line."""
    async with asker(daemon, "/p") as ask:
        await ask.handle("initialize", protocolVersion="2025-06-18", capabilities={"roots": {}})
        ask.server.peer = Changing(ask.server.forget_roots)
        found = await ask("conversations")

    assert "There is no conversation in /nowhere\\nthere." == found.text.splitlines()[0]


class Many(Changing):
    """A client with more roots than the daemon looks at, and one whose name no file system takes."""

    async def ask(self, method: str, params: dict[str, Any]) -> Any:
        """Tell the roots."""
        assert ("roots/list", {}) == (method, params)
        return roots(f"file:///{'a' * 300}", *(f"file:///r/{number}" for number in range(500)))


@pytest.mark.slow
async def test_very_many_roots(daemon: Daemon) -> None:
    """Such a client is answered."""
    async with asker(daemon, "/p") as ask:
        await ask.handle("initialize", protocolVersion="2025-06-18", capabilities={"roots": {}})
        ask.server.peer = Many(ask.server.forget_roots)
        found = await ask("search", query="heron")

    assert not found.is_error
