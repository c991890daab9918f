"""The handlers of the commands that change agents, except for those that parse a provider's format."""

from collections.abc import Awaitable, Callable
from functools import partial

from reel.errors import InvalidParams
from reeld.agents import exclusive, families
from reeld.agents.agent import Agent
from reeld.agents.exclusive import Addition
from reeld.agents.idempotency import CommandOptions
from reeld.agents.jobs import Exclusive, Job, Write
from reeld.core import commands
from reeld.core.commands import Reply
from reeld.core.validation import UNALTERED, Expected, rows_from
from reeld.protocol import params
from reeld.serving.call import Call, Deferred, Result, Services, Work
from reeld.serving.handlers import late
from reeld.serving.handlers.given_items import has_items
from reeld.serving.handlers.rows import addition, create_and_add, is_long, read_and_add, write_addition, write_rows


def create(services: Services, _call: Call, options: CommandOptions, asked: params.Create) -> Deferred:
    """Create an agent."""
    return Deferred(partial(services.factory.create, options, *asked))


def add(services: Services, call: Call, target: Agent | str, options: CommandOptions, asked: params.Add) -> Work:
    """Add messages or items to an agent, or to one that is created for them; a missing one is given by its address."""
    create, begin, tags = asked.create, asked.from_, asked.tags
    if has_items(asked):
        return late.add_items(services, call, target, options, asked)
    if is_long(call, asked.messages):
        read = partial(addition, asked.messages, begin)
        return Deferred(partial(read_and_add, services, call, target, options, read, create=create, tags=tags))
    refs: dict[str, int] = {}
    expected: list[Expected] = []
    nothing = begin is not None and asked.messages == []
    rows, altered = ([], UNALTERED) if nothing else rows_from(asked.messages, refs, expected)
    if not refs and not expected and begin is None and not isinstance(target, str):
        return write_rows(call, target, options, rows, altered, call.answer)
    added = Addition(rows, altered, refs, begin, expected=expected)
    if isinstance(target, str):
        return Deferred(partial(create_and_add, services, target, options, added, tags=tags, create=create))
    return write_addition(call, target.row, options, added, call.answer)


def clear(_services: Services, call: Call, _agent: Agent, options: CommandOptions, _: params.Nothing) -> Job:
    """Empty the conversation except for its system prompt."""
    return Exclusive(lambda agent: exclusive.clear(agent, options), call.answer)


def clone(services: Services, _call: Call, agent: Agent, options: CommandOptions, asked: params.Clone) -> Deferred:
    """Clone an agent, or replace another's state by its own."""
    name, at, into = asked
    if into is None:
        return _exclusive(services, agent, lambda source: services.factory.clone(options, source, name, at))
    if name is not None:
        raise InvalidParams(
            "name: a clone into an agent keeps that agent's name; leave one of the two out", field="name"
        )
    return Deferred(partial(_clone_into, services, options, agent, into, at))


async def _clone_into(services: Services, options: CommandOptions, source: Agent, into: str, at: int | None) -> Result:
    target = await services.registry.find(into)
    reply = await exclusive.clone_into(services.registry, options, source, target, at)
    return {**reply, "attached": services.registry.bus.attached(target.row)}


def mark(_services: Services, call: Call, _agent: Agent, options: CommandOptions, asked: params.Mark) -> Job:
    """Set a mark to rewind to."""
    return Write(lambda stage: commands.mark(stage, asked.label), options, call.answer)


def rewind(_services: Services, call: Call, _agent: Agent, options: CommandOptions, asked: params.Mark) -> Job:
    """Go back to a mark."""
    return Exclusive(lambda agent: exclusive.rewind(agent, options, asked.label), call.answer)


def restore(_services: Services, call: Call, _agent: Agent, options: CommandOptions, asked: params.Restore) -> Job:
    """Make the conversation what it was at a seq."""
    return Exclusive(lambda agent: exclusive.restore(agent, options, asked.at), call.answer)


def undo(_services: Services, call: Call, _agent: Agent, options: CommandOptions, _: params.Nothing) -> Job:
    """Undo the newest command."""
    return Exclusive(lambda agent: exclusive.undo(agent, options), call.answer)


def redo(_services: Services, call: Call, _agent: Agent, options: CommandOptions, _: params.Nothing) -> Job:
    """Redo what the newest undo undid."""
    return Exclusive(lambda agent: exclusive.redo(agent, options), call.answer)


def kill(services: Services, _call: Call, agent: Agent, options: CommandOptions, asked: params.Kill) -> Deferred:
    """Kill an agent, and its clones if ``cascade`` asks for it."""
    return Deferred(partial(families.kill, services.registry, options, agent, asked.reason, cascade=asked.cascade))


def revive(services: Services, _call: Call, agent: Agent, options: CommandOptions, asked: params.Revive) -> Deferred:
    """Revive a killed agent, and its killed clones if ``cascade`` asks for it."""
    return Deferred(partial(families.revive, services.registry, options, agent, cascade=asked.cascade))


def change(services: Services, _call: Call, agent: Agent, options: CommandOptions, asked: params.Change) -> Work:
    """Change an agent's name, title or tags."""
    return _readdress(services, agent, lambda agent: exclusive.change(agent, options, *asked))


def _readdress(services: Services, agent: Agent, run: Callable[[Agent], Awaitable[Reply]]) -> Deferred:
    """Run a command that may change the agent's addresses; later requests of the connection may use the new ones."""

    async def run_and_index(agent: Agent) -> Result:
        reply = await run(agent)
        services.registry.reindex(agent)
        return {**reply, "attached": services.registry.bus.attached(agent.row)}

    return _exclusive(services, agent, run_and_index)


def _exclusive(services: Services, agent: Agent, run: Callable[[Agent], Awaitable[Result]]) -> Deferred:
    """Return an exclusive job as deferred work: later requests of the connection wait for it."""
    return Deferred(partial(services.registry.ask, agent, lambda answer: Exclusive(run, answer)))
