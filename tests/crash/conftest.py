"""A directory of the test's own, and a line of figures at the end."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash import tally
from tests.daemon import short_directory


@pytest.fixture
def directory() -> Iterator[Path]:
    """A directory whose name is short enough for a socket's path."""
    with short_directory() as path:
        yield path


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was gone through."""
    if shown := tally.lines():
        terminalreporter.section("crashes")
        for line in shown:
            terminalreporter.write_line(line)
