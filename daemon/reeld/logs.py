"""The log on stderr: one line an event, with its priority if the journal reads it."""

import fcntl
import logging
import os
import select
import stat
import sys

# The journal takes syslog's priorities from the beginning of a line (sd-daemon(3)).
_PRIORITIES = {logging.DEBUG: 7, logging.INFO: 6, logging.WARNING: 4, logging.ERROR: 3, logging.CRITICAL: 2}

# How many bytes a pipe takes as a whole if it is writable.
_PIECE = select.PIPE_BUF


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


class PatientHandler(logging.Handler):
    """Writes lines to a descriptor, and never waits for its reader: what does not fit is dropped, counted and told.

    ``O_NONBLOCK`` would belong to the pipe or terminal, and other programs may share it. So a look at whether there is
    room comes before each write. A pipe takes a line of up to ``PIPE_BUF`` bytes as a whole or not at all, and has room
    for one if it is writable; a longer line is written in such pieces, with a look before each.

    Args:
        descriptor: where to write.
    """

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._dropped = 0
        # What a line that was cut short needs before the next one begins.
        self._unfinished = False
        # A file is always writable, and is written to without a limit.
        self._is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)

    def emit(self, record: logging.LogRecord) -> None:
        """Write the line, unless nobody reads; then count it."""
        try:
            line = self.format(record)
        except Exception:
            line = f"{record.name}: cannot be formatted: {record.msg}"
        if self._dropped and self._write(self._format_dropped()):
            self._dropped = 0
        if self._dropped or not self._write(line):
            self._dropped += 1

    def _format_dropped(self) -> str:
        text = f"nobody read the log; lines that are missing here: {self._dropped}"
        return self.format(logging.LogRecord(__name__, logging.WARNING, __file__, 0, text, None, None))

    def _write(self, line: str) -> bool:
        """Write a line as far as there is room; return whether all of it was written."""
        data = f"{line}\n".encode(errors="backslashreplace")
        if self._unfinished:
            data = b"\n" + data
        size = len(data) if self._is_file else _PIECE
        for start in range(0, len(data), size):
            try:
                if not self._is_file and not self._has_room():
                    return False
                os.write(self._descriptor, data[start : start + size])
            except OSError:  # the reader is gone, or the disk is full
                return False
            self._unfinished = start + size < len(data)
        return True

    def _has_room(self) -> bool:
        poll = select.poll()
        poll.register(self._descriptor, select.POLLOUT)
        return any(events & select.POLLOUT for _, events in poll.poll(0))


def set_up(level: str) -> None:
    """Log to stderr what has at least this level."""
    handler = logging.NullHandler() if sys.stderr is None else PatientHandler(2)  # if closed, 2 is another file
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


def find_file() -> str | None:
    """Return the path of the file that stderr goes to; ``None`` if it is something else, or was removed."""
    try:
        found = os.fstat(2)
    except OSError:
        return None
    return destination() if stat.S_ISREG(found.st_mode) and found.st_nlink else None


def reopen(path: str) -> None:
    """Log to the file that is at a path now; create it if it is not there.

    What goes to the same file as stderr until now, stdout for example, follows.

    Raises:
        OSError: the file cannot be opened; the log stays where it is.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        if _is_same(1, 2):
            os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
    finally:
        os.close(descriptor)


def _is_same(one: int, other: int) -> bool:
    try:
        return os.path.sameopenfile(one, other)
    except OSError:  # one is closed
        return False


def on_terminal() -> bool:
    """Return whether stderr is a terminal."""
    return os.isatty(2)


def in_journal() -> bool:
    """Return whether stderr goes to the journal; the variable alone could be inherited together with another stderr."""
    try:
        stream = os.fstat(2)
    except OSError:
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{stream.st_dev}:{stream.st_ino}"
