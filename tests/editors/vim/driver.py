"""A real Vim in a terminal of its own, driven over a channel."""

import json
import os
import pty
import socket
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from tests.editors.alike import without_times
from tests.patience import PATIENCE

PLUGIN = Path(__file__).parents[3] / "client" / "editors" / "vim"
_DRIVER = Path(__file__).with_name("driver.vim")
_ANSWER = -1
# How much of the output is kept, in bytes, to look into a failure.
_SCREEN = 10_000


class Start(Protocol):
    """Starts Vims, which end with the test."""

    def __call__(self, *, plugin: bool = True, **environment: str) -> "Vim":
        """Start one, with these additions to its environment."""


class VimError(Exception):
    """The error of a command in Vim."""


class Vim:
    """A Vim; ``close`` ends it.

    Args:
        program: its path.
        environment: its environment.
        directory: the directory for the socket of the driver.
        plugin: whether to load the plug-in.
    """

    def __init__(self, program: str, environment: Mapping[str, str], directory: Path, *, plugin: bool = True) -> None:
        path = directory / f"vim{len(list(directory.glob('vim*')))}"
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
            listener.listen()
            listener.settimeout(PATIENCE)
            self._master, terminal = pty.openpty()
            termios.tcsetwinsize(terminal, (50, 200))
            with os.fdopen(terminal, "rb") as end:
                self.process = subprocess.Popen(
                    _command(program, plugin=plugin),
                    env={**environment, "REEL_TEST_DRIVER": str(path)},
                    stdin=end,
                    stdout=end,
                    stderr=end,
                )
            self.screen = b""
            # A process that writes to a terminal stops if nobody reads.
            self._reader = threading.Thread(target=self._drain)
            self._reader.start()
            self._connection = listener.accept()[0]
        self._connection.settimeout(PATIENCE)
        self._turn = threading.Lock()
        self._answers = self._connection.makefile("rb")

    def _drain(self) -> None:
        with suppress(OSError):
            while data := os.read(self._master, 1 << 16):
                self.screen = (self.screen + data)[-_SCREEN:]

    def eval(self, expression: str) -> Any:
        """Return the value of an expression of legacy Vim script.

        Raises:
            VimError: the evaluation failed; the message is Vim's.
        """
        trying = f"ReelTestEval({json.dumps(expression)})"
        with self._turn:
            self._connection.sendall(json.dumps(["expr", trying, _ANSWER]).encode() + b"\n")
            _, answer = json.loads(self._answers.readline())
        # Anything but a pair is Vim's own text for an error that cannot be caught.
        fine, value = answer if isinstance(answer, list) else (False, answer)
        if not fine:
            raise VimError(value)
        return value

    def run(self, *commands: str) -> str:
        """Run commands, and return what they print."""
        said: str = self.eval(f"execute({json.dumps(list(commands))})")
        return said.strip("\n")

    def keys(self, typed: str) -> None:
        """Type on the terminal."""
        os.write(self._master, typed.encode())

    def lines(self) -> list[str]:
        """Return the lines of the current buffer."""
        found: list[str] = self.eval("getline(1, '$')")
        return found

    def until(self, look: Callable[[], Any], expected: Any) -> None:
        """Wait until ``look`` returns the expected value."""
        deadline = time.monotonic() + PATIENCE
        while (found := self._try(look)) != expected:
            assert time.monotonic() < deadline, f"{expected!r} was expected; it is {found!r}; {self.said()}"
            time.sleep(0.01)  # between two looks

    def _try(self, look: Callable[[], Any]) -> Any:
        """Look, unless Vim is busy with typed keys and cannot answer."""
        try:
            return look()
        except VimError as error:
            return error

    def shows(self, *lines: str) -> None:
        """Wait until the buffer has these lines, apart from blank lines and the times in headings."""
        self.until(self._shown, list(lines))

    def _shown(self) -> list[str]:
        return without_times(self.lines())

    def said(self) -> list[str]:
        """Return the messages that Vim has shown, the newest last."""
        return self.run("messages").splitlines()

    def close(self) -> None:
        """End it."""
        self._answers.close()
        self._connection.close()
        self.process.kill()
        self.process.wait(PATIENCE)
        self._reader.join()
        os.close(self._master)


def _command(program: str, *, plugin: bool) -> list[str]:
    before = [f"set runtimepath^={PLUGIN}"] if plugin else []
    before.append("set nocompatible nomore noswapfile")
    flags = [word for command in before for word in ("--cmd", command)]
    return [program, "-u", "NORC", "-i", "NONE", *flags, "-S", str(_DRIVER)]
