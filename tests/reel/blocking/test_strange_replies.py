"""What the blocking client does when the daemon replies late, or with something else than a reply."""

import threading

import pytest

import reel
from reel.sync.client import Client, connect
from tests.patience import PATIENCE
from tests.reel.blocking.scripted_daemon import HELLO, Line, Script, greeting_and

pytestmark = pytest.mark.slow


def test_a_call_that_takes_longer_than_the_timeout(script: Script) -> None:
    """A call that takes too long raises an error, which says that it may still be executed."""
    script.play(greeting_and(), greeting_and({"pong": True}))
    with Client(script.path, timeout=PATIENCE).connect() as client:
        client.timeout = 0.2
        with pytest.raises(reel.Timeout, match="may still be carried out"):
            client.ping()
        client.timeout = PATIENCE
        assert client.ping() is True


def test_timeout_while_sending(script: Script) -> None:
    """A call that cannot be sent because nobody reads does the same."""
    done = threading.Event()
    script.play(lambda line: line.answer(HELLO) and done.wait(PATIENCE))
    with Client(script.path, timeout=PATIENCE).connect() as client:
        client.timeout = 0.2
        with pytest.raises(reel.Timeout, match="may still be carried out"):
            client.add("demo", "x" * (8 << 20))
        done.set()


def test_timeout_of_the_greeting(script: Script) -> None:
    """Connecting has the same limit."""
    script.play(lambda line: line.wait())
    with pytest.raises(reel.Timeout):
        connect(script.path, timeout=0.2)  # it is reached


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
        assert {"name": "protocol_mismatch", "min": 7, "max": 7} == error.value.data
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
