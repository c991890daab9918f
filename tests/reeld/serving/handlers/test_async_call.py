"""Editors that do not wait: call_async, pushes by their own function, and old Neovims.

The store is real, the streams are in memory.
"""

from collections.abc import Callable
from typing import Any

import anyio
import pytest
from trio.testing import wait_all_tasks_blocked

from reel.base.errors import Internal, InvalidParams, ReelError
from reeld.protocol.signature import Signature
from reeld.serving.flow import Limits
from reeld.serving.handlers.async_call import SIGNATURE
from reeld.serving.methods import METHODS, Method
from reeld.wire.framing import Framing
from reeld.wire.json_framing import ContentLength, Lines
from reeld.wire.msgpack_framing import ServerMessagePack
from tests.patience import PATIENCE
from tests.reeld.serving.conftest import Blocker, Connect, Peer

in_all = pytest.mark.parametrize("make", [ServerMessagePack, ContentLength, Lines])


async def later(peer: Peer, *params: Any) -> list[Any]:
    """Send a notification of a call, and return every push up to the next answer."""
    await peer.send(peer._framing.notify("call_async", list(params)))
    await peer.call("ping")
    pushes, peer.unread_pushes = peer.unread_pushes, []
    return [parameters[0] if isinstance(parameters, list) else parameters for _, parameters in pushes]


@in_all
@pytest.mark.parametrize(
    "call",
    [
        (7, "add", ["demo", "hi", True]),
        (7, "add", ["demo", {"messages": "hi", "create": True}]),
        (7, "add", [{"agent": "demo", "messages": "hi", "create": True}]),
        ({"token": 7, "method": "add", "params": ["demo", "hi", True]},),
        ({"token": 7, "method": "add", "params": {"agent": "demo", "messages": "hi", "create": True}},),
        (7, "add", {"params": {"agent": "demo", "messages": "hi", "create": True}}),
    ],
)
async def test_a_later_answer(connect: Connect, make: Callable[[], Framing], call: tuple[Any, ...]) -> None:
    """The outcome of a call is pushed as ``reply`` with its token, whether its parameters are a list or a map."""
    with anyio.fail_after(PATIENCE):
        peer = connect(framing=make())
        (said,) = await later(peer, *call)
        page = await peer.call("messages", "demo")

    assert (7, 2) == (said["token"], said["result"]["head"])
    assert 1 == len(page["messages"])


@pytest.mark.parametrize("params", [[], None, {}, [[]]])
async def test_a_call_without_parameters(connect: Connect, params: Any) -> None:
    """No parameters, and every way in which Lua encodes none, are the same."""
    with anyio.fail_after(PATIENCE):
        assert [{"token": "t", "result": {"pong": True}}] == await later(connect(), "t", "ping", params)
        assert [{"token": "t", "result": {"pong": True}}] == await later(connect(), "t", "ping")


@in_all
async def test_a_long_answer(connect: Connect, make: Callable[[], Framing]) -> None:
    """A page of messages is pushed in the form in which a request gets it."""
    with anyio.fail_after(PATIENCE):
        peer = connect(framing=make())
        await peer.call("add", "demo", [f"{number}" for number in range(300)], True)
        await peer.send(peer._framing.notify("call_async", [1, "messages", ["demo"]]))
        page = await peer.call("messages", "demo")

    ((_, params),) = peer.unread_pushes
    assert {"token": 1, "result": page} == (params[0] if isinstance(params, list) else params)


@pytest.mark.parametrize(
    ("call", "token", "name"),
    [
        ((7, "agent", ["zed"]), 7, "not_found"),
        ((7, "agent", []), 7, "invalid_params"),
        ((7, "nonsense", []), 7, "method_not_found"),
        ((7, "add", {"agent": "demo"}), 7, "invalid_params"),
        ((7, "add", "demo"), 7, "invalid_params"),
        ((7,), 7, "invalid_params"),
        ((7, 8), 7, "invalid_params"),
        (("seven", "ping", [], "more"), "seven", "invalid_params"),
        (({"token": 7},), 7, "invalid_params"),
        ((7, "call_async", [8, "ping"]), 7, "invalid_request"),
    ],
)
async def test_a_later_error(connect: Connect, call: tuple[Any, ...], token: Any, name: str) -> None:
    """An error is pushed as a map with the token, even if the call could not be read."""
    with anyio.fail_after(PATIENCE):
        ((said),) = await later(connect(), *call)

    assert (token, name) == (said["token"], said["error"]["name"])
    assert said["error"]["message"].startswith(f"{name}: ")
    assert {"token", "error"} == said.keys()


@pytest.mark.parametrize(
    "call", [(), (None, "ping"), (1.5, "ping"), ("", "ping"), (2**53, "ping"), ([], "ping"), ({},)]
)
async def test_no_token(connect: Connect, call: tuple[Any, ...], errors: Callable[[], list[str]]) -> None:
    """A call without a token cannot be answered, so it is logged."""
    with anyio.fail_after(PATIENCE):
        assert [] == await later(connect(), *call)

    (logged,) = errors()
    assert "notification=call_async failed: invalid_params" in logged


async def test_no_parameters_at_all(connect: Connect, errors: Callable[[], list[str]]) -> None:
    """A notification without a call in it is logged."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.send(peer._framing.notify("call_async", "nothing"))  # type: ignore[arg-type]  # on purpose
        await peer.call("ping")

    assert 1 == len(errors())


async def test_it_is_a_notification(connect: Connect) -> None:
    """A ``call_async`` with an id is answered with an error that says so."""
    with anyio.fail_after(PATIENCE):
        (error,) = await connect().ask(("call_async", 7, "ping"))

    assert "a notification" in str(error)


async def test_busy_is_told_later(connect: Connect, blocker: Blocker) -> None:
    """A call beyond the limits is refused as busy, with its token."""
    with anyio.fail_after(PATIENCE):
        peer = connect(Limits(requests=1))
        await peer.send(peer.encoded(("wait_for_it",)))
        await blocker.entered.wait()
        await peer.send(peer._framing.notify("call_async", [7, "ping"]))
        await wait_all_tasks_blocked()
        blocker.released.set()
        await peer.answer(1)
        await peer.call("ping")

    ((name, (said,)),) = peer.unread_pushes
    assert ("reply", 7, "busy") == (name, said["token"], said["error"]["name"])


async def test_async_calls_and_requests_keep_their_order(connect: Connect) -> None:
    """Async calls and requests of one connection take effect in the order in which they came."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        framing = peer._framing
        data = framing.notify("call_async", [1, "create", ["demo"]]) + peer.encoded(("add", "demo", "1"))
        data += framing.notify("call_async", [2, "add", ["demo", "2"]]) + peer.encoded(("add", "demo", "3"))
        await peer.send(data)
        await peer.answer(2)
        page = await peer.call("messages", "demo")

    assert ["1", "2", "3"] == [message["content"][0]["text"] for message in page["messages"]]
    assert {1, 2} == {said["token"] for _, (said,) in peer.unread_pushes}


def test_the_table_has_it() -> None:
    """The method table has the signature that calls are read by."""
    assert METHODS["call_async"].signature.params == SIGNATURE.params


# --- hello


@in_all
async def test_pushes_as_the_peer_wants_them(connect: Connect, make: Callable[[], Framing]) -> None:
    """Pushes go to the function that hello names, until another hello names none."""
    with anyio.fail_after(PATIENCE):
        peer = connect(framing=make())
        await peer.call("hello", {"notify": ["nvim_exec_lua", "push(...)"]})
        await later(peer, 1, "ping")
        await peer.send(peer._framing.notify("call_async", [2, "ping"]))
        await peer.call("hello", {"client": {"name": "again"}})
        (wrapped,), peer.unread_pushes = peer.unread_pushes, []
        await peer.call("hello", {"notify": []})
        (plain,) = await later(peer, 3, "ping")

    assert ("nvim_exec_lua", ["push(...)", ["reply", {"token": 2, "result": {"pong": True}}]]) == wrapped
    assert {"token": 3, "result": {"pong": True}} == plain


@pytest.mark.parametrize("notify", ["f", [1], ["a\x00"], {"f": 1}, ["f", "x" * 4096]])
async def test_no_function(connect: Connect, notify: Any) -> None:
    """The function and its first arguments must be short strings, because every push has them."""
    with anyio.fail_after(PATIENCE):
        with pytest.raises(InvalidParams):
            await connect().call("hello", {"notify": notify})


@pytest.mark.parametrize("version", ["0.7.2", "0.10.0", None])
async def test_neovim_is_told_who_we_are(connect: Connect, version: str | None) -> None:
    """Neovim gets our name before the answer to its hello; no other client does."""
    with anyio.fail_after(PATIENCE):
        peer, other = connect(), connect()
        await peer.call("hello", {"client": {"name": "nvim", "version": version}})
        await other.call("hello", {"client": {"name": "vim", "version": version}})

    ((name, params),) = peer.unread_pushes
    assert ("nvim_set_client_info", "reeld", "msgpack-rpc") == (name, params[0], params[2])
    assert [] == other.unread_pushes


async def test_only_messagepack_has_neovims(connect: Connect) -> None:
    """A client that speaks JSON is not treated as Neovim, whatever its name is."""
    with anyio.fail_after(PATIENCE):
        peer = connect(framing=Lines())
        await peer.call("hello", {"client": {"name": "nvim", "version": "0.7"}})

    assert [] == peer.unread_pushes


@pytest.mark.parametrize(("version", "expected"), [("0.9.5", [4, 3, 2]), ("0.10.1", [4, 2, 3])])
async def test_an_old_neovim_is_answered_in_lifo_order(
    connect: Connect, blocker: Blocker, version: str, expected: list[int]
) -> None:
    """An old Neovim gets the answer to its newest call first, busy or not; a new one gets answers as they come."""
    with anyio.fail_after(PATIENCE):
        peer = connect(Limits(requests=2))
        await peer.call("hello", {"client": {"name": "nvim", "version": version}})
        await peer.send(peer.encoded(("wait_for_it",)))
        await blocker.entered.wait()
        peer._answers = order = Order()
        await peer.send(peer.encoded(("nonsense",), ("ping",)))
        await wait_all_tasks_blocked()
        blocker.released.set()
        for number in (2, 3, 4):
            await peer.answer(number)

    assert expected == order.came


class Order(dict[Any, Any]):
    """A dict that records the order in which its keys were set."""

    def __init__(self) -> None:
        super().__init__()
        self.came: list[Any] = []

    def __setitem__(self, key: Any, value: Any) -> None:
        self.came.append(key)
        super().__setitem__(key, value)


async def test_held_answers_are_sent_before_the_end(connect: Connect, blocker: Blocker) -> None:
    """A peer that closes its end gets the held answers too."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.call("hello", {"client": {"name": "nvim", "version": "0.7.2"}})
        await peer.call("hello", {"client": {"name": "nvim", "version": "0.7.2"}})
        await peer.call("create", "demo")
        peer._answers = order = Order()
        await peer.send(peer.encoded(("agent", "demo"), ("wait_for_it",), ("agent", "demo")))
        await peer.stream.send_eof()
        await blocker.entered.wait()
        blocker.released.set()
        outcomes = [await peer.answer(number) for number in (4, 5, 6)]
        assert b"" == await peer.rest()

    assert [6, 5, 4] == order.came
    assert not any(isinstance(outcome, ReelError) for outcome in outcomes)


async def test_too_much_is_held(connect: Connect, blocker: Blocker, errors: Callable[[], list[str]]) -> None:
    """A peer that leaves its newest call open and keeps asking is dropped: what is held has a bound."""
    with anyio.fail_after(PATIENCE):
        peer = connect(Limits(unread=20_000))
        await peer.call("hello", {"client": {"name": "nvim", "version": "0.7.2"}})
        await peer.call("add", "demo", "x" * 9_000, True)
        await peer.send(peer.encoded(*[("messages", "demo")] * 3, ("wait_for_it",)))
        await blocker.entered.wait()
        await peer.rest()
        blocker.released.set()
        await peer.ended.wait()

    assert [error for error in errors() if "held back; closing it" in error]


@in_all
@pytest.mark.parametrize("later", [False, True])
async def test_a_result_that_cannot_be_encoded(
    connect: Connect, make: Callable[[], Framing], later: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A result that cannot be encoded is ``internal`` for its caller, and the connection goes on."""
    method = Method("broken", Signature(()), "A test's own", lambda *_: {"bad": object()})
    monkeypatch.setitem(METHODS, "broken", method)
    with anyio.fail_after(PATIENCE):
        peer = connect(framing=make())
        if later:
            await peer.send(peer._framing.notify("call_async", [7, "broken"]))
            await peer.call("ping")
            ((_, said),) = [unwrapped(*push, []) for push in peer.unread_pushes]
            assert "internal" == said["error"]["name"]
        else:
            (error,) = await peer.ask(("broken",))
            assert isinstance(error, Internal)
        assert {"pong": True} == await peer.call("ping")


async def test_neovims_complaints(connect: Connect, errors: Callable[[], list[str]]) -> None:
    """Neovim's complaint about a push is logged without its text, and not answered."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.send(peer._framing.notify("nvim_error_event", [0, "a secret"]))
        await peer.call("ping")
        (asked,) = await peer.ask(("nvim_error_event", 0, "x"))

    assert ["connection=1 its Neovim failed on a push"] == errors()
    assert str(asked).startswith("method_not_found")


async def test_ten_complaints_in_a_row_end_the_subscriptions(connect: Connect, errors: Callable[[], list[str]]) -> None:
    """After ten complaints in a row the peer's subscriptions end; a call in between resets the count."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.call("create", "demo")
        await peer.call("subscribe", "demo")
        complaint = peer._framing.notify("nvim_error_event", [0, "no such function"])
        await peer.send(complaint * 9)
        await peer.call("add", "demo", "one")
        await peer.send(complaint * 9)
        await peer.call("add", "demo", "two")
        assert 1 == (await peer.call("agent", "demo"))["attached"]
        await peer.send(complaint * 10)
        await peer.call("add", "demo", "three")

        assert 0 == (await peer.call("agent", "demo"))["attached"]
    assert ["event", "event"] == [method for method, _ in peer.unread_pushes]
    assert "connection=1 failed 10 times in a row; its subscriptions end" == errors()[-1]


# --- pushes


@in_all
@pytest.mark.parametrize("wrapper", [[], ["f", "a"]])
async def test_a_subscription(connect: Connect, make: Callable[[], Framing], wrapper: list[str]) -> None:
    """Events come in every framing, to the chosen function, with the same message that is read later."""
    with anyio.fail_after(PATIENCE):
        peer = connect(framing=make())
        await peer.call("hello", {"notify": wrapper})
        await peer.call("create", "demo")
        sub = (await peer.call("subscribe", "demo"))["sub"]
        await peer.call("add", "demo", [{"role": "system", "content": "Be brief."}, "hi é"])
        page = await peer.call("messages", "demo")
        said = [unwrapped(method, params, wrapper) for method, params in peer.unread_pushes]

    assert [("event", sub, 2, 0, 0), ("event", sub, 3, 0, 1)] == [
        (name, event["sub"], event["seq"], event["keep"], event["count"]) for name, event in said
    ]
    assert page["messages"] == [event["message"] for _, event in said if "message" in event]


@in_all
async def test_a_later_subscription(connect: Connect, make: Callable[[], Framing]) -> None:
    """An asynchronous subscription is answered before its first event."""
    with anyio.fail_after(PATIENCE):
        peer = connect(framing=make())
        await peer.call("add", "demo", ["one", "two"], True)
        await peer.send(peer._framing.notify("call_async", [7, "subscribe", ["demo", 0]]))
        while len(peer.unread_pushes) < 4:
            await peer.call("ping")
        said = [unwrapped(method, params, []) for method, params in peer.unread_pushes]

    assert ["reply", "event", "event", "event"] == [name for name, _ in said]
    assert (7, {said[1][1]["sub"]}) == (said[0][1]["token"], {event["sub"] for _, event in said[1:]})


def unwrapped(method: str, params: Any, wrapper: list[str]) -> tuple[str, dict[str, Any]]:
    """Return a push's own name and parameters, however it was sent."""
    if wrapper:
        assert (wrapper[0], wrapper[1:]) == (method, params[:-1])
        name, own = params[-1]
        return name, own
    return method, params[0] if isinstance(params, list) else params
