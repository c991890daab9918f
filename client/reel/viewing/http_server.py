"""HTTP/1.1 on a stream: requests in, responses out. The library h11 parses and writes the protocol."""

import sys
import traceback
from collections.abc import Awaitable, Callable
from typing import TypeAlias
from urllib.parse import parse_qsl

import anyio
import anyio.lowlevel
import h11
from anyio.abc import SocketStream

from reel.viewing.exchange import Request, Response, Send, html_response, message_page

Handler: TypeAlias = Callable[[Request], Awaitable[Response]]

# The limits in seconds for the idle time between two requests, and for receiving a request.
_SILENCE = 60.0
_CHUNK = 1 << 16
# The headers of every response: nothing is loaded from elsewhere or kept on disk, and no page may frame it.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = (
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cache-control", "no-store"),
)
# The exceptions that are raised if the peer hangs up.
_GONE = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, OSError)


async def serve(stream: SocketStream, handle: Handler) -> None:
    """Answer the requests on a connection, until either side ends it.

    Args:
        stream: the connection; it is closed at the end.
        handle: answers a request.
    """
    connection = _Connection(stream)
    async with stream:
        try:
            while (request := await connection.next_request()) is not None:
                await connection.respond(await _answer(handle, request))
        except h11.RemoteProtocolError as error:
            await connection.refuse(error.error_status_hint)
        except (*_GONE, h11.LocalProtocolError):
            pass  # the browser went away, or was no longer entitled to an answer


async def _answer(handle: Handler, request: Request) -> Response:
    try:
        return await handle(request)
    except Exception:  # a bug must end neither the server nor the other pages
        traceback.print_exc(file=sys.stderr)
        return html_response(message_page("Error", "This is a bug; the terminal has the details."), 500)


class _Connection:
    """One connection of a browser."""

    def __init__(self, stream: SocketStream) -> None:
        self._stream = stream
        self._http = h11.Connection(h11.SERVER)

    async def next_request(self) -> Request | None:
        """Read a request, or return ``None`` when the connection has ended."""
        with anyio.move_on_after(_SILENCE):
            if self._http.our_state is not h11.IDLE:
                if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
                    return None
                self._http.start_next_cycle()
            request: Request | None = None
            while True:
                event = self._http.next_event()
                if event is h11.NEED_DATA:
                    self._http.receive_data(await self._stream.receive(_CHUNK))
                elif isinstance(event, h11.Request):
                    request = _read(event)
                elif isinstance(event, h11.ConnectionClosed):
                    return None
                elif isinstance(event, h11.EndOfMessage):
                    return request
                # The body of a request is ignored: no request needs one here.
        return None

    async def respond(self, response: Response) -> None:
        """Send a response."""
        body = response.body
        headers = [*_HEADERS, ("content-type", response.content_type), *response.headers]
        if isinstance(body, bytes):
            headers.append(("content-length", str(len(body))))
        await self._send(h11.Response(status_code=response.status, headers=headers))
        if isinstance(body, bytes):
            await self._send(h11.Data(data=body))
        else:
            await self._pieces(body)
        await self._send(h11.EndOfMessage())

    async def _pieces(self, body: Callable[[Send], Awaitable[None]]) -> None:
        """Send a body in pieces, until it ends or the browser hangs up."""
        failed = False

        async def send(data: bytes) -> None:
            try:
                await self._send(h11.Data(data=data))
            except _GONE:
                tasks.cancel_scope.cancel()
                await anyio.lowlevel.checkpoint()

        async def listen() -> None:
            try:
                while True:
                    self._http.receive_data(await self._stream.receive(_CHUNK))
            except (*_GONE, h11.RemoteProtocolError):
                tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listen)
            try:
                await body(send)
            except Exception:  # a bug, as above
                traceback.print_exc(file=sys.stderr)
                failed = True
            tasks.cancel_scope.cancel()
        if failed:
            raise anyio.ClosedResourceError  # without an end, so that the browser notices the truncation

    async def refuse(self, status: int) -> None:
        """Answer a request that is not valid HTTP."""
        try:
            if self._http.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                await self.respond(html_response(message_page("Not a request", "This is not HTTP."), status))
        except (*_GONE, h11.LocalProtocolError):
            pass

    async def _send(self, event: h11.Event) -> None:
        data = self._http.send(event)
        if data:
            await self._stream.send(data)


def _read(event: h11.Request) -> Request:
    path, _, query = event.target.decode("ascii", "replace").partition("?")
    headers: dict[str, str] = {}
    for name, value in event.headers:
        key = name.decode("ascii")
        # Browsers send no header twice; both values are kept, so that neither is overlooked.
        headers[key] = "; ".join(filter(None, (headers.get(key, ""), value.decode("latin-1"))))
    return Request(event.method.decode("ascii"), path, dict(parse_qsl(query, keep_blank_values=True)), headers)
