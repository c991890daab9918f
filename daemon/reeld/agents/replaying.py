"""Compares the live state of an agent with its log."""

from reel.base.errors import InvalidMessage
from reel.base.light_typing import NamedTuple
from reeld.agents.agent import Agent
from reeld.core.conversation import Conversation
from reeld.core.state import Profile
from reeld.store import queries
from reeld.store.states import Skip


class Replayed(NamedTuple):
    """What a replay found: the profile, the log's conversation, and whether the live one matched it."""

    profile: Profile
    conversation: Conversation
    skipped: list[Skip]
    matched: bool


async def replay(agent: Agent, *, strict: bool) -> Replayed:
    """Compare the live state with the log, and replace it if they differ."""
    state = agent.committed
    rebuilt = await agent.store.rebuild(agent.row)
    skipped = rebuilt.skipped + await agent.store.read_long(queries.unknown_kinds, agent.row, state.profile.head)
    if strict:
        require_sound(skipped)
    matched = rebuilt.conversation == state.conversation
    if not matched:
        await agent.store.be_current()
        if agent.refusal is not None:  # another daemon has written to it since it was read
            raise agent.refusal
        agent.live.repair(rebuilt.conversation.copy())
    return Replayed(state.profile, rebuilt.conversation, skipped, matched)


def require_sound(skipped: list[Skip]) -> None:
    """Refuse a log in which some events cannot be read.

    Raises:
        InvalidMessage: names the first of them.
    """
    for skip in sorted(skipped):
        raise InvalidMessage(f"seq {skip.seq}: {skip.field}: {skip.reason}", seq=skip.seq, field=skip.field)
