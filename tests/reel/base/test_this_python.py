"""Another process of this Python."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("options", [[], ["-I"], ["-E"], ["-s"], ["-E", "-s"]], ids=" ".join)
def test_another_process_is_as_isolated(options: list[str]) -> None:
    """A process that the daemon starts looks for modules nowhere that the daemon does not."""
    show = "from reel.base.this_python import this_python; print(*this_python(), sep='\\n')"
    printed = subprocess.run([sys.executable, *options, "-c", show], capture_output=True, check=True, text=True).stdout

    assert [sys.executable, *options, "-P"] == printed.splitlines()
