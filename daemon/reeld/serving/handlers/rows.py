"""Adding rows to an agent: what every method does that has turned something into rows."""

from collections.abc import Callable
from typing import Any

from reel.errors import NotFound
from reeld.agents.agent import Agent, Write
from reeld.agents.exclusive import Addition
from reeld.agents.idempotency import CommandOptions
from reeld.core import commands
from reeld.core.commands import Reply, Stage
from reeld.core.validation import Altered, CheckedRow
from reeld.serving import params
from reeld.serving.call import Call, Result, Services

_NOTHING: Result = {}
# Creates a named tuple in half the time that calling its class takes.
_new = tuple.__new__


def write_rows(
    call: Call,
    agent: Agent,
    options: CommandOptions,
    rows: list[CheckedRow],
    altered: Altered,
    answer: Callable[[Any], None],
    more: Result = _NOTHING,
) -> Write:
    """Return the job that adds rows, and ends what the connection shows as its draft.

    Args:
        call: the request.
        agent: whose job it is.
        options: the command's.
        rows: what is added.
        altered: how much of the messages was altered.
        answer: takes the reply or the error.
        more: what the reply says beside that the rows were added.
    """

    def stage_rows(stage: Stage) -> Reply | bytes:
        reply = {**commands.add(stage, rows, altered), **more} if more else commands.add_packed(stage, rows, altered)
        call.peer.end_draft(agent.row)
        return reply

    return _new(Write, (stage_rows, options, answer))


async def create_and_add(
    services: Services,
    address: str,
    options: CommandOptions,
    added: Addition,
    more: Result = _NOTHING,
    *,
    create: bool,
    tags: dict[str, str] | None = None,
) -> Result:
    """Create an agent and add rows to it in one command.

    Raises:
        NotFound: ``create`` does not ask for it, or the rows replace some that cannot be there.
    """
    if added.begin is not None:
        raise NotFound(
            f"no agent {address}, and so no message {added.begin} to replace; add without from", agent=address
        )
    if not create:
        raise commands.not_found(address)
    return await services.factory.create_and_add(options, params.name(address), added, more, tags)
