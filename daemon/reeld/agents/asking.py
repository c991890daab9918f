"""Gives an agent a job and waits for its outcome; and locks agents, for commands that change several."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from typing import Any, TypeVar

import anyio

from reel.base.errors import ReelError
from reeld.agents.agent import Agent
from reeld.agents.jobs import Exclusive, Job, Read
from reeld.agents.registry import Registry
from reeld.answer import Answer
from reeld.core.state import State

T = TypeVar("T")


async def ask(registry: Registry, agent: Agent, make_job: Callable[[Callable[[Any], None]], Job]) -> Any:
    """Post a job and wait for its result.

    Args:
        registry: has the agent.
        agent: whose mailbox.
        make_job: returns the job; its argument takes the job's outcome.

    Raises:
        ReelError: the job failed with it.
    """
    answer: Answer[Any] = Answer()
    registry.post(await registry.relocate(agent), make_job(answer.take))
    registry.pump()
    return await answer.wait()


def look(registry: Registry, agent: Agent, at: Callable[[State], T]) -> Awaitable[T]:
    """Return what a function makes of the committed state, once all earlier jobs are done; it must not take long."""
    return ask(registry, agent, partial(Read, at))


@asynccontextmanager
async def lock(registry: Registry, agents: Sequence[Agent]) -> AsyncIterator[list[Agent]]:
    """Lock several agents for a command that changes them all; yield the locked agents.

    Locks are taken in the order of the agents' rows, so that two commands never wait for each other.
    """
    async with AsyncExitStack() as stack:
        locked: dict[int, Agent] = {}
        for agent in sorted(agents, key=lambda agent: agent.row):
            locked[agent.row] = await stack.enter_async_context(_lock(registry, agent))
        try:
            yield [locked[agent.row] for agent in agents]
        except ReelError:
            raise
        except Exception as error:
            for agent in locked.values():
                agent.crash(error, [])  # the states may be half changed
            raise


@asynccontextmanager
async def _lock(registry: Registry, agent: Agent) -> AsyncIterator[Agent]:
    begun, over = Answer[None](), anyio.Event()

    async def hold(_: Agent) -> None:
        begun.take(None)
        await over.wait()

    agent = await registry.relocate(agent)
    registry.post(agent, Exclusive(hold, begun.take))
    registry.pump()
    try:
        await begun.wait()
        yield agent
    finally:
        over.set()


async def drain(registry: Registry) -> None:
    """Wait until every agent has done all of its jobs."""
    for agent in registry.residency:
        with suppress(ReelError):  # a failed agent has nothing left to do
            await look(registry, agent, lambda _: None)
