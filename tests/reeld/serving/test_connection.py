"""One connection: order, limits, and misbehaving peers.

The store is real, the streams are in memory. Nothing here sleeps: a test waits for an effect by
asking the daemon.
"""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import pytest
from msgpack import packb
from trio.testing import wait_all_tasks_blocked

from reel.base.errors import (
    Busy,
    Internal,
    InvalidParams,
    InvalidRequest,
    MethodNotFound,
    ParseError,
    ReelError,
    ShuttingDown,
    TooLarge,
    from_wire,
)
from reeld.agents.asking import lock
from reeld.protocol.signature import Signature
from reeld.serving.call import Call, Deferred, Result, Services
from reeld.serving.flow import Limits
from reeld.serving.methods import METHODS, Method
from tests.patience import PATIENCE
from tests.reeld.serving.conftest import Blocker, Connect, Outcome, texts, unpacked

NO_METHOD = "method_not_found: unknown method 'nonsense'; `methods` lists them"
BAD_BYTES = b"\xff".decode(errors="surrogateescape")

# Each names an agent that the one before made, renamed or revived.
STORY = (
    ("create", "demo"),
    ("add", "demo", "one"),
    ("change", "demo", {"name": "renamed"}),
    ("add", "renamed", "two"),
    ("clone", "renamed", "copy"),
    ("add", "copy", "three"),
    ("kill", "renamed"),
    ("add", "renamed", "never"),
    ("revive", "renamed"),
    ("add", "renamed", "four"),
    ("mark", "copy", "here"),
    ("add", "copy", "rewound"),
    ("rewind", "copy", "here"),
    ("undo", "renamed"),
    ("clear", "renamed"),
    ("create", "demo"),
    ("clone", "copy", {"into": "demo"}),
    ("add", "demo", "five"),
    ("add", "new", "six", True),
    ("add", "new", "seven"),
    ("add", "new", "eight", {"from": 3}),
    ("add", "copy", ["three"], {"from": 6}),
)
TOLD = {
    "renamed": [],
    "copy": ["one", "two", "three"],
    "demo": ["one", "two", "three", "five"],
    "new": ["six", "eight"],
}


def refusals(outcomes: list[Outcome]) -> list[int]:
    """Return the indexes of the errors."""
    return [place for place, outcome in enumerate(outcomes) if isinstance(outcome, ReelError)]


@contextmanager
def method(handler: Callable[[Services, Call, Any], Any], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put one more method into the table for as long as the block lasts."""
    with monkeypatch.context() as patch:
        patch.setitem(METHODS, handler.__name__, Method(handler.__name__, Signature(()), "A test's own", handler))
        yield


# --- what goes well


async def test_nothing_is_said_first(connect: Connect) -> None:
    """The daemon sends nothing until it is asked, and closes when its peer does."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.stream.send_eof()

        assert b"" == await peer.rest()


async def test_methods_are_listed(connect: Connect) -> None:
    """The method table is data."""
    with anyio.fail_after(PATIENCE):
        listed = (await connect().call("methods"))["methods"]

    assert [*METHODS] == [shown["name"] for shown in listed]
    assert {
        "name": "mark",
        "params": ["agent", "label?", "if_seq?", "key?"],
        "summary": "Set a mark to rewind to",
    } in listed


async def test_shutdown_is_answered(connect: Connect, stopped: list[str]) -> None:
    """A client that asks the daemon to stop gets an answer."""
    with anyio.fail_after(PATIENCE):
        assert {} == await connect().call("shutdown")
    assert ["stop"] == stopped


async def test_a_message_without_a_list(connect: Connect) -> None:
    """A message without a list around it is added, by name and by position; a retry may have the list."""
    message = {"role": "user", "content": "hi"}
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.call("create", "demo")
        await peer.call("add", {"agent": "demo", "messages": message})
        await peer.call("add", "demo", message)
        added = await peer.call("add", "demo", message, {"key": "k"})
        again = await peer.call("add", "demo", [message], {"key": "k"})

        assert {**added, "repeated": True} == again
        assert ["hi"] * 3 == await texts(peer, "demo")


async def test_the_reply_counts_replaced_characters(connect: Connect) -> None:
    """The reply counts the characters that were replaced in free texts."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.send(b"\x94\x00\x01\xa6create\x92\xa4demo\xa5a\xff\x00\xfeb")
        made = await peer.answer(1)
        added = await peer.ask(("add", "demo", "nul \x00"), ("add", "demo", "none"))

    assert isinstance(made, dict)
    assert ("a\ufffd\ufffd\ufffdb", 3) == (made["system"], made["replaced"])
    assert [1, None] == [outcome.get("replaced") for outcome in added if isinstance(outcome, dict)]


# --- order


@pytest.mark.parametrize("one_by_one", [False, True])
async def test_requests_take_effect_in_order(connect: Connect, one_by_one: bool) -> None:
    """However requests arrive, each sees the effects of those before it: made, renamed, cloned, killed, revived."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        data = peer.encoded(*STORY)
        await peer.send([data[index : index + 1] for index in range(len(data))] if one_by_one else data)
        outcomes = [await peer.answer(number) for number in range(1, len(STORY) + 1)]

        assert [7] == refusals(outcomes)
        assert "killed: agent renamed is killed; revive it, or clone it" == str(outcomes[7])
        assert TOLD == {agent: await texts(peer, agent) for agent in TOLD}


async def test_many_adds_in_order(connect: Connect) -> None:
    """A thousand pipelined adds to two agents are stored in the order in which they were sent."""
    with anyio.fail_after(PATIENCE):
        peer = connect(Limits(requests=10_000))
        await peer.ask(("create", "a"), ("create", "b"))
        sent = [str(number) for number in range(500)]
        outcomes = await peer.ask(*(("add", agent, text) for text in sent for agent in "ab"))

        assert [] == refusals(outcomes)
        assert [sent, sent] == [await texts(peer, "a"), await texts(peer, "b")]


async def test_answers_say_what_was_true_in_their_turn(connect: Connect) -> None:
    """A read between two writes sees the first and not the second."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.call("create", "demo")
        _, seen, _, page = await peer.ask(
            ("add", "demo", "one"), ("agent", "demo"), ("add", "demo", "two"), ("messages", "demo", {"last": 1})
        )

    assert isinstance(seen, dict)
    assert isinstance(page, dict)
    assert (1, 2) == (seen["messages"], seen["head"])
    assert [3] == [message["seq"] for message in page["messages"]]


async def test_a_position_that_is_no_longer_the_head(connect: Connect, services: Services) -> None:
    """A read at a seq shows the state there, although the head moves on at the same time."""
    with anyio.fail_after(PATIENCE):
        writer, reader = connect(), connect()
        await writer.call("add", "demo", "x", True)
        async with lock(services.registry, [await services.registry.find("demo")]):
            await reader.send(reader.encoded(("messages", "demo", {"at": 2})))
            await wait_all_tasks_blocked()
            await writer.send(writer.encoded(("add", "demo", "y")))
            await wait_all_tasks_blocked()
        page = await reader.answer(1)

    assert isinstance(page, dict)
    assert (2, [2]) == (page["at"], [message["seq"] for message in page["messages"]])


async def test_one_waits_for_nobody_else(connect: Connect, blocker: Blocker) -> None:
    """A slow request holds up its own connection only."""
    with anyio.fail_after(PATIENCE):
        slow, other = connect(), connect()
        await slow.send(slow.encoded(("wait_for_it",), ("ping",)))
        await blocker.entered.wait()

        assert {"pong": True} == await other.call("ping")
        blocker.released.set()
        assert [{}, {"pong": True}] == [await slow.answer(1), await slow.answer(2)]


async def test_notifications_are_carried_out(connect: Connect, errors: Callable[[], list[str]]) -> None:
    """A notification is run in its turn; its error is logged, without any content."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        notes = [["create", ["demo"]], ["add", ["demo", "one"]], ["add", ["zed", "lost"]], ["nonsense", []]]
        await peer.send(b"".join(packb([2, name, params]) for name, params in notes))

        assert ["one"] == await texts(peer, "demo")
    assert [
        "connection=1 notification=add failed: not_found",
        "connection=1 notification=? failed: method_not_found",
    ] == errors()


async def test_half_close_gets_its_answers(connect: Connect) -> None:
    """A half-closed peer gets every answer, and then the end."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.send(peer.encoded(*STORY[:7]))
        await peer.stream.send_eof()
        answers = unpacked(await peer.rest())

    assert {1, 2, 3, 4, 5, 6, 7} == {number for _, number, error, _ in answers if error is None}


# --- what goes wrong


@pytest.mark.parametrize("first", [b"G", b"\x00", b"\x80", b"\xff", b"GET / HTTP/1.1\r\n\r\n"])
async def test_garbage_gets_one_line(connect: Connect, first: bytes) -> None:
    """A peer that speaks an unknown framing gets one line that says what is expected, and is closed."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.send(first)
        line = await peer.rest()
        await peer.ended.wait()

    assert line.startswith(b"reeld speaks MessagePack-RPC, and JSON-RPC 2.0 ")
    assert line.endswith(b"\n")
    assert 1 == line.count(b"\n")


async def test_half_a_frame_and_silence(connect: Connect) -> None:
    """Half a request has no effect on any connection, and ends with its own."""
    with anyio.fail_after(PATIENCE):
        half, other = connect(), connect()
        data = half.encoded(("create", "demo"))
        await half.send(half.encoded(("ping",)) + data[:-3])

        assert {"pong": True} == await half.answer(2)
        assert [] == (await other.call("agents"))["agents"]
        await half.stream.send_eof()
        assert b"" == await half.rest()


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"\x94\x00\x07\xc1\x90", ParseError),
        (packb([0, 7, "ping", []])[:-1] + b"\xdd\x00\x01\x00\x01" + b"\xc0" * 65_537, TooLarge),
        (b"\x94\x00\x07\xa4ping\xdb\x40\x00\x00\x00" + b"x" * (17 << 20), TooLarge),
    ],
)
async def test_fatal_frame(connect: Connect, data: bytes, error: type[ReelError]) -> None:
    """If the position in the stream is lost, there is one error and the end; earlier requests are answered."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.send(packb([0, 1, "create", ["demo"]]) + data)
        made, refused = sorted(unpacked(await peer.rest()), key=lambda answer: answer[1] is None)
        await peer.ended.wait()

        assert (1, None) == (made[1], made[2])
        assert type(from_wire(refused[2])) is error
        assert 1 == (await connect().call("agent", "demo"))["head"]


@pytest.mark.parametrize("message", [[0, 7, "ping"], [3, 7, "ping", []], [0, "x", "ping", []], [0, 7, 1, []], []])
async def test_message_that_asks_for_nothing(connect: Connect, message: list[Any]) -> None:
    """A valid frame that is not a request is refused without a number, and the connection goes on."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.send(packb(message))

        assert isinstance(await peer.answer(None), InvalidRequest)
        assert {"pong": True} == await peer.call("ping")


async def test_answer_that_nobody_asked_for(connect: Connect) -> None:
    """An answer to a call that was never made is ignored."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.send(packb([1, 5, None, {}]))

        assert {"pong": True} == await peer.call("ping")


async def test_unknown_method(connect: Connect) -> None:
    """An unknown method is refused with its name."""
    with anyio.fail_after(PATIENCE):
        (error,) = await connect().ask(("nonsense",))

    assert isinstance(error, MethodNotFound)
    assert str(error) == NO_METHOD


@pytest.mark.parametrize("errors", ["text", "map"])
@pytest.mark.parametrize(
    ("method", "params"),
    [(BAD_BYTES, []), ("ping", [{BAD_BYTES: 1}]), ("add", ["demo", [{"role": "user", "content": "", BAD_BYTES: 1}]])],
)
async def test_names_that_are_no_text(connect: Connect, errors: str, method: str, params: list[Any]) -> None:
    """A name in bytes that are not UTF-8 is refused like any unknown one, and the connection goes on."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.ask(("hello", {"errors": errors}), ("create", "demo"))
        await peer.send(packb([0, 3, method, params], unicode_errors="surrogateescape"))

        assert isinstance(await peer.answer(3), ReelError)
        await peer.send(packb([0, 4, "ping", []]))
        assert {"pong": True} == await peer.answer(4)


def breaks(_services: Services, _call: Call, _: Any) -> Result:
    """Fail at once."""
    raise ZeroDivisionError


def breaks_later(_services: Services, _call: Call, _: Any) -> Callable[[], Awaitable[Result]]:
    """Fail after waiting."""

    async def later() -> Result:
        raise ZeroDivisionError

    return later


@pytest.mark.parametrize("handler", [breaks, breaks_later])
async def test_bug_in_a_handler(
    connect: Connect,
    handler: Callable[[Services, Call, Any], Any],
    monkeypatch: pytest.MonkeyPatch,
    errors: Callable[[], list[str]],
) -> None:
    """A bug in a handler is answered as ``internal`` and logged, and the connection goes on."""
    with anyio.fail_after(PATIENCE), method(handler, monkeypatch):
        peer = connect()
        failed, answered = await peer.ask((handler.__name__,), ("ping",))

        assert isinstance(failed, Internal)
        assert {"pong": True} == answered
        assert [f"connection=1 method={handler.__name__} failed"] == errors()
        assert 0 == peer.load.requests


def is_hungry(_services: Services, _call: Call, _: Any) -> Result:
    """Need more memory than there is, at once."""
    raise MemoryError


def is_hungry_later(_services: Services, _call: Call, _: Any) -> Deferred:
    """Need more memory than there is, after waiting."""

    async def later() -> Result:
        await anyio.lowlevel.checkpoint()
        raise MemoryError

    return Deferred(later)


@pytest.mark.parametrize("handler", [is_hungry, is_hungry_later])
async def test_no_memory_for_a_request(
    connect: Connect,
    handler: Callable[[Services, Call, Any], Any],
    monkeypatch: pytest.MonkeyPatch,
    errors: Callable[[], list[str]],
) -> None:
    """A request for which there is not enough memory is refused as `busy`; the connection goes on."""
    with anyio.fail_after(PATIENCE), method(handler, monkeypatch):
        peer = connect()
        (failed,) = await peer.ask((handler.__name__,))
        (answered,) = await peer.ask(("ping",))

        assert isinstance(failed, Busy)
        assert {"pong": True} == answered
        assert [f"connection=1 method={handler.__name__}: there is not enough memory; refusing it"] == errors()
        assert 0 == peer.load.requests


async def test_shutting_down(connect: Connect, blocker: Blocker) -> None:
    """Once the daemon stops, it finishes what has begun and refuses new requests."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.send(peer.encoded(("wait_for_it",)))
        await blocker.entered.wait()
        peer.connection.refuse_more()
        (refused,) = await peer.ask(("ping",))
        blocker.released.set()

        assert isinstance(refused, ShuttingDown)
        assert {} == await peer.answer(1)
        await peer.connection.drain()


# --- too much


async def test_a_message_at_the_limit(connect: Connect) -> None:
    """The bytes and values of a message are limited by settings, and hello reports them."""
    with anyio.fail_after(PATIENCE):
        said = (await connect(Limits(message=500, values=50)).call("hello"))["limits"]
        assert (500, 50) == (said["message"], said["values"])
        message = packb([0, 7, "ping", ["x" * 400]])
        for data, limits in ((message, Limits(message=len(message) - 1)), (message, Limits(values=6))):
            peer = connect(limits)
            await peer.send(data)
            ((_, number, error, _),) = unpacked(await peer.rest())
            assert (None, TooLarge) == (number, type(from_wire(error)))
        assert isinstance(
            (await connect(Limits(message=len(message), values=7)).ask(("ping", "x" * 400)))[0], InvalidParams
        )


@pytest.mark.parametrize(
    "call",
    [("wait", "demo", 9), ("subscribe", "demo", 0), ("hello", {"client": {"name": "nvim"}})],
    ids=lambda call: call[0],
)
async def test_tasks_of_a_lost_peer_are_not_started(
    connect: Connect, call: tuple[Any, ...], errors: Callable[[], list[str]]
) -> None:
    """A task that comes due between the loss of a peer and the end of its connection is not started."""
    with anyio.fail_after(PATIENCE):
        peer, other = connect(), connect()
        await peer.call("create", "demo")
        await peer.call("agent", "demo")  # live from now on
        peer.connection._tasks._is_open = False
        await peer.send(peer.encoded(call))
        await wait_all_tasks_blocked()

        assert [] == errors()
        assert {"pong": True} == await other.call("ping")


async def test_the_heaviest_is_dropped(connect: Connect) -> None:
    """If unfinished messages take too many bytes in all, the connection with the most is closed."""
    with anyio.fail_after(PATIENCE):
        limits = Limits(all_waiting=2000)  # the decoder has a copy of a short text
        heavy, light = connect(limits), connect(limits)
        await heavy.send(b"\x94\x00\x01\xc5\x20\x00" + b"x" * 594)
        await light.send(b"\x94\x00\x01\xc5\x20\x00" + b"x" * 394)
        await wait_all_tasks_blocked()
        assert 2000 == heavy.load.waiting
        assert (False, False) == (heavy.ended.is_set(), light.ended.is_set())
        await light.send(b"x")
        await heavy.ended.wait()

        assert (801, 1) == (light.load.waiting, light.load.dropped)


# --- peers that are lost


async def test_peer_that_vanishes(connect: Connect, blocker: Blocker, errors: Callable[[], list[str]]) -> None:
    """The requests of a lost peer are carried out, and other peers notice nothing."""
    with anyio.fail_after(PATIENCE):
        lost, other = connect(), connect()
        await lost.send(lost.encoded(("ping",), ("wait_for_it",), *STORY))
        await blocker.entered.wait()
        await lost.stream.aclose()
        blocker.released.set()
        await lost.ended.wait()

        assert TOLD == {agent: await texts(other, agent) for agent in TOLD}
        assert (0, 0) == (other.load.requests, other.load.bytes)
        assert [] == errors()


async def test_peer_that_never_reads(connect: Connect, errors: Callable[[], list[str]]) -> None:
    """A peer that does not read its answers is dropped, and only that one."""
    with anyio.fail_after(PATIENCE):
        deaf, other = connect(Limits(unread=1000), room=0), connect()
        await deaf.send(deaf.encoded(*[("methods",)] * 3))
        await deaf.ended.wait()

        assert {"pong": True} == await other.call("ping")
        assert (0, 0) == (other.load.requests, other.load.bytes)
        assert ["connection=1 does not read"] == [line.partition(";")[0] for line in errors()]


async def test_peer_that_stops_reading(connect: Connect) -> None:
    """A peer that reads nothing for too long is dropped, however little is queued for it."""
    with anyio.fail_after(PATIENCE):
        deaf, other = connect(Limits(stall=0.01), room=0), connect()
        await deaf.send(deaf.encoded(("ping",)))
        await deaf.ended.wait()

        assert {"pong": True} == await other.call("ping")


@pytest.mark.slow
async def test_peer_that_sends_nothing_but_garbage(connect: Connect, errors: Callable[[], list[str]]) -> None:
    """Each stray value is refused, until the refusals exceed the limit and the peer is dropped once."""
    with anyio.fail_after(PATIENCE):
        peer, other = connect(Limits(unread=1 << 20), room=0), connect()
        await peer.send(b"\x90" + b"x" * (1 << 20))
        await peer.ended.wait()

        assert {"pong": True} == await other.call("ping")
        assert ["connection=1 does not read"] == [line.partition(";")[0] for line in errors()]


async def test_drained_by_two(connect: Connect, blocker: Blocker) -> None:
    """When the daemon stops while a peer half-closes, it waits only for the peer's answers."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.send(peer.encoded(("wait_for_it",)))
        await blocker.entered.wait()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(peer.connection.drain)
            await wait_all_tasks_blocked()
            await peer.stream.send_eof()
            await wait_all_tasks_blocked()
            blocker.released.set()

        assert {} == await peer.answer(1)


async def test_drained_when_lost(connect: Connect) -> None:
    """A stopping daemon does not wait for a lost peer that never read its answer."""
    with anyio.fail_after(PATIENCE):
        peer = connect(room=0)
        await peer.send(peer.encoded(("ping",)))
        async with anyio.create_task_group() as tasks:
            await wait_all_tasks_blocked()
            tasks.start_soon(peer.connection.drain)
            await wait_all_tasks_blocked()
            await peer.stream.aclose()


async def test_large_answer_to_who_reads(connect: Connect) -> None:
    """An answer of any size is sent if nothing else is queued."""
    with anyio.fail_after(PATIENCE):
        peer = connect(Limits(unread=1000))
        await peer.call("add", "demo", "x" * (1 << 20), True)

        assert ["x" * (1 << 20)] == await texts(peer, "demo")
