"""``add`` through a connection: an agent that is made, and messages that replace others or are known."""

import anyio
import pytest

from reel.base.errors import InvalidParams, Killed, NotFound
from reeld.serving.call import Services
from tests.patience import PATIENCE
from tests.reeld.serving.conftest import Connect, texts


async def test_a_new_agent_gets_its_tags(connect: Connect) -> None:
    """The tags are those of an agent that the command makes; one that exists keeps its own."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        for tags in ({"a": "b"}, {"c": "d"}):
            await peer.call("add", "demo", "hi", {"create": True, "tags": tags})
            assert {"a": "b"} == (await peer.call("agent", "demo"))["tags"]

        with pytest.raises(InvalidParams, match="tags: only a new agent gets them"):
            await peer.call("add", "demo", "hi", {"tags": {}})


@pytest.mark.parametrize("live", [True, False])
async def test_the_name_of_a_killed_agent_is_free(connect: Connect, services: Services, live: bool) -> None:
    """An agent is made under the name of a killed one, which is still found by its id and not added to."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        old = await peer.call("create", "demo")
        await peer.call("kill", "demo")
        if not live:
            services.registry.residency.evict_idle(keep=0)
        for address in ("demo", old["id"]):
            with pytest.raises(Killed):
                await peer.call("add", address, "hi", *([{"create": True}] if address != "demo" else []))

        new = await peer.call("add", "demo", "hi", {"create": True})
        assert new["agent"] != old["id"]
        assert new["agent"] == (await peer.call("add", "demo", "again", {"create": True}))["agent"]


async def test_nothing_can_be_replaced_in_a_new_agent(connect: Connect) -> None:
    """A missing agent has no message to replace, and is not made."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        with pytest.raises(NotFound, match="no agent demo, and so no message 2 to replace"):
            await peer.call("add", "demo", "hi", {"create": True, "from": 2})

        assert [] == (await peer.call("agents"))["agents"]


async def test_pipelined_adds_of_known_messages(connect: Connect) -> None:
    """Adds with references keep their order among others, and each knows what those before it added."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        said = {"role": "user", "content": "old", "ref": "x"}
        added = ("add", "demo", [said], {"create": True})
        outcomes = await peer.ask(added, ("add", "demo", "one"), added, ("add", "demo", [said, "two"], {"from": 3}))

        known = [outcome.get("known") for outcome in outcomes if isinstance(outcome, dict)]
        assert [None, None, *[[{"index": 0, "seq": 2}]] * 2] == known
        assert ["old", "two"] == await texts(peer, "demo")


async def test_live_notes_follow_undo(connect: Connect) -> None:
    """A note that was added with messages is live as long as these are not taken back."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        note = {"kind": "note", "content": "beside"}
        await peer.call("add", "demo", ["one", note], {"create": True})
        await peer.call("add", "demo", ["two", note])

        async def notes() -> list[int]:
            found = await peer.call("history", {"agent": "demo", "kinds": ["note"], "live": True})
            return [event["seq"] for event in found["events"]]

        assert [3, 5] == await notes()
        await peer.call("undo", "demo")
        assert [3] == await notes()
        await peer.call("redo", "demo")
        assert [3, 5] == await notes()
        (newest,) = (await peer.call("history", {"agent": "demo", "last": 1, "before": 5}))["events"]
        assert "two" == newest["content"]
