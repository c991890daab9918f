"""What the daemon says on stderr: one line an event, with its priority where the journal reads it."""

import logging
import os
import sys

# syslog's, which the journal takes from the beginning of a line.
_PRIORITIES = {logging.DEBUG: 7, logging.INFO: 6, logging.WARNING: 4, logging.ERROR: 3, logging.CRITICAL: 2}


class Line(logging.Formatter):
    """Puts an event on one line, a traceback included.

    Args:
        journal: whether the journal reads it: it knows the time, and wants the priority.
    """

    def __init__(self, *, journal: bool) -> None:
        super().__init__("%(name)s: %(message)s" if journal else "%(asctime)s %(levelname)s %(name)s: %(message)s")
        self._journal = journal

    def format(self, record: logging.LogRecord) -> str:
        """Give the line."""
        line = " | ".join(part for part in super().format(record).splitlines() if part.strip())
        return f"<{_PRIORITIES[record.levelno]}>{line}" if self._journal else line


def set_up(level: str) -> None:
    """Send what is at least as important to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Line(journal=in_journal()))
    logging.basicConfig(handlers=[handler], level=level.upper())
    logging.getLogger("aiosqlite").setLevel(logging.WARNING)


def last_word(text: str) -> None:
    """Say why the daemon does not start; whoever reads it expects a sentence, not a log."""
    print(f"{'<3>' if in_journal() else ''}reeld: {text}", file=sys.stderr)  # noqa: T201 - as it says


def in_journal() -> bool:
    """Tell whether stderr is the journal's: the variable alone may be inherited by somebody whose stderr is not."""
    try:
        stream = os.fstat(2)
    except OSError:
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{stream.st_dev}:{stream.st_ino}"
