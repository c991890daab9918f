"""By an agent's fingerprint a client knows, without a request, that the agent is as it was."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import reel
from reel.sync.changes import share
from reel.sync.client import Client
from tests.daemon import Daemon

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has files in memory that can be sealed")

SECRET = "the word is fish"
CHANGES: dict[str, Callable[[Client, str], object]] = {
    "add": lambda client, name: client.add(name, "more"),
    "items": lambda client, name: client.add_items(name, [{"role": "user", "content": "x"}], "openai-responses"),
    "undo": lambda client, name: client.undo(name),
    "restore": lambda client, name: client.restore(name, 1),
    "clear": lambda client, name: client.clear(name),
    "mark": lambda client, name: client.mark(name),
    "note": lambda client, name: client.add(name, [reel.state("a", 1)]),
    "rename": lambda client, name: client.change(name, name=f"{name}-2"),
    "title": lambda client, name: client.change(name, title="other"),
    "kill": lambda client, name: client.kill(name),
    "redact": lambda client, name: client.redact(name, text="fish"),
    "redact what a clone has": lambda client, name: client.redact(f"source-{name}", text="fish"),
    "purge": lambda client, name: client.purge(name),
    "another agent, which may get the name": lambda client, name: client.create(f"new-{name}"),
}


@pytest.fixture
def uid(client: Client, name: str) -> str:
    """The id of an agent that can do everything; it is a clone."""
    client.add(f"source-{name}", SECRET, create=True)
    made = client.clone(f"source-{name}", name)
    client.add(name, "one")
    client.add(f"busy-{name}", "one", create=True)
    return made.id


@pytest.mark.parametrize("change", [*CHANGES])
def test_what_changes(daemon: Daemon, client: Client, name: str, uid: str, change: str) -> None:
    """Whatever another client does to an agent, or to what its name means, its fingerprint is another one."""
    before = client.fingerprint(client.server, uid)
    with daemon.client() as other:
        CHANGES[change](other, name)

    assert before is not None
    assert before != client.fingerprint(client.server, uid)


def test_what_does_not_change(daemon: Daemon, client: Client, name: str, uid: str) -> None:
    """An agent's fingerprint stays while others read it, or add to other agents, and no request is sent for it."""
    before = client.fingerprint(client.server, uid)
    with daemon.client() as other:
        list(other.iter_messages(name))
        other.render(name, "anthropic", extra={"model": "m", "max_tokens": 1})
        other.add(f"busy-{name}", "more")
        other.undo(f"busy-{name}")

    assert client._connection is not None
    sent = client._connection._number
    assert before == client.fingerprint(client.server, uid)
    assert sent == client._connection._number


def test_of_another_connection(daemon: Daemon, client: Client, uid: str) -> None:
    """There is none if the daemon is gone, nor for a connection that was closed."""
    server = client.server
    assert client.fingerprint(server, uid) is not None
    assert client.fingerprint(None, uid) is None
    daemon.kill()
    assert client.fingerprint(server, uid) is None
    daemon.start()
    client.ping()

    assert client.fingerprint(server, uid) is None
    assert client.fingerprint(client.server, uid) is not None


def test_after_a_fork(client: Client, uid: str) -> None:
    """A child has no connection yet, and so no fingerprint."""
    server = client.server
    client.fingerprint(server, uid)
    if (child := os.fork()) == 0:
        os._exit(client.fingerprint(server, uid) is not None)

    assert 0 == os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert client.fingerprint(server, uid) is not None


def test_what_cannot_be_shared(client: Client, tmp_path: Path) -> None:
    """Nothing is read from a file that is another one, that may become shorter, or that cannot be opened here."""
    assert client.server is not None
    offer = client.server.changes
    assert offer is not None
    short = tmp_path / "short"
    short.write_bytes(bytes((offer["counters"] + 2) * 8))

    assert share(offer) is not None
    assert share(None) is None
    assert share({**offer, "id": "0" * 16}) is None
    assert share({**offer, "id": "?"}) is None
    assert share({**offer, "counters": 1}) is None
    assert share({**offer, "counters": -1}) is None
    assert share({**offer, "counters": float(offer["counters"])}) is None
    assert share({**offer, "path": "/proc/0/fd/0"}) is None
    assert share({**offer, "path": str(short), "id": "0"}) is None
    assert share({"path": offer["path"]}) is None


def test_many_clients(daemon: Daemon, uid: str) -> None:
    """However many clients a process has, they share one mapping; it goes with the last of their connections."""
    maps = len(mapped())
    clients = [daemon.client() for _ in range(3)]
    assert all(client.fingerprint(client.server, uid) for client in clients)
    assert 1 == len(mapped()) - maps
    for client in clients:
        client.close()
    assert maps == len(mapped())


def mapped() -> list[str]:
    """Return which mappings this process has of a daemon's counters."""
    return [line for line in Path("/proc/self/maps").read_text().splitlines() if "memfd:reel-changes" in line]


def test_nobody_else_writes(client: Client) -> None:
    """The daemon alone can write what clients share, and nobody can make it shorter."""
    assert client.server is not None
    assert client.server.changes is not None
    file = os.open(client.server.changes["path"], os.O_RDWR)
    try:
        with pytest.raises(PermissionError):
            os.write(file, b"x")
        with pytest.raises(PermissionError):
            os.ftruncate(file, 0)
    finally:
        os.close(file)
