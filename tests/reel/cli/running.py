"""A command that runs beside the test, and its output."""

import fcntl
import os
import pty
import select
import subprocess
import sys
import termios
import time
from codecs import getincrementaldecoder
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.patience import PATIENCE

_REEL = [sys.executable, "-c", "from reel.cli import process; process()"]


class Running:
    """A running command, and its output so far."""

    def __init__(self, process: "subprocess.Popen[bytes]", shown: int) -> None:
        self.process = process
        self.shown = shown
        self.text = ""
        # What is read may end in the middle of a character.
        self._decoder = getincrementaldecoder("utf-8")()

    def type(self, text: str) -> None:
        """Type at the terminal, and forget what was shown before."""
        self.text = ""
        os.write(self.shown, text.encode())

    def interrupt(self, wanted: str) -> str:
        """Press Ctrl-C and read until the output contains a text; return all of it.

        A signal that arrives just before Python waits for a key is noticed only with the next one: after a second
        without output, it is pressed again.
        """
        self.type("\x03")
        deadline = time.monotonic() + PATIENCE
        while wanted not in self.text:
            assert time.monotonic() < deadline, f"no {wanted!r} in {self.text!r}"
            if select.select([self.shown], [], [], 1)[0]:
                self.text += self._decoder.decode(os.read(self.shown, 1 << 16))
            else:
                os.write(self.shown, b"\x03")
        return self.text

    def stop(self) -> None:
        """Press Ctrl-C until the command ends; the terminal may have no time to show that it was pressed."""
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"{self.process.args!r} does not end"
            self.type("\x03")
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(1)

    def until(self, wanted: str) -> str:
        """Read until the output contains a text, and return all of it."""
        deadline = time.monotonic() + PATIENCE
        while wanted not in self.text:
            ready = select.select([self.shown], [], [], max(deadline - time.monotonic(), 0))[0]
            assert ready, f"no {wanted!r} in {self.text!r}"
            self.text += self._decoder.decode(os.read(self.shown, 1 << 16))
        return self.text


@contextmanager
def talking(socket: str, *argv: str, **environment: str) -> Iterator[Running]:
    """Run a command for the duration of the block, on a terminal of 60 columns that is also typed at."""
    shown, its_end = pty.openpty()
    fixed = {"REEL_SOCKET": socket, "TERM": "xterm", "COLUMNS": "60", "NO_COLOR": "1"}
    with subprocess.Popen(
        [*_REEL, *argv],
        stdin=its_end,
        stdout=its_end,
        stderr=its_end,
        env={**os.environ, **fixed, **environment},
        start_new_session=True,
        # Ctrl-C reaches the command only from a terminal that controls it.
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - no other threads here
    ) as process:
        os.close(its_end)
        try:
            yield Running(process, shown)
        finally:
            process.kill()
            os.close(shown)


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
