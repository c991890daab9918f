"""What the blocking client does when the daemon goes away."""

import socket
import threading
import time

import pytest

import reel
from reel.sync.client import Client, connect
from tests.daemon import Daemon, short_directory, until
from tests.patience import PATIENCE
from tests.reel.blocking.scripted_daemon import HELLO, Line, Script, greeting_and, lose

pytestmark = pytest.mark.slow

ADDED = {"agent": "a1", "head": 2, "command": 2, "time": 1, "first": 2, "orphans": [], "open_calls": []}


def test_connecting_without_a_daemon() -> None:
    """The error names the socket that nobody answers on, and the remedy."""
    with short_directory() as directory, pytest.raises(reel.NotRunning) as error:
        connect(f"{directory}/s")

    assert f"no daemon answers on {directory}/s (No such file or directory); start it with: reel start" == (
        error.value.message
    )


def test_the_blocking_client_reconnects(daemon: Daemon, client: Client, name: str) -> None:
    """A client continues after a restart, with everything that was there."""
    client.add(name, "before", create=True)
    daemon.kill()
    daemon.start()
    client.add(name, "after")

    assert ["before", "after"] == [message["content"][0].get("text") for message in client.iter_messages(name)]


def test_whether_a_connection_is_still_there(daemon: Daemon) -> None:
    """It is until the daemon goes away or the client does, whether that has noticed it or not."""
    with Client(daemon.socket, timeout=PATIENCE) as client:
        assert not client.is_still(client.server)
        client.ping()
        first = client.server
        assert client.is_still(first)
        assert client.ping()
        daemon.kill()
        daemon.start()
        assert not client.is_still(first)
        client.ping()
        assert not client.is_still(first)
        assert client.is_still(client.server)
        client.close()
        assert not client.is_still(client.server)


def test_a_farewell_ends_a_connection(script: Script) -> None:
    """What the daemon says without being asked is its last word."""
    answered, ended = threading.Event(), threading.Event()

    def bid_farewell(line: Line) -> None:
        line.answer(HELLO, {"pong": True})
        assert answered.wait(PATIENCE)
        line.socket.sendall(line.framing.refuse(None, reel.ShuttingDown("the daemon stops")))
        ended.set()
        line.wait()

    script.play(bid_farewell)
    with Client(script.path) as client:
        client.ping()
        answered.set()
        assert ended.wait(PATIENCE)
        assert not client.is_still(client.server)


def test_it_waits_for_a_restart(daemon: Daemon, client: Client) -> None:
    """A call retries while the daemon restarts."""
    client.ping()
    daemon.end()
    starting = threading.Thread(target=daemon.start)
    starting.start()
    answered = client.ping()
    starting.join(PATIENCE)

    assert answered is True


def test_the_blocking_client_gives_up_reconnecting(script: Script) -> None:
    """After its time for reconnecting, a client reports that the daemon is gone."""
    script.play(lambda line: line.answer(HELLO, {"pong": True}))
    with connect(script.path, patience=0) as client:
        client.ping()
        script.close()
        with pytest.raises(reel.NotRunning):
            client.ping()


def test_command_is_repeated_under_its_key(script: Script) -> None:
    """A command without a reply is sent again under the same key, so that it is not executed twice."""
    script.play(lose, greeting_and({**ADDED, "repeated": True}))
    with Client(script.path) as client:
        added = client.add("demo", "hi")
    first, second = (request.params[0] for request in script.seen if request.method == "add")

    assert first == second
    assert 32 == len(first["key"])
    assert added.repeated is True


def test_command_that_was_done_is_not_done_twice(daemon: Daemon, client: Client, name: str) -> None:
    """Repeated after a restart under its key, a command returns its first reply."""
    first = client.add(name, "once", create=True, key=f"{name}-key")
    daemon.kill()
    daemon.start()

    assert first._replace(repeated=True) == client.add(name, "once", create=True, key=f"{name}-key")
    assert 1 == client.agent(name).messages


def test_daemon_that_is_stopping(script: Script) -> None:
    """A daemon that is stopping is waited for like one that is gone."""

    def stop(line: Line) -> None:
        line.answer(HELLO)
        line.refuse(reel.ShuttingDown("soon"))

    script.play(stop, greeting_and({"pong": True}))
    with Client(script.path) as client:
        assert client.ping() is True


def test_a_call_that_was_lost_late(script: Script) -> None:
    """The time for reconnecting begins when the connection is lost, however long the call had waited by then."""
    patience = 0.05

    def hang_up_late(line: Line) -> None:
        line.answer(HELLO).take()
        began = time.monotonic()
        until(lambda: time.monotonic() > began + 2 * patience)

    script.play(hang_up_late, greeting_and({"pong": True}))
    with connect(script.path, patience=patience) as client:
        assert client.ping() is True


def test_a_slow_call_after_a_restart(script: Script) -> None:
    """Only the greeting of a new connection has a limit: a call without one may take as long as before the restart."""
    script.play(
        lambda line: line.answer(HELLO).take(),
        lambda line: line.answer(HELLO, {"pong": True}).wait(),
    )
    with connect(script.path, patience=PATIENCE) as client:
        assert client.ping() is True
        assert client._connection is not None
        assert client._connection._socket.gettimeout() is None


def test_reconnecting_counts_for_the_timeout(script: Script) -> None:
    """A call on which the daemon hangs up again and again does not get its whole time each time."""

    def hang_up(line: Line) -> None:
        line.answer(HELLO).take()

    script.play(hang_up, greeting_and({"pong": True}))
    with connect(script.path, timeout=PATIENCE) as client:
        client.timeout = 0.2  # less than the pause between two attempts
        with pytest.raises((reel.Timeout, reel.NotRunning)):
            client.ping()
    with socket.socket(socket.AF_UNIX) as last:
        last.connect(script.path)  # so that the script ends


def test_shutdown_needs_no_answer(script: Script) -> None:
    """A daemon that ends before it replied has shut down."""
    script.play(lambda line: line.answer(HELLO).take())
    with Client(script.path) as client:
        client.shutdown()

    assert ["hello", "shutdown"] == [request.method for request in script.seen]


def test_the_blocking_client_is_hung_up_on(script: Script) -> None:
    """A daemon that hangs up instead of answering the greeting counts as not running."""
    script.play(lambda line: line.take())
    with pytest.raises(reel.NotRunning):
        connect(script.path)
