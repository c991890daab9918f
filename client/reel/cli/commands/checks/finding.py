"""The result of a check."""

from reel.base.light_typing import NamedTuple

FINE = "ok"
# There is nothing to check, and that is no problem.
NOTHING = "--"
WARN = "warn"
BAD = "bad"


class Finding(NamedTuple):
    """The result of one check: a verdict, and what to do unless it is good."""

    check: str
    verdict: str
    about: str
    remedy: str = ""
