"""The documented lines for Python and for a shell."""

import subprocess
import sys

from tests.daemon import Daemon
from tests.editors.documented import blocks
from tests.editors.surroundings import Require
from tests.patience import PATIENCE


def _run(*command: str, environment: dict[str, str]) -> list[str]:
    ran = subprocess.run(command, env=environment, text=True, capture_output=True, check=True, timeout=PATIENCE)
    assert not ran.stderr
    return ran.stdout.splitlines()


def test_the_documented_lines_for_python(daemon: Daemon, environment: dict[str, str]) -> None:
    """The documented lines of Python add a message and receive it."""
    assert daemon.process.poll() is None

    (lines,) = blocks("Python", "python")

    assert ["1 created ", "2 user Hello from Python"] == _run(sys.executable, "-c", lines, environment=environment)


def test_the_documented_lines_for_a_shell(daemon: Daemon, environment: dict[str, str], require: Require) -> None:
    """The documented lines for a shell add a message, read it, and wait for it."""
    assert daemon.process.poll() is None
    require("nc")
    require("jq")

    (lines,) = blocks("Shell", "sh")
    said = _run("bash", "-c", lines, environment=environment)

    assert '"first":2' in said[0]
    assert ["Hello from a shell"] * 2 == said[1:]
