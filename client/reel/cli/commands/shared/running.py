"""An answer that arrives: from a command of the user's own, or from a server that is called."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from tempfile import TemporaryFile
from typing import Protocol

from reel.base.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import IO

    from reel.cli.commands.shared.provider import Provider
    from reel.replies import Rendered

_CHUNK = 1 << 16
# Seconds for a command to end after it was told to.
_ENDS_WITHIN = 2.0
# How many characters at the end of a command's stderr are shown.
_SHOWN = 2000


class Running(Protocol):
    """An answer that arrives."""

    def __iter__(self) -> Iterator[bytes]:
        """Yield its pieces."""
        ...

    def close(self) -> tuple[int, str]:
        """End it; return the exit status, and what went wrong."""
        ...


def run(provider: Provider, rendered: Rendered) -> Running:
    """Send a request to a provider."""
    if provider.command is not None:
        return Run(provider.command, rendered.body)
    from reel.cli.commands.shared.http_call import HttpCall  # noqa: PLC0415 - a command does without

    return HttpCall(provider, rendered)


class Run:
    """A run of a command, and its stdout as it arrives.

    Args:
        command: a command line for the shell.
        body: what it gets on stdin.
    """

    def __init__(self, command: str, body: str) -> None:
        self._errors: IO[bytes] = TemporaryFile()  # noqa: SIM115 - closed by close()
        # A file in place of a pipe: we need not write to it while we read.
        with TemporaryFile() as stdin:
            stdin.write(body.encode())
            stdin.seek(0)
            self._process = subprocess.Popen(  # noqa: S602 - the user's own command line
                command, shell=True, stdin=stdin, stdout=subprocess.PIPE, stderr=self._errors
            )

    def __iter__(self) -> Iterator[bytes]:
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        while piece := os.read(self._process.stdout.fileno(), _CHUNK):
            yield piece

    def close(self) -> tuple[int, str]:
        """End the command if it is still running; return its status, and the end of its stderr."""
        assert self._process.stdout is not None  # noqa: S101 - as above
        self._process.stdout.close()
        status = self._end()
        self._errors.seek(0)
        errors = self._errors.read().decode(errors="replace").strip()
        self._errors.close()
        return status, errors[-_SHOWN:]

    def _end(self) -> int:
        for insist in (self._process.terminate, self._process.kill):
            try:
                return self._process.wait(_ENDS_WITHIN)
            except subprocess.TimeoutExpired:
                insist()
        return self._process.wait()
