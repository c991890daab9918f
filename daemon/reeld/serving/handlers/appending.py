"""The handler of ``append``, which takes a stretch of a log as it is."""

from collections.abc import Callable
from functools import partial
from typing import Any

from reeld.agents import appending
from reeld.agents.agent import Agent
from reeld.agents.asking import ask
from reeld.agents.executor import Command, job
from reeld.agents.idempotency import CommandOptions
from reeld.agents.jobs import Job
from reeld.core.stretch import Stretch, read_stretch
from reeld.protocol import params
from reeld.serving.call import Call, Deferred, Result, Services, Work

# From this many bytes on, a stretch is read in a thread: its events have more than plain texts, at 20 us each.
_LARGE = 32 << 10


def append(services: Services, call: Call, agent: Agent, options: CommandOptions, asked: params.Append) -> Work:
    """Append a stretch of a log; a long one is read in a thread."""

    def write(stretch: Stretch, answer: Callable[[Any], None]) -> Job:
        command = Command(partial(appending.append, stretch=stretch))
        return job(services.registry, options, command, answer)

    if call.size < _LARGE:
        return write(read_stretch(asked.events), call.answer)

    async def run() -> Result:
        async with services.long_work.many_rows:
            stretch = await services.long_work.in_thread(partial(read_stretch, asked.events))
            reply: Result = await ask(services.registry, agent, partial(write, stretch))
            return reply

    return Deferred(run)
