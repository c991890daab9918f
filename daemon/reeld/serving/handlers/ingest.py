"""The handlers of ``ingest`` and ``load``: what providers say, and what was said to them."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeAlias

from reel.errors import ReelError
from reeld.agents.agent import Agent
from reeld.agents.idempotency import repeated
from reeld.agents.mail import Terms, Write
from reeld.core import commands
from reeld.core.commands import Reply, Stage
from reeld.core.intake import CheckedRow, rows_from
from reeld.formats.ingest import read_request, read_response
from reeld.serving import params
from reeld.serving.call import Call, Desk, Later, Result

# Rows, how many characters of them were replaced, and what the reply says beside that they were added.
Read: TypeAlias = tuple[list[CheckedRow], int, Result]
# Writes rows in one command.
Add: TypeAlias = Callable[[list[CheckedRow], int], Awaitable[Result]]


def ingest(
    desk: Desk,
    call: Call,
    agent: Agent,
    terms: Terms,
    format: str,  # noqa: A002 - the protocol's own word
    body: str,
    model: str | None,
    _create: bool | None,
    names: dict[str, str] | None,
    interrupted: bool | None,
) -> Later:
    """Add what a provider answered, and what it used."""
    read = partial(_read_answer, format, body, model, names, interrupted=bool(interrupted))
    return partial(_add, desk, read, partial(_to_agent, desk, call, agent, terms))


async def ingest_to_nobody(
    desk: Desk,
    agent: str,
    terms: Terms,
    format: str,  # noqa: A002 - as above
    body: str,
    model: str | None,
    create: bool | None,
    names: dict[str, str] | None,
    interrupted: bool | None,
) -> Result:
    """Add an answer to an agent that is not there: make it first, if that is wanted."""
    read = partial(_read_answer, format, body, model, names, interrupted=bool(interrupted))
    return await _add(desk, read, partial(_to_nobody, desk, agent, terms, create=bool(create)))


def load(
    desk: Desk,
    call: Call,
    agent: Agent,
    terms: Terms,
    format: str,  # noqa: A002 - as above
    body: str,
    model: str | None,
    _create: bool | None,
) -> Later:
    """Add the history of a whole request."""
    return partial(
        _add, desk, partial(_read_request, format, body, model), partial(_to_agent, desk, call, agent, terms)
    )


async def load_to_nobody(
    desk: Desk,
    agent: str,
    terms: Terms,
    format: str,  # noqa: A002 - as above
    body: str,
    model: str | None,
    create: bool | None,
) -> Result:
    """Add a history to an agent that is not there: make it first, if that is wanted."""
    add = partial(_to_nobody, desk, agent, terms, create=bool(create))
    return await _add(desk, partial(_read_request, format, body, model), add)


def _read_answer(
    format: str,  # noqa: A002 - as above
    body: str,
    model: str | None,
    names: dict[str, str] | None,
    *,
    interrupted: bool,
) -> Read:
    rows, replaced = rows_from(read_response(format, body, model, names, interrupted=interrupted))
    return rows, replaced, {}


def _read_request(format: str, body: str, model: str | None) -> Read:  # noqa: A002 - as above
    loaded = read_request(format, body, model)
    rows, replaced = rows_from(loaded.messages)
    return rows, replaced, {"report": [change.as_map() for change in loaded.report]}


async def _add(desk: Desk, read: Callable[[], Read], add: Add) -> Result:
    """Read a body aside, and add what is in it; a body has one report, so that need not be remembered with a key."""
    rows, replaced, more = await desk.shelf.work(read)
    return {**await add(rows, replaced), **more}


async def _to_agent(
    desk: Desk, call: Call, agent: Agent, terms: Terms, rows: list[CheckedRow], replaced: int
) -> Result:
    def put(stage: Stage) -> Reply:
        reply = commands.add(stage, rows, replaced)
        desk.drafts.end(call.peer.number, agent.row)
        return reply

    reply: Result = await desk.registry.ask(agent, lambda answer: Write(put, terms, answer))
    return reply


async def _to_nobody(
    desk: Desk, agent: str, terms: Terms, rows: list[CheckedRow], replaced: int, *, create: bool
) -> Result:
    try:
        if not create:
            raise commands.not_found(agent)
        return await desk.founder.create_and_add(terms, params.name(agent), rows, replaced)
    except ReelError as error:
        return await repeated(desk.store, terms.keyed, error)
