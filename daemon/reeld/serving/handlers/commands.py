"""The handlers of the commands that change agents, except for those that parse a provider's format."""

from functools import partial

from reel.base.errors import InvalidParams
from reeld.agents import creation, families, tree
from reeld.agents.adding import Addition
from reeld.agents.agent import Agent
from reeld.agents.executor import Command, execute, job
from reeld.agents.idempotency import CommandOptions
from reeld.agents.jobs import Job, Write
from reeld.core import commands
from reeld.core.validation import UNALTERED, Expected, rows_from
from reeld.protocol import params
from reeld.serving.call import Call, Deferred, Result, Services, Work
from reeld.serving.handlers import late
from reeld.serving.handlers.given_items import has_items
from reeld.serving.handlers.rows import addition, create_and_add, is_long, read_and_add, write_addition, write_rows


def _deferred(services: Services, options: CommandOptions, command: Command) -> Deferred:
    """Return the work of executing a command; later requests of the connection wait for it."""
    return Deferred(partial(execute, services.registry, options, command))


def create(services: Services, _call: Call, options: CommandOptions, asked: params.Create) -> Deferred:
    """Create an agent."""
    return _deferred(services, options, Command(partial(creation.create, asked=asked)))


def add(services: Services, call: Call, target: Agent | str, options: CommandOptions, asked: params.Add) -> Work:
    """Add messages or items to an agent, or to one that is created for them; a missing one is given by its address."""
    create, begin, tags = asked.create, asked.from_, asked.tags
    if has_items(asked):
        return late.add_items(services, call, target, options, asked)
    if is_long(call, asked.messages):
        read = partial(addition, asked.messages, begin)
        work = partial(read_and_add, services, call, target, options, read, create=create, has_many=True, tags=tags)
        return Deferred(work)
    refs: dict[str, int] = {}
    expected: list[Expected] = []
    nothing = begin is not None and asked.messages == []
    rows, altered = ([], UNALTERED) if nothing else rows_from(asked.messages, refs, expected)
    if not refs and not expected and begin is None and not isinstance(target, str):
        return write_rows(call, target, options, rows, altered, call.answer)
    added = Addition(rows, altered, refs, begin, expected=expected)
    if isinstance(target, str):
        return Deferred(partial(create_and_add, services, call, target, options, added, tags=tags, create=create))
    return write_addition(services, call, target.row, options, added, call.answer)


def clear(services: Services, call: Call, _agent: Agent, options: CommandOptions, _: params.Nothing) -> Job:
    """Empty the conversation except for its system prompt."""
    return job(services.registry, options, Command(tree.clear), call.answer)


def clone(services: Services, _call: Call, agent: Agent, options: CommandOptions, asked: params.Clone) -> Deferred:
    """Clone an agent, or replace another's state by its own."""
    name, at, into = asked
    if into is None:
        return _deferred(services, options, Command(partial(creation.clone, name=name, at=at), [agent]))
    if name is not None:
        raise InvalidParams(
            "name: a clone into an agent keeps that agent's name; leave one of the two out", field="name"
        )

    async def run() -> Result:
        taking = await services.registry.find(into)
        command = Command(partial(tree.clone_into, at=at), [taking, agent])
        return await execute(services.registry, options, command)

    return Deferred(run)


def mark(_services: Services, call: Call, _agent: Agent, options: CommandOptions, asked: params.Mark) -> Job:
    """Set a mark to rewind to."""
    return Write(lambda stage: commands.mark(stage, asked.label), options, call.answer)


def rewind(services: Services, call: Call, _agent: Agent, options: CommandOptions, asked: params.Mark) -> Job:
    """Go back to a mark."""
    return job(services.registry, options, Command(partial(tree.rewind, label=asked.label)), call.answer)


def restore(services: Services, call: Call, _agent: Agent, options: CommandOptions, asked: params.Restore) -> Job:
    """Make the conversation what it was at a seq."""
    return job(services.registry, options, Command(partial(tree.restore, at=asked.at)), call.answer)


def undo(services: Services, call: Call, _agent: Agent, options: CommandOptions, _: params.Nothing) -> Job:
    """Undo the newest command."""
    return job(services.registry, options, Command(tree.undo), call.answer)


def redo(services: Services, call: Call, _agent: Agent, options: CommandOptions, _: params.Nothing) -> Job:
    """Redo what the newest undo undid."""
    return job(services.registry, options, Command(tree.redo), call.answer)


def kill(services: Services, _call: Call, agent: Agent, options: CommandOptions, asked: params.Kill) -> Deferred:
    """Kill an agent, and its clones if ``cascade`` asks for it."""
    stage = partial(families.kill, reason=asked.reason, cascade=asked.cascade)
    command = Command(stage, [agent])
    return _deferred(services, options, command._replace(more=families.live_clones) if asked.cascade else command)


def revive(services: Services, _call: Call, agent: Agent, options: CommandOptions, asked: params.Revive) -> Deferred:
    """Revive a killed agent, and its killed clones if ``cascade`` asks for it."""
    command = Command(partial(families.revive, cascade=asked.cascade), [agent])
    return _deferred(services, options, command._replace(more=families.killed_clones) if asked.cascade else command)


def change(services: Services, _call: Call, agent: Agent, options: CommandOptions, asked: params.Change) -> Deferred:
    """Change an agent's name, title or tags."""
    return _deferred(services, options, Command(partial(families.change, **asked._asdict()), [agent]))
