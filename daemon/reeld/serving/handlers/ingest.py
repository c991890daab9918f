"""The handlers of ``ingest`` and ``load``: add what a provider answered, or what was sent to one."""

from functools import partial
from typing import Any

from reel.wire.msgpack_codec import packer
from reel.wire.short_messages import unpacked
from reeld.agents.adding import Addition
from reeld.agents.agent import Agent
from reeld.agents.idempotency import CommandOptions
from reeld.core.events import read
from reeld.core.rows import Row
from reeld.core.validation import rows_from
from reeld.formats.ingest import read_request, read_response
from reeld.protocol import params
from reeld.serving.call import Call, Deferred, Result, Services
from reeld.serving.handlers.rows import is_large_body, read_and_add, require_one_condition
from reeld.serving.renderings import Asked


def ingest(
    services: Services, call: Call, target: Agent | str, options: CommandOptions, asked: params.Ingest
) -> Deferred:
    """Add what a provider answered, and its token usage; a missing agent is given by its address."""
    require_one_condition(options.if_seq, asked.if_stands)
    known = Asked() if isinstance(target, str) else services.unanswered.take((target.row, asked.format))
    model = asked.model or known.model
    prefix = known.prefix if asked.prefix is None else asked.prefix.get("body")

    def parse() -> Addition:
        answer = read_response(
            asked.format,
            asked.body,
            model,
            asked.names,
            interrupted=asked.interrupted,
            prefix=prefix,
        )
        rows, altered = rows_from(answer)
        return Addition(rows, altered, {}, stands=asked.if_stands)

    large = is_large_body(call)
    return Deferred(partial(read_and_add, services, call, target, options, parse, create=asked.create, has_many=large))


def parse(services: Services, asked: params.Parse) -> Deferred:
    """Return what ``ingest`` would add: the message, and the records beside it."""

    def read_it() -> Result:
        answer = read_response(asked.format, asked.body, asked.model, asked.names, interrupted=asked.interrupted)
        rows, _ = rows_from(answer)
        message, *records = (_element(row) for row, _ in rows)
        return {"message": message, "records": records}

    async def run() -> Result:
        found: Result = await services.long_work.in_thread(read_it)
        return found

    return Deferred(run)


def _element(row: Row) -> dict[str, Any]:
    """Return a row in the form in which it is added."""
    message, _ = read(packer(), row.kind, row.content, row.data_json, 0, 0)
    if message is None:
        return {"kind": row.kind, "content": row.content, "data_json": row.data_json}
    return {name: value for name, value in unpacked(message).items() if name not in ("seq", "time")}


def load(services: Services, call: Call, target: Agent | str, options: CommandOptions, asked: params.Load) -> Deferred:
    """Add the history of a whole request; a missing agent is given by its address."""

    def parse() -> Addition:
        loaded = read_request(asked.format, asked.body, asked.model)
        rows, altered = rows_from(loaded.messages)
        return Addition(rows, altered, {}, more={"report": [change.as_map() for change in loaded.report]})

    large = is_large_body(call)
    return Deferred(partial(read_and_add, services, call, target, options, parse, create=asked.create, has_many=large))
