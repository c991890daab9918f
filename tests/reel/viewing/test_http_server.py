"""HTTP on a connection, as a browser sees it: the server gets bytes, and another end of h11 reads what it sends."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import h11
import pytest
import trio
from anyio.streams.buffered import BufferedByteStream
from anyio.streams.stapled import StapledObjectStream

from reel.viewing.exchange import Request, Response, Send, html_response
from reel.viewing.http_server import POLICY, serve
from tests.patience import PATIENCE


class Browser:
    """The browser's end of a connection."""

    def __init__(self, stream: StapledObjectStream[bytes]) -> None:
        self._stream = stream
        self._http = h11.Connection(h11.CLIENT)
        self.asked: list[Request] = []
        self.ended = anyio.Event()

    async def send(self, data: bytes) -> None:
        """Send bytes, whatever they are."""
        await self._stream.send(data)

    async def ask(self, target: str = "/", **headers: str) -> tuple[int, dict[str, str], str]:
        """Send a request, and return the status, the headers and the body of the response."""
        if self._http.our_state is h11.DONE:
            self._http.start_next_cycle()
        named = [("host", "x"), *((name.replace("_", "-"), value) for name, value in headers.items())]
        await self.send(self._http.send(h11.Request(method="GET", target=target, headers=named)) or b"")
        await self.send(self._http.send(h11.EndOfMessage()) or b"")
        return await self.answer()

    async def answer(self) -> tuple[int, dict[str, str], str]:
        """Read a response."""
        response = await self.next_event()
        body = b""
        while type(event := await self.next_event()) is h11.Data:
            body += event.data
        return response.status_code, {name.decode(): value.decode() for name, value in response.headers}, body.decode()

    async def next_event(self) -> Any:
        """Read until something is complete."""
        while (event := self._http.next_event()) is h11.NEED_DATA:
            try:
                self._http.receive_data(await self._stream.receive())
            except anyio.EndOfStream:
                self._http.receive_data(b"")
        return event

    async def hang_up(self) -> None:
        """Close the connection, and wait until the server has ended."""
        await self._stream.aclose()
        await self.ended.wait()


@asynccontextmanager
async def browsing(*responses: Response | Exception) -> AsyncIterator[Browser]:
    """Serve a connection, whose requests get these responses, one after the other."""
    to_server, from_browser = anyio.create_memory_object_stream[bytes](100)
    to_browser, from_server = anyio.create_memory_object_stream[bytes](100)
    browser, left = Browser(StapledObjectStream(to_server, from_server)), list(responses)

    async def answer(request: Request) -> Response:
        browser.asked.append(request)
        response = left.pop(0)
        if isinstance(response, Exception):
            raise response
        return response

    async def run(stream: Any) -> None:
        await serve(stream, answer)
        browser.ended.set()

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run, BufferedByteStream(StapledObjectStream(to_browser, from_browser)))
            yield browser
            await browser.hang_up()


async def test_requests_on_one_connection() -> None:
    """Each gets its response, with the headers that keep a page from loading anything, or from being kept."""
    async with browsing(html_response("one"), html_response("two", 404, ("x-more", "y"))) as browser:
        first, second = await browser.ask("/a?b=c&d="), await browser.ask("/e")

    assert [(200, "one"), (404, "two")] == [(status, body) for status, _, body in (first, second)]
    assert (POLICY, "no-store", "3") == tuple(
        first[1][name] for name in ("content-security-policy", "cache-control", "content-length")
    )
    assert "y" == second[1]["x-more"]
    assert [("/a", {"b": "c", "d": ""}), ("/e", {})] == [(asked.path, asked.query) for asked in browser.asked]


async def test_a_header_that_is_there_twice() -> None:
    """Both values are seen, so that none of two cookies, or of two hosts, is overlooked."""
    async with browsing(html_response("")) as browser:
        await browser.send(b"GET / HTTP/1.1\r\nHost: x\r\nCookie: a=1\r\nCookie: b=\xe9\r\n\r\n")
        await anyio.wait_all_tasks_blocked()

    (asked,) = browser.asked
    assert {"host": "x", "cookie": "a=1; b=\xe9"} == asked.headers


async def test_the_body_of_a_request() -> None:
    """Nothing reads it: it is left out, also in pieces, and the next request is answered."""
    async with browsing(html_response("one"), html_response("two")) as browser:
        await browser.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab")
        await browser.send(b"cde" + b"GET /two HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        await browser.ended.wait()

    assert [("POST", "/"), ("GET", "/two")] == [(asked.method, asked.path) for asked in browser.asked]


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"hello\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET /" + b"x" * 200_000, 431),
        (b"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
    ],
    ids=["no HTTP", "no host", "too long", "unknown encoding"],
)
async def test_what_is_no_request(sent: bytes, status: int) -> None:
    """It is refused, and nobody is asked for an answer."""
    async with browsing() as browser:
        await browser.send(sent)
        response = await browser.next_event()
        await browser.ended.wait()

    assert (status, []) == (response.status_code, browser.asked)


async def test_a_bug(capsys: pytest.CaptureFixture[str]) -> None:
    """The browser is told where to look, the terminal has the traceback, and the next request is answered."""
    async with browsing(ZeroDivisionError("over there"), html_response("fine")) as browser:
        failed, after = await browser.ask(), await browser.ask()

    assert (500, (200, "fine")) == (failed[0], (after[0], after[2]))
    assert "This is a bug; the terminal has the details." in failed[2]
    assert "over there" in capsys.readouterr().err


def pieces(*texts: str, fails: bool = False) -> Response:
    """Return a response whose body is sent in pieces, and then waits for ever, or fails."""

    async def body(send: Send) -> None:
        for text in texts:
            await send(text.encode())
        if fails:
            raise ZeroDivisionError
        await anyio.sleep_forever()

    return Response(200, "text/event-stream", body)


async def test_a_body_in_pieces() -> None:
    """Each piece arrives at once; it is over when the browser hangs up, though nothing is sent any more."""
    async with browsing(pieces("one", "two")) as browser:
        await browser.send(b"GET /live HTTP/1.1\r\nHost: x\r\n\r\n")
        browser._http.send(h11.Request(method="GET", target="/live", headers=[("host", "x")]))
        browser._http.send(h11.EndOfMessage())
        events = [await browser.next_event() for _ in range(3)]
        await browser.hang_up()

    assert "text/event-stream" == dict(events[0].headers)[b"content-type"].decode()
    assert ["one", "two"] == [event.data.decode() for event in events[1:]]


async def test_a_body_that_fails(capsys: pytest.CaptureFixture[str]) -> None:
    """The browser sees that the end is missing, and asks again."""
    async with browsing(pieces("one", fails=True)) as browser:
        with pytest.raises(h11.RemoteProtocolError, match="incomplete chunked"):
            await browser.ask()

    assert "ZeroDivisionError" in capsys.readouterr().err


async def test_silence(autojump_clock: object) -> None:  # noqa: ARG001 - the clock is virtual
    """A connection on which nothing is asked for a minute is closed, and so is one with half a request."""
    before = trio.current_time()
    async with browsing(html_response("")) as browser:
        await browser.ask()
        await browser.send(b"GET / HT")
        await browser.ended.wait()

        assert 60 == round(trio.current_time() - before)
    assert 1 == len(browser.asked)
