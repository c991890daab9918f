"""Agents beside another daemon that writes to the same tables on a PostgreSQL server."""

import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any, NamedTuple

import anyio
import pytest
from trio.testing import wait_all_tasks_blocked

from reeld.agents.asking import ask, drain
from reeld.agents.executor import Command, Work, job
from reeld.agents.idempotency import CommandOptions
from reeld.agents.jobs import Read
from reeld.agents.registry import Registry
from reeld.core import commands
from reeld.core.stage import Reply
from reeld.core.validation import rows_from
from reeld.store import queries
from reeld.store.commit_faults import OvertakenError
from reeld.store.store import open_store
from tests.lossy import Lossy, lossy
from tests.patience import PATIENCE
from tests.postgres import own_schema
from tests.reeld.agents.direct_client import DirectClient, again

pytestmark = pytest.mark.slow


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[DirectClient]:
    """Open the database as a daemon does."""
    async with open_store(url) as store, anyio.create_task_group() as tasks:
        client = DirectClient(Registry(store, tasks), tasks)
        yield client
        await drain(client.registry)
        tasks.cancel_scope.cancel()


class Two(NamedTuple):
    """A daemon behind a socket that can be held up, and another one."""

    between: Lossy
    held: DirectClient
    other: DirectClient


@pytest.fixture
async def two() -> AsyncIterator[Two]:
    """Two daemons of one database."""
    async with AsyncExitStack() as stack:
        url = stack.enter_context(own_schema())
        between = stack.enter_context(lossy(url))
        stack.enter_context(anyio.fail_after(PATIENCE))
        held = await stack.enter_async_context(opened(between.url))
        yield Two(between, held, await stack.enter_async_context(opened(url)))


async def while_committing(
    two: Two, command: Callable[[], Coroutine[Any, Any, object]], other: Awaitable[object]
) -> None:
    """Run a command of the held daemon; another one's comes when it has looked at everything and is not committed."""
    is_lost, goes_on = threading.Event(), threading.Event()

    def meanwhile() -> None:
        is_lost.set()
        goes_on.wait(PATIENCE)

    two.between.lose_commit(meanwhile, answer=False)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(command)
        await anyio.to_thread.run_sync(is_lost.wait, PATIENCE)
        await other
        goes_on.set()


async def test_what_others_write_while_a_daemon_starts() -> None:
    """A daemon that looked before it had agents knows that it is not the first to tell of what it saw then."""
    with own_schema() as url, anyio.fail_after(PATIENCE):
        async with opened(url) as other:
            await other.create("demo")
            async with open_store(url) as store, anyio.create_task_group() as tasks:
                await other.add("demo", "one")
                await store.looks.look()
                registry = Registry(store, tasks)

                assert other.registry.bus.newest == registry.bus.newest


async def test_a_clone_of_one_that_others_move(two: Two) -> None:
    """A clone has what its source has at that moment in the log, and nothing less."""
    await two.held.create("demo")
    clone = partial(two.held.clone, "demo", "copy")
    await while_committing(two, clone, two.other.add("demo", "new"))

    assert ["new"] == await two.other.texts("copy")


async def test_a_clone_into_one_that_others_move(two: Two) -> None:
    """So has an agent that a clone is made into."""
    await two.held.create("demo")
    await two.held.create("copy")
    clone = partial(two.held.clone_into, "demo", "copy")
    await while_committing(two, clone, two.other.add("demo", "new"))

    assert ["new"] == await two.other.texts("copy")


async def test_a_cascade_during_which_others_clone(two: Two) -> None:
    """A cascading kill kills a clone as well that another daemon makes meanwhile."""
    await two.held.create("demo")
    kill = partial(two.held.kill, "demo", cascade=True)
    await while_committing(two, kill, two.other.clone("demo", "copy"))

    assert {"demo": False, "copy": False} == {each["name"]: each["alive"] for each in await two.other.agents()}


async def test_a_cascade_over_a_clone_that_others_revived(two: Two) -> None:
    """A cascading kill also kills a clone that is dead as far as its daemon knows."""
    await two.held.create("demo")
    await two.held.clone("demo", "copy")
    await two.held.kill("copy")
    two.between.is_deaf = True
    await two.other.revive("copy")
    await two.held.kill("demo", cascade=True)

    assert {"demo": False, "copy": False} == {each["name"]: each["alive"] for each in await two.other.agents()}


async def test_what_waits_for_a_commit_that_learns_of_others(two: Two) -> None:
    """What was staged before its daemon learnt that others wrote is not written, even if its seqs are still free."""
    between, held, other = two
    await held.create("demo")
    await held.create("beside")
    await other.create("source")
    await other.add("source", *map(str, range(5)))
    agents = [await held.registry.find(name) for name in ("beside", "demo")]
    for name in ("beside", "demo"):
        await held.state(name)
    between.is_open.clear()
    await other.clone_into("source", "demo")  # the seqs go on after those of the source
    answers: dict[int, object] = {}
    for agent in agents:  # the second waits in the writer while the first is committed
        held.post(agent, "new", answer=partial(answers.__setitem__, agent.row))
        held.registry.pump()
        await wait_all_tasks_blocked()
    between.is_open.set()
    await held.store.looks.look()

    assert [dict, OvertakenError] == [type(answers[agent.row]) for agent in agents]
    await held.add("demo", "new")
    assert [*map(str, range(5)), "new"] == await held.texts("demo")
    assert [1, 7, 8] == [event["seq"] for event in await held.events("demo")]


async def test_a_command_that_goes_on_over_an_old_state(two: Two) -> None:
    """What a command has staged before its daemon learnt that others wrote is staged again."""
    _, held, other = two
    await held.create("demo")
    await other.create("source")
    await other.add("source", *map(str, range(5)))
    agent = await held.registry.find("demo")
    has_staged, goes_on = anyio.Event(), anyio.Event()
    tries: list[int] = []

    async def add(work: Work) -> Reply:
        stage = work.alone().stage
        tries.append(stage.head)
        has_staged.set()
        await goes_on.wait()
        return commands.add(stage, rows_from(["new"], {})[0])

    command = partial(ask, held.registry, agent, partial(job, held.registry, CommandOptions(), Command(add)))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(again, command)
        await has_staged.wait()
        await other.clone_into("source", "demo")
        await held.store.be_current()
        goes_on.set()

    await other.store.be_current()

    assert [1, 7] == tries
    assert [*map(str, range(5)), "new"] == await other.texts("demo")


async def test_a_replay_of_what_others_wrote(two: Two) -> None:
    """What another daemon has written since a state was read is no difference between this state and its log."""
    _, held, other = two
    await held.create("demo")
    await held.state("demo")
    two.between.is_deaf = True
    await other.add("demo", "new")
    with pytest.raises(OvertakenError):
        await held.replay("demo")

    assert (await held.replay("demo")).matched
    assert ["new"] == await held.texts("demo")


async def test_a_name_that_moved_before_its_agent_was_read(two: Two) -> None:
    """An agent that has lost the name by which it was found, before its log was read, is looked up again."""
    await two.other.create("demo")
    profile = await two.held.registry.store.read(queries.find, "demo")
    assert profile is not None
    await two.other.change("demo", name="moved")
    await two.other.create("demo")

    assert not await two.held.registry._is_still(two.held.registry.start(profile), profile)
    assert profile.row != (await two.held.registry.find("demo")).row


@pytest.mark.parametrize("is_read", [False, True])
async def test_a_name_that_moved_while_it_was_looked_up(two: Two, *, is_read: bool) -> None:
    """A name that was read before others gave it to another agent, and comes only after the news of that, is old."""
    await two.other.create("demo")
    profile = await two.held.registry.store.read(queries.find, "demo")
    assert profile is not None
    await two.other.change("demo", name="moved")
    await two.other.create("demo")
    await two.held.store.be_current()
    agent = two.held.registry.start(profile)
    if is_read:
        await ask(two.held.registry, agent, partial(Read, lambda _: None))
    await two.held.add("demo", "new")

    await two.other.store.be_current()
    assert ["new"] == await two.other.texts("demo")
    assert [] == await two.other.texts("moved")
    await ask(two.held.registry, agent, partial(Read, lambda _: None))  # its log has been read by now
    assert agent is two.held.registry.get("moved")
