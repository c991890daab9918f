"""The log on stderr: one line per event, prefixed with its priority if the journal reads it."""

import fcntl
import logging
import os
import select
import stat
import sys

# The journal takes syslog's priorities from the beginning of a line (sd-daemon(3)).
_PRIORITIES = {logging.DEBUG: 7, logging.INFO: 6, logging.WARNING: 4, logging.ERROR: 3, logging.CRITICAL: 2}

# The most bytes that a writable pipe accepts atomically.
_PIECE = select.PIPE_BUF


class LineFormatter(logging.Formatter):
    """Formats an event as one line, including any traceback.

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
    """Writes lines to a descriptor, and never blocks; lines that do not fit are dropped, counted and reported.

    ``O_NONBLOCK`` would belong to the pipe or terminal, and other programs may share it. So each write is preceded by a
    poll. A writable pipe accepts up to ``PIPE_BUF`` bytes atomically; a longer line is written in pieces of that size,
    with a poll before each.

    Args:
        descriptor: where to write.
    """

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._dropped = 0
        # Ends a line that was cut short, before the next one begins.
        self._unfinished = False
        # A file is always writable, so there is no limit per write.
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
        """Write as much of a line as there is room for; return whether all of it was written."""
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
    handler.setFormatter(LineFormatter(journal=in_journal()))
    logging.basicConfig(handlers=[handler], level=level.upper())


def print_fatal(text: str) -> None:
    """Print why the daemon cannot start, as a sentence for a person, not as a log line."""
    print(f"{'<3>' if in_journal() else ''}reeld: {text}", file=sys.stderr)  # noqa: T201 - as it says


def destination() -> str | None:
    """Return where the log goes: a path, ``journal``, or ``None`` if that is not known."""
    if in_journal():
        return "journal"
    try:
        if hasattr(fcntl, "F_GETPATH"):  # a Mac
            path = fcntl.fcntl(2, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0").decode(errors="replace")
        else:
            path = os.readlink("/proc/self/fd/2")
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

    Other descriptors that were open on the same file as stderr, such as stdout, are redirected too.

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


def in_journal() -> bool:
    """Return whether stderr goes to the journal; the environment variable may be inherited with another stderr."""
    try:
        stream = os.fstat(2)
    except OSError:
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{stream.st_dev}:{stream.st_ino}"
