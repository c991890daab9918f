"""What the README shows works as it stands there."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from reel.errors import BY_NAME
from reeld.serving.methods import METHODS
from tests.daemon import Daemon, short_directory

_ROOT = Path(__file__).parent.parent
_README = (_ROOT / "README.md").read_text()
_PROTOCOL = (_ROOT / "docs" / "protocol.md").read_text()


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    """A daemon that runs."""
    with short_directory() as directory:
        daemon = Daemon(directory).start()
        yield daemon
        daemon.close()


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", _README, re.DOTALL | re.MULTILINE)


def _run(words: list[str], daemon: Daemon) -> str:
    environment = {**os.environ, "REEL_SOCKET": daemon.socket}
    return subprocess.run(words, env=environment, text=True, capture_output=True, check=True, timeout=60).stdout


def test_the_commands_of_the_readme(daemon: Daemon) -> None:
    """Every line that calls reel works, one after the other, and the conversation is there."""
    lines = [line for block in _blocks("sh") for line in block.splitlines() if line.startswith(".venv/bin/reel ")]
    for line in lines:
        _run([str(Path(sys.executable).parent / "reel"), *shlex.split(line)[1:]], daemon)

    assert len(lines) > 8
    with daemon.client() as client:
        assert 3 == client.agent("demo").messages


def test_the_program_of_the_readme(daemon: Daemon) -> None:
    """The Python example runs, and prints the conversation."""
    (program,) = _blocks("python")

    assert ["5 []", "3 user", "4 assistant", "5 tool"] == [
        " ".join(line.split()[:2]) for line in _run([sys.executable, "-c", program], daemon).splitlines()
    ]


def test_the_protocol_lists_every_method() -> None:
    """The table of the documentation has the methods and parameters of the daemon's own, in order."""
    rows = re.findall(r"^\| `([a-z_]+)` \| ((?:`[a-z_]+\??` ?)*)\|", _PROTOCOL, re.MULTILINE)
    shared = {"if_seq?", "key?"}

    assert {
        name: [param for param in method.signature.shown() if param not in shared] for name, method in METHODS.items()
    } == {name: re.findall(r"`([a-z_]+\??)`", params) for name, params in rows if name in METHODS}


def test_the_protocol_lists_every_error() -> None:
    """The table of the documentation has the names and codes of the errors that a daemon may send."""
    listed = dict(re.findall(r"`([a-z_]+)` \| \u2212(\d+)", _PROTOCOL))

    assert {name: str(-error.code) for name, error in BY_NAME.items() if name != "cancelled"} == listed
