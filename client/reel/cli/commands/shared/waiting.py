"""What a conversation waits for, as ``info`` and ``show`` say it."""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING
from reel.reading.approvals import KINDS, NEWEST, asked_for, looked_at_after, waiting

if TYPE_CHECKING:
    from reel.cli.line.context import Context
    from reel.replies import OpenCall
    from reel.said.messages import Message


def waits_for(ctx: Context, agent: str, newest: list[Message], open_calls: list[OpenCall]) -> str:
    """Return that a conversation waits for a person, and for what; empty if it does not.

    Args:
        ctx: the context of the command.
        agent: the name or the id of the agent.
        newest: its newest messages, the oldest first.
        open_calls: its calls without a result.
    """
    since = looked_at_after(newest[-1]["seq"] if newest else 0)
    records = ctx.client.history(agent, since, kinds=KINDS, last=NEWEST, live=True, inherited=True).events
    asked = asked_for(newest, ((call.id, call.name) for call in open_calls), records)
    return "" if asked is None else waiting(asked)
