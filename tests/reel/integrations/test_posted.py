"""A command is sent and not waited for: the next call reads the reply, and does its own work whatever it is."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from reel import requests
from reel.daemon.stop_marker import mark
from reel.integrations.posted import Posted
from reel.replies import Added
from reel.sync.client import Client
from tests import reused_daemon
from tests.daemon import Daemon, hanging
from tests.patience import PATIENCE

# Some tests end it, and the next one gets another.
daemon, prepared, reused = reused_daemon.daemon, reused_daemon.prepared, reused_daemon.reused


@pytest.fixture
def client(daemon: Daemon) -> Iterator[Client]:
    with daemon.client() as connected:
        connected.create("deck")
        yield connected


class Writer:
    """A program that posts what it says."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.posted = Posted()
        # The replies that it has read.
        self.replies: list[Added] = []

    def post(self, text: str) -> None:
        """Post a message."""
        command = requests.add("deck", text)
        self.posted.run(self.client, lambda client: self.posted.post(client, command, self.replies.append))

    def said(self) -> list[str]:
        """Return what was said, in the next turn."""
        return self.posted.run(self.client, said)


def said(client: Client) -> list[str]:
    blocks = [block for message in client.iter_messages("deck") for block in message["content"]]
    return [block["text"] for block in blocks if block["type"] == "text"]


def test_nobody_waits(daemon: Daemon, client: Client) -> None:
    """It is sent even if the daemon does not answer; the next turn has the reply, and nothing is there twice."""
    writer = Writer(client)

    with hanging(daemon):
        writer.post("one")
        assert [] == writer.replies

    assert ["one"] == writer.said()
    assert ["one"] == writer.said()
    assert [2] == [added.head for added in writer.replies]


def test_others_read_it(daemon: Daemon, client: Client) -> None:
    """Who asks later on another connection has it, although its reply was not read."""
    writer = Writer(client)

    writer.post("one")

    with daemon.client() as other:
        assert ["one"] == said(other)
    writer.posted.close(client)


def test_without_a_connection(client: Client) -> None:
    """Who cannot send without waiting waits."""
    writer = Writer(client)
    client.close()

    writer.post("one")

    assert 1 == len(writer.replies)


def test_a_large_command(client: Client) -> None:
    """What the socket does not take at once is sent whole all the same."""
    writer = Writer(client)

    writer.post("one" * 1_000_000)

    assert 1 == len(writer.replies)


def test_a_refusal(daemon: Daemon, client: Client) -> None:
    """The next turn, which may be about another agent, does its work."""
    writer = Writer(client)
    with daemon.client() as other:
        other.kill("deck")

    writer.post("one")

    assert [] == writer.said()
    assert [] == writer.replies


@pytest.mark.parametrize("is_carried_out", [True, False])
def test_a_daemon_that_is_killed(daemon: Daemon, client: Client, *, is_carried_out: bool) -> None:
    """What has no reply is not sent to the next daemon: others may have written since."""
    writer = Writer(client)
    if is_carried_out:
        writer.post("one")
        with daemon.client() as other:
            assert ["one"] == said(other)
        daemon.kill()
    else:
        daemon.process.send_signal(signal.SIGSTOP)
        writer.post("one")
        daemon.kill()
    daemon.start()

    assert (["one"] if is_carried_out else []) == writer.said()


def test_a_daemon_that_is_restarted(daemon: Daemon, client: Client) -> None:
    """The next turn waits for the next daemon, even if this one was stopped on purpose: the program had it."""
    writer = Writer(client)
    with suppress(ProcessLookupError), hanging(daemon):
        writer.post("one")
        daemon.kill()
    mark(daemon.socket)
    starting = threading.Thread(target=daemon.start)
    starting.start()

    assert [] == writer.said()
    starting.join()


def test_a_reply_after_the_time(daemon: Daemon) -> None:
    """A reply that has arrived counts, however late somebody asks for it."""
    with Client(daemon.socket, timeout=PATIENCE) as client:
        writer = Writer(client)
        client.create("deck")
        writer.post("one")
        with daemon.client() as other:
            assert ["one"] == said(other)
        writer.posted._posted.exchange.deadline.at = 0.0  # type: ignore[union-attr]

        assert ["one"] == writer.said()

    assert 1 == len(writer.replies)


def test_no_reply_in_time(daemon: Daemon) -> None:
    """The next turn goes on, on another connection."""
    with Client(daemon.socket, timeout=PATIENCE) as client:
        writer = Writer(client)
        client.create("deck")
        with hanging(daemon):
            writer.post("one")
            writer.posted._posted.exchange.deadline.at = 0.0  # type: ignore[union-attr]
            writer.posted.run(client, lambda _: None)

        assert ["one"] == writer.said()

    assert [] == writer.replies


def test_an_interrupted_wait(daemon: Daemon) -> None:
    """Ctrl-C leaves the client usable."""
    interrupts: list[BaseException] = []

    def wait(_descriptor: int, left: float | None) -> None:
        if left and interrupts:
            raise interrupts.pop()

    with Client(daemon.socket, timeout=PATIENCE, wait=wait) as client:
        writer = Writer(client)
        client.create("deck")
        with hanging(daemon):
            writer.post("one")
            interrupts.append(KeyboardInterrupt())
            with pytest.raises(KeyboardInterrupt):
                writer.said()

        assert ["one"] == writer.said()


def test_threads(client: Client) -> None:
    """No turn waits for what another thread has posted, which may not come back."""
    writer = Writer(client)

    def work(name: str) -> None:
        for number in range(20):
            writer.said()
            writer.post(f"{name}{number}")

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)

    assert 80 == len({*writer.said()})
    assert 80 == len(writer.replies)


def test_a_fork(client: Client) -> None:
    """A child has nothing posted, and does not take the reply from its parent."""
    writer = Writer(client)
    writer.post("one")
    with writer.posted._lock:  # as another thread may
        child = os.fork()
        if not child:
            writer.posted.run(client, lambda _: None)
            os._exit(len(writer.replies))

    assert 0 == os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert ["one"] == writer.said()
    assert 1 == len(writer.replies)


def test_the_end(daemon: Daemon, client: Client) -> None:
    """Nobody waits for a daemon that hangs; it carries the command out, and the program may go on."""
    writer = Writer(client)
    with hanging(daemon):
        writer.post("one")
        writer.posted.close(client)
    with daemon.client() as other:
        assert ["one"] == said(other)

    assert ["one"] == writer.said()
    assert [] == writer.replies
    writer.posted.close(client)


def test_the_end_after_the_reply(daemon: Daemon, client: Client) -> None:
    """Ending what is over, such as after Ctrl-C, changes nothing."""
    writer = Writer(client)
    writer.post("one")
    with daemon.client() as other:
        assert ["one"] == said(other)
    exchange = writer.posted._posted.exchange  # type: ignore[union-attr]
    assert exchange.read()

    writer.posted.close(client)

    assert ["one"] == writer.said()
