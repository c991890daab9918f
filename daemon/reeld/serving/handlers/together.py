"""The command on several agents: its parts are commands of their own, with the same parameters."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from reel.blocks import kind_of
from reel.errors import InvalidParams
from reeld.agents import together
from reeld.agents.idempotency import CommandOptions
from reeld.agents.together import New, Part, Put, Target, Together, in_part
from reeld.core.commands import Reply
from reeld.serving.call import Call, Deferred, Result, Services
from reeld.serving.handlers import late
from reeld.serving.handlers.given_items import given_items
from reeld.serving.handlers.rows import addition, is_long
from reeld.serving.params import Signature, unexpected


class _Reader:
    """Reads the parts of one command.

    Args:
        services: the daemon's.
        call: the request.
        signatures: the parameters of each method that a part may be.
    """

    def __init__(self, services: Services, call: Call, signatures: Mapping[str, Signature]) -> None:
        self._services = services
        self._call = call
        self._signatures = signatures
        # The rows of the agents to which something is added.
        self.spoken: list[int] = []

    def read(self, part: Any) -> Part:
        """Return a part.

        Raises:
            ReelError: it is not one.
        """
        if type(part) is not dict:
            raise InvalidParams(f"expected a map, got {kind_of(part)}")
        method, params = part.get("method"), {name: value for name, value in part.items() if name != "method"}
        signature = self._signatures.get(method) if type(method) is str else None
        if signature is None:
            raise InvalidParams(f"method: {unexpected(method, [*self._signatures])}", field="method")
        if params.get("key") is not None:
            raise InvalidParams("key: a part has none; give one for all parts, beside parts", field="key")
        (address, *own, if_seq, _), replaced = signature.bind(params)
        made: Part = getattr(self, f"_{method}")(address, *own)
        return made._replace(if_seq=if_seq, put=_counting(made.put, replaced))

    def _create(self, name: str | None, system: str | None, title: str | None, tags: dict[str, str] | None) -> Part:
        return Part(name, together.create, new=New(title, tags, system, must_be_new=True))

    def _change(self, address: str, name: str | None, title: str | None, tags: dict[str, str] | None) -> Part:
        return Part(address, partial(together.change, name=name, title=title, tags=tags))

    def _add(self, address: str, messages: Any, *own: Any) -> Part:
        create, begin, tags, *items = own
        if tags is not None and not create:
            raise InvalidParams("tags: only a new agent gets them; add with create, or use change", field="tags")
        given = given_items(messages, *items)
        added = None if given is not None else addition(messages, begin)

        async def put(whole: Together, target: Target) -> Reply:
            found = added
            if given is not None:
                found = await late.read_items(self._services, self._call, given, begin, target.stage.open_calls)
            assert found is not None, "there are messages or items"  # noqa: S101
            result = await together.add(whole, target, found)
            self.spoken.append(target.row)
            return result

        return Part(address, put, new=New(tags=tags) if create else None)


def _counting(put: Put, replaced: int) -> Put:
    """Return what says in the result how many characters of the parameters were replaced."""

    async def counting(whole: Together, target: Target) -> Reply:
        return {**await put(whole, target), "replaced": replaced}

    return counting if replaced else put


def commit(
    signatures: Mapping[str, Signature], services: Services, call: Call, options: CommandOptions, parts: list[Any]
) -> Deferred:
    """Carry out commands on several agents, all or none.

    Args:
        signatures: the parameters of each method that a part may be.
        services: the daemon's.
        call: the request.
        options: the command's.
        parts: the commands.
    """
    reader = _Reader(services, call, signatures)

    def read() -> list[Part]:
        found = []
        for number, part in enumerate(parts):
            with in_part(number):
                found.append(reader.read(part))
        return found

    is_small = not is_long(call, parts)

    async def run() -> Result:
        found = read() if is_small else await services.long_work.in_thread(read)
        reply = await Together(services.registry, services.factory, options, found).commit()
        for row in reader.spoken:
            call.peer.end_draft(row)
        return reply

    return Deferred(run)
