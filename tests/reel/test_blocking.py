"""The blocking client, against a real daemon, and against a scripted one that misbehaves.

The daemon of the script is a listening socket and a list: what each connection to it does, one after the other.
"""

import inspect
import pydoc
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

import reel
from reel import requests
from reel.errors import ReelError
from reel.frames import Request
from reel.session import MessagePack
from reel.sync.client import Client, connect
from tests.daemon import Daemon, short_directory
from tests.patience import PATIENCE
from tests.pipeline import Pipeline

pytestmark = pytest.mark.slow

HELLO = {
    "server": {"name": "reeld", "version": "0", "pid": 1},
    "protocol": 1,
    "framing": "msgpack-rpc",
    "connection": 1,
    "features": [],
    "limits": {},
}
ADDED = {"agent": "a1", "head": 2, "command": 2, "time": 1, "first": 2, "orphans": [], "open_calls": []}

# The requests that a client makes by itself, and the functions that work on requests.
NOT_METHODS = {"greeting", "hello", "next_page", "with_idempotency_key"}


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    """A daemon that the tests of this module share."""
    with short_directory() as directory:
        daemon = Daemon(directory).start()
        yield daemon
        daemon.close()


@pytest.fixture
def client(daemon: Daemon) -> Iterator[Client]:
    """A client of that daemon."""
    with daemon.client() as client:
        yield client


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A unique name for the test's agent."""
    return "".join(char if char.isalnum() else "-" for char in request.node.name).strip("-")


class Line:
    """The daemon's end of one scripted connection."""

    def __init__(self, connection: socket.socket, seen: list[Request]) -> None:
        self.socket = connection
        self.framing = MessagePack(64 << 20, error_maps=True)
        self._seen = seen
        self._waiting: list[Request] = []

    def take(self) -> Request:
        """Wait for a request."""
        while not self._waiting:
            data = self.socket.recv(1 << 16)
            if not data:
                raise EOFError
            self._waiting += [frame for frame in self.framing.feed(data) if isinstance(frame, Request)]
        self._seen.append(self._waiting[0])
        return self._waiting.pop(0)

    def answer(self, *results: dict[str, Any]) -> "Line":
        """Answer requests, one after the other."""
        for result in results:
            self.socket.sendall(self.framing.answer(self.take().id, result))
        return self

    def refuse(self, error: ReelError) -> None:
        """Answer a request with an error."""
        self.socket.sendall(self.framing.refuse(self.take().id, error))

    def wait(self) -> None:
        """Send nothing until the client has gone."""
        while self.socket.recv(1 << 16):
            pass


Part: TypeAlias = Callable[[Line], object]


class Script:
    """A daemon that follows a script."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.seen: list[Request] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self.path)
        self._listener.listen()
        self._thread: threading.Thread | None = None

    def play(self, *parts: Part) -> None:
        """Accept as many connections as there are parts, each played by its part."""
        self._thread = threading.Thread(target=self._play, args=(parts,))
        self._thread.start()

    def _play(self, parts: tuple[Part, ...]) -> None:
        for part in parts:
            connection, _ = self._listener.accept()
            with connection:
                connection.settimeout(PATIENCE)
                try:
                    part(Line(connection, self.seen))
                except (EOFError, OSError):
                    continue

    def close(self) -> None:
        """Wait for the end of the script."""
        if self._thread is not None:
            self._thread.join(PATIENCE)
            assert not self._thread.is_alive(), "a part is waiting for its connection"
        self._listener.close()


@pytest.fixture
def script() -> Iterator[Script]:
    """A daemon that follows a script."""
    with short_directory() as directory:
        script = Script(directory / "s")
        yield script
        script.close()


def greeting_and(*results: dict[str, Any]) -> Part:
    """Greet, reply, and hang up when the client does."""

    def part(line: Line) -> None:
        line.answer(HELLO, *results)
        line.wait()

    return part


# --- what it offers


@pytest.mark.parametrize("name", sorted({*requests.__all__} - {"Call", *NOT_METHODS}))
def test_one_method_for_each_request(name: str) -> None:
    """Every request has a method of the same name, with its parameters and its documentation."""
    request, method = getattr(requests, name), getattr(Client, name)
    parameters = list(inspect.signature(method).parameters.values())

    assert [*inspect.signature(request).parameters.values()] == parameters[1:]
    assert request.__doc__ == method.__doc__


def test_help_shows_parameters_and_the_reply() -> None:
    """``help(Client.add)`` shows what the method takes, in which order, and the type of the reply."""
    shown = pydoc.plain(pydoc.render_doc(Client.add))

    assert "add(self, agent: str, messages: " in shown
    assert ", key: str | None = None) -> reel.replies.Added" in shown
    assert "create: create the agent" in shown


def test_help_of_a_bound_method_leaves_out_self() -> None:
    """``help(client.add)`` shows the parameters of the method as it is called."""
    assert ["agent", "messages"] == list(inspect.signature(Client("/nowhere").add).parameters)[:2]


def test_connect_learns_about_the_daemon(daemon: Daemon) -> None:
    """After connecting, the client knows the daemon's process and limits."""
    with connect(daemon.socket) as client:
        assert client.server is not None
        assert ("reeld", daemon.process.pid) == (client.server.server["name"], client.server.server["pid"])
        assert client.server.limits["message"] == 16 << 20


def test_default_socket(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a path the client uses the one in the environment."""
    monkeypatch.setenv("REEL_SOCKET", daemon.socket)

    with reel.connect() as client:
        assert client.ping() is True


def test_messages_come_back_as_they_were_added(client: Client, name: str) -> None:
    """Added messages come back as typed results with the protocol's fields."""
    added = client.add(name, ["hi", reel.tool_call("c1", "ls", "{}")], create=True)
    page = client.messages(name)

    assert (2, 3, [("c1", "ls", 3)]) == (added.first, added.head, added.open_calls)
    assert [("user", 2), ("assistant", 3)] == [(message["role"], message["seq"]) for message in page.messages]
    assert client.add(name + "-2", page.messages, create=True).first == 2


def test_text_that_is_none(client: Client, name: str) -> None:
    """Lone surrogates in a text are replaced, and the reply says how many."""
    added = client.add(name, "a\ud800b", create=True)

    assert added.replaced > 0
    assert client.messages(name).messages[0]["content"] == [
        {"type": "text", "text": "a" + "\ufffd" * added.replaced + "b"}
    ]


def test_the_repr_of_a_subscription(client: Client, name: str) -> None:
    """It shows the agent, how far the subscription has come, and whether it is closed."""
    agent = client.create(name).id
    with client.subscribe(name) as subscription:
        shown = repr(subscription)

    assert (f"<reel Subscription to {agent} after #1>", ", closed>") == (shown, repr(subscription)[-9:])


def test_errors_are_exceptions(client: Client, name: str) -> None:
    """Each error name is its own class, with the daemon's message."""
    with pytest.raises(reel.NotFound) as missing:
        client.clear(name)
    client.create(name)
    with pytest.raises(reel.NoSuchMark) as unmarked:
        client.rewind(name, "x")

    assert missing.value.data["agent"] == name
    assert unmarked.value.data["labels"] == []


def test_two_with_one_if_seq(daemon: Daemon, client: Client, name: str) -> None:
    """Of two clients that act on the same head one succeeds; the other gets the current head in the error."""
    client.create(name)
    with daemon.client() as other:
        client.add(name, "first", if_seq=1)
        with pytest.raises(reel.Conflict) as lost:
            other.add(name, "second", if_seq=1)

    assert lost.value.data["head"] == 2
    assert client.agent(name).messages == 1


def test_races_for_one_if_seq(daemon: Daemon, name: str) -> None:
    """Of many clients that try at the same time, exactly one writes."""
    outcomes: list[str] = []
    with daemon.client() as client:
        client.create(name)

    def race(number: int) -> None:
        with daemon.client() as racer:
            try:
                racer.add(name, str(number), if_seq=1)
                outcomes.append("won")
            except reel.Conflict:
                outcomes.append("lost")

    threads = [threading.Thread(target=race, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)

    assert ["lost"] * 7 + ["won"] == sorted(outcomes)


def test_threads_share_a_client(client: Client, name: str) -> None:
    """Calls of several threads take turns, and each gets its own reply."""
    client.create(name)
    heads: list[int] = []
    threads = [threading.Thread(target=lambda: heads.append(client.mark(name).seq)) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)

    assert list(range(2, 22)) == sorted(heads)


# --- pages


def test_all_pages_of_messages(client: Client, name: str) -> None:
    """The iterators return everything, page by page, each item once and in order."""
    sent = [str(number) for number in range(2500)]
    client.create(name, system="be brief")
    client.add(name, sent)

    assert sent == [message["content"][0].get("text") for message in client.iter_messages(name)]
    assert ["be brief", *sent] == [record["content"] for record in client.iter_conversation(name)]
    assert list(range(1, 2503)) == [event["seq"] for event in client.iter_history(name)]


def test_pages_of_a_state_that_moves(client: Client, name: str) -> None:
    """All pages show the state of the first one."""
    client.add(name, [str(number) for number in range(2500)], create=True)
    messages = client.iter_messages(name)
    first = next(messages)
    client.clear(name)
    client.add(name, "another conversation")

    assert first["seq"] == 2
    assert list(range(3, 2502)) == [message["seq"] for message in messages]


def test_pages_by_size(client: Client, name: str) -> None:
    """A page ends at its size limit, but has at least one message."""
    client.add(name, ["x" * 4000] * 10, create=True)
    pages = list(client.pages(requests.messages(name, max_bytes=10_000)))

    assert [2, 2, 2, 2, 2] == [len(page.messages) for page in pages]
    assert [1] * 10 == [len(page.messages) for page in client.pages(requests.messages(name, max_bytes=1))]


def test_pages_of_a_replay(client: Client, name: str) -> None:
    """The first page of a replay says whether it matches the live state."""
    client.add(name, ["a", "b", "c"], create=True)
    pages = list(client.pages(requests.replay(name, limit=2)))

    assert [True, None] == [page.matched for page in pages]
    assert [2, 3, 4] == [message["seq"] for page in pages for message in page.messages or []]


def test_history_with_what_was_inherited(client: Client, name: str) -> None:
    """The log of a clone starts with its source's past if requested."""
    client.add(name, [str(number) for number in range(1500)], create=True)
    client.clone(name, f"{name}-2")
    client.add(name, "unseen")

    assert ["clone"] == [event["kind"] for event in client.iter_history(f"{name}-2")]
    assert list(range(1, 1503)) == [event["seq"] for event in client.iter_history(f"{name}-2", inherited=True)]


def test_three_thousand_agents(daemon: Daemon, client: Client) -> None:
    """A list of agents comes in pages, in the order in which they were made."""
    names = [f"many-{number}" for number in range(3000)]
    with Pipeline(daemon.socket) as pipeline:
        for start in range(0, 3000, 200):
            pipeline.send(("create", agent) for agent in names[start : start + 200])
            pipeline.receive(start + 200)
    client.kill(names[7])

    assert names == [row.name for row in client.iter_agents("many-")]
    assert [names[7]] == [row.name for row in client.iter_agents("many-", alive=False)]
    assert [1000, 1000, 1000] == [len(page.agents) for page in client.pages(requests.agents("many-"))]


# --- when the daemon goes away


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
    with Client(script.path, patience=0) as client:
        client.ping()
        script.close()
        with pytest.raises(reel.NotRunning):
            client.ping()


def test_command_is_repeated_under_its_key(script: Script) -> None:
    """A command without a reply is sent again under the same key, so that it is not executed twice."""

    def lose(line: Line) -> None:
        line.answer(HELLO)
        line.take()

    script.play(lose, greeting_and({**ADDED, "repeated": True}))
    with Client(script.path) as client:
        added = client.add("demo", "hi")
    first, second = (request.params[0] for request in script.seen if request.method == "add")

    assert first == second
    assert len(first["key"]) == 32
    assert added.repeated is True


def test_command_that_was_done_is_not_done_twice(daemon: Daemon, client: Client, name: str) -> None:
    """Repeated after a restart under its key, a command returns its first reply."""
    first = client.add(name, "once", create=True, key=f"{name}-key")
    daemon.kill()
    daemon.start()

    assert first._replace(repeated=True) == client.add(name, "once", create=True, key=f"{name}-key")
    assert client.agent(name).messages == 1


def test_each_call_is_a_command_of_its_own(client: Client, name: str) -> None:
    """Two calls are two commands, unless they have the same key."""
    client.create(name)
    request = requests.add(name, "again")
    client.call(request)

    assert client.call(request).repeated is False
    assert client.agent(name).messages == 2


def test_daemon_that_is_stopping(script: Script) -> None:
    """A daemon that is stopping is waited for like one that is gone."""

    def stop(line: Line) -> None:
        line.answer(HELLO)
        line.refuse(reel.ShuttingDown("soon"))

    script.play(stop, greeting_and({"pong": True}))
    with Client(script.path) as client:
        assert client.ping() is True


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


# --- when it replies strangely


def test_a_call_that_takes_longer_than_the_timeout(script: Script) -> None:
    """A call that takes too long raises an error, which says that it may still be executed."""
    script.play(greeting_and(), greeting_and({"pong": True}))
    with Client(script.path, timeout=0.2) as client:
        with pytest.raises(reel.Timeout, match="may still be carried out"):
            client.ping()
        assert client.ping() is True


def test_timeout_while_sending(script: Script) -> None:
    """A call that cannot be sent because nobody reads does the same."""
    done = threading.Event()
    script.play(lambda line: line.answer(HELLO) and done.wait(PATIENCE))
    with Client(script.path, timeout=0.2) as client:
        with pytest.raises(reel.Timeout, match="may still be carried out"):
            client.add("demo", "x" * (8 << 20))
        done.set()


def test_timeout_of_the_greeting(script: Script) -> None:
    """Connecting has the same limit."""
    script.play(lambda line: line.wait())
    with pytest.raises(reel.Timeout):
        connect(script.path, timeout=0.2)


def test_protocol_mismatch(script: Script) -> None:
    """Without a common protocol version nothing is called, at the first connection or a later one."""

    def mismatch(line: Line) -> None:
        line.refuse(reel.ProtocolMismatch("we speak 7", min=7, max=7))
        line.wait()

    script.play(mismatch, mismatch)
    client = Client(script.path)
    for _ in range(2):
        with pytest.raises(reel.ProtocolMismatch) as error:
            client.ping()
        assert error.value.data == {"name": "protocol_mismatch", "min": 7, "max": 7}
    client.close()


def test_the_blocking_client_reports_what_is_not_a_reply(script: Script) -> None:
    """Bytes that are not a reply raise an error that says so, and the next call reconnects."""

    def babble(line: Line) -> None:
        line.answer(HELLO)
        line.take()
        line.socket.sendall(b"\xc1\xc1")
        line.wait()

    script.play(babble, greeting_and({"pong": True}))
    with Client(script.path) as client:
        with pytest.raises(reel.ParseError):
            client.ping()
        assert client.ping() is True


def test_pushes_are_passed_over(script: Script) -> None:
    """A client ignores messages that are not its reply."""

    def chat(line: Line) -> None:
        line.answer(HELLO)
        line.socket.sendall(line.framing.notify("event", [{}]) + line.framing.answer(77, {}))
        line.answer({"pong": True})
        line.wait()

    script.play(chat)
    with Client(script.path) as client:
        assert client.ping() is True


def test_it_can_be_closed_and_used_again(daemon: Daemon) -> None:
    """After a close the next call connects again; closing twice is no error."""
    client = Client(daemon.socket)
    client.close()
    assert client.ping() is True
    client.close()
    client.close()
    assert client.ping() is True
    client.close()
