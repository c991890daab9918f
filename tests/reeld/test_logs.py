"""Logging to stderr: one line for each event, and priorities for the journal."""

import fcntl
import logging
import os
import select
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from reel.daemon.answering import answers
from reel.sync.client import Client
from reeld.logs import LineFormatter, PatientHandler, destination, in_journal, print_fatal
from tests.daemon import Daemon, short_directory, until
from tests.patience import PATIENCE


def failure(text: str) -> logging.LogRecord:
    """Make a record with a traceback."""
    try:
        int("two\nlines")
    except ValueError:
        return logging.LogRecord("reeld.app", logging.ERROR, "app.py", 1, text, None, sys.exc_info())
    raise AssertionError


@pytest.mark.parametrize("journal", [True, False])
def test_an_event_is_a_line(journal: bool) -> None:
    """Whatever an event contains, a traceback included, it is one line with all of it."""
    line = LineFormatter(journal=journal).format(failure("it\nfailed"))

    assert 1 == len(line.splitlines())
    assert "reeld.app: it | failed | Traceback (most recent call last): | " in line
    assert line.endswith(r"'two\nlines'")


@pytest.mark.parametrize(
    ("level", "priority"),
    [(logging.DEBUG, 7), (logging.INFO, 6), (logging.WARNING, 4), (logging.ERROR, 3), (logging.CRITICAL, 2)],
)
def test_priorities_for_the_journal(level: int, priority: int) -> None:
    """The journal gets a line's priority, and not its time, which it knows."""
    event = logging.LogRecord("reeld", level, "app.py", 1, "so", None, None)

    assert f"<{priority}>reeld: so" == LineFormatter(journal=True).format(event)


def test_on_a_terminal() -> None:
    """Outside the journal a line has the time and the level."""
    event = logging.LogRecord("reeld", logging.INFO, "app.py", 1, "so", None, None)

    assert LineFormatter(journal=False).format(event).endswith(" INFO reeld: so")


def test_whether_the_journal_reads(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """Stderr is the journal only if it is the very stream that the variable names; a child's may be another one."""
    stream = os.fstat(2)
    monkeypatch.delenv("JOURNAL_STREAM", raising=False)
    assert not in_journal()
    monkeypatch.setenv("JOURNAL_STREAM", f"{stream.st_dev}:{stream.st_ino + 1}")
    assert not in_journal()
    print_fatal("no")
    monkeypatch.setenv("JOURNAL_STREAM", f"{stream.st_dev}:{stream.st_ino}")
    assert in_journal()
    print_fatal("no")

    assert "reeld: no\n<3>reeld: no\n" == capfd.readouterr().err


def test_destination_of_the_log(tmp_path: Path) -> None:
    """A file has a path, the journal its name, and a pipe none."""
    code = "from reeld.logs import destination; print(destination())"
    file = tmp_path / "log"
    with file.open("w") as log:
        to_file = subprocess.check_output([sys.executable, "-c", code], stderr=log, text=True)
        status = os.fstat(log.fileno())
        environment = {**os.environ, "JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}"}
        to_journal = subprocess.check_output([sys.executable, "-c", code], stderr=log, text=True, env=environment)
    piped = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)

    assert [f"{file}\n", "journal\n", "None\n"] == [to_file, to_journal, piped.stdout]


def test_destination_of_a_log_that_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody knows where a closed stderr goes."""

    def missing(_path: str) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(os, "readlink", missing)

    assert destination() is None


def read_now(descriptor: int) -> str:
    """Return what can be read without waiting."""
    text = b""
    while select.select([descriptor], [], [], 0)[0]:
        text += os.read(descriptor, 1 << 16)
    return text.decode()


def event(text: str) -> logging.LogRecord:
    """Make a record of a text."""
    return logging.LogRecord("reeld", logging.INFO, "app.py", 1, text, None, None)


@pytest.mark.parametrize("length", [10, 9_000])
def test_lines_that_nobody_reads_are_counted(length: int) -> None:
    """A full pipe drops lines without waiting; the next line that fits is preceded by their number."""
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 1 << 13)
    handler = PatientHandler(writing)
    for number in range(2_000):
        handler.emit(event(f"{number:04}".ljust(length, "x")))
    whole = sum(len(line) == length for line in read_now(reading).split("\n")[:-1])
    handler.emit(event("again"))

    assert [f"nobody read the log; lines that are missing here: {2_000 - whole}", "again"] == [
        line for line in read_now(reading).split("\n") if line
    ]
    os.close(reading)
    handler.emit(event("to nobody"))
    os.close(writing)


def flood(path: str, process: "subprocess.Popen[bytes]") -> str:
    """Make a daemon log more than its pipe holds before anybody reads; stop it, and return what was read."""
    assert process.stderr is not None
    fcntl.fcntl(process.stderr, fcntl.F_SETPIPE_SZ, 1 << 14)
    until(lambda: answers(path))
    with socket.socket(socket.AF_UNIX) as noisy:
        noisy.connect(path)
        noisy.sendall(b'{"jsonrpc": "2.0", "method": "nonsense"}\n' * 500)  # each is logged for debugging
    with Client(path, timeout=PATIENCE) as client:
        until(lambda: client.stats()["connections"] == 1)
        said = read_now(process.stderr.fileno())
        client.shutdown()
    return said + process.stderr.read().decode()


@pytest.mark.slow
def test_a_daemon_whose_log_nobody_reads() -> None:
    """A daemon goes on if its stderr is a pipe that is full, and tells later what is missing."""
    with short_directory() as directory:
        daemon = Daemon(directory)
        daemon.options = ["--log-level", "debug"]
        with subprocess.Popen(daemon.command(), stderr=subprocess.PIPE) as process:
            try:
                said = flood(daemon.socket, process)
                assert 0 == process.wait(PATIENCE)
            finally:
                process.kill()
    assert 0 < said.count("notification='nonsense' failed") < 500
    assert "nobody read the log; lines that are missing here: " in said
