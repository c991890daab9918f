"""Logging to stderr: one line for each event, and priorities for the journal."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from reeld.logs import Line, destination, in_journal, print_fatal


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
    line = Line(journal=journal).format(failure("it\nfailed"))

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

    assert f"<{priority}>reeld: so" == Line(journal=True).format(event)


def test_on_a_terminal() -> None:
    """Outside the journal a line has the time and the level."""
    event = logging.LogRecord("reeld", logging.INFO, "app.py", 1, "so", None, None)

    assert Line(journal=False).format(event).endswith(" INFO reeld: so")


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

    assert capfd.readouterr().err == "reeld: no\n<3>reeld: no\n"


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
