"""A command at a terminal shows what it waits for, and erases it at the end."""

import os
import pty
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.daemon import Daemon
from tests.forkserver import ForkedDaemon

from .test_processes import _REEL, _read

pytestmark = pytest.mark.slow

_ERASE = "\r\x1b[K"
# Shown each second, as long as the machine has time for it.
_ANSWER = "waiting for the daemon's answer … \\d+ s"


@pytest.fixture
def stopped(directory: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Daemon]:
    """A daemon that is stopped by SIGSTOP until it gets SIGCONT."""
    daemon = ForkedDaemon(directory).start()
    with daemon.client() as client:
        client.add("demo", ["hi"] * 100, create=True)
    monkeypatch.setenv("REEL_SOCKET", daemon.socket)
    daemon.process.send_signal(signal.SIGSTOP)
    yield daemon
    daemon.process.send_signal(signal.SIGCONT)
    daemon.close()


class Terminal:
    """A command on its own terminal, and the output there."""

    def __init__(self, end: int) -> None:
        self._end = end
        self.shown = ""

    def wait_for(self, pattern: str) -> None:
        """Wait until the terminal shows a text."""
        while not re.search(pattern, self.shown):
            data = _read(self._end)
            assert data, self.shown
            self.shown += data.decode()

    def wait(self) -> str:
        """Wait for the end of the command, and return all the output."""
        while data := _read(self._end):
            self.shown += data.decode()
        return self.shown.replace("\r\n", "\n")


@contextmanager
def running(*argv: str, stdout: int | None = None) -> Iterator[Terminal]:
    """Run the command on a terminal, if wanted with its stdout elsewhere."""
    end, its_end = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "NO_COLOR": "1", "PAGER": "cat"}
    out = its_end if stdout is None else stdout
    with subprocess.Popen([*_REEL, *argv], stdin=its_end, stdout=out, stderr=its_end, env=environment) as process:
        os.close(its_end)
        try:
            yield Terminal(end)
        except BaseException:
            process.kill()
            raise
    os.close(end)


@pytest.mark.parametrize("argv", [["show", "demo"], ["doctor"], ["status"]])
def test_progress_is_shown_and_erased(stopped: Daemon, argv: list[str]) -> None:
    """After a moment a line shows what is waited for; it is erased before the output."""
    with running(*argv) as terminal:
        terminal.wait_for(_ANSWER)
        stopped.process.send_signal(signal.SIGCONT)
        before, _, after = terminal.wait().rpartition(_ERASE)

    assert re.match(re.escape(_ERASE) + _ANSWER, before)
    assert 0 == before.count("\n")
    assert after.count("\n") > 5


def test_progress_does_not_go_to_a_file(stopped: Daemon, tmp_path: Path) -> None:
    """The output goes to the file, the progress to the terminal."""
    with (tmp_path / "out").open("w") as out, running("log", "demo", stdout=out.fileno()) as terminal:
        terminal.wait_for(r"0 lines … \d+ s")
        stopped.process.send_signal(signal.SIGCONT)
        shown = terminal.wait()

    assert shown.endswith(_ERASE)
    assert 101 == len((tmp_path / "out").read_text().splitlines())


def test_no_progress_with_a_pipe(stopped: Daemon) -> None:
    """A program that reads the output may use the terminal itself."""
    reading, writing = os.pipe()
    with running("log", "demo", stdout=writing) as terminal, running("log", "demo") as other:
        os.close(writing)
        other.wait_for("….*…")  # twice, so that the one before would have shown it, too
        stopped.process.send_signal(signal.SIGCONT)
        with os.fdopen(reading) as out:
            assert 101 == len(out.readlines())
        assert "" == terminal.wait()
        other.wait()


def test_no_progress_in_wait(stopped: Daemon) -> None:
    """reel wait shows nothing while it waits."""
    stopped.process.send_signal(signal.SIGCONT)
    with running("wait", "demo", "--timeout", "1.5") as terminal:
        shown = terminal.wait()

    assert "reel: demo: nothing happened within 1.5 s\n" == shown
