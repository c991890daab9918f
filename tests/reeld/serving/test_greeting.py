"""What follows from what a peer says of itself."""

import msgpack
import pytest

from reel.session import MessagePack
from reel.version import __version__
from reeld.serving.greeting import Greeting, introduction


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
def test_who_wants_newest_first(client: str | None, version: str | None, expected: bool) -> None:
    """A Neovim below 0.10 does, and so does one that cannot say what it is; nobody else."""
    assert expected is Greeting(client, version, None, None).wants_newest_first


def test_the_introduction() -> None:
    """Neovim is told our name, our version in numbers, and that we speak MessagePack-RPC as it is written."""
    kind, method, (name, version, speaks, methods, attributes) = msgpack.unpackb(introduction(MessagePack()))
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
    """It is Neovim's own function, whatever pushes are sent to."""
    framing = MessagePack()
    framing.wrapper = ["nvim_exec_lua", "x"]

    assert msgpack.unpackb(introduction(framing))[1] == "nvim_set_client_info"
