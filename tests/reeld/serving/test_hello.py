"""``hello``: what a peer says about itself and is told, and the consequences."""

from typing import Any

import anyio
import msgpack
import pytest
from msgpack import packb

from reel.base.errors import InvalidParams
from reel.version import __version__
from reeld.serving.neovim import needs_lifo_replies, set_client_info
from reeld.wire.msgpack_framing import ServerMessagePack
from tests.patience import PATIENCE
from tests.reeld.serving.conftest import Connect, unpacked


@pytest.mark.parametrize(
    ("client", "version", "expected"),
    [
        ("nvim", "0.7.2", True),
        ("nvim", "0.9.5", True),
        ("nvim", "0.10.0", False),
        ("nvim", "0.12.0-dev", False),
        ("nvim", "1.0", False),
        ("nvim", None, True),
        ("nvim", "table: 0x7f", True),
        ("nvim", "99999999999999999999.1", True),
        ("vim", "0.7.2", False),
        (None, None, False),
    ],
)
def test_needs_lifo_replies(client: str | None, version: str | None, expected: bool) -> None:
    """A Neovim below 0.10, or without a version, needs replies in LIFO order; no other client does."""
    assert expected is needs_lifo_replies(client, version)


def test_the_introduction() -> None:
    """Neovim is told our name, our version in numbers, and that we speak plain MessagePack-RPC."""
    kind, method, (name, version, speaks, methods, attributes) = msgpack.unpackb(set_client_info(ServerMessagePack()))
    major, minor, patch = __version__.split(".")[:3]

    assert (2, "nvim_set_client_info", "reeld", "msgpack-rpc", {}, {}) == (
        kind,
        method,
        name,
        speaks,
        methods,
        attributes,
    )
    assert {"major": int(major), "minor": int(minor), "patch": int(patch)} == version


def test_the_introduction_is_no_push() -> None:
    """The introduction calls Neovim's own function, whatever function pushes are sent to."""
    framing = ServerMessagePack()
    framing.push_target = ["nvim_exec_lua", "x"]

    assert "nvim_set_client_info" == msgpack.unpackb(set_client_info(framing))[1]


async def test_hello_says_the_version_and_the_methods(connect: Connect) -> None:
    """Hello reports the daemon's versions and its methods."""
    with anyio.fail_after(PATIENCE):
        said = await connect().call("hello", {"client": {"name": "test"}, "protocol": {"min": 1, "max": 7}})

    assert (1, "msgpack-rpc", 1) == (said["protocol"], said["framing"], said["connection"])
    assert "reeld" == said["server"]["name"]
    assert {
        "message": 16 << 20,
        "values": 1 << 20,
        "elements": 1 << 16,
        "page": 8 << 20,
        "items": 10_000,
        "depth": 16,
        "in_flight": 256,
    } == said["limits"]


@pytest.mark.parametrize("protocol", [{"min": 2}, {"max": 0}, {"min": 2, "max": 3}])
async def test_no_common_protocol(connect: Connect, protocol: dict[str, int]) -> None:
    """A client of another protocol is refused with ours; without hello ours is assumed."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        (error,) = await peer.ask(("hello", {"protocol": protocol, "errors": "map"}))

        assert str(error).startswith("protocol_mismatch: reeld speaks protocol 1, the client ")
        assert {"pong": True} == await peer.call("ping")


async def test_errors_as_text_and_as_maps(connect: Connect) -> None:
    """Errors are pairs that Neovim shows, or maps if the client asked for them."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.send(packb([0, 1, "agent", ["zed"]]) + packb([0, 2, "agent", []]))
        await peer.send(packb([0, 3, "hello", [{"errors": "map"}]]) + packb([0, 4, "agent", ["zed"]]))
        await peer.stream.send_eof()
        found = {number: (error, result) for _, number, error, result in unpacked(await peer.rest())}
    text = "not_found: no agent zed; make one with create, or add with create"

    assert [[0, text], None] == list(found[1])
    assert [[1, "invalid_params: agent is missing; accepted: agent, without_tag?"], None] == list(found[2])
    assert {
        "code": -32004,
        "name": "not_found",
        "message": text,
        "data": {"name": "not_found", "agent": "zed"},
    } == found[4][0]


@pytest.mark.parametrize(
    ("client", "expected"),
    [
        ({}, dict),
        ({"features": []}, dict),
        ({"features": ["telepathy"]}, dict),
        ({"features": ["telepathy", "short_messages"]}, list),
    ],
)
async def test_messages_in_short(connect: Connect, client: dict[str, Any], expected: type) -> None:
    """Messages are in short for a client that says that it knows this, until it says something else of itself."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.ask(("hello", {"client": client}), ("add", "demo", "hi", True), ("hello", {}))
        await peer.send(packb([0, 9, "messages", ["demo"]]) + packb([0, 10, "hello", [{"client": {}}]]))
        await peer.send(packb([0, 11, "messages", ["demo"]]))
        await peer.stream.send_eof()
        found = {reply[1]: reply[3] for reply in unpacked(await peer.rest()) if reply[1] in {9, 11}}

    assert expected is type(found[9]["messages"][0])
    assert dict is type(found[11]["messages"][0])


@pytest.mark.parametrize("features", ["short_messages", [1], {"short_messages": True}, 1])
async def test_features_that_are_no_names(connect: Connect, features: Any) -> None:
    """A client's features are a list of names."""
    with anyio.fail_after(PATIENCE):
        (refused,) = await connect().ask(("hello", {"client": {"features": features}, "errors": "map"}))

    assert "invalid_params: client: its features: expected a list of strings" == str(refused)


async def test_the_name_of_the_client_is_noted(connect: Connect) -> None:
    """Each event names the client as in hello, or none."""
    with anyio.fail_after(PATIENCE):
        named, nameless = connect(), connect()
        await named.ask(("hello", {"client": {"name": "vim"}}), ("create", "demo"), ("add", "demo", "hi"))
        await nameless.call("mark", "demo")
        events = (await nameless.call("history", "demo"))["events"]

    assert ["vim", "vim", None] == [event["client"] for event in events]


@pytest.mark.parametrize("name", ["\udcff", "a\x00b", "", "x" * 257, 1, ["x"]])
async def test_client_without_a_proper_name(connect: Connect, name: Any) -> None:
    """A client's name is stored with its events, so an invalid one is refused."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.send(packb([0, 1, "hello", [{"client": {"name": name}}]], unicode_errors="surrogateescape"))
        outcome = await peer.answer(1)

        assert isinstance(outcome, InvalidParams)
        assert 2 == (await connect().call("add", "demo", "hi", True))["head"]
