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
from tests import documents
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
    environment = {**os.environ, "REEL_SOCKET": daemon.socket, "VISUAL": "true"}
    return subprocess.run(words, env=environment, text=True, capture_output=True, check=True, timeout=60).stdout


def test_the_commands_of_the_readme(daemon: Daemon) -> None:
    """Every line that calls reel works, one after the other, and the conversation is there."""
    lines = [line for block in _blocks("sh") for line in block.splitlines() if line.startswith("reel ")]
    for line in lines:
        _run([str(Path(sys.executable).parent / "reel"), *shlex.split(line, comments=True)[1:]], daemon)

    assert len(lines) > 12
    with daemon.client() as client:
        assert 3 == client.agent("demo").messages


def test_the_program_of_the_readme(daemon: Daemon) -> None:
    """The Python example runs, and prints the conversation."""
    (program,) = _blocks("python")

    assert ["5 []", "3 user", "4 assistant", "5 tool"] == [
        " ".join(line.split()[:2]) for line in _run([sys.executable, "-c", program], daemon).splitlines()
    ]


@pytest.mark.parametrize("page", documents.PARTS)
def test_what_the_documents_take_from_the_code_is_current(page: str) -> None:
    """Where this fails, `make docs` mends it."""
    assert documents.current(page) == (documents.DOCS / page).read_text()


@pytest.mark.parametrize(
    ("page", "line"),
    [
        ("protocol.md", "| `undo` | `agent` | `undone` `was` | Undo the newest command |"),
        ("protocol.md", "| `create` | `agent?` `system?` `title?` `tags?` | the agent | Create an agent |"),
        ("cli.md", "| `--role user\\|assistant\\|system` | who says it; system sets the prompt |"),
        ("operations.md", "| `agents.idle` | `600.0` | seconds until an unused agent leaves memory |"),
    ],
)
def test_what_is_taken_from_the_code(page: str, line: str) -> None:
    """A row has what a reader needs, in a form that shows as a table."""
    assert line in documents.current(page).splitlines()


def test_the_protocol_lists_every_error() -> None:
    """The table of the documentation has the names and codes of the errors that a daemon may send."""
    listed = dict(re.findall(r"`([a-z_]+)` \| \u2212(\d+)", _PROTOCOL))

    assert {name: str(-error.code) for name, error in BY_NAME.items() if name != "cancelled"} == listed
