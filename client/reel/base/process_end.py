"""How a process ended, in words."""


def describe_end(status: int) -> str:
    """Return how a process ended, such as ``exited with status 22``.

    Args:
        status: its exit status, or the negated number of the signal that ended it.
    """
    if status >= 0:
        return f"exited with status {status}"
    import signal  # noqa: PLC0415 - it is slow to import, and seldom needed

    try:
        name = signal.Signals(-status).name
    except ValueError:  # most real-time signals have no name
        name = f"signal {-status}"
    return f"was ended by {name}"
