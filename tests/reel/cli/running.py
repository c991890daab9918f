"""A command that goes on beside the test, and what it prints."""

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

_REEL = [sys.executable, "-c", "from reel.cli import process; process()"]
TIMEOUT = 20.0


class Running:
    """A command that goes on, and what it has printed."""

    def __init__(self, process: "subprocess.Popen[bytes]", shown: int) -> None:
        self.process = process
        self.shown = shown
        self.text = ""

    def until(self, wanted: str) -> str:
        """Read until it has printed this; give all that it has printed."""
        deadline = time.monotonic() + TIMEOUT
        while wanted not in self.text:
            ready = select.select([self.shown], [], [], max(deadline - time.monotonic(), 0))[0]
            assert ready, f"no {wanted!r} in {self.text!r}"
            self.text += os.read(self.shown, 1 << 16).decode()
        return self.text


@contextmanager
def started(socket: str, *argv: str, terminal: bool = False) -> Iterator[Running]:
    """Run the command until the block ends; on a terminal of 60 columns where that is wanted."""
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
