"""The exit statuses, which scripts may rely on."""

OK = 0
REFUSED = 1
USAGE = 2
NOT_RUNNING = 3
NOT_FOUND = 4
CONFLICT = 5
# As a shell counts a process that a signal ended.
INTERRUPTED = 130
BROKEN_PIPE = 141

_STATUS = {"not_running": NOT_RUNNING, "not_found": NOT_FOUND, "conflict": CONFLICT}


def status_of(error: str) -> int:
    """Give the status that stands for an error of this name."""
    return _STATUS.get(error, REFUSED)
