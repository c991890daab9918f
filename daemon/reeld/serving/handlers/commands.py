"""The handlers of the commands that change agents, except for those that parse a provider's format."""

from functools import partial

from reel.base.errors import InvalidParams
from reeld.agents import creation, tree
from reeld.agents.agent import Agent
from reeld.agents.executor import Command, execute
from reeld.agents.idempotency import CommandOptions
from reeld.agents.jobs import Job, Write
from reeld.core import commands
from reeld.protocol import params
from reeld.serving.call import Call, Deferred, Result, Services, Work
from reeld.serving.handlers import late
from reeld.serving.handlers.given_items import has_items
from reeld.serving.handlers.rows import (
    addition,
    create_and_add,
    is_long,
    read_and_add,
    require_one_condition,
    write_addition,
)


def _deferred(services: Services, options: CommandOptions, command: Command) -> Deferred:
    """Return the work of executing a command; later requests of the connection wait for it."""
    return Deferred(partial(execute, services.registry, options, command))


def create(services: Services, _call: Call, options: CommandOptions, asked: params.Create) -> Deferred:
    """Create an agent."""
    return _deferred(services, options, Command(partial(creation.create, asked=asked)))


def add(services: Services, call: Call, target: Agent | str, options: CommandOptions, asked: params.Add) -> Work:
    """Add messages or items to an agent, or to one that is created for them; a missing one is given by its address."""
    create, begin, tags, stands = asked.create, asked.from_, asked.tags, asked.if_stands
    if stands is not None:
        require_one_condition(options.if_seq, stands)
    if has_items(asked):
        return late.add_items(services, call, target, options, asked)
    if is_long(call, asked.messages):
        read = partial(addition, asked.messages, begin, stands)
        work = partial(read_and_add, services, call, target, options, read, create=create, has_many=True, tags=tags)
        return Deferred(work)
    added = addition(asked.messages, begin, stands)
    if isinstance(target, str):
        return Deferred(partial(create_and_add, services, call, target, options, added, tags=tags, create=create))
    return write_addition(services, call, target.row, options, added, call.answer)


def clone(services: Services, _call: Call, agent: Agent, options: CommandOptions, asked: params.Clone) -> Deferred:
    """Clone an agent, or replace another's state by its own."""
    name, at, into, sent = asked
    if into is None:
        return _deferred(services, options, Command(partial(creation.clone, name=name, at=at, sent=sent), [agent]))
    if name is not None:
        raise InvalidParams(
            "name: a clone into an agent keeps that agent's name; leave one of the two out", field="name"
        )

    async def run() -> Result:
        taking = await services.registry.find(into)
        command = Command(partial(tree.clone_into, at=at, sent=sent), [taking, agent])
        return await execute(services.registry, options, command)

    return Deferred(run)


def mark(_services: Services, call: Call, _agent: Agent, options: CommandOptions, asked: params.Mark) -> Job:
    """Set a mark to rewind to."""
    return Write(lambda stage: commands.mark(stage, asked.label), options, call.answer)
