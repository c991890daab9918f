"""What handlers read of a conversation that is in memory, or was at an earlier position."""

from collections.abc import Awaitable

from reeld.agents.agent import Agent
from reeld.agents.asking import look
from reeld.core.commands import require_position
from reeld.core.conversation import Conversation
from reeld.core.state import Profile, State
from reeld.serving.call import Services
from reeld.serving.pages import View, view_of
from reeld.store import positions


def view_now(services: Services, agent: Agent) -> Awaitable[View]:
    """Return the current conversation."""
    return look(services.registry, agent, now)


def now(state: State) -> View:
    """Return the current conversation of an agent."""
    return view_of(state.profile, state.conversation, state.profile.head, state.conversation.tip)


async def view(services: Services, agent: Agent, at: int | None) -> View:
    """Return a conversation at a position; it is read from the log only if it is not in memory."""
    if at is None:
        return await view_now(services, agent)
    profile = await profile_of(services, agent)
    require_position(at, profile.head, profile.name)
    end, tip = await services.store.read(positions.kept_position, agent.row, at)

    def look_back(state: State) -> View | None:
        return view_of(profile, state.conversation, end, tip) if state.conversation.has(tip) else None

    earlier = await look(services.registry, agent, look_back)
    return view_of(profile, await _read_earlier(services, agent.row, tip), end, tip) if earlier is None else earlier


async def _read_earlier(services: Services, row: int, tip: int | None) -> Conversation:
    """Return the state of an agent with this tip; the last one is kept, because the next page shows it, too."""
    cache = services.render_cache
    key, age = (row, "earlier"), cache.age
    known: Conversation | None = cache.take(key)
    found = await services.store.state(tip) if known is None or known.tip != tip else known
    cache.put(key, found, age)
    return found


def profile_of(services: Services, agent: Agent) -> Awaitable[Profile]:
    """Return an agent's profile, after all earlier requests to it are done."""
    return look(services.registry, agent, lambda state: state.profile)
