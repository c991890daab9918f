"""A key that was used for one agent is refused for another, for every command."""

import json
from typing import Any

import anyio
import pytest

from reel.base.errors import Conflict
from reeld.serving.call import Services
from reeld.serving.methods import METHODS
from tests.patience import PATIENCE
from tests.reeld.serving.conftest import Connect, Peer

RESPONSE = json.dumps({"choices": [{"message": {"role": "assistant", "content": "That."}, "finish_reason": "stop"}]})
REQUEST = json.dumps({"messages": [{"role": "user", "content": "What?"}]})

# The parameters of each command beside the agent and the key.
COMMANDS: dict[str, dict[str, Any]] = {
    "add": {"messages": "x"},
    "append": {"events": [{"role": "user", "content": "x"}]},
    "clear": {},
    "clone": {},
    "mark": {},
    "rewind": {},
    "restore": {"at": 1},
    "undo": {},
    "redo": {},
    "kill": {},
    "revive": {},
    "change": {"title": "T"},
    "redact": {"text": "one"},
    "prune": {"before": 100},
    "ingest": {"format": "openai-chat", "body": RESPONSE},
    "load": {"format": "openai-chat", "body": REQUEST},
}
every_command = pytest.mark.parametrize("method", COMMANDS)


async def prepare(peer: Peer, method: str) -> None:
    """Make two agents with the same history, so that the command is possible."""
    for name in ("a", "b"):
        await peer.call("create", name)
        await peer.call("mark", name)
        await peer.call("add", name, ["one"])
        await peer.call("add", name, ["two"])
        await peer.call("undo", name)
        if method == "prune":
            await peer.call("add", name, ["three"])
        if method == "revive":
            await peer.call("kill", name)


def test_every_command_is_tried() -> None:
    """The table above has every command about an agent that leaves the agent there."""
    about_agents = {method.name for method in METHODS.values() if method.needs_agent and method.is_command}
    assert about_agents - {"purge"} == set(COMMANDS)


async def test_the_key_of_a_purge(connect: Connect) -> None:
    """A purge is repeated under its key although the agent is gone, and the key is refused for another agent."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.call("create", "a")
        await peer.call("create", "b")
        first = await peer.call("purge", "a", {"key": "k"})
        (refused,) = await peer.ask(("purge", "b", {"key": "k"}))

        assert {**first, "repeated": True} == await peer.call("purge", "a", {"key": "k"})
        assert isinstance(refused, Conflict)
        assert "b" == (await peer.call("agents"))["agents"][0]["name"]


@every_command
async def test_a_key_with_another_agent(connect: Connect, method: str) -> None:
    """The error names the agent that the key was used for, and nothing is written."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await prepare(peer, method)
        first = await peer.call(method, "a", {**COMMANDS[method], "key": "k"})
        before = await peer.call("stats")
        (refused,) = await peer.ask((method, "b", {**COMMANDS[method], "key": "k"}))
        again = await peer.call(method, "a", {**COMMANDS[method], "key": "k"})

        assert isinstance(refused, Conflict)
        assert "the key k was used for the agent a; make a new key for each command" == refused.message
        assert again["repeated"]
        assert first["command"] == again["command"]
        assert before["newest_event"] == (await peer.call("stats"))["newest_event"]


@every_command
async def test_a_key_of_an_agent_that_had_to_be_found(connect: Connect, services: Services, method: str) -> None:
    """A command for an agent that is not live is remembered under its key, as one for a live agent is."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await prepare(peer, method)
        services.registry.residency.evict_idle(keep=0)
        first = await peer.call(method, "a", {**COMMANDS[method], "key": "k"})
        again = await peer.call(method, "a", {**COMMANDS[method], "key": "k"})

        assert {**first, "repeated": True} == again


@pytest.mark.parametrize("method", [name for name, method in METHODS.items() if method.may_create])
async def test_an_agent_that_would_be_made(connect: Connect, method: str) -> None:
    """A key that was used for another agent creates none; a retry of the creating command is answered."""
    given = {**COMMANDS[method], "create": True, "key": "k"}
    with anyio.fail_after(PATIENCE):
        peer = connect()
        first = await peer.call(method, "a", given)
        (refused,) = await peer.ask((method, "b", given))
        again = await peer.call(method, "a", given)

        assert isinstance(refused, Conflict)
        assert refused.message.startswith("the key k was used for the agent a; ")
        assert {**first, "repeated": True} == again
        assert ["a"] == [agent["name"] for agent in (await peer.call("agents"))["agents"]]


async def test_an_agent_that_is_not_live(connect: Connect, services: Services) -> None:
    """A retry after a rename is answered, whether the agent is live or has to be found."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        made = await peer.call("create", "a")
        first = await peer.call("add", "a", "x", {"key": "k"})
        await peer.call("change", "a", "renamed")
        services.registry.residency.evict_idle(keep=0)
        again = [await peer.call("add", address, "x", {"key": "k"}) for address in (made["id"], "renamed", "a")]

    assert [{**first, "repeated": True}] * 3 == again
