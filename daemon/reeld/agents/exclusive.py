"""The commands that must look something up, or that move the tip anywhere but forward."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeAlias

from reel.errors import InvalidMessage, NothingToUndo, ReelError
from reeld.agents.agent import Agent
from reeld.agents.idempotency import first_reply, repeated
from reeld.agents.mail import Terms
from reeld.core import commands
from reeld.core.commands import Reply, Stage, require_position
from reeld.core.conversation import Conversation
from reeld.core.state import Profile
from reeld.store.reading import Position, Skip

Body: TypeAlias = Callable[[Agent, Stage], Awaitable[Reply]]


def command(terms: Terms, body: Body) -> Callable[[Agent], Awaitable[Reply]]:
    """Make a turn of a command: whatever refuses it is shown to its key first."""

    async def run(agent: Agent) -> Reply:
        try:
            return await body(agent, agent.stage(terms))
        except ReelError as error:
            return await repeated(agent.store, terms.keyed, error)

    return run


def clear(terms: Terms) -> Callable[[Agent], Awaitable[Reply]]:
    """Empty the conversation but for its prompt."""

    async def body(agent: Agent, stage: Stage) -> Reply:
        return await agent.commit(stage, commands.clear(stage, agent.living), terms)

    return command(terms, body)


def rewind(terms: Terms, label: str | None) -> Callable[[Agent], Awaitable[Reply]]:
    """Go back to a mark."""

    async def body(agent: Agent, stage: Stage) -> Reply:
        return await agent.commit(stage, commands.rewind(stage, agent.living, label), terms)

    return command(terms, body)


def restore(terms: Terms, at: int) -> Callable[[Agent], Awaitable[Reply]]:
    """Make the state what it was at a seq."""

    async def body(agent: Agent, stage: Stage) -> Reply:
        stage.require_alive()
        require_position(at, stage.head, stage.base.name)
        return await _go_back(agent, stage, terms, await agent.store.position(agent.row, at))

    return command(terms, body)


def undo(terms: Terms) -> Callable[[Agent], Awaitable[Reply]]:
    """Take back the newest command."""

    async def body(agent: Agent, stage: Stage) -> Reply:
        stage.require_alive()
        target = await agent.store.undo_target(agent.row, stage.head)
        if target is None:
            raise NothingToUndo(f"agent {stage.base.name} is in its first state")
        before = await agent.store.position(agent.row, target - 1)
        return await _go_back(agent, stage, terms, before._replace(at=target - 1), undoes=target)

    return command(terms, body)


def redo(terms: Terms) -> Callable[[Agent], Awaitable[Reply]]:
    """Bring back what the newest undo took."""

    async def body(agent: Agent, stage: Stage) -> Reply:
        stage.require_alive()
        target = await agent.store.redo_target(agent.row, stage.head)
        if target is None:
            raise NothingToUndo(f"agent {stage.base.name} has no undo that could be taken back")
        end = await agent.store.position(agent.row, target)
        return await _go_back(agent, stage, terms, end, redoes=target)

    return command(terms, body)


async def _go_back(agent: Agent, stage: Stage, terms: Terms, to: Position, **why: int) -> Reply:
    reply = commands.restore(stage, to.at, to.tip, **why)
    if "undoes" in why:
        reply["undone"] = why["undoes"]
    if "redoes" in why:
        reply["redone"] = why["redoes"]
    past = None if agent.living.conversation.has(to.tip) else (await agent.store.walk(to.tip)).nodes
    return await agent.commit(stage, reply, terms, past)


def change(
    terms: Terms, name: str | None, title: str | None, tags: dict[str, str] | None
) -> Callable[[Agent], Awaitable[Reply]]:
    """Change what an agent is called."""

    async def body(agent: Agent, stage: Stage) -> Reply:
        reply = commands.change(stage, name, title, tags)
        return await agent.commit(stage, reply, terms, changed=True)

    return command(terms, body)


def revive(terms: Terms) -> Callable[[Agent], Awaitable[Reply]]:
    """Bring an agent back to life."""

    async def body(agent: Agent, stage: Stage) -> Reply:
        reply = commands.revive(stage)
        if stage.drafts:
            return await agent.commit(stage, reply, terms, changed=True)
        return await first_reply(agent.store, terms.keyed) or reply

    return command(terms, body)


class Replayed(NamedTuple):
    """What a replay found: the profile then, the conversation that the log has, and whether the living one matched."""

    profile: Profile
    conversation: Conversation
    skipped: list[Skip]
    matched: bool


async def replay(agent: Agent, *, strict: bool) -> Replayed:
    """Compare the living state with the log, in the agent's turn, and mend it where it differs."""
    living = agent.living
    past = await agent.store.walk_living(agent.row)
    past.skipped.extend(await agent.store.unknown_kinds(agent.row, living.profile.head))
    if strict:
        require_sound(past.skipped)
    walked = Conversation(past.nodes)
    matched = walked == living.conversation
    if not matched:
        agent.mend(walked)
    return Replayed(living.profile, walked, past.skipped, matched)


def require_sound(skipped: list[Skip]) -> None:
    """Refuse a past with events that mean nothing."""
    for skip in sorted(skipped):
        raise InvalidMessage(f"seq {skip.seq}: {skip.field}: {skip.reason}", seq=skip.seq, field=skip.field)
