"""The lines of docs/editors.md for those who have no editor of their own: Python and the shell."""

import subprocess
import sys

from tests.daemon import Daemon
from tests.editors.documented import blocks
from tests.editors.surroundings import Require


def _run(*command: str, environment: dict[str, str]) -> list[str]:
    ran = subprocess.run(command, env=environment, text=True, capture_output=True, check=True, timeout=60)
    assert not ran.stderr
    return ran.stdout.splitlines()


def test_python(daemon: Daemon, environment: dict[str, str]) -> None:
    """The Python lines add a message and see it come."""
    assert daemon.process.poll() is None

    (lines,) = blocks("Python", "python")

    assert ["1 created ", "2 user Hello from Python"] == _run(sys.executable, "-c", lines, environment=environment)


def test_shell(daemon: Daemon, environment: dict[str, str], require: Require) -> None:
    """The lines for a shell add a message, read it, and wait for it."""
    assert daemon.process.poll() is None
    require("nc")
    require("jq")

    (lines,) = blocks("Shell", "sh")
    said = _run("bash", "-c", lines, environment=environment)

    assert '"first":2' in said[0]
    assert ["Hello from a shell"] * 2 == said[1:]
