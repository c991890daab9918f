"""The method ``verify``: what it reports, whom it asks, and that it changes nothing."""

import sqlite3
from contextlib import closing
from typing import Any

import anyio
import pytest

from reel.base.errors import NotFound
from reeld.agents.asking import lock
from reeld.core.state import State
from reeld.serving.call import Services
from tests.patience import PATIENCE
from tests.reeld.serving.conftest import Connect, Peer
from tests.reeld.verify.damage import damage


async def filled(connect: Connect) -> Peer:
    """A peer, and two agents."""
    peer = connect()
    for call in (("create", "one"), ("add", "one", "hi"), ("clone", "one", "two")):
        await peer.call(*call)
    return peer


async def live_state(services: Services, name: str) -> State:
    """Return the live state of an agent."""
    return (await services.registry.find(name)).committed


async def test_verify_of_an_empty_database(connect: Connect) -> None:
    """An empty database has no problems."""
    assert {"agents": 0, "events": 0, "problems": [], "omitted": 0} == await connect().call("verify")


async def test_verify_of_all_and_of_one(connect: Connect) -> None:
    """Without an agent all are checked, with one only that one; an unknown agent is refused."""
    peer = await filled(connect)

    everything, one = await peer.call("verify"), await peer.call("verify", "two")
    assert {"agents": 2, "events": 3, "problems": [], "omitted": 0} == everything
    assert {"agents": 1, "events": 1, "problems": [], "omitted": 0} == one
    with pytest.raises(NotFound):
        await peer.call("verify", "three")


async def test_what_was_asked_for_before_is_checked(connect: Connect) -> None:
    """A check of an agent runs after the connection's earlier commands to that agent."""
    peer = await filled(connect)
    *_, checked = await peer.ask(*[("add", "one", "more")] * 20, ("verify", "one"))

    assert isinstance(checked, dict)
    assert 22 == checked["events"]


async def test_verify_reports_a_wrong_live_state(connect: Connect, services: Services) -> None:
    """A live state that differs from its log is reported, and stays as it is: only replay repairs it."""
    peer = await filled(connect)
    del (await live_state(services, "one")).conversation.entries[0]

    (problem,) = (await peer.call("verify"))["problems"]
    assert ("living", "one") == (problem["what"], problem["name"])
    assert [problem] == (await peer.call("verify", "one"))["problems"]
    assert [] == (await peer.call("verify", "two"))["problems"]
    assert not (await peer.call("replay", "one"))["matched"]
    assert [] == (await peer.call("verify"))["problems"]


async def test_an_agent_that_cannot_be_asked(connect: Connect, services: Services) -> None:
    """An agent that cannot be asked is reported, and the others are checked."""
    peer = await filled(connect)
    agent = await services.registry.find("one")
    agent._mailbox.extend([None] * 8192)  # type: ignore[list-item]
    checked = await peer.call("verify")
    agent._mailbox.clear()

    assert [("unchecked", 3)] == [(problem["what"], checked["events"]) for problem in checked["problems"]]


async def test_an_agent_that_goes_while_it_is_asked(connect: Connect, services: Services) -> None:
    """An agent that is purged while a check waits for it has no state to compare, and that is no problem."""
    peer = await filled(connect)
    agent = await services.registry.find("one")
    with anyio.fail_after(PATIENCE):
        async with lock(services.registry, [agent]):
            await peer.send(peer.encoded(("verify",)))
            while not agent.waiting:
                await anyio.lowlevel.checkpoint()
            services.registry.remove(agent)
        checked = await peer.answer(peer._sent)

    assert isinstance(checked, dict)
    assert [] == checked["problems"]


@pytest.mark.slow
async def test_an_agent_that_is_evicted_during_a_check(connect: Connect, services: Services) -> None:
    """An agent that is evicted before its turn in a check is not compared, and is not started for it."""
    peer = await filled(connect)
    first, _ = [await services.registry.find(name) for name in ("one", "two")]
    with anyio.fail_after(PATIENCE):
        async with lock(services.registry, [first]):
            jobs = len(first._mailbox)
            await peer.send(peer.encoded(("verify",)))
            while len(first._mailbox) == jobs:  # the check waits for the first agent
                await anyio.lowlevel.checkpoint()
            services.registry.residency.evict_idle(keep=0)
        checked = await peer.answer(4)

    assert isinstance(checked, dict)
    assert [] == checked["problems"]
    assert services.registry.get("two") is None


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("UPDATE events SET parent = 99 WHERE id = 2", {"what": "parent_missing", "name": "one", "seq": 2, "id": 2}),
        ("DROP INDEX agents_by_name", {"what": "schema"}),
    ],
)
async def test_a_problem_has_a_place_and_a_reason(
    connect: Connect, services: Services, statement: str, expected: dict[str, Any]
) -> None:
    """A problem has its word, the reason, and its place."""
    peer = await filled(connect)
    uid = (await live_state(services, "one")).profile.uid
    damage(services.store.path, statement)

    problem = (await peer.call("verify"))["problems"][-1]
    assert problem.pop("reason")
    assert expected == {field: value for field, value in problem.items() if field != "agent"}
    assert problem.get("agent") == (uid if "seq" in expected else None)


async def test_key_of_a_dead_root(connect: Connect) -> None:
    """A key that killed only the clones of a dead agent belongs to the command that wrote their deaths."""
    peer = await filled(connect)
    await peer.call("kill", "one")
    killed = await peer.call("kill", "one", {"cascade": True, "key": "k"})
    repeated = await peer.call("kill", "one", {"cascade": True, "key": "k"})

    assert ({**killed, "repeated": True}, 1) == (repeated, len(killed["killed"]))
    assert [] == (await peer.call("verify"))["problems"]


async def test_checks_run_one_after_the_other(connect: Connect) -> None:
    """Checks wait for one another, and other requests do not wait."""
    peer = await filled(connect)
    outcomes = await peer.ask(*[("verify",)] * 5, ("ping",), ("verify", "one"))

    assert [3, 3, 3, 3, 3, None, 2] == [outcome.get("events") for outcome in outcomes if isinstance(outcome, dict)]


async def test_a_damaged_event_is_named(connect: Connect, services: Services) -> None:
    """An agent with a damaged event is checked, and the event is named."""
    peer = await filled(connect)
    services.registry.residency.evict_idle(keep=0)
    damage(services.store.path, "UPDATE events SET content = CAST(x'ff' AS TEXT) WHERE id = 2")

    (problem,) = (await peer.call("verify", "one"))["problems"]
    assert ("checksum", 2) == (problem["what"], problem["seq"])
    with closing(sqlite3.connect(services.store.path)) as connection:
        assert ("ok",) == connection.execute("PRAGMA integrity_check").fetchone()
