"""A real Emacs on a terminal of its own: tests type keys, and ask its server what it shows."""

import fcntl
import json
import os
import pty
import re
import socket
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from tests.patience import PATIENCE

LISP = Path(__file__).parents[3] / "client" / "editors" / "emacs"
# Makes the terminal of its input the process's controlling terminal, as a login does.
_ON_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""
# What the server's protocol puts in the place of characters that separate arguments (server.el).
_QUOTED = {" ": "&_", "\n": "&n", "&": "&&", "-": "&-"}
_PLAIN = {quoted[1]: plain for plain, quoted in _QUOTED.items()}


class Refused(Exception):
    """The error of a command in Emacs."""


class Emacs:
    """An Emacs with the plug-in; ``close`` ends it.

    Args:
        program: its path.
        directory: the directory for its server's socket.
        environment: its environment.
    """

    def __init__(self, program: str, directory: Path, environment: dict[str, str]) -> None:
        self._environment = {**environment, "TERM": "vt100"}
        self._server = str(directory / "emacs")
        self._answer = directory / "answer"
        self._screen, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        # The server waits until Emacs reads keys: what is typed before that may be lost.
        server = f'(setq server-name "{self._server}") (run-with-idle-timer 0 nil (quote server-start))'
        # Before anything is loaded: it would be compiled, in processes of 80 MB beside the test.
        no_compiler = "(setq native-comp-deferred-compilation nil native-comp-jit-compilation nil)"
        # By default, it collects garbage after each 800 kB: that was two thirds of what the libraries took to load.
        rarely = "(setq gc-cons-threshold 67108864)"
        start = f"(progn {no_compiler} {rarely} (require 'json) (require 'reel) {server})"
        words = [program, "-Q", "-nw", "--no-splash", "-L", str(LISP), "--eval", start]
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _ON_TERMINAL, *words],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            env=self._environment,
            start_new_session=True,
        )
        os.close(terminal)
        self._shown = b""
        self._reader = threading.Thread(target=self._drain)
        self._reader.start()
        self.until(Path(self._server).exists)  # to look costs less than to ask
        self.until(self._answers)

    def close(self) -> None:
        """End it."""
        self.process.kill()
        self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        os.close(self._screen)

    def type(self, keys: str) -> None:
        """Type keys as a terminal sends them."""
        os.write(self._screen, keys.encode())

    def command(self, name: str, *answers: str) -> None:
        """Type the name of a command, and the answers to its questions."""
        self.type(f"\x1bx{name}\r" + "".join(f"{answer}\r" for answer in answers))

    def eval(self, expression: str) -> Any:
        """Evaluate in the buffer of the selected window; return the value, by way of JSON.

        Raises:
            Refused: an error was signalled.
        """
        value = f"(with-current-buffer (window-buffer) (json-encode (vector {expression})))"
        # By way of a file: the server breaks long answers.
        code = f'(let ((coding-system-for-write \'utf-8)) (write-region {value} nil "{self._answer}" nil 0))'
        _ask(self._server, code)
        return json.loads(self._answer.read_bytes())[0]

    def text(self) -> str:
        """Return the text of the current buffer."""
        return str(self.eval("(buffer-substring-no-properties 1 (point-max))"))

    def said(self) -> list[str]:
        """Return the lines that were shown in the echo area."""
        return str(self.eval('(with-current-buffer "*Messages*" (buffer-string))')).splitlines()

    def until(self, ready: Callable[[], bool]) -> None:
        """Wait until ``ready`` returns true."""
        deadline = time.monotonic() + PATIENCE
        while not ready():
            assert self.process.poll() is None
            assert time.monotonic() < deadline, self._last_look()
            time.sleep(0.02)  # between two looks

    def until_text(self, text: str) -> None:
        """Wait until the current buffer has this text."""
        self.until(lambda: self.text() == text)

    def until_said(self, words: str) -> None:
        """Wait until a line with these words was shown."""
        self.until(lambda: any(words in line for line in self.said()))

    def until_shown(self, words: str) -> None:
        """Wait until the terminal received these words. Emacs is not asked, which would run code in it."""
        self.until(lambda: words.encode() in self._shown)

    def _answers(self) -> bool:
        with suppress(Refused):
            return self.eval("t") is True
        return False

    def _last_look(self) -> str:
        with suppress(Refused):
            keys = self.eval("(key-description (recent-keys))")
            return f"{self.text()[-2000:]}\n--- {self.said()[-10:]}\n--- {keys}"
        return "it does not answer"

    def _drain(self) -> None:
        with suppress(OSError):
            while data := os.read(self._screen, 1 << 16):
                self._shown = self._shown[-(1 << 16) :] + data


def _ask(server: str, code: str) -> None:
    """Have a server evaluate code, as emacsclient does: to start that for each look takes longer than the look.

    Raises:
        Refused: the code signalled an error, or the server is gone.
    """
    quoted = re.sub(r"[ \n&]", lambda found: _QUOTED[found[0]], code)
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE)
            connection.connect(server)
            connection.sendall(f"-current-frame -eval {quoted} \n".encode())
            answer = b"".join(iter(partial(connection.recv, 1 << 16), b"")).decode()
    except OSError as error:
        raise Refused(str(error)) from error
    if not re.search(r"^-print ", answer, re.MULTILINE):
        raise Refused(re.sub("&(.)", lambda found: _PLAIN[found[1]], answer))
