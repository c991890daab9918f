"""The fixtures of the CLI's tests: a real daemon, and the command run against it."""

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest

from reel.cli import main
from reel.sync.client import Client
from tests.forkserver import running_daemon
from tests.patience import PATIENCE


class Ran(NamedTuple):
    """The exit status and the output of a command."""

    status: int
    out: str
    err: str

    @property
    def documents(self) -> list[Any]:
        """The JSON documents on the lines of stdout."""
        return [json.loads(line) for line in self.out.splitlines()]


Reel: TypeAlias = Callable[..., Ran]


@pytest.fixture(scope="module")
def daemon() -> Iterator[str]:
    """The socket of a daemon that the tests of a module share; each test has its own agents.

    To list all agents, or to check all of the database, takes longer the more tests there were.
    """
    with running_daemon() as daemon:
        yield daemon.socket


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A name for the test's agent that no other test uses."""
    return "".join(char if char.isalnum() else "-" for char in request.node.name).strip("-")


@pytest.fixture
def reel(daemon: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Reel:
    """The command, run in this process against the daemon."""
    monkeypatch.setenv("REEL_SOCKET", daemon)
    monkeypatch.delenv("REEL_AGENT", raising=False)
    monkeypatch.setattr(os, "setpriority", lambda *_: None)  # this process is that of other tests as well
    # Which hints were shown is noted there.
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    def run(*argv: str, stdin: bytes | None = None) -> Ran:
        with monkeypatch.context() as patch, tempfile.TemporaryFile("w+") as file:
            if stdin is not None:
                file.buffer.write(stdin)
                file.seek(0)
                patch.setattr("sys.stdin", file)
            return Ran(main(list(argv)), *capsys.readouterr())

    return run


@pytest.fixture
def talk(reel: Reel, name: str) -> str:
    """An agent with a system prompt, a question and an answer: seqs 1 to 4; it has no tags."""
    reel("new", name, "--system", "Be brief.", "--tag", "cwd-", "--tag", "branch-")
    reel("add", name, "What is a tape deck?")
    reel("add", name, "--role", "assistant", "A machine.")
    return name


def texts(reel: Reel, agent: str, *options: str) -> list[str]:
    """Return the texts of an agent's messages."""
    return [message["content"][0]["text"] for message in reel("show", agent, "--json", *options).documents]


def attached(client: Client, name: str) -> None:
    """Wait until somebody follows an agent, as the agent itself reports."""
    deadline = time.monotonic() + PATIENCE
    while not client.agent(name).attached:
        assert time.monotonic() < deadline, "nobody follows"
        time.sleep(0.01)  # between two looks


@pytest.fixture
def client(daemon: str) -> Iterator[Client]:
    """A client of the shared daemon."""
    with Client(daemon) as client:
        yield client
