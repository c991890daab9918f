"""A command that runs beside the test, and its output."""

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.patience import PATIENCE

_REEL = [sys.executable, "-c", "from reel.cli import process; process()"]


class Running:
    """A running command, and its output so far."""

    def __init__(self, process: "subprocess.Popen[bytes]", shown: int) -> None:
        self.process = process
        self.shown = shown
        self.text = ""

    def until(self, wanted: str) -> str:
        """Read until the output contains a text, and return all of it."""
        deadline = time.monotonic() + PATIENCE
        while wanted not in self.text:
            ready = select.select([self.shown], [], [], max(deadline - time.monotonic(), 0))[0]
            assert ready, f"no {wanted!r} in {self.text!r}"
            self.text += os.read(self.shown, 1 << 16).decode()
        return self.text


@contextmanager
def started(socket: str, *argv: str, terminal: bool = False) -> Iterator[Running]:
    """Run a command for the duration of the block, if wanted on a terminal of 60 columns."""
    shown, its_end = pty.openpty() if terminal else os.pipe()
    environment = {**os.environ, "REEL_SOCKET": socket, "TERM": "xterm", "COLUMNS": "60", "NO_COLOR": "1"}
    with subprocess.Popen(
        [*_REEL, *argv], stdin=subprocess.PIPE, stdout=its_end, stderr=its_end, env=environment
    ) as process:
        os.close(its_end)
        try:
            yield Running(process, shown)
        finally:
            process.kill()
            os.close(shown)
