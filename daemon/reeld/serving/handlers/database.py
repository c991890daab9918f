"""The handlers of ``verify`` and ``backup``, which read the whole database without blocking other work."""

from collections.abc import Awaitable
from functools import partial

from reel.base.errors import NotFound, ReelError
from reeld.agents.agent import Agent
from reeld.agents.asking import look
from reeld.core.commands import not_found
from reeld.core.conversation import Conversation
from reeld.core.state import Profile
from reeld.protocol import params
from reeld.serving.call import Call, Detached, Result, Services
from reeld.store import queries
from reeld.verify.rows import Problem
from reeld.verify.verifier import Verifier, open_verifier


def verify(services: Services, _call: Call, asked: params.Verify) -> Detached:
    """Check the database, the logs and the live states, or those of one agent; nothing is repaired."""

    async def run() -> Result:
        row = None if asked.agent is None else await _row_of(services, asked.agent)
        async with open_verifier(services.store) as verifier:
            if row is None:
                await verifier.check_file()
            await verifier.check_logs(row)
            for live in services.registry.live(row):
                await _compare(services, verifier, live)
            return verifier.report.as_map()

    return Detached(run)


async def _row_of(services: Services, address: str) -> int:
    """Return an agent's row once its earlier requests are done; its log need not be readable."""
    live = services.registry.get(address)
    if live is not None:
        await _look(services, live)
        return live.row
    profile = await services.store.read(queries.find, address)
    if profile is None:
        raise not_found(address)
    return profile.row


async def _compare(services: Services, verifier: Verifier, agent: Agent) -> None:
    """Compare a copy of an agent's state with the log; the agent goes on meanwhile."""
    if agent not in services.registry.live(agent.row):
        return  # it was evicted, so there is nothing to compare
    try:
        profile, conversation = await _look(services, agent)
    except NotFound:
        return  # it was purged meanwhile, or the server came back with less than it had
    except ReelError as error:
        verifier.report.note([Problem("unchecked", f"the running state of agent {agent.row}: {error}")])
        return
    await verifier.compare(profile, conversation)


def _look(services: Services, agent: Agent) -> Awaitable[tuple[Profile, Conversation]]:
    return look(services.registry, agent, lambda state: (state.profile, state.conversation.copy()))


def backup(services: Services, _call: Call, asked: params.Backup) -> Detached:
    """Write a copy of everything that was committed, and check it."""
    return Detached(partial(services.backups.reply, asked.path))
