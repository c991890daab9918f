"""The methods of the async client, whatever sends their requests."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from reel import replies, requests
from reel.base.errors import Exists, ReelError
from reel.requests import Call, next_page, providers
from reel.requests.calls import describe

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator
    from contextlib import AbstractAsyncContextManager

    from reel.aio.answer import Answer
    from reel.said.messages import Event, Item, Message, Record
    from reel.said.tool_calls import ToolCall

R = TypeVar("R")
P = ParamSpec("P")


def _method(request: Callable[P, Call[R]]) -> Callable[Concatenate[Methods, P], Awaitable[R]]:
    """Return the method that sends a request, waits for its reply and returns it."""

    async def method(self: Methods, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self.call(request(*args, **kwargs))

    return describe(method, request)


def _answer(
    request: Callable[P, Call[replies.Rendered]],
) -> Callable[Concatenate[Methods, P], AbstractAsyncContextManager[Answer]]:
    """Return the method that renders a conversation, for a block that feeds the answer."""

    def method(self: Methods, /, *args: P.args, **kwargs: P.kwargs) -> AbstractAsyncContextManager[Answer]:
        from reel.aio.answer import answering  # noqa: PLC0415 - most clients answer nothing

        return answering(self.call, request(*args, **kwargs))

    return describe(method, request, "AbstractAsyncContextManager[Answer]")


async def _carry_out(steps: Generator[Call[Any], Any, R], call: Callable[[Call[Any]], Awaitable[Any]]) -> R:
    """Send requests one after the other, each depending on the replies before it."""
    reply, refusal = None, None
    while True:
        try:
            step = steps.send(reply) if refusal is None else steps.throw(refusal)
        except StopIteration as end:
            result: R = end.value
            return result
        reply, refusal = None, None
        try:
            reply = await call(step)
        except ReelError as error:
            refusal = error


class Methods(ABC):
    """A method for each method of the protocol, but for ``subscribe``; a class that has them says how one is sent."""

    # What the daemon said of itself at the newest connection; ``None`` before the first one.
    server: replies.Hello | None = None

    @abstractmethod
    async def send(self, call: Call[R]) -> R:
        """Send one request, wait for its reply and return that."""

    async def call(self, call: Call[R]) -> R:
        """Send a request, wait for its reply and return that; some take several requests.

        Args:
            call: a call of :mod:`reel.requests`.

        Raises:
            ReelError: the daemon refused the request.
            NotRunning: the daemon cannot be reached.
            Timeout: the call took longer than ``timeout``.
        """
        if call.steps is not None:
            return await _carry_out(call.steps(lambda: self.server), self.call)
        try:
            return await self.send(call)
        except Exists:
            if call.if_exists is None:
                raise
        return await self.call(call.if_exists)

    async def pages(self, call: Call[R]) -> AsyncGenerator[R, None]:
        """Yield a reply, and every page after it."""
        following_call: Call[R] | None = call
        while following_call is not None:
            reply = await self.call(following_call)
            yield reply
            following_call = next_page(following_call, reply)

    async def iter_messages(
        self, agent: str, since: int | None = None, at: int | None = None
    ) -> AsyncIterator[Message]:
        """Yield every message of the current conversation, page by page; see :meth:`messages`."""
        async for page in self.pages(requests.messages(agent, since=since, at=at)):
            for message in page.messages:
                yield message

    async def iter_items(
        self,
        agent: str,
        format: str,  # noqa: A002 - the protocol's name
        since: int | None = None,
        at: int | None = None,
    ) -> AsyncIterator[Item]:
        """Yield every item of the current conversation, page by page; see :meth:`items`."""
        async for page in self.pages(requests.items(agent, format, since=since, at=at)):
            for item in page.items:
                yield item

    async def iter_conversation(
        self, agent: str, since: int | None = None, at: int | None = None
    ) -> AsyncIterator[Record]:
        """Yield every record of the current conversation, page by page; see :meth:`conversation`."""
        async for page in self.pages(requests.conversation(agent, since=since, at=at)):
            for record in page.conversation:
                yield record

    async def iter_history(
        self, agent: str, since: int | None = None, *, inherited: bool = False
    ) -> AsyncIterator[Event]:
        """Yield every event of an agent's log, page by page; see :meth:`history`."""
        async for page in self.pages(requests.history(agent, since=since, inherited=inherited)):
            for event in page.events:
                yield event

    async def iter_agents(
        self, prefix: str | None = None, *, alive: bool | None = None
    ) -> AsyncIterator[replies.AgentRow]:
        """Yield every agent in the order of their creation, page by page; see :meth:`agents`."""
        async for page in self.pages(requests.agents(prefix=prefix, alive=alive)):
            for row in page.agents:
                yield row

    async def open_calls(self, agent: str) -> list[ToolCall]:
        """Return the tool calls without a result, with their arguments.

        Args:
            agent: a name or an id.
        """
        from reel.requests.open_calls import read_open_calls  # noqa: PLC0415 - most clients call no tools

        return await _carry_out(read_open_calls(agent), self.call)

    ping = _method(requests.ping)
    methods = _method(requests.methods)
    create = _method(requests.create)
    add = _method(requests.add)
    append = _method(requests.append)
    add_items = _method(requests.add_items)
    clear = _method(requests.clear)
    clone = _method(requests.clone)
    mark = _method(requests.mark)
    rewind = _method(requests.rewind)
    restore = _method(requests.restore)
    undo = _method(requests.undo)
    undo_turn = _method(requests.undo_turn)
    redo = _method(requests.redo)
    kill = _method(requests.kill)
    revive = _method(requests.revive)
    change = _method(requests.change)
    commit = _method(requests.commit)
    redact = _method(requests.redact)
    prune = _method(requests.prune)
    purge = _method(requests.purge)
    retention = _method(requests.retention)
    purged = _method(requests.purged)
    agents = _method(requests.agents)
    agent = _method(requests.agent)
    messages = _method(requests.messages)
    items = _method(requests.items)
    conversation = _method(requests.conversation)
    history = _method(requests.history)
    histories = _method(requests.histories)
    tree = _method(requests.tree)
    difference = _method(requests.difference)
    usage = _method(requests.usage)
    state = _method(requests.state)
    replay = _method(requests.replay)
    search = _method(requests.search)
    edits = _method(requests.edits)
    render = _method(requests.render)
    answer = _answer(providers.answer)
    ingest = _method(requests.ingest)
    parse = _method(requests.parse)
    load = _method(requests.load)
    wait = _method(requests.wait)
    draft = _method(requests.draft)
    verify = _method(requests.verify)
    backup = _method(requests.backup)
    stats = _method(requests.stats)
    shutdown = _method(requests.shutdown)
