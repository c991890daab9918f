"""The command on several agents: its parts are commands of their own, with the same parameters."""

from functools import partial
from typing import Any

from reel.base.errors import InvalidParams
from reel.said.blocks import kind_of
from reeld.agents import together
from reeld.agents.executor import Target, Work, execute
from reeld.agents.idempotency import CommandOptions
from reeld.agents.together import New, Part, Put, Together, in_part
from reeld.core.stage import Reply
from reeld.core.stretch import read_stretch
from reeld.protocol import params
from reeld.protocol.converters import unexpected
from reeld.protocol.signature import AGENT, OPTIONS, Signature, declared, given
from reeld.serving.call import Call, Deferred, Posted, Result, Services
from reeld.serving.handlers import late
from reeld.serving.handlers.given_items import has_items
from reeld.serving.handlers.rows import addition, is_long, require_one_condition

_ADD = Signature((AGENT, *declared(params.Add), *OPTIONS))
_CREATE = Signature((*declared(params.Create), *OPTIONS))
_CHANGE = Signature((AGENT, *declared(params.Change), *OPTIONS))
_APPEND = Signature((AGENT, *declared(params.Append), *OPTIONS))
# The methods that a part may be.
_SIGNATURES = {"add": _ADD, "create": _CREATE, "change": _CHANGE, "append": _APPEND}


class _Reader:
    """Reads the parts of one command.

    Args:
        services: the daemon's.
        call: the request.
    """

    def __init__(self, services: Services, call: Call) -> None:
        self._services = services
        self._call = call
        # The rows of the agents to which something is added.
        self.spoken: list[int] = []

    def read(self, part: Any) -> Part:
        """Return a part.

        Raises:
            ReelError: it is not one.
        """
        if type(part) is not dict:
            raise InvalidParams(f"expected a map, got {kind_of(part)}")
        method, own = part.get("method"), {name: value for name, value in part.items() if name != "method"}
        signature = _SIGNATURES.get(method) if type(method) is str else None
        if signature is None:
            raise InvalidParams(f"method: {unexpected(method, [*_SIGNATURES])}", field="method")
        if own.get("key") is not None:
            raise InvalidParams("key: a part has none; give one for all parts, beside parts", field="key")
        (*values, if_seq, _), replaced = signature.bind(own)
        if signature is _ADD:
            require_one_condition(if_seq, given(params.Add, values[1:]).if_stands)
        made = self._part(signature, values)
        plain = None if replaced else made.plain
        return made._replace(if_seq=if_seq, put=_counting(made.put, replaced), plain=plain)

    def _part(self, signature: Signature, values: list[Any]) -> Part:
        if signature is _CREATE:
            new = given(params.Create, values)
            return Part(new.agent, together.create, new=New(new.title, new.tags, new.system, must_be_new=True))
        address, *own = values
        if signature is _CHANGE:
            return Part(address, partial(together.change, asked=given(params.Change, own)))
        if signature is _APPEND:
            stretch = read_stretch(given(params.Append, own).events)
            return Part(address, partial(together.append, stretch=stretch))
        return self._add(address, given(params.Add, own))

    def _add(self, address: str, asked: params.Add) -> Part:
        if has_items(asked):
            added = late.items_alone(self._call, asked)
        else:
            added = addition(asked.messages, asked.from_, asked.if_stands)

        async def put(work: Work, target: Target) -> Reply:
            found = added
            if found is None:
                found = await late.read_items(self._services, self._call, asked, target.stage.open_calls)
            result = await together.add(work, target, found)
            self.spoken.append(target.row)
            return result

        plain = added if added is not None and added.is_plain else None
        return Part(address, put, new=New(tags=asked.tags) if asked.create else None, plain=plain)


def _counting(put: Put, replaced: int) -> Put:
    """Wrap ``put`` so that its result reports replaced characters."""

    async def counting(work: Work, target: Target) -> Reply:
        return {**await put(work, target), "replaced": replaced}

    return counting if replaced else put


def commit(services: Services, call: Call, options: CommandOptions, asked: params.Commit) -> Deferred | Posted:
    """Carry out commands on several agents, all or none.

    One that only adds to a single agent shares a commit with what else is written to that, as any ``add`` does.
    """
    reader = _Reader(services, call)

    def read() -> list[Part]:
        found = []
        for number, part in enumerate(asked.parts):
            with in_part(number):
                found.append(reader.read(part))
        return found

    async def run(parts: list[Part]) -> Result:
        reply = await execute(services.registry, options, Together(services.registry, parts).command)
        for row in reader.spoken:
            call.peer.end_draft(row)
        return reply

    async def read_and_run() -> Result:
        async with services.long_work.many_rows:
            return await run(await services.long_work.in_thread(read))

    if is_long(call, asked.parts):
        return Deferred(read_and_run)
    parts = read()
    together = Together(services.registry, parts)
    agent = together.alone()
    if agent is None:
        return Deferred(partial(run, parts))
    return Posted(agent, together.write(options, agent, call.answer, call.peer.end_draft))
