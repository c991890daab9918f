"""Logging to stderr: one line for each event, and priorities for the journal."""

import logging
import os
import sys

import pytest

from reeld.logs import Line, in_journal, print_fatal


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
