"""Commands that move the tip of a conversation other than forward: clear, rewind, restore, undo, redo, clone into."""

from reel.base.errors import InvalidParams, NothingToUndo
from reeld.agents.agent import Agent
from reeld.agents.executor import Work
from reeld.core import commands
from reeld.core.commands import require_position
from reeld.core.conversation import Conversation, Replacement
from reeld.core.stage import Reply
from reeld.core.state import info
from reeld.protocol.params import Mark, Nothing, Restore
from reeld.store import going_back
from reeld.store.positions import Position


async def clear(work: Work, _: Nothing) -> Reply:
    """Empty the conversation except for its system prompt."""
    target = work.alone()
    return commands.clear(target.stage, target.state)


async def rewind(work: Work, asked: Mark) -> Reply:
    """Go back to a mark."""
    target = work.alone()
    mark = commands.rewind_target(target.stage, target.state, asked.label)
    await work.store.read_log(going_back.require_mark_there, target.row, mark.id)
    past = await work.store.takeover(mark.id, target.state.conversation)
    target.take_over(past)
    kept = past.kept if isinstance(past, Replacement) else None
    return commands.rewind(target.stage, target.state, asked.label, kept)


async def restore(work: Work, asked: Restore) -> Reply:
    """Make the conversation what it was at a seq."""
    target = work.alone()
    target.stage.require_alive()
    require_position(asked.at, target.stage.head, target.stage.base.name)
    to, past = await work.store.read_log(going_back.way_to, target.row, asked.at, target.state.conversation)
    target.take_over(past)
    return commands.restore(target.stage, to.at, to.tip)


async def undo(work: Work, _: Nothing) -> Reply:
    """Undo the newest command."""
    target = work.alone()
    stage = target.stage
    stage.require_alive()
    found = await work.store.read_log(going_back.undo, target.row, stage.head, target.state.conversation)
    if found is None:
        raise NothingToUndo(f"agent {stage.base.name} has nothing to undo: it is in its first state")
    undone, (to, past) = found
    target.take_over(past)
    return {**commands.restore(stage, undone - 1, to.tip, undoes=undone), "undone": undone}


async def redo(work: Work, _: Nothing) -> Reply:
    """Redo what the newest undo took back."""
    target = work.alone()
    stage = target.stage
    stage.require_alive()
    found = await work.store.read_log(going_back.redo, target.row, stage.head, target.state.conversation)
    if found is None:
        raise NothingToUndo(f"agent {stage.base.name} has nothing to redo")
    redone, (to, past) = found
    target.take_over(past)
    reply = commands.restore(stage, to.at, to.tip, redoes=redone.command, undo=redone.undo)
    return {**reply, "redone": redone.command}


async def clone_into(work: Work, at: int | None, sent: int | None) -> Reply:
    """Replace the state of the first agent with that of the last one."""
    target, source = work.alone(), work.agents[-1]
    if source.row == target.row:
        raise InvalidParams("into: an agent cannot be cloned into itself; use restore", field="into")
    stage = target.stage
    stage.require_alive()
    position, conversation = await state_at(source, at)
    stage.head = max(stage.head, position.at)
    commands.clone_from(stage, source.committed.profile.uid, position.at, position.tip, sent)
    target.take_over(await work.store.takeover(position.tip, target.state.conversation))
    return info(stage.profile, conversation, work.registry.bus.attached(target.row))


async def state_at(source: Agent, at: int | None) -> tuple[Position, Conversation]:
    """Return an agent's position and conversation at a seq, or at its head if ``at`` is ``None``."""
    state = source.committed
    if at is None or at == state.profile.head:
        return Position(state.profile.head, state.conversation.tip), state.conversation
    require_position(at, state.profile.head, state.profile.name)
    position = await source.store.read(going_back.goal, source.row, at)
    return position, await source.store.state(position.tip)
