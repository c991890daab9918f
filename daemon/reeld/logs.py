"""The log on stderr: one line an event, with its priority if the journal reads it."""

import fcntl
import logging
import os
import sys

# The journal takes syslog's priorities from the beginning of a line (sd-daemon(3)).
_PRIORITIES = {logging.DEBUG: 7, logging.INFO: 6, logging.WARNING: 4, logging.ERROR: 3, logging.CRITICAL: 2}


class Line(logging.Formatter):
    """Puts an event on one line, a traceback included.

    Args:
        journal: whether the journal reads it: it adds the time itself, and takes the priority.
    """

    def __init__(self, *, journal: bool) -> None:
        super().__init__("%(name)s: %(message)s" if journal else "%(asctime)s %(levelname)s %(name)s: %(message)s")
        self._journal = journal

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line = " | ".join(part for part in super().format(record).splitlines() if part.strip())
        return f"<{_PRIORITIES[record.levelno]}>{line}" if self._journal else line


def set_up(level: str) -> None:
    """Log to stderr what has at least this level."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Line(journal=in_journal()))
    logging.basicConfig(handlers=[handler], level=level.upper())
    logging.getLogger("aiosqlite").setLevel(logging.WARNING)


def print_fatal(text: str) -> None:
    """Print why the daemon cannot start: a sentence for a person, not a line of a log."""
    print(f"{'<3>' if in_journal() else ''}reeld: {text}", file=sys.stderr)  # noqa: T201 - as it says


def destination() -> str | None:
    """Return where the log goes: a path, ``journal``, or ``None`` if that is not known."""
    if in_journal():
        return "journal"
    try:
        if hasattr(fcntl, "F_GETPATH"):  # a Mac
            path = fcntl.fcntl(2, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0").decode(errors="replace")
        else:
            path = os.readlink("/proc/self/fd/2")  # noqa: PTH115 - it need not be a path
    except OSError:
        return None
    return path if path.startswith("/") else None  # a pipe has none


def in_journal() -> bool:
    """Return whether stderr goes to the journal; the variable alone could be inherited together with another stderr."""
    try:
        stream = os.fstat(2)
    except OSError:
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{stream.st_dev}:{stream.st_ino}"
