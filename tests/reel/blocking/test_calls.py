"""Calls of the blocking client to a real daemon, also from several threads and clients."""

import threading

import pytest

import reel
from reel import requests
from reel.sync.client import Client, connect
from tests.daemon import Daemon
from tests.patience import PATIENCE

pytestmark = pytest.mark.slow


def test_connect_learns_about_the_daemon(daemon: Daemon) -> None:
    """After connecting, the client knows the daemon's process and limits."""
    with connect(daemon.socket) as client:
        assert client.server is not None
        assert ("reeld", daemon.process.pid) == (client.server.server["name"], client.server.server["pid"])
        assert 16 << 20 == client.server.limits["message"]


def test_default_socket(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a path the client uses the one in the environment."""
    monkeypatch.setenv("REEL_SOCKET", daemon.socket)

    with reel.connect() as client:
        assert client.ping() is True


def test_the_name_of_a_client(daemon: Daemon, name: str) -> None:
    """The daemon stores the name that a client gives itself with what it writes."""
    with connect(daemon.socket, name="mine") as client:
        client.create(name)

        assert ["mine"] == [event["client"] for event in client.history(name).events]


def test_messages_come_back_as_they_were_added(client: Client, name: str) -> None:
    """Added messages come back as typed results with the protocol's fields."""
    added = client.add(name, ["hi", reel.tool_call("c1", "ls", "{}")], create=True)
    page = client.messages(name)

    assert (2, 3, [("c1", "ls", 3)]) == (added.first, added.head, added.open_calls)
    assert [("user", 2), ("assistant", 3)] == [(message["role"], message["seq"]) for message in page.messages]
    assert 2 == client.add(name + "-2", page.messages, create=True).first


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
    assert [] == unmarked.value.data["labels"]


def test_two_with_one_if_seq(daemon: Daemon, client: Client, name: str) -> None:
    """Of two clients that act on the same head one succeeds; the other gets the current head in the error."""
    client.create(name)
    with daemon.client() as other:
        client.add(name, "first", if_seq=1)
        with pytest.raises(reel.Conflict) as lost:
            other.add(name, "second", if_seq=1)

    assert 2 == lost.value.data["head"]
    assert 1 == client.agent(name).messages


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


def test_a_close_while_other_threads_call(client: Client, name: str) -> None:
    """A close waits for its turn, too: each call gets its reply, on this connection or the next."""
    client.create(name)
    heads: list[int] = []
    ended = threading.Event()

    def call() -> None:
        try:
            heads.extend(client.mark(name).seq for _ in range(100))
        finally:
            ended.set()

    thread = threading.Thread(target=call)
    thread.start()
    while not ended.is_set():
        client.close()
    thread.join(PATIENCE)

    assert [*range(2, 102)] == heads


def test_each_call_is_a_command_of_its_own(client: Client, name: str) -> None:
    """Two calls are two commands, unless they have the same key."""
    client.create(name)
    request = requests.add(name, "again")
    client.call(request)

    assert client.call(request).repeated is False
    assert 2 == client.agent(name).messages


def test_it_can_be_closed_and_used_again(daemon: Daemon) -> None:
    """After a close the next call connects again; closing twice is no error."""
    client = Client(daemon.socket)
    client.close()
    assert client.ping() is True
    client.close()
    client.close()
    assert client.ping() is True
    client.close()
