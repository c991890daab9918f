"""Who answers on a socket."""

import socket
from pathlib import Path

import pytest

from reel.daemon import answering
from reel.daemon.answering import answers

pytestmark = pytest.mark.slow


def test_a_socket_that_a_daemon_answers_on(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon answers on a socket if it listens there, and not on a socket that it left behind."""
    monkeypatch.setattr(answering, "_BUSY", 0.1)
    path = str(home / "s")
    with socket.socket(socket.AF_UNIX) as listener:
        assert not answers(path)
        listener.bind(path)
        listener.listen()
        assert answers(path)
    assert not answers(path)
