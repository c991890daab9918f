"""Requests to the daemon itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reel import replies
from reel.base.light_typing import TYPE_CHECKING
from reel.requests.calls import Call, call, reply_reader
from reel.version import PROTOCOL, __version__
from reel.wire.frames import SHORT_MESSAGES

if TYPE_CHECKING:
    from typing import Any, Literal


def greeting(name: str) -> Call[replies.Hello]:
    """Return the first call of our clients on a connection."""
    client = {"name": name, "version": __version__, "features": [SHORT_MESSAGES]}
    return hello(client, {"min": PROTOCOL, "max": PROTOCOL}, errors="map")


def hello(
    client: Mapping[str, Any] | None = None,
    protocol: Mapping[str, int] | None = None,
    notify: Sequence[str] | None = None,
    errors: Literal["text", "map"] | None = None,
) -> Call[replies.Hello]:
    """Introduce the client, and agree on a version of the protocol.

    Args:
        client: the name, version and features of the client.
        protocol: the lowest and highest version (``min``, ``max``) that it speaks.
        notify: the method that gets the pushes, and its first arguments. Default: each push has its own method name.
        errors: the form of errors over MessagePack-RPC: ``text`` or ``map``.
    """
    return call("hello", reply_reader(replies.Hello), locals())


def ping() -> Call[bool]:
    """Return whether the daemon answers."""
    return call("ping", lambda result: bool(result["pong"]))


def methods() -> Call[list[replies.MethodInfo]]:
    """List the methods of the daemon."""
    read = reply_reader(replies.MethodInfo)
    return call("methods", lambda result: [read(item) for item in result["methods"]])


def verify(agent: str | None = None) -> Call[replies.Verified]:
    """Check the database, every log and every live state, or those of one agent. Nothing is repaired.

    Args:
        agent: a name or an id. Default: all agents, and the file as SQLite sees it.
    """
    return call("verify", reply_reader(replies.Verified), locals())


def backup(path: str) -> Call[replies.BackedUp]:
    """Write a copy of everything that was acknowledged into a new file, while other work goes on.

    The file is complete, synced and checked before it gets its name, and only its owner may read it. The reply lists
    the problems that the check found. It also works after the database was removed or replaced while the daemon ran.

    Args:
        path: the new file, an absolute path; a file that exists is never replaced.
    """
    return call("backup", reply_reader(replies.BackedUp), locals())


def stats(details: bool | None = None) -> Call[dict[str, Any]]:  # noqa: FBT001 - as the protocol has it
    """Return counters, sizes and latencies.

    Args:
        details: whether to describe each agent in memory and each connection, too.
    """
    return call("stats", dict, locals())


def shutdown() -> Call[None]:
    """Stop the daemon: it finishes the requests in flight, commits and closes."""
    return call("shutdown", lambda _: None)
