"""Living agents are pruned of what nothing reaches any more and is old, some at a time."""

import json
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import anyio
import pytest

from reel.base.errors import Storage
from reel.base.strict_json import encode
from reeld.agents import pruning_old
from reeld.agents.clock import now
from reeld.agents.notice import PassOptions
from reeld.agents.pruning_old import PruningOld
from reeld.serving.call import Services
from reeld.serving.erasing_chores import Holders, keep_retention
from reeld.store.retention import DAY, Noted, Retention, Subject, note, noted
from tests.daemon import later
from tests.patience import PATIENCE
from tests.reeld.serving.conftest import Connect, Peer, texts
from tests.reeld.serving.handlers.test_erasing import intact
from tests.reeld.serving.handlers.test_pruning import files, replaced
from tests.reeld.serving.handlers.test_retention import age

# Prunes all that nothing reaches, however old it is.
AT_ONCE = Retention(history_days=0.0)


@pytest.fixture(autouse=True)
async def limit() -> AsyncIterator[None]:
    """A time limit for each test."""
    with anyio.fail_after(PATIENCE):
        yield


async def apply(services: Services, rules: Retention = AT_ONCE, since: int = 1) -> PruningOld:
    """Let a database remember a rule since some time; return what applies it to all that was written."""
    later()
    await services.store.write(lambda opened: note(opened, Subject.HISTORIES, Noted(rules.of_histories, since)))
    return PruningOld(rules)


async def a_pass(pruning: PruningOld, services: Services, most: int = 1000) -> int:
    """Do a pass; return how many events it has pruned."""
    before = pruning.done.events
    await pruning.run(services.registry, Holders(services), most)
    return pruning.done.events - before


async def cleared(peer: Peer, *names: str) -> None:
    """Make agents with a message that nothing reaches."""
    for name in names:
        await peer.call("add", name, "a secret", {"create": True})
        await peer.call("clear", name)
        await peer.call("add", name, "left")


async def test_what_is_old_goes(connect: Connect, services: Services) -> None:
    """It is in no file, which is smaller; what is young, marked, cloned or can be redone stays, and so do the dates."""
    peer = connect()
    await replaced(peer, "a")
    await peer.call("add", "marked", ["okapi"], {"create": True})
    await peer.call("mark", "marked", "m")
    await peer.call("clear", "marked")
    await peer.call("add", "cloned", ["tapir"], {"create": True})
    await peer.call("clone", "cloned", {"name": "copy"})
    await peer.call("clear", "cloned")
    await peer.call("add", "undone", ["stays"], {"create": True})
    await peer.call("add", "undone", ["quagga"])
    await peer.call("undo", "undone")
    age(services, "a", "marked", "cloned", "undone")
    services.registry.residency.evict_idle(keep=0)  # it is read again, with the times that it has now
    await cleared(peer, "young")
    await peer.call("add", "a", ["today"])
    listed = await peer.call("agents")
    size = sum(map(len, files(services)))
    pruning = await apply(services, Retention(history_days=30))
    done = await a_pass(pruning, services)

    assert (54, 1, True) == (done, pruning.done.agents, pruning.done.bytes > 1_950_000)
    assert not any(b"plugh" in each for each in files(services))
    assert all(any(word in each for each in files(services)) for word in (b"okapi", b"tapir", b"quagga", b"a secret"))
    assert sum(map(len, files(services))) < size - 1_500_000
    assert ["a summary", "and more", "today"] == await texts(peer, "a")
    await peer.call("restore", "marked", 3)
    await peer.call("redo", "undone")
    said = [await texts(peer, name) for name in ("marked", "copy", "undone")]
    assert [["okapi"], ["tapir"], ["stays", "quagga"]] == said
    updated = [[agent["updated"] for agent in each["agents"]] for each in (listed, await peer.call("agents"))]
    assert updated[0][0] == updated[1][0]
    assert await intact(peer)


async def test_who_is_pruned(connect: Connect, services: Services) -> None:
    """Agents that live and have the tag, whether or not somebody follows them, who then gets a reset."""
    peer = connect()
    for name in ("followed", "killed"):
        await peer.call("create", name, {"tags": {"keep": "short"}})
    await cleared(peer, "plain", "followed", "killed")
    await peer.call("kill", "killed")
    await peer.call("subscribe", "followed")
    await peer.pushed()
    await a_pass(pruning := await apply(services, AT_ONCE._replace(tag="keep=short")), services)

    assert 1 == pruning.done.agents
    assert ["event", "reset"] == [name for name, _ in await peer.pushed()]


async def test_a_pass_is_bounded(connect: Connect, services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    """Passes go through all agents, some at a time; a round begins a day after the last one, and skips idle agents."""
    peer = connect()
    names = [f"a{number}" for number in range(5)]
    await cleared(peer, *names)
    pruning = await apply(services)
    passes = [await a_pass(pruning, services, 2 * pruning_old._LEAST) for _ in range(4)]
    await peer.call("clear", "a3")
    same_day = await a_pass(pruning, services)
    tomorrow = now() + DAY + 1
    monkeypatch.setattr(pruning_old, "now", lambda: tomorrow)
    looked: list[Any] = []
    prune = pruning_old._Each.prune

    async def noting(each: Any, history: Any, until: int) -> Any:
        looked.append(history.uid)
        return await prune(each, history, until)

    monkeypatch.setattr(pruning_old._Each, "prune", noting)
    next_day = await a_pass(pruning, services)

    assert ([2, 2, 1, 0], 0, 1) == (passes, same_day, next_day)
    assert [(await peer.call("agent", "a3"))["id"]] == looked


async def test_what_a_clone_reached(connect: Connect, services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    """When a clone is purged, what only it reached goes with the next round, although its agent was idle."""
    peer = connect()
    await peer.call("add", "a", ["a secret"], {"create": True})
    await peer.call("clone", "a", {"name": "copy"})
    await peer.call("clear", "a")
    pruning = await apply(services)
    kept = await a_pass(pruning, services)
    await peer.call("purge", "copy")
    tomorrow = now() + DAY + 1
    monkeypatch.setattr(pruning_old, "now", lambda: tomorrow)

    assert (0, 1) == (kept, await a_pass(pruning, services))
    assert not any(b"a secret" in each for each in files(services))


async def test_replaced_values(connect: Connect, services: Services) -> None:
    """Of a value that was set often the newest stays, also in a log that never went back."""
    peer = connect()
    for value in ("a secret", "new"):
        row = {"kind": "state", "content": "key", "data_json": encode({"value": value})}
        await peer.call("add", "a", [row], {"create": True})

    assert 1 == await a_pass(await apply(services), services)
    assert ["new"] == [json.loads(each["data_json"])["value"] for each in (await peer.call("state", "a"))["values"]]


async def test_a_new_rule_waits_for_a_day(
    connect: Connect, services: Services, errors: Callable[[], list[str]]
) -> None:
    """It says so once, and what it would prune; then it prunes, or at once if somebody says so."""
    peer = connect()
    await cleared(peer, "a")
    later()
    pruning = PruningOld(AT_ONCE)
    assert [0, 0] == [await a_pass(pruning, services) for _ in range(2)]
    (said,) = errors()
    holders = Holders(services)
    tried = await pruning.prune(services.registry, holders, PassOptions(None, dry_run=True))
    waits = await pruning.prune(services.registry, holders, PassOptions(None))
    done = await pruning.prune(services.registry, holders, PassOptions(None, at_once=True))

    assert "nothing is pruned before" in said
    assert pruning.after is not None
    assert (1, 1, 0, 1) == (tried["histories_count"], tried["pruned"], waits["pruned"], done["pruned"])
    assert waits["history_after"] > now()
    assert "history_after" not in done


async def test_the_command(connect: Connect, services: Services) -> None:
    """``retention`` prunes as well, and says that it is off only if no setting removes anything."""
    peer = connect()
    await cleared(peer, "a")
    later()
    off = await peer.call("retention", {"now": True})
    services.pruning_old.rules = Retention(days=0.0)
    done = await peer.call("retention", {"now": True})

    assert (True, None) == (off["off"], off.get("pruned"))
    assert (False, 1, 1, []) == (done["off"], done["pruned"], done["histories_count"], done["purged"])
    assert 1 == (await peer.call("stats"))["retention_pruned_events"]


async def break_one(services: Services, name: str) -> None:
    """Let no event of an agent be erased."""
    row = (await services.registry.find(name)).row
    broken = f"""BEFORE INSERT ON erased_events WHEN (SELECT agent FROM events WHERE id = new.event) = {row}
        BEGIN SELECT RAISE(ABORT, 'broken'); END"""
    await services.store._database.run(lambda opened: opened.execute(f"CREATE TRIGGER broken {broken}"))


async def test_one_that_cannot_be_pruned(
    connect: Connect, services: Services, errors: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reason is told once; the others are pruned, and it is tried again in the next round."""
    peer = connect()
    await cleared(peer, "broken", "fine")
    await break_one(services, "broken")
    pruning = await apply(services)
    first = await a_pass(pruning, services)
    problem = pruning.problem
    await services.store._database.run(lambda opened: opened.execute("DROP TRIGGER broken"))
    tomorrow = now() + DAY + 1
    monkeypatch.setattr(pruning_old, "now", lambda: tomorrow)

    assert (1, 1, None) == (first, await a_pass(pruning, services), pruning.problem)
    assert [problem] == errors()
    assert problem is not None
    assert "broken" in problem
    assert problem.startswith("what nothing reaches any more is not pruned: nothing was erased: ")


async def test_the_command_ends_at_one_that_cannot_be_pruned(connect: Connect, services: Services) -> None:
    """It says why, as any command does; what was pruned until then counts, and is in no file."""
    peer = connect()
    await cleared(peer, "fine", "broken")
    await break_one(services, "broken")
    await apply(services)
    services.pruning_old.rules = Retention(days=0.0)
    with pytest.raises(Storage, match="broken"):
        await peer.call("retention", {"now": True})

    assert 1 == (await peer.call("stats"))["retention_pruned_events"]
    assert not services.store.eraser.has_traces


async def test_nothing_can_be_erased(connect: Connect, services: Services) -> None:
    """The pass ends at the first one, and the next pass begins with it."""
    await cleared(connect(), "a", "b")
    pruning = await apply(services)
    services.store.eraser.is_stuck = True
    first = await a_pass(pruning, services)
    problem = pruning.problem
    services.store.eraser.is_stuck = False

    assert (0, 2, None) == (first, await a_pass(pruning, services), pruning.problem)
    assert "nothing was erased" in str(problem)


async def test_an_agent_is_purged_in_its_time(connect: Connect, services: Services) -> None:
    """A prune does not count as an event: what is pruned after some days is purged no later."""
    peer = connect()
    await cleared(peer, "a")
    age(services, "a")
    await a_pass(await apply(services, Retention(history_days=30)), services)
    services.retention.rules = Retention(days=90)

    assert ["a"] == [agent["name"] for agent in (await peer.call("retention", {"dry_run": True}))["agents"]]


async def test_a_rule_that_is_taken_back(services: Services) -> None:
    """It is forgotten at the next start: if it is made again, it waits again."""
    await apply(services)
    await services.store.housekeeping.keep_going("retention", partial(keep_retention, services))

    assert await services.store.read(noted, Subject.HISTORIES) is None
