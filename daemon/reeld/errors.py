"""Why a daemon does not start, and the exit status that says so."""

# Stable: a supervisor decides by them whether another try can help.
OK = 0
USAGE = 2
ANOTHER_RUNS = 3
REFUSED = 4


class Refused(Exception):
    """The daemon cannot start as it was told to; the message says what to do."""

    status = REFUSED


class AnotherRuns(Refused):
    """Another daemon holds the socket or the database."""

    status = ANOTHER_RUNS
