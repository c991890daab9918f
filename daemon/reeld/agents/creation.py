"""Commands that make an agent: create, and clone."""

from reeld.agents.executor import Work
from reeld.agents.tree import state_at
from reeld.core import commands
from reeld.core.conversation import Conversation
from reeld.core.stage import Reply, Stage
from reeld.core.state import Source, info
from reeld.protocol.params import Create


async def create(work: Work, asked: Create) -> Reply:
    """Create an agent, with a system prompt if there is one.

    Raises:
        Exists: an agent that is not killed has this name.
    """
    stage = work.create(await work.claim(asked.agent), asked.title, asked.tags).stage
    stage.require_head(work.options.if_seq)
    commands.create(stage, asked.system)
    return _preview(stage)


def _preview(stage: Stage) -> Reply:
    """Describe a new agent as it will be, from its staged events alone."""
    conversation = Conversation()
    for number, event in enumerate(stage.events, 1):
        conversation.apply(number, event)
    return info(stage.profile, conversation)


async def clone(work: Work, name: str | None, at: int | None, sent: int | None) -> Reply:
    """Create an agent with the state of the first one, current or at a seq; that one is not written to."""
    source = work.alone().state.profile
    position, conversation = await state_at(work.agents[0], at)
    begin = Source(source.row, source.uid, position.at)
    stage = work.create(await work.claim(name), source.title, source.tags, begin, conversation).stage
    commands.clone_from(stage, begin.uid, begin.at, position.tip, sent)
    return stage.info()
