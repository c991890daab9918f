"""Adding a provider's items, one by one: the form of ``add`` that takes ``items``."""

import secrets
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from functools import partial
from typing import Any, TypeAlias

from reel.base.errors import InvalidMessage, InvalidParams
from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json
from reel.said.blocks import InvalidRecord, kind_of
from reeld.agents import adding
from reeld.agents.adding import Addition
from reeld.agents.agent import Agent
from reeld.agents.asking import ask
from reeld.agents.executor import Command, Work, job
from reeld.agents.idempotency import CommandOptions
from reeld.agents.jobs import Job
from reeld.core.events import Origin
from reeld.core.item_forms import is_own
from reeld.core.open_calls import OpenCall
from reeld.core.rows import with_origin
from reeld.core.validation import origin_from
from reeld.formats.items.own import own_rows
from reeld.formats.items.reading import ItemReader, OpenCallsNeeded, parse_items
from reeld.formats.table import FORMATS
from reeld.protocol.params import Add
from reeld.serving import call as serving
from reeld.serving.call import Call, Deferred, Result, Services
from reeld.serving.handlers.rows import create_and_add, write_addition

# A larger request is read in a thread; to go there and back takes as long as to read half as much.
_SMALL = 64 << 10
_ID_BYTES = 6


# Reads items behind open calls; ``None`` if these are not known.
_Read: TypeAlias = Callable[[Iterable[OpenCall] | None], Addition]


class Items(NamedTuple):
    """A request that adds items.

    Args:
        services: what the handler works with.
        call: the request.
        target: the agent, or the address of one that is missing.
        options: the command's.
        asked: what is added.
    """

    services: Services
    call: Call
    target: Agent | str
    options: CommandOptions
    asked: Add

    def add(self) -> serving.Work:
        """Add few items at once, and others or those of a missing agent later."""
        if isinstance(self.target, str) or self.call.size >= _SMALL:
            return Deferred(self.add_apart)
        read = partial(_addition, self.asked)
        found = _read_alone(read)
        return _job(self.services, self.call, self.target.row, self.options, read, found, self.call.answer)

    async def add_apart(self) -> Result:
        """Add items, and wait for it; many are read in a thread."""
        async with nullcontext() if self.call.size < _SMALL else self.services.long_work.many_rows:
            return await self._add_apart()

    async def _add_apart(self) -> Result:
        services, call, target, options, asked = self
        read, in_thread = partial(_addition, asked), services.long_work.in_thread
        if isinstance(target, str):
            added = read(()) if call.size < _SMALL else await in_thread(partial(read, ()))
            return await create_and_add(services, call, target, options, added, tags=asked.tags, create=asked.create)
        found = await in_thread(partial(_read_alone, read))
        reply: Result = await ask(
            services.registry, target, partial(_job, services, call, target.row, options, read, found)
        )
        return reply


def items_alone(call: Call, asked: Add) -> Addition | None:
    """Return what few items are to write; ``None`` if that depends on open calls, or would take long."""
    return None if call.size >= _SMALL else _read_alone(partial(_addition, asked))


async def read_items(services: Services, call: Call, asked: Add, open_calls: Iterable[OpenCall]) -> Addition:
    """Return what items are to write behind these open calls."""
    read = partial(_addition, asked, list(open_calls))
    return read() if call.size < _SMALL else await services.long_work.in_thread(read)


def _made_id() -> str:
    """Return the beginning of the ids of calls that have none."""
    return f"call_{secrets.token_hex(_ID_BYTES)}"


def _read_alone(read: _Read) -> Addition | None:
    """Return what items are to write; ``None`` if that depends on the calls before them."""
    try:
        return read(None)
    except OpenCallsNeeded:
        return None


def _job(
    services: Services,
    call: Call,
    row: int,
    options: CommandOptions,
    read: _Read,
    found: Addition | None,
    answer: Callable[[Any], None],
) -> Job:
    """Return the job that adds what was found; if nothing was, it is read there, with the open calls."""
    if found is not None:
        return write_addition(services, call, row, options, found, answer)

    async def stage(work: Work) -> Result:
        behind = partial(read, list(work.alone().stage.open_calls))
        added = behind() if call.size < _SMALL else await services.long_work.in_thread(behind)
        return await adding.add(work, added, lambda: call.peer.end_draft(row))

    return job(services.registry, options, Command(stage), answer)


def _addition(asked: Add, open_calls: Iterable[OpenCall] | None) -> Addition:
    assert asked.format is not None, "items have a format"  # noqa: S101 - has_items sees to it
    begin = asked.from_
    items = parse_items(asked.items, may_be_empty=begin is not None)
    if is_own(asked.format):
        found = own_rows(asked.format, items, asked.messages)
    else:
        found = ItemReader(FORMATS[asked.format], asked.model, _made_id, open_calls).rows(items)
    if asked.refs is None and asked.sent is None:
        return Addition(found.rows, found.altered, {}, begin, found.items, stands=asked.if_stands)
    origins, refs = _origins(asked, items)
    rows, before = [], -1
    for row, number in zip(found.rows, found.items, strict=True):
        origin = origins[number] if number != before else origins[number]._replace(ref=None)
        rows.append(with_origin(row, origin))
        before = number
    return Addition(rows, found.altered, refs, begin, found.items, stands=asked.if_stands)


def _origins(asked: Add, items: list[Json]) -> tuple[list[Origin], dict[str, int]]:
    """Return what each item was before it was added here, and the number of the item of each reference."""
    times, names = (_one_each(name, value, len(items)) for name, value in (("sent", asked.sent), ("refs", asked.refs)))
    origins: list[Origin] = []
    refs: dict[str, int] = {}
    for number, (sent, ref) in enumerate(zip(times, names, strict=True)):
        try:
            origins.append(origin_from(sent, ref))
        except InvalidRecord as error:
            raise InvalidMessage(f"items[{number}].{error}", index=number, field=error.field) from None
        if ref is not None and (first := refs.setdefault(ref, number)) != number:
            why = f"items[{first}] has {ref!r} already; give each its own"
            raise InvalidMessage(f"items[{number}].ref: {why}", index=number, field="ref")
    return origins, refs


def _one_each(name: str, values: Any, count: int) -> list[Any]:
    """Return a list with a value for each item; none of them has one if it was left out."""
    if values is None:
        return [None] * count
    if type(values) is not list or len(values) != count:
        has = f"a list of {len(values)}" if type(values) is list else kind_of(values)
        raise InvalidParams(f"{name}: expected a list with one for each of {count} items, got {has}", field=name)
    return values
