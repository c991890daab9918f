"""Adding rows to an agent: the common part of all methods that add something."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

from reel.base.errors import InvalidParams, NotFound
from reel.base.values import new_tuple
from reeld.agents import adding
from reeld.agents.adding import Addition
from reeld.agents.agent import Agent
from reeld.agents.asking import ask
from reeld.agents.executor import Command, execute, job
from reeld.agents.idempotency import CommandOptions
from reeld.agents.jobs import Exclusive, Job, Write
from reeld.core import commands
from reeld.core.stage import Reply, Stage
from reeld.core.validation import UNALTERED, Expected, rows_from
from reeld.protocol import converters
from reeld.serving.call import Call, Result, Services

# From this many messages or bytes on, the rows of a request are built in a thread.
_MANY = 500
_LARGE = 1 << 20
# From this many bytes on, a provider's body may have many messages.
_LARGE_BODY = 64 << 10


def write_addition(
    services: Services, call: Call, row: int, options: CommandOptions, added: Addition, answer: Callable[[Any], None]
) -> Job:
    """Return the job that adds rows: a ``Write`` if it is plain, as nearly all are; ``row`` is the agent's."""
    store = services.store

    def apart() -> Exclusive:
        end_draft = partial(call.peer.end_draft, row)
        return job(services.registry, options, Command(partial(adding.add, added=added, on_staged=end_draft)), answer)

    def stage_rows(stage: Stage) -> Reply | bytes:
        if added.is_reply_usual:
            adding.require_as_expected(store, stage, added)
            reply: Reply | bytes = commands.add_packed(stage, stage.marked(added.rows), added.altered)
        else:
            reply = adding.put_plain(store, stage, added)
        call.peer.end_draft(row)
        return reply

    return new_tuple(Write, (stage_rows, options, answer, apart)) if added.is_plain else apart()


def addition(messages: Any, begin: int | None, stands: int | None = None) -> Addition:
    """Return what messages are to write.

    Args:
        messages: the messages.
        begin: the seq from which on they replace the conversation.
        stands: the seq of the newest record that they answer.
    """
    refs: dict[str, int] = {}
    expected: list[Expected] = []
    nothing = begin is not None and messages == []
    rows, altered = ([], UNALTERED) if nothing else rows_from(messages, refs, expected)
    return Addition(rows, altered, refs, begin, expected=expected, stands=stands)


def require_one_condition(if_seq: int | None, if_stands: int | None) -> None:
    """Refuse a command that depends both on the head and on what it answers.

    Raises:
        InvalidParams: it does.
    """
    if if_seq is not None and if_stands is not None:
        raise InvalidParams("if_stands: if_seq asks for more than it does; leave one of the two out", field="if_stands")


def is_long(call: Call, messages: Any) -> bool:
    """Return whether building the rows takes long: 2 us per message, and 3 ms per megabyte."""
    return call.size >= _LARGE or (type(messages) is list and len(messages) >= _MANY)


def is_large_body(call: Call) -> bool:
    """Return whether a provider's body may have many messages."""
    return call.size >= _LARGE_BODY


async def create_and_add(
    services: Services,
    call: Call,
    address: str,
    options: CommandOptions,
    added: Addition,
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
    name = converters.name(address)
    command = adding.creating(services.registry, name, added, tags, call.peer.end_draft)
    return await execute(services.registry, options, command)


async def read_and_add(
    services: Services,
    call: Call,
    target: Agent | str,
    options: CommandOptions,
    read: Callable[[], Addition],
    *,
    create: bool,
    has_many: bool,
    tags: dict[str, str] | None = None,
) -> Result:
    """Add what ``read`` returns, which takes long; a missing agent is given by its address.

    Args:
        services: what handlers work with.
        call: the request.
        target: the agent.
        options: the command's.
        read: returns what to add.
        create: whether to create a missing agent.
        has_many: whether there may be many rows, which few commands may have at once.
        tags: of an agent that is created.
    """
    async with services.long_work.many_rows if has_many else nullcontext():
        added = await services.long_work.in_thread(read)
        if isinstance(target, str):
            return await create_and_add(services, call, target, options, added, create=create, tags=tags)
        row = target.row
        reply: Result = await ask(
            services.registry, target, lambda answer: write_addition(services, call, row, options, added, answer)
        )
        return reply
