"""A command is sent and not waited for: the next call learns what became of it."""

import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from reel import requests
from reel.base.errors import Killed
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


def said(client: Client) -> list[str]:
    blocks = [block for message in client.iter_messages("deck") for block in message["content"]]
    return [block["text"] for block in blocks if block["type"] == "text"]


def test_nobody_waits(daemon: Daemon, client: Client) -> None:
    """It is sent even if the daemon does not answer; the reply is there when somebody asks, and nothing twice."""
    posted, heads = Posted(), list[int]()

    def note(added: Added) -> None:
        heads.append(added.head)

    with hanging(daemon):
        posted.post(client, requests.add("deck", "one"), note)
        assert [] == heads
    posted.settle(client)
    posted.settle(client)

    assert [2] == heads
    assert ["one"] == said(client)


def test_others_read_it(daemon: Daemon, client: Client) -> None:
    """Who asks later on another connection has it, although its reply was not read."""
    posted = Posted()

    posted.post(client, requests.add("deck", "one"), lambda _: None)

    with daemon.client() as other:
        assert ["one"] == said(other)
    posted.drop()
    assert ["one"] == said(client)


def test_without_a_connection(daemon: Daemon) -> None:
    """Who cannot send without waiting waits."""
    posted, found = Posted(), list[Any]()

    with daemon.client() as client:
        client.create("deck")
        client.close()
        posted.post(client, requests.add("deck", "one"), found.append)

        assert 1 == len(found)
        assert ["one"] == said(client)


def test_a_refusal(daemon: Daemon, client: Client) -> None:
    """The next call says what was wrong with it, once."""
    posted = Posted()
    with daemon.client() as other:
        other.kill("deck")
    posted.post(client, requests.add("deck", "one"), lambda _: None)

    with pytest.raises(Killed):
        posted.settle(client)

    posted.settle(client)
    assert "deck" == client.agents(alive=False).agents[0].name


@pytest.mark.parametrize("is_carried_out", [True, False])
def test_a_daemon_that_is_killed(daemon: Daemon, client: Client, *, is_carried_out: bool) -> None:
    """What has no reply is sent again to the next daemon, which carries it out once."""
    posted, found = Posted(), list[Any]()
    if is_carried_out:
        posted.post(client, requests.add("deck", "one"), found.append)
        with daemon.client() as other:
            assert ["one"] == said(other)
        daemon.kill()
    else:
        daemon.process.send_signal(signal.SIGSTOP)
        posted.post(client, requests.add("deck", "one"), found.append)
        daemon.kill()
    daemon.start()

    posted.settle(client)

    assert 1 == len(found)
    assert ["one"] == said(client)


def test_a_reply_after_the_time(daemon: Daemon) -> None:
    """A reply that has arrived counts, however late somebody asks for it."""
    posted, found = Posted(), list[Any]()
    with Client(daemon.socket, timeout=PATIENCE) as client:
        client.create("deck")
        posted.post(client, requests.add("deck", "one"), found.append)
        with daemon.client() as other:
            assert ["one"] == said(other)
        exchange = posted._posted.exchange  # type: ignore[union-attr]
        exchange.deadline.at = 0.0

        posted.settle(client)

    assert 1 == len(found)


def test_an_interrupted_wait(daemon: Daemon) -> None:
    """Ctrl-C leaves the client usable, and the command is carried out once."""
    posted, interrupts, found = Posted(), [KeyboardInterrupt()], list[Any]()

    def wait(_descriptor: int, left: float | None) -> None:
        if left and interrupts and waits:
            raise interrupts.pop()

    waits: list[bool] = []
    with Client(daemon.socket, timeout=PATIENCE, wait=wait) as client:
        client.create("deck")
        waits.append(True)
        with hanging(daemon):
            posted.post(client, requests.add("deck", "one"), found.append)
            with pytest.raises(KeyboardInterrupt):
                posted.settle(client)
        posted.settle(client)

        assert 1 == len(found)
        assert ["one"] == said(client)


def test_threads(client: Client) -> None:
    """Another thread can settle it, and both go on."""
    posted, found = Posted(), list[Any]()

    def work() -> None:
        posted.settle(client)
        posted.post(client, requests.add("deck", "two"), found.append)

    posted.post(client, requests.add("deck", "one"), found.append)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join(PATIENCE)
    posted.settle(client)

    assert 2 == len(found)
    assert ["one", "two"] == said(client)


def test_a_fork(client: Client) -> None:
    """A child has nothing posted, and does not take the reply from its parent."""
    posted, found = Posted(), list[Any]()
    posted.post(client, requests.add("deck", "one"), found.append)
    with posted._lock:  # as another thread may
        child = os.fork()
        if not child:
            posted.settle(client)
            os._exit(len(found))

    assert 0 == os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    posted.settle(client)

    assert 1 == len(found)
