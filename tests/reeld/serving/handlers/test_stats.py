"""What the daemon counts of requests, agents and connections."""

from typing import Any

import anyio
import pytest

from reel.base.errors import ReelError
from reeld.serving.call import Services
from reeld.serving.flow import Limits, Traffic
from reeld.serving.stats import collect, details
from tests.patience import PATIENCE
from tests.reeld.serving.conftest import Connect, Peer


def timed(peer: Peer, *methods: str) -> Traffic:
    """Return what the connections of a peer have in flight, with histograms of some methods."""
    peer.load.request_seconds = Traffic(methods).request_seconds
    return peer.load


def calls(load: Traffic) -> dict[str, int]:
    """Return how many requests of each method were timed."""
    return {method: sum(seconds.as_map()["counts"]) for method, seconds in load.request_seconds.items()}


async def test_requests_are_timed_by_method(connect: Connect) -> None:
    """A request is timed once, whether it succeeds or not; a method that a client invents is not."""
    peer = connect()
    load = timed(peer, "create", "add", "ping")
    with anyio.fail_after(PATIENCE):
        await peer.ask(("create", "demo"), ("add", "demo", "a"), ("add", "none", "b"), ("invented",))

    assert {"create": 1, "add": 2, "ping": 0} == calls(load)
    assert {"not_found": 1, "method_not_found": 1} == load.errors


async def test_a_repeated_command_is_no_error(connect: Connect) -> None:
    """The error of a command that was done before is not counted: its caller gets the first reply."""
    peer = connect()
    load = timed(peer, "create")
    with anyio.fail_after(PATIENCE):
        await peer.ask(*[("create", {"agent": "demo", "key": "k"})] * 2)

    assert ({"create": 2}, {}) == (calls(load), load.errors)


async def test_refused_requests_are_counted_as_errors(connect: Connect) -> None:
    """What is refused before it begins is an error, but has no time."""
    peer = connect(Limits(requests=1))
    load = timed(peer, "agents")
    with anyio.fail_after(PATIENCE):
        outcomes = await peer.ask(*[("agents",)] * 3)

    assert [False, True, True] == [isinstance(outcome, ReelError) for outcome in outcomes]
    assert ({"agents": 1}, {"busy": 2}, 2) == (calls(load), load.errors, load.refused)


async def test_who_follows_and_who_types(connect: Connect, services: Services) -> None:
    """Each agent in memory has the connections that follow it, and the names of the clients that are typing."""
    writer, reader, everything = connect(), connect(), connect()
    with anyio.fail_after(PATIENCE):
        await writer.call("hello", {"client": {"name": "nvim"}})
        await writer.ask(("create", "demo"), ("add", "demo", "a"), ("create", "other"), ("draft", "demo", "b"))
        await reader.call("subscribe", "demo")
        await everything.call("subscribe")
    found = details(services)
    (demo,) = [agent for agent in found["agent_details"] if agent["name"] == "demo"]

    assert (2, 0, [2], ["nvim"]) == (demo["head"], demo["jobs_waiting"], demo["followers"], demo["drafts"])
    assert [3] == found["followers"]
    counted = await collect(services)
    assert (2, 1, 3) == (counted["subscriptions"], counted["drafts"], counted["events_written"])
    assert 3 == sum(bound * count for bound, count in enumerate(counted["commit_events"]["counts"], 1))


async def test_a_connection_describes_itself(connect: Connect) -> None:
    """A connection is described by its client, and by what it asked for."""
    peer = connect()
    with anyio.fail_after(PATIENCE):
        await peer.call("hello", {"client": {"name": "nvim"}})
        await peer.call("subscribe")
    expected: dict[str, Any] = {
        "connection": 1,
        "client": "nvim",
        "pid": None,
        "answered": 2,
        "in_flight": 0,
        "bytes_waiting": 0,
        "subscriptions": 1,
    }

    assert expected == peer.connection.as_map()


@pytest.mark.parametrize("wanted", [False, True])
async def test_details_only_if_asked_for(connect: Connect, *, wanted: bool) -> None:
    """Agents and connections are described only if that is asked for."""
    peer = connect()
    with anyio.fail_after(PATIENCE):
        await peer.call("create", "demo")
        found = await peer.call("stats", {"details": wanted})

    assert wanted == ("agent_details" in found) == ("connection_details" in found)
