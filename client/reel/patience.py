"""A daemon that does not answer: how often it is tried again, how long, and what is said in the end."""

from reel.errors import NotRunning

# How long a lost connection is tried again, in seconds.
PATIENCE = 10.0
# Between two tries, at most: nothing tells when somebody listens on a socket again, or whether ever.
PAUSE = 0.25


def nobody_answers(path: str, error: OSError) -> NotRunning:
    """Say that a socket cannot be reached, and what helps."""
    return NotRunning(f"nobody answers on {path} ({error.strerror or error}); start it with: reel start")
