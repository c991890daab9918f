"""A listener that does not accept or answer ends a command with an error, after a limit."""

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from reel.base.errors import Timeout
from reel.cli.line.names import PrefixResolvingClient
from reel.cli.screen.output import Output
from tests.daemon import full_listener
from tests.reel.cli.conftest import Reel

_REMEDY = "see what is wrong with: reel doctor, or allow more time with: reel --timeout SECONDS"


@pytest.fixture
def path(directory: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The path of a socket that every command uses, also those that start a daemon."""
    path = str(directory / "mute.sock")
    monkeypatch.setenv("REEL_SOCKET", path)
    return path


@pytest.fixture
def mute(reel: Reel, path: str) -> Iterator[str]:  # noqa: ARG001 - it sets another socket, so it comes first
    """A listener that takes connections and never answers."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        yield path


@pytest.mark.usefixtures("mute")
@pytest.mark.parametrize("argv", [["list"], ["status"], ["stats"], ["show", "demo"], ["add", "demo", "hi"], ["follow"]])
def test_no_answer(reel: Reel, argv: list[str]) -> None:
    """Every command gives up after --timeout, and says what to do."""
    ran = reel(*argv, "--timeout", "0.1")

    assert 1 == ran.status
    assert ran.err.startswith("reel: timeout: ")
    assert ran.err.endswith(f" 0.1 s; {_REMEDY}\n")


@pytest.mark.usefixtures("mute")
@pytest.mark.parametrize("option", [[], ["--unless-stopped"]])
def test_start_without_an_answer(reel: Reel, path: str, option: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What never answers is not a daemon that is running already."""
    monkeypatch.setattr("reel.daemon.answering._BUSY", 0.1)
    ran = reel("start", *option, "--timeout", "0.1")

    assert (1, "", f"reel: timeout: what listens on {path} did not answer within 0.1 s; {_REMEDY}\n") == ran


@pytest.mark.parametrize("argv", [["list"], ["add", "demo", "hi"], ["follow"]])
def test_no_connection(reel: Reel, path: str, argv: list[str]) -> None:
    """A listener whose queue is full is not taken for one that is gone, nor waited for without end."""
    with full_listener(path):
        ran = reel("--timeout", "0.1", *argv)

    assert (1, "", f"reel: timeout: what listens on {path} did not answer within 0.1 s; {_REMEDY}\n") == ran


@pytest.mark.usefixtures("mute")
@pytest.mark.parametrize("argv", [["list"], ["verify"]])
def test_limit_in_a_script(reel: Reel, argv: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without --timeout, a command whose stderr is not a terminal has a limit."""
    monkeypatch.setattr("reel.cli.line.names._SCRIPT_LIMIT", 0.1)

    assert 1 == reel(*argv).status


@pytest.mark.parametrize(("given", "said"), [(0.1, "0.3 s"), (0.2, "0.4 s")])
def test_waiting_for_an_event_is_not_limited(mute: str, given: float, said: str) -> None:
    """The limit is for the daemon; wait has its own --timeout, for the event, which comes on top."""
    with (
        PrefixResolvingClient(mute, Output(sys.stdout, sys.stderr), exact=True, limit=given) as client,
        pytest.raises(Timeout, match=f" within {said}$"),
    ):
        client.wait("demo", 1, timeout=200)  # milliseconds; a mute daemon never answers, however fast the machine is


@pytest.mark.parametrize("given", ["0", "-1", "soon"])
def test_limit_that_is_none(reel: Reel, given: str) -> None:
    """A limit must be longer than nothing."""
    assert 2 == reel("list", "--timeout", given).status
