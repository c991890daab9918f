"""The handlers of ``ingest`` and ``load``: add what a provider answered, or what was sent to one."""

from functools import partial

from reeld.agents.agent import Agent
from reeld.agents.exclusive import Addition
from reeld.agents.idempotency import CommandOptions
from reeld.core.validation import rows_from
from reeld.formats.ingest import read_request, read_response
from reeld.serving.call import Call, Deferred, Services
from reeld.serving.handlers.rows import read_and_add


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

    def parse() -> Addition:
        rows, altered = rows_from(
            read_response(format_name, body, model or asked, names, interrupted=bool(interrupted))
        )
        return Addition(rows, altered, {})

    return Deferred(partial(read_and_add, services, call, target, options, parse, create=bool(create)))


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

    def parse() -> Addition:
        loaded = read_request(format_name, body, model)
        rows, altered = rows_from(loaded.messages)
        return Addition(rows, altered, {}, more={"report": [change.as_map() for change in loaded.report]})

    return Deferred(partial(read_and_add, services, call, target, options, parse, create=bool(create)))
