"""The handler of ``append``, which takes a stretch of a log as it is."""

from collections.abc import Callable
from functools import partial
from typing import Any

from anyio.lowlevel import checkpoint

from reeld.agents import appending
from reeld.agents.agent import Agent
from reeld.agents.asking import ask
from reeld.agents.executor import Command, job
from reeld.agents.idempotency import CommandOptions
from reeld.agents.jobs import Job
from reeld.core.stretch import Stretch, StretchReader, read_stretch
from reeld.protocol import params
from reeld.serving.call import Call, Deferred, Outcome, Post, Prepared, Result, Services, Work

# From this many bytes on, a stretch is read in several turns of the event loop: so many events in each, at 11 us.
_LONG = 32 << 10
_EVENTS = 64
# From this many bytes on, it is read in a thread: a single event may be as long. Shorter ones are not, because a thread
# takes a part of the event loop's time at each of its turns.
_LARGE = 1 << 20


def append(services: Services, call: Call, agent: Agent, options: CommandOptions, asked: params.Append) -> Work:
    """Append a stretch of a log; a long one is read while those before it are written."""

    def write(stretch: Stretch, answer: Callable[[Any], None]) -> Job:
        command = Command(partial(appending.append, stretch=stretch))
        return job(services.registry, options, command, answer)

    if call.size < _LONG:
        return write(read_stretch(asked.events), call.answer)
    if call.size < _LARGE:
        return Prepared(partial(_prepare, services, call, asked.events, write))

    async def run() -> Result:
        async with services.long_work.many_rows:
            stretch = await services.long_work.in_thread(partial(read_stretch, asked.events))
            reply: Result = await ask(services.registry, agent, partial(write, stretch))
            return reply

    return Deferred(run)


async def _prepare(
    services: Services,
    call: Call,
    events: list[Any],
    write: Callable[[Stretch, Callable[[Any], None]], Job],
    post: Post,
) -> None:
    """Read a stretch in turns of the event loop, and post the job that writes it."""
    prepared, held = services.long_work.prepared, object()

    def answer(outcome: Outcome) -> None:
        prepared.release_on_behalf_of(held)
        call.answer(outcome)

    await prepared.acquire_on_behalf_of(held)
    try:
        reader = StretchReader()
        for first in range(0, len(events), _EVENTS):
            reader.take(events[first : first + _EVENTS])
            await checkpoint()
        await post(write(reader.end(), answer))
    except BaseException:
        prepared.release_on_behalf_of(held)
        raise
