"""The handlers of ``ingest`` and ``load``: add what a provider answered, or what was sent to one."""

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from reeld.agents.agent import Agent
from reeld.agents.exclusive import Addition
from reeld.agents.idempotency import CommandOptions
from reeld.core.validation import Altered, CheckedRow, rows_from
from reeld.formats.ingest import read_request, read_response
from reeld.serving.call import Call, Deferred, Result, Services
from reeld.serving.handlers.rows import create_and_add, write_rows

# Rows, how much of them was altered, and what else the reply says.
Parsed: TypeAlias = tuple[list[CheckedRow], Altered, Result]


def ingest(
    services: Services,
    call: Call,
    target: Agent | str,
    options: CommandOptions,
    format_name: str,
    body: str,
    model: str | None,
    create: bool | None,
    names: dict[str, str] | None,
    interrupted: bool | None,
) -> Deferred:
    """Add what a provider answered, and its token usage; a missing agent is given by its address."""
    asked = None if isinstance(target, str) else services.asked_models.take((target.row, format_name))

    def parse() -> Parsed:
        rows, altered = rows_from(
            read_response(format_name, body, model or asked, names, interrupted=bool(interrupted))
        )
        return rows, altered, {}

    return Deferred(partial(_parse_and_add, services, call, target, options, parse, create=bool(create)))


def load(
    services: Services,
    call: Call,
    target: Agent | str,
    options: CommandOptions,
    format_name: str,
    body: str,
    model: str | None,
    create: bool | None,
) -> Deferred:
    """Add the history of a whole request; a missing agent is given by its address."""

    def parse() -> Parsed:
        loaded = read_request(format_name, body, model)
        rows, altered = rows_from(loaded.messages)
        return rows, altered, {"report": [change.as_map() for change in loaded.report]}

    return Deferred(partial(_parse_and_add, services, call, target, options, parse, create=bool(create)))


async def _parse_and_add(
    services: Services,
    call: Call,
    target: Agent | str,
    options: CommandOptions,
    parse: Callable[[], Parsed],
    *,
    create: bool,
) -> Result | bytes:
    rows, altered, more = await services.render_cache.run_in_thread(parse)
    if isinstance(target, str):
        return await create_and_add(services, target, options, Addition(rows, altered, {}), more, create=create)
    agent = target
    reply: Result | bytes = await services.registry.ask(
        agent, lambda answer: write_rows(call, agent, options, rows, altered, answer, more)
    )
    return reply
