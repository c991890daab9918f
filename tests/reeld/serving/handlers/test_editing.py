"""The method ``edits``, and the filter ``file:`` of a search, over a store of the test's own."""

from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

from reel.base.errors import InvalidParams, NotFound
from reeld.serving.call import Services
from tests.patience import PATIENCE
from tests.reeld.serving.conftest import Connect, Peer

pytestmark = pytest.mark.slow


def calls(*named: tuple[str, str, str]) -> dict[str, Any]:
    """Return a message with calls: the id, the tool and the arguments of each."""
    blocks = [{"type": "tool_call", "id": call, "name": name, "arguments": given} for call, name, given in named]
    return {"role": "assistant", "content": blocks}


def result(call: str, output: str) -> dict[str, Any]:
    """Return a message with a result."""
    return {"role": "tool", "content": [{"type": "tool_result", "tool_call_id": call, "content": output}]}


@pytest.fixture
async def peer(services: Services, connect: Connect) -> AsyncIterator[Peer]:
    """A connection to a daemon that fills its index, with two conversations that touch files of one name."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(services.search.run)
        peer = connect()
        for name, directory in (("one", "/p"), ("two", "/q")):
            await peer.call("create", name, {"tags": {"cwd": directory}})
            await peer.call("add", name, "mend the retries")
        await peer.call(
            "add",
            "one",
            [
                calls(("c1", "Write", '{"file_path": "a.py", "content": "x"}'), ("c2", "Bash", '{"command": "make"}')),
                result("c1", "done"),
                result("c2", "fine"),
            ],
        )
        await peer.call("add", "two", [calls(("c1", "Read", '{"file_path": "/q/src/a.py"}')), result("c1", "x")])
        yield peer
        tasks.cancel_scope.cancel()


async def edits(peer: Peer, **asked: Any) -> list[tuple[str, str, str]]:
    """Return the conversation, the deed and the path of edits."""
    with anyio.fail_after(PATIENCE):
        page = await peer.call("edits", {"wait": 10_000, **asked})
    return [(edit["name"], edit["deed"], edit["path"]) for edit in page["edits"]]


async def test_edits(peer: Peer) -> None:
    """Edits of all conversations are listed, the last one first, and are chosen by what is asked for."""
    read, ran, wrote = ("two", "read", "/q/src/a.py"), ("one", "ran", "/p"), ("one", "wrote", "/p/a.py")

    assert [read, ran, wrote] == await edits(peer)
    assert [read, wrote] == await edits(peer, path="a.py")
    assert [wrote] == await edits(peer, path="/p/a.py")
    assert [wrote] == await edits(peer, path="a.py", dirs=["/p"])
    assert [] == await edits(peer, agent="one", dirs=["/q"])
    assert [ran] == await edits(peer, agent="one", deed="ran")
    assert [ran] == await edits(peer, command="make")
    assert [] == await edits(peer, command="ake")


async def test_pages(peer: Peer) -> None:
    """A page ends after as many edits as are asked for, and the next one begins there."""
    assert 3 == len(await edits(peer))
    first = await peer.call("edits", {"limit": 2})
    rest = await peer.call("edits", {"limit": 2, "after": first["next"]})

    assert (2, True) == (len(first["edits"]), first["more"])
    assert (1, False, None, 0) == (len(rest["edits"]), rest["more"], rest.get("next"), rest["behind"])


async def test_private_conversations(peer: Peer) -> None:
    """A reader without a tag sees no edit of a conversation that has it, also if it names it."""
    await peer.call("change", "one", {"tags": {"private": "1"}})

    assert [("two", "read", "/q/src/a.py")] == await edits(peer, without_tag="private")
    assert [] == await edits(peer, agent="one", without_tag="private")


async def test_what_was_undone(peer: Peer) -> None:
    """An edit that was undone says that its message is not in the conversation."""
    assert 3 == len(await edits(peer))
    await peer.call("clear", "one")
    page = await peer.call("edits", {"wait": 10_000})

    assert {"one": False, "two": True} == {edit["name"]: edit["live"] for edit in page["edits"]}


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"path": ""}, "expected the path of a file"),
        ({"path": "//"}, "expected the path of a file"),
        ({"path": "a" * 5000}, "at most 4096"),
        ({"deed": "writ"}, "did you mean"),
        ({"after": "1.2"}, "of an earlier page"),
        ({"command": ""}, "must have 1 to 256"),
        ({"limit": 0}, "limit"),
    ],
)
async def test_refusals(peer: Peer, asked: dict[str, Any], reason: str) -> None:
    """What means nothing is refused, with the reason."""
    with pytest.raises(InvalidParams, match=reason):
        await peer.call("edits", asked)


async def test_an_unknown_conversation(peer: Peer) -> None:
    """A conversation that does not exist is an error, as in a search."""
    with pytest.raises(NotFound):
        await peer.call("edits", {"agent": "nobody"})


async def test_search_in_conversations_with_a_file(peer: Peer) -> None:
    """``file:`` finds what was said where the file was read or written."""

    async def found(query: str) -> list[str]:
        page = await peer.call("search", query, {"wait": 10_000})
        return [hit["name"] for hit in page["hits"]]

    assert ["two", "one"] == await found("retries")
    assert ["two", "one"] == await found("retries file:a.py")
    assert ["two"] == await found("retries file:src/a.py")
    assert ["one"] == await found("retries file:/p/a.py")
    assert [] == await found("retries file:b.py")
    assert [] == await found("retries file:a.py file:src/a.py agent:one")
