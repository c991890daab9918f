"""The client at the other end: its requests are answered, each in a task of its own, until it closes its end."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeAlias

import anyio

from reel.mcp.protocol.frames import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    Id,
    Notification,
    ProtocolError,
    Reply,
    Request,
    Unreadable,
    error_line,
    read_frame,
    read_id,
    request_line,
    result_line,
)

# How many requests may be without a reply that is written; agents send a handful. The error for one more is written in
# its turn, and nothing is read meanwhile: so a client that reads nothing cannot fill the memory.
_IN_FLIGHT = 64
# Seconds that a client has for the reply to a request of ours.
_PATIENCE = 2.0
# Seconds in which what was asked is still answered after the client has closed its end, as a script does.
_LAST_WORDS = 5.0
# The characters of an error that nobody thought of.
_WORDS = 500

# Answers a request, or raises a ProtocolError.
Handler: TypeAlias = Callable[[Request], Awaitable[dict[str, Any]]]


class Peer:
    """A connection.

    Args:
        lines: what the client writes.
        write: writes a line.
        handle: answers a request.
        note: takes a notification.
    """

    def __init__(
        self,
        lines: AsyncIterator[bytes],
        write: Callable[[bytes], Awaitable[None]],
        handle: Handler,
        note: Callable[[Notification], None],
    ) -> None:
        self._lines = lines
        self._write = write
        self._handle = handle
        self._note = note
        self._turn = anyio.Lock()
        self._running: dict[Id, anyio.CancelScope] = {}
        # How many requests have no reply that is written.
        self._open = 0
        self._asked: dict[Id, tuple[anyio.Event, list[Any]]] = {}
        self._number = 0

    async def run(self) -> None:
        """Answer until the client closes its end, or reads no more."""
        try:
            async with anyio.create_task_group() as tasks:
                async for line in self._lines:
                    await self._take(line, tasks)
                tasks.cancel_scope.deadline = anyio.current_time() + _LAST_WORDS
        except* OSError:  # of a write: nobody reads it, or it has no room
            pass

    async def ask(self, method: str, params: dict[str, Any]) -> Any:
        """Send a request to the client, and return the result; ``None`` if it does not come in time."""
        self._number += 1
        number = f"reel-{self._number}"
        answered, found = self._asked[number] = anyio.Event(), list[Any]()
        try:
            await self._send(request_line(number, method, params))
            with anyio.move_on_after(_PATIENCE):
                await answered.wait()
        finally:
            del self._asked[number]
        return found[0] if found else None

    async def _take(self, line: bytes, tasks: anyio.abc.TaskGroup) -> None:
        match read_frame(line):
            case Request() as request:
                problem = self._why_not(request)
                if problem is None:
                    self._running[request.id] = anyio.CancelScope()
                    self._open += 1
                    tasks.start_soon(self._answer, request)
                else:
                    await self._send(error_line(request.id, problem))
            case Notification("notifications/cancelled", params):
                number = read_id(params.get("requestId"))
                if number is not None and (scope := self._running.get(number)) is not None:
                    scope.cancel()
            case Notification() as notification:
                self._note(notification)
            case Reply(number, result):
                if number is not None and (asked := self._asked.get(number)) is not None:
                    asked[1].append(result)
                    asked[0].set()
            case Unreadable(number, error):
                await self._send(error_line(number, error))

    def _why_not(self, request: Request) -> ProtocolError | None:
        if request.id in self._running:
            return ProtocolError(INVALID_REQUEST, f"a request with the id {request.id!r} is not answered yet")
        if self._open >= _IN_FLIGHT:
            return ProtocolError(INVALID_REQUEST, f"{_IN_FLIGHT} requests are not answered yet; wait for their replies")
        return None

    async def _answer(self, request: Request) -> None:
        with self._running[request.id] as scope:
            try:
                line = result_line(request.id, await self._handle(request))
            except ProtocolError as error:
                line = error_line(request.id, error)
            except Exception as error:
                words = f"{type(error).__name__}: {error}"[:_WORDS]
                line = error_line(request.id, ProtocolError(INTERNAL_ERROR, words))
        del self._running[request.id]
        if not scope.cancelled_caught:  # nobody waits for what was cancelled
            await self._send(line)
        self._open -= 1

    async def _send(self, line: bytes) -> None:
        async with self._turn:
            await self._write(line)
