"""The handlers of commands: each gives the mail that carries it out, or something to wait for."""

from functools import partial
from typing import Any

from reel.errors import InvalidParams, ReelError
from reeld.agents import creation, exclusive
from reeld.agents.agent import Agent
from reeld.agents.idempotency import repeated
from reeld.agents.mail import Mail, Terms, Turn, Write
from reeld.core import commands
from reeld.core.commands import Reply, Stage
from reeld.core.intake import rows_from
from reeld.serving import params
from reeld.serving.call import Call, Desk, Later, Result, Work


def create(
    desk: Desk,
    _call: Call,
    terms: Terms,
    agent: str | None,
    system: str | None,
    title: str | None,
    tags: dict[str, str] | None,
) -> Later:
    """Make an agent."""
    return partial(desk.founder.create, terms, agent, system, title, tags)


def add(desk: Desk, call: Call, agent: Agent, terms: Terms, messages: Any, _create: bool | None) -> Mail:
    """Add messages to a live agent."""
    rows, replaced = rows_from(messages)

    def put(stage: Stage) -> Reply:
        reply = commands.add(stage, rows, replaced)
        desk.drafts.end(call.peer.number, agent.row)
        return reply

    return Write(put, terms, call.answer)


async def add_to_nobody(desk: Desk, agent: str, terms: Terms, messages: Any, create: bool | None) -> Result:
    """Add messages to an agent that is not there: make it first, if that is wanted."""
    rows, replaced = rows_from(messages)
    try:
        if not create:
            raise commands.not_found(agent)
        return await desk.founder.create_and_add(terms, params.name(agent), rows, replaced)
    except ReelError as error:
        return await repeated(desk.store, terms.keyed, error)


def clear(_desk: Desk, call: Call, _agent: Agent, terms: Terms) -> Mail:
    """Empty the conversation but for its prompt."""
    return Turn(exclusive.clear(terms), call.answer)


def clone(
    desk: Desk, call: Call, agent: Agent, terms: Terms, name: str | None, at: int | None, into: str | None
) -> Work:
    """Start a new conversation from where this one is or was, or replace another's state by it."""
    if into is None:
        return partial(in_turn, desk, agent, partial(_clone, desk, terms, name, at))
    if name is not None:
        raise InvalidParams("name: a clone into an agent keeps that agent's name", field="name")
    return partial(_clone_into, desk, terms, agent, into, at)


async def _clone(desk: Desk, terms: Terms, name: str | None, at: int | None, source: Agent) -> Result:
    try:
        return await desk.founder.clone(terms, source, name, at)
    except ReelError as error:
        return await repeated(desk.store, terms.keyed, error)


async def _clone_into(desk: Desk, terms: Terms, source: Agent, into: str, at: int | None) -> Result:
    try:
        target = await desk.registry.find(into)
        reply = await creation.clone_into(desk.registry, terms, source, target, at)
        return {**reply, "attached": desk.registry.hub.attached(target.row)}
    except ReelError as error:
        return await repeated(desk.store, terms.keyed, error)


def mark(_desk: Desk, call: Call, _agent: Agent, terms: Terms, label: str | None) -> Mail:
    """Set a mark to rewind to."""
    return Write(lambda stage: commands.mark(stage, label), terms, call.answer)


def rewind(_desk: Desk, call: Call, _agent: Agent, terms: Terms, label: str | None) -> Mail:
    """Go back to a mark."""
    return Turn(exclusive.rewind(terms, label), call.answer)


def restore(_desk: Desk, call: Call, _agent: Agent, terms: Terms, at: int) -> Mail:
    """Make the conversation what it was at a seq."""
    return Turn(exclusive.restore(terms, at), call.answer)


def undo(_desk: Desk, call: Call, _agent: Agent, terms: Terms) -> Mail:
    """Take back the newest command."""
    return Turn(exclusive.undo(terms), call.answer)


def redo(_desk: Desk, call: Call, _agent: Agent, terms: Terms) -> Mail:
    """Bring back what the newest undo took."""
    return Turn(exclusive.redo(terms), call.answer)


def kill(desk: Desk, _call: Call, agent: Agent, terms: Terms, reason: str | None, cascade: bool | None) -> Later:
    """End an agent, and its living clones where that is asked for."""
    return partial(_kill, desk, terms, agent, reason, cascade=bool(cascade))


async def _kill(desk: Desk, terms: Terms, agent: Agent, reason: str | None, *, cascade: bool) -> Result:
    try:
        return await creation.kill(desk.registry, terms, agent, reason, cascade=cascade)
    except ReelError as error:
        return await repeated(desk.store, terms.keyed, error)


def revive(desk: Desk, _call: Call, agent: Agent, terms: Terms) -> Later:
    """Bring a killed agent back to life."""
    return partial(in_turn, desk, agent, _renaming(desk, exclusive.revive(terms)))


def change(
    desk: Desk,
    _call: Call,
    agent: Agent,
    terms: Terms,
    name: str | None,
    title: str | None,
    tags: dict[str, str] | None,
) -> Later:
    """Change what an agent is called."""
    return partial(in_turn, desk, agent, _renaming(desk, exclusive.change(terms, name, title, tags)))


def _renaming(desk: Desk, turn: Any) -> Any:
    async def run(agent: Agent) -> Result:
        reply: Result = await turn(agent)
        desk.registry.renamed(agent)
        return {**reply, "attached": desk.registry.hub.attached(agent.row)}

    return run


async def in_turn(desk: Desk, agent: Agent, run: Any) -> Any:
    """Run something in an agent's turn and wait for it."""
    return await desk.registry.ask(agent, lambda answer: Turn(run, answer))
