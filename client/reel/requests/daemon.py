"""What is asked of the daemon itself."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from reel import replies
from reel.requests.calls import Call, call, reply_reader
from reel.version import PROTOCOL, __version__


def greeting(name: str) -> Call[replies.Hello]:
    """Make the call that our clients begin a connection with."""
    return hello(
        client={"name": name, "version": __version__}, protocol={"min": PROTOCOL, "max": PROTOCOL}, errors="map"
    )


def hello(
    client: Mapping[str, Any] | None = None,
    protocol: Mapping[str, int] | None = None,
    notify: Sequence[str] | None = None,
    errors: Literal["text", "map"] | None = None,
) -> Call[replies.Hello]:
    """Say who calls and agree on a protocol version."""
    return call("hello", reply_reader(replies.Hello), client=client, protocol=protocol, notify=notify, errors=errors)


def ping() -> Call[bool]:
    """Ask for a sign of life."""
    return call("ping", lambda result: bool(result["pong"]))


def methods() -> Call[list[replies.MethodInfo]]:
    """List what the daemon can do."""
    read = reply_reader(replies.MethodInfo)
    return call("methods", lambda result: [read(item) for item in result["methods"]])


def verify(agent: str | None = None) -> Call[replies.Verified]:
    """Check the database, every log and every running state, or those of one agent; nothing is mended.

    Args:
        agent: a name or an id; left out, all agents, and the file as SQLite sees it.
    """
    return call("verify", reply_reader(replies.Verified), agent=agent)


def backup(path: str) -> Call[replies.BackedUp]:
    """Write a copy of everything that was acknowledged into a new file, beside all other work.

    The file is complete and on the disk before it has its name, and only its owner may read it. It also works after
    the database was removed or replaced while the daemon ran.

    Args:
        path: the new file, an absolute path; a file that exists is never replaced.
    """
    return call("backup", reply_reader(replies.BackedUp), path=path)


def stats() -> Call[dict[str, Any]]:
    """Ask for counters, sizes and latencies."""
    return call("stats", dict)


def shutdown() -> Call[None]:
    """Stop the daemon: it finishes what is in flight, commits and closes."""
    return call("shutdown", lambda _: None)
