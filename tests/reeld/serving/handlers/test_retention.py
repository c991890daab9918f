"""Agents that are too old are purged beside the work of others, a day after the rules were made."""

import logging
import sqlite3
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path

import anyio
import pytest

from reel.base.errors import NotFound
from reeld.agents import erasing, retaining
from reeld.agents.asking import ask, lock
from reeld.agents.clock import now
from reeld.agents.jobs import Read
from reeld.agents.notice import PassOptions
from reeld.agents.retaining import Retaining
from reeld.serving import erasing_chores
from reeld.serving.call import Services
from reeld.serving.erasing_chores import Holders, keep_complete, keep_retention
from reeld.store import housekeeping, queries
from reeld.store.retention import DAY, Noted, Retention, Subject, note, noted
from tests.patience import PATIENCE
from tests.reeld.serving.conftest import Connect, Peer
from tests.reeld.store.making import seal, unguarded

RULES = Retention(days=30)
NOBODY = PassOptions(None)


@pytest.fixture(autouse=True)
async def limit() -> AsyncIterator[None]:
    """A time limit for each test."""
    with anyio.fail_after(PATIENCE):
        yield


def age(services: Services, *names: str) -> None:
    """Make what was written to some agents a hundred days older."""
    with unguarded(services.store.path) as connection:
        for name in names:
            given = {"time": 100 * DAY, "name": name}
            connection.execute("UPDATE agents SET killed = killed - :time WHERE name = :name", given)
            owner = "(SELECT id FROM agents WHERE name = :name)"
            connection.execute(f"UPDATE events SET time = time - :time WHERE agent = {owner}", given)
        seal(connection)


async def made(peer: Peer, services: Services, *names: str) -> None:
    """Make old agents."""
    for name in names:
        await peer.call("create", name)
        await peer.call("add", name, "a secret")
    age(services, *names)


async def apply(services: Services, rules: Retention = RULES, since: int = 1) -> Retaining:
    """Let a database remember rules since some time; return what applies them."""
    await services.store.write(lambda connection: note(connection, Subject.AGENTS, Noted(rules, since)))
    return Retaining(rules)


async def living(peer: Peer) -> list[str]:
    """Return the names of all agents."""
    return [agent["name"] for agent in (await peer.call("agents"))["agents"]]


async def test_who_is_purged(connect: Connect, services: Services) -> None:
    """Old agents are purged, unless somebody follows them or they lack the tag; a dry run only says so."""
    peer = connect()
    for name in ("young", "old", "followed", "untagged", "killed", "alive"):
        await peer.call("create", name, {"tags": {} if name == "untagged" else {"keep": "short"}})
    await peer.call("kill", "killed")
    age(services, "old", "followed", "untagged", "killed")
    await peer.call("subscribe", "followed")
    retain = (await apply(services, Retention(killed_days=90, days=30, tag="keep=short"))).retain
    ids = [agent["id"] for agent in (await peer.call("agents"))["agents"]]
    tried = await retain(services.registry, Holders(services), NOBODY._replace(dry_run=True))
    assert 6 == len(await living(peer))
    assert [] == (await peer.call("purged", [*ids, "0" * 32]))["purged"]
    done = await retain(services.registry, Holders(services), NOBODY)

    assert ["old", "killed"] == [agent["name"] for agent in tried["agents"]]
    assert sorted([ids[1], ids[4]]) == (await peer.call("purged", [*ids, "0" * 32]))["purged"]
    assert ({*tried.pop("purged")}, tried) == ({*done.pop("purged")}, done)
    assert (2, 2, 3) == (done["agents_count"], done["purged_count"], done["events"])
    assert 1 == done["followed_count"]
    assert ["young", "followed", "untagged", "alive"] == await living(peer)
    assert [] == (await peer.call("verify"))["problems"]
    assert ([], True) == ((off := await peer.call("retention"))["agents"], off["off"])


async def test_families_are_purged_in_batches(
    connect: Connect, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a clone inherits goes with the last of them, whatever the batches are; young heirs keep it."""
    monkeypatch.setattr(retaining, "_BATCH", 2)
    peer = connect()
    await made(peer, services, "root", "other")
    for source, name in (("root", "copy"), ("copy", "again"), ("other", "heir")):
        await peer.call("clone", source, name)
    age(services, "copy", "again")
    done = await (await apply(services)).retain(services.registry, Holders(services), NOBODY)

    assert ["heir"] == await living(peer)
    assert [(await peer.call("agent", "heir"))["id"]] == done["heirs"]
    assert (4, 2) == (done["purged_count"], done["kept"])
    assert [] == (await peer.call("verify"))["problems"]


async def test_nobody_is_started_for_it(connect: Connect, services: Services) -> None:
    """However many agents are purged, none of them becomes live, and one that is live and idle leaves."""
    peer = connect()
    await made(peer, services, *map(str, range(30)))
    registry = services.registry
    registry.residency.evict_idle(keep=3)
    started = registry.started
    await (await apply(services)).retain(registry, Holders(services), NOBODY)

    assert (0, started) == (len(registry), registry.started)
    assert [] == await living(peer)


async def test_one_that_is_used_meanwhile(connect: Connect, services: Services) -> None:
    """An agent that moves on or is at work after it was found is left alone; the others are purged."""
    peer = connect()
    await made(peer, services, "moves", "works", "old")
    retain = (await apply(services)).retain
    works = await services.registry.find("works")
    async with anyio.create_task_group() as tasks, services.store.eraser.turn():
        tasks.start_soon(retain, services.registry, Holders(services), NOBODY)
        while not services.store.eraser._turn.statistics().tasks_waiting:
            await anyio.lowlevel.checkpoint()
        await peer.call("add", "moves", "needed")
        held = lock(services.registry, [works])
        await held.__aenter__()
    await held.__aexit__(None, None, None)

    assert ["moves", "works"] == await living(peer)
    assert 2 == len((await peer.call("messages", "moves"))["messages"])


async def test_who_needs_one_waits(connect: Connect, services: Services) -> None:
    """Nobody gets `busy`: who asks for an agent that is being purged waits, and then hears that it is gone."""
    peer, other = connect(), connect()
    await made(peer, services, "held", "free")
    row = (await services.registry.find("held")).row
    outcomes: list[object] = []

    async def ask() -> None:
        outcomes.extend(await peer.ask(("messages", "held")))

    async with anyio.create_task_group() as tasks:
        with services.registry.hold([row]) as held:
            tasks.start_soon(ask)
            for _ in range(3):
                await other.call("add", "free", "hi")
            assert ([row], []) == (held, outcomes)
            with unguarded(services.store.path) as connection:
                connection.execute("UPDATE agents SET name = '' WHERE id = ?", (row,))

    assert [NotFound] == [type(outcome) for outcome in outcomes]


async def test_one_that_was_found_before_it_went(connect: Connect, services: Services) -> None:
    """Who has found an agent before it was purged, and uses it afterwards, hears that it is gone."""
    peer, registry = connect(), services.registry
    await made(peer, services, "alone", "kept")
    await peer.call("clone", "kept", "heir")
    found = [await services.store.read(queries.find, name) for name in ("alone", "kept")]
    await (await apply(services)).retain(registry, Holders(services), NOBODY)

    assert ["heir"] == await living(peer)
    for profile in filter(None, found):
        with pytest.raises(NotFound, match="was purged"):
            await ask(registry, registry.start(profile), lambda answer: Read(lambda _: None, answer))


async def test_followers_of_all_hear_of_it(connect: Connect, services: Services) -> None:
    """A client that follows all agents gets a reset of each that is purged."""
    peer = connect()
    await made(peer, services, "old")
    await peer.call("subscribe")
    await peer.pushed()
    await (await apply(services)).retain(services.registry, Holders(services), NOBODY)

    assert ["reset"] == [name for name, _ in await peer.pushed()]


async def test_new_rules_wait_for_a_day(
    connect: Connect, services: Services, errors: Callable[[], list[str]], caplog: pytest.LogCaptureFixture
) -> None:
    """The first pass only logs what it would purge; the rules are applied once a day has passed, or if one says so."""
    caplog.set_level(logging.INFO)
    peer = connect()
    await made(peer, services, "old")
    first = await (retaining := Retaining(RULES)).retain(services.registry, Holders(services), NOBODY)
    (said,) = errors()
    again = await Retaining(RULES).retain(services.registry, Holders(services), NOBODY)
    found = await services.store.read(noted, Subject.AGENTS)

    assert found is not None
    assert (["old"], 0, found.since + DAY) == (await living(peer), first["purged_count"], retaining.after)
    assert "nothing is purged before" in said
    assert f"agent={first['agents'][0]['id']} would be purged" in caplog.text
    assert (1, first) == (len(errors()), again)
    assert first == await Retaining(RULES).retain(services.registry, Holders(services), NOBODY._replace(dry_run=True))
    await (await apply(services, since=found.since - DAY)).retain(services.registry, Holders(services), NOBODY)
    assert [] == await living(peer)


async def test_new_rules_at_once(connect: Connect, services: Services) -> None:
    """Who says so need not wait, and nor do the passes after that."""
    peer = connect()
    await made(peer, services, "old")
    done = await Retaining(RULES).retain(services.registry, Holders(services), NOBODY._replace(at_once=True))
    await made(peer, services, "older")
    again = await Retaining(RULES).retain(services.registry, Holders(services), NOBODY)

    assert (1, 1) == (done["purged_count"], again["purged_count"])


async def test_a_dry_run_is_no_first_pass(connect: Connect, services: Services) -> None:
    """Who only looks does not start the day."""
    await made(connect(), services, "old")
    began = now()
    retaining = Retaining(RULES)
    tried = await retaining.retain(services.registry, Holders(services), NOBODY._replace(dry_run=True))
    at_once = await retaining.retain(
        services.registry, Holders(services), PassOptions(None, dry_run=True, at_once=True)
    )

    assert (0, True, 1) == (tried["purged_count"], tried["after"] >= began + DAY, at_once["purged_count"])
    assert (None, None) == (await services.store.read(noted, Subject.AGENTS), retaining.after)


async def test_rules_that_are_taken_back(services: Services) -> None:
    """Rules that do not apply any more are forgotten: if they are made again, they wait again."""
    await apply(services)
    await Retaining(Retention()).retain(services.registry, Holders(services), NOBODY)

    assert await services.store.read(noted, Subject.AGENTS) is None


async def test_daemons_with_different_rules(services: Services, errors: Callable[[], list[str]]) -> None:
    """What another daemon notes instead changes nothing: rules that have applied here go on, and are not announced."""
    wide, narrow = await apply(services), Retaining(Retention(days=365))
    for each in (wide, narrow, wide, narrow, wide):
        await each.retain(services.registry, Holders(services), NOBODY)

    assert (1 + DAY, 1 + DAY, []) == (wide.after, narrow.after, errors())
    assert Noted(RULES, 1) == await services.store.read(noted, Subject.AGENTS)


async def test_rules_that_cannot_be_forgotten(
    services: Services, monkeypatch: pytest.MonkeyPatch, errors: Callable[[], list[str]]
) -> None:
    """If the disk refuses that, it is tried again until they are forgotten; that is no failure to purge anything."""
    monkeypatch.setattr(housekeeping, "_AGAIN", 0)
    await apply(services)
    refused = [sqlite3.SQLITE_DENY] * 2

    def authorize(action: int, name: str | None, *_: object) -> int:
        is_it = (action, name) == (sqlite3.SQLITE_DELETE, "retention")
        return refused.pop() if is_it and refused else sqlite3.SQLITE_OK

    await services.store._database.run(lambda connection: connection.set_authorizer(authorize))
    await services.store.housekeeping.keep_going("retention", partial(keep_retention, services))

    assert [] == refused
    assert (None, None) == (await services.store.read(noted, Subject.AGENTS), services.retention.problem)
    assert ["retention failed, and is tried again: the database cannot be written: not authorized"] * 2 == errors()


async def test_a_pass_that_fails(connect: Connect, services: Services, errors: Callable[[], list[str]]) -> None:
    """What was purged before a failure is cleaned as well; the reason is known, and said once."""
    peer = connect()
    await made(peer, services, "old")
    retaining = await apply(services)
    services.store.eraser.is_stuck = True
    for _ in range(2):
        await retaining.run(services.registry, Holders(services))
    (said,) = errors()
    failed = retaining.problem
    services.store.eraser.is_stuck = False
    await retaining.run(services.registry, Holders(services))

    assert said == failed
    assert said.startswith("agents that are too old are not purged: nothing was erased: ")
    assert (None, []) == (retaining.problem, await living(peer))


async def states(services: Services) -> list[str]:
    """Return the states of all erasures."""
    query = "SELECT state FROM erasures ORDER BY id"
    return [state for (state,) in await services.store.read(lambda opened: opened.execute(query).fetchall())]


def has_secret(services: Services) -> bool:
    """Return whether the file or the WAL has what was said in the agents that were made old."""
    return any(b"a secret" in Path(services.store.path + part).read_bytes() for part in ("", "-wal"))


async def test_a_batch_that_cannot_be_applied(
    connect: Connect, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reason is told; it is completed like every other erasure, and what was purged before it is cleaned."""
    monkeypatch.setattr(retaining, "_BATCH", 1)
    store, rest = services.store, Holders(services)
    peer = connect()
    await made(peer, services, "older", "old")
    row = (await services.registry.find("older")).row
    broken = f"BEFORE DELETE ON events WHEN old.agent = {row} BEGIN SELECT RAISE(ABORT, 'broken'); END"
    await store._database.run(lambda opened: opened.execute(f"CREATE TRIGGER broken {broken}"))
    await (applied := await apply(services)).run(services.registry, rest)
    failed = applied.problem
    await store._database.run(lambda opened: opened.execute("DROP TRIGGER broken"))
    await erasing.complete(services.registry, rest)

    assert (
        "agents that are too old are not purged: something is to be erased, and could not all be overwritten: broken;"
        " it is completed as soon as that is possible; see reel status"
    ) == failed
    assert (["done"] * 2, False) == (await states(services), has_secret(services))
    assert [] == await living(peer)


async def test_no_memory_for_it(
    connect: Connect, services: Services, monkeypatch: pytest.MonkeyPatch, errors: Callable[[], list[str]]
) -> None:
    """Old agents are purged as soon as there is memory for it, and so are those of an erasure that had none."""
    monkeypatch.setattr(housekeeping, "_AGAIN", 0)
    monkeypatch.setattr(erasing_chores, "_COMPLETED_EVERY", 0)
    monkeypatch.setattr(erasing_chores, "_PAUSES", 0)
    peer, store = connect(), services.store
    await made(peer, services, "old")
    services.retention.rules = (await apply(services)).rules
    full = [MemoryError(), MemoryError()]

    def allocate() -> None:
        if full:
            raise full.pop()

    def starve(opened: sqlite3.Connection) -> None:
        opened.create_function("allocate", 0, allocate)
        opened.execute("CREATE TEMP TRIGGER starving BEFORE DELETE ON events BEGIN SELECT allocate(); END")

    await store._database.run(starve)
    async with anyio.create_task_group() as tasks:
        for what, chore in (("retention", keep_retention), ("erasures", keep_complete)):
            tasks.start_soon(store.housekeeping.keep_going, what, partial(chore, services))
        while await states(services) != ["done"] or store.housekeeping.problem is not None:
            await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()

    assert [] == await living(peer)
    assert [
        "retention failed, and is tried again: there is not enough memory",
        "completing an erasure failed, and is tried again: there is not enough memory",
        "completing an erasure works again",
    ] == errors()


async def test_a_pass_that_is_cancelled(connect: Connect, services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was purged by then is cleaned at the next idle moment."""
    monkeypatch.setattr(retaining, "_BATCH", 1)
    eraser, rest, scope = services.store.eraser, Holders(services), anyio.CancelScope()
    peer = connect()
    await peer.call("create", "older")
    age(services, "older")
    await made(peer, services, "old")
    retain = (await apply(services)).retain

    async def purge() -> None:
        with scope:
            await retain(services.registry, rest, NOBODY)

    async def cancel() -> None:
        async with eraser.turn():  # after the first batch, and before the second
            scope.cancel()

    async with anyio.create_task_group() as tasks, eraser.turn():
        for number, task in enumerate((purge, cancel)):
            tasks.start_soon(task)
            while eraser._turn.statistics().tasks_waiting == number:
                await anyio.lowlevel.checkpoint()
    await erasing.complete(services.registry, rest)

    assert (True, ["older"]) == (scope.cancelled_caught, await living(peer))
    assert (["done"], False) == (await states(services), has_secret(services))


async def test_settings_that_count_as_off(connect: Connect, services: Services) -> None:
    """What is wrong with a setting is shown, and nothing is purged."""
    peer = connect()
    await made(peer, services, "old")
    retaining = Retaining(Retention(), ["retention.days: 0.3 is less than 1"])
    await retaining.run(services.registry, Holders(services))

    assert ("retention.days: 0.3 is less than 1", ["old"]) == (retaining.problem, await living(peer))
