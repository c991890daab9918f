"""A command is posted: sent, and nobody waits for its reply; the next call does its own work whatever that is."""

import os
import random
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count

import pytest

import reel
from reel import requests
from reel.daemon.stop_marker import mark
from reel.sync.client import Client
from tests.daemon import Daemon, hanging, until
from tests.patience import PATIENCE
from tests.reel.blocking.scripted_daemon import HELLO, Line, Script, greeting_and


@pytest.fixture(autouse=True)
def deck(client: Client, name: str) -> None:
    """The agent to which the program adds."""
    client.create(name)


def said(client: Client, name: str) -> list[str]:
    blocks = [block for message in client.iter_messages(name) for block in message["content"]]
    return [block["text"] for block in blocks if block["type"] == "text"]


def has_left(client: Client) -> bool:
    return client._connection is not None and client._connection.has_left


def until_answered(client: Client) -> None:
    """Wait until the client has found the reply; it asks nothing for that."""
    until(lambda: client.is_still(client.server) and not has_left(client))


def test_nobody_waits(daemon: Daemon, client: Client, name: str) -> None:
    """It is sent even if the daemon does not answer; the next call has its own reply, and nothing is there twice."""
    with hanging(daemon):
        assert client.post(requests.add(name, "one"))

    assert ["one"] == said(client, name)
    assert not has_left(client)


def test_others_read_it(daemon: Daemon, client: Client, name: str) -> None:
    """Who asks later on another connection has it, although its reply was not read."""
    assert client.post(requests.add(name, "one"))

    with daemon.client() as other:
        assert ["one"] == said(other, name)
    assert has_left(client)


def test_without_a_connection(client: Client, name: str) -> None:
    """Nothing is sent without a connection, or on one that the daemon has closed."""
    client.close()

    assert not client.post(requests.add(name, "one"))
    assert [] == said(client, name)


def test_a_daemon_that_is_gone(daemon: Daemon, client: Client, name: str) -> None:
    """Nothing is sent on a connection that has ended."""
    daemon.kill()

    assert not client.post(requests.add(name, "one"))
    daemon.start()
    assert [] == said(client, name)


def test_a_connection_that_is_lost_meanwhile(daemon: Daemon, client: Client, name: str) -> None:
    """What was not sent whole is not carried out."""
    with Client(daemon.socket) as hurried:
        hurried.ping()
        hurried.timeout = 0.05
        with hanging(daemon):
            assert not hurried.post(requests.add(name, "one" * 1_000_000))

        assert not hurried._is_connected
    assert [] == said(client, name)


def test_a_large_command(client: Client, name: str) -> None:
    """What the socket does not take at once is sent whole all the same."""
    assert client.post(requests.add(name, "one" * 1_000_000))

    assert ["one" * 1_000_000] == said(client, name)


def test_what_cannot_be_sent(client: Client, name: str) -> None:
    """What is too large for any daemon raises at once."""
    with pytest.raises(reel.TooLarge):
        client.post(requests.add(name, "x" * 20_000_000))

    assert [] == said(client, name)


def test_one_at_a_time(daemon: Daemon, client: Client, name: str) -> None:
    """A program that only posts waits for its daemon now and then, and no replies pile up."""
    with hanging(daemon):
        assert client.post(requests.add(name, "one"))
        assert not client.post(requests.add(name, "two"))
    until_answered(client)

    assert client.post(requests.add(name, "three"))

    assert ["one", "three"] == said(client, name)


def test_a_refusal(daemon: Daemon, client: Client, name: str) -> None:
    """The next call is not told, however the reply is read: with its own, or by the question whether there was one."""
    with daemon.client() as other:
        other.kill(name)

    for _ in range(2):
        assert client.post(requests.add(name, "one"))
        assert [] == said(client, name)
        assert client.post(requests.add(name, "one"))
        until_answered(client)


def test_a_fingerprint_after_the_reply(client: Client, name: str) -> None:
    """A reply that nobody waits for is not taken for a farewell."""
    agent = client.agent(name).id
    before = client.fingerprint(client.server, agent)
    assert client.post(requests.add(name, "one"))
    until_answered(client)

    after = client.fingerprint(client.server, agent)
    assert before is None or after is not None
    assert before is None or before != after


def test_a_farewell_after_the_reply(daemon: Daemon, client: Client, name: str) -> None:
    """A daemon that was stopped after it had replied is known to be gone."""
    assert client.post(requests.add(name, "one"))
    until_answered(client)
    assert client.post(requests.add(name, "two"))
    daemon.end()

    assert not client.is_still(client.server)
    assert not client.post(requests.add(name, "three"))
    daemon.start()


def then(*what: str) -> Callable[[Line], None]:
    """Return what a daemon sends in one piece after a request that was posted, and perhaps an awaited one."""

    def part(line: Line) -> None:
        line.answer(HELLO)
        pieces = {
            "posted": line.framing.answer(line.take().id, {"pong": True}),
            "farewell": line.framing.refuse(None, reel.ShuttingDown("it stops")),
            "rubbish": b"\xc1",
        }
        if "asked" in what:
            pieces["asked"] = line.framing.answer(line.take().id, {"pong": True})
        line.socket.sendall(b"".join(pieces[name] for name in what))
        if "asked" in what:
            line.answer(*[{"pong": True}] * 2)
            line.wait()

    return part


def test_replies_in_another_order(script: Script) -> None:
    """A reply that comes with that of the next call, and behind it, is found: the program may post again."""
    script.play(then("asked", "posted"))
    with Client(script.path, timeout=PATIENCE).connect() as client:
        assert client.post(requests.ping())
        assert client.ping()

        assert client.post(requests.ping())
        assert client.ping()


def test_a_farewell_behind_the_reply(script: Script) -> None:
    """A farewell is known as one although it came with the reply."""
    script.play(then("posted", "farewell"), greeting_and({"pong": True}))
    with Client(script.path, timeout=PATIENCE).connect() as client:
        assert client.post(requests.ping())
        until(lambda: not client.is_still(client.server))

        assert client.ping()


def test_what_is_no_reply(script: Script) -> None:
    """After bytes that mean nothing, the connection is not used any more."""
    script.play(then("rubbish"), greeting_and({"pong": True}))
    with Client(script.path, timeout=PATIENCE).connect() as client:
        assert client.post(requests.ping())
        until(lambda: not client.is_still(client.server))

        assert not client._is_connected
        assert client.ping()


def test_a_look_does_not_wait(daemon: Daemon, name: str) -> None:
    """What waits for replies is not asked where nothing is awaited: it may end the connection."""

    def wait(_descriptor: int, left: float | None) -> None:
        if left == 0.0:
            raise TimeoutError

    with Client(daemon.socket, timeout=PATIENCE, wait=wait) as client:
        client.agent(name)
        with hanging(daemon):
            assert client.post(requests.add(name, "one"))
            assert client.is_still(client.server)
            begun = client.begin(requests.agent(name))
            assert begun is not None
            assert not begun.read()
        begun.wait()

        assert 2 == begun.result.head


def test_a_reply_to_an_exchange(client: Client, name: str) -> None:
    """A request whose reply a loop awaits gets its own."""
    assert client.post(requests.add(name, "one"))

    begun = client.begin(requests.agent(name))

    assert begun is not None
    begun.wait()
    assert begun.is_answered
    assert 2 == begun.result.head


@pytest.mark.parametrize("is_carried_out", [True, False])
def test_a_daemon_that_is_killed(daemon: Daemon, client: Client, name: str, *, is_carried_out: bool) -> None:
    """What has no reply is not sent to the next daemon: others may have written since."""
    if is_carried_out:
        assert client.post(requests.add(name, "one"))
        with daemon.client() as other:
            assert ["one"] == said(other, name)
    else:
        daemon.process.send_signal(signal.SIGSTOP)
        assert client.post(requests.add(name, "one"))
    daemon.kill()
    daemon.start()

    assert (["one"] if is_carried_out else []) == said(client, name)


def test_a_daemon_that_is_restarted(daemon: Daemon, client: Client, name: str) -> None:
    """The next call waits for the next daemon, even if this one was stopped on purpose: the program had it."""
    with suppress(ProcessLookupError), hanging(daemon):
        assert client.post(requests.add(name, "one"))
        daemon.kill()
    mark(daemon.socket)
    starting = threading.Thread(target=daemon.start)
    starting.start()

    assert [] == said(client, name)
    starting.join()


def test_threads(client: Client, name: str) -> None:
    """No thread waits for what another one has posted, and none gets another one's reply."""
    posted: list[bool] = []

    def work(thread: str) -> None:
        for number in range(20):
            text = f"{thread}{number}"
            posted.append(client.post(requests.add(name, text)))
            if not posted[-1]:
                client.add(name, text)
            assert name == client.agent(name).name

    threads = [threading.Thread(target=work, args=(thread,)) for thread in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)

    assert 80 == len({*said(client, name)})
    assert True in posted


class Writer:
    """A thread that writes to an agent of its own with a client that it shares, and looks after it.

    Args:
        client: the client.
        agent: the agent.
        chosen: chooses what is done.
    """

    def __init__(self, client: Client, agent: str, chosen: random.Random) -> None:
        self._client = client
        self._agent = agent
        self._random = chosen
        # What was posted or said, and what was said alone.
        self.sent: list[str] = []
        self.said: list[str] = []
        # The agents of which it was told.
        self.told = {agent}

    def goes_on(self, before: int) -> None:
        """Wait until it has written more than so many messages."""
        until(lambda: len(self.sent) > before + 2)

    def step(self, number: int) -> None:
        """Do one thing."""
        text = f"{self._agent}{number}"
        match self._random.choice(["post", "post", "add", "agent", "begin", "look"]):
            case "post" if self._client.post(requests.add(self._agent, text)):
                self.sent.append(text)
            case "post" | "add":
                self._client.add(self._agent, text)
                self.sent.append(text)
                self.said.append(text)
            case "agent":
                self.told.add(self._client.agent(self._agent).name)
            case "begin" if (begun := self._client.begin(requests.agent(self._agent))) is not None:
                begun.wait()
                self.told |= {begun.result.name} if begun.is_answered else set()
            case _:
                self._client.fingerprint(self._client.server, self._agent)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_threads_beside_a_daemon_that_is_killed(daemon: Daemon, client: Client, name: str, seed: int) -> None:
    """What was called is there once and in order; what was posted may be lost, and is nowhere else, and never twice."""
    writers = [Writer(client, f"{name}-{thread}", random.Random(f"{seed}{thread}")) for thread in "abcd"]
    for writer in writers:
        client.create(writer._agent)
    over = threading.Event()

    def work(writer: Writer) -> None:
        for number in count():
            if over.is_set():
                break
            writer.step(number)

    with ThreadPoolExecutor() as threads:
        working = [threads.submit(work, writer) for writer in writers]
        for _ in range(4):
            for writer in writers:
                writer.goes_on(len(writer.sent))
            daemon.kill()
            daemon.start()
        over.set()
    for done in working:
        done.result()

    for writer in writers:
        found = said(client, writer._agent)
        assert [writer._agent] == [*writer.told]
        assert writer.said == [text for text in found if text in writer.said]
        assert found == [text for text in writer.sent if text in found]


def test_a_fork(client: Client, name: str) -> None:
    """A child has a connection of its own, on which nothing was posted."""
    assert client.post(requests.add(name, "one"))
    child = os.fork()
    if not child:
        texts = said(client, name)
        os._exit(0 if texts == ["one"] and not has_left(client) else 1)

    assert 0 == os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert has_left(client)
    assert ["one"] == said(client, name)


def test_the_end(daemon: Daemon, client: Client, name: str) -> None:
    """Nobody waits for a daemon that hangs; it carries the command out, and the program may go on."""
    with hanging(daemon):
        assert client.post(requests.add(name, "one"))
        client.close()

    with daemon.client() as other:
        assert ["one"] == said(other, name)
    assert ["one"] == said(client, name)
