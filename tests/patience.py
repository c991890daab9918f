"""How long a test waits for something that happens unless the code hangs.

The limit is far above what anything takes, on two idle cores as on a machine that is ten times busier: a test that
passes never waits for it, and a test that hangs fails with a stack instead of holding up the run.
"""

import time
from pathlib import Path

PATIENCE = 300.0
# For programs that are not ours, of which many run at once: one needs ten seconds of a processor to begin, and may get
# a hundredth of one.
LONGEST = 4 * PATIENCE
# Since when a task has waited for a processor, in microseconds; Linux alone says it.
_PRESSURE = Path("/proc/pressure/cpu")


class Deadline:
    """A limit that stands still while something waits for a processor, up to the longest one."""

    def __init__(self) -> None:
        self._begun, self._stalled = time.monotonic(), _stalled()

    @property
    def is_over(self) -> bool:
        """Whether it has passed."""
        waited = time.monotonic() - self._begun
        return waited - (_stalled() - self._stalled) > PATIENCE or waited > LONGEST


def _stalled() -> float:
    """Return for how many seconds so far some task could not run; 0 where nothing tells it."""
    try:
        some = _PRESSURE.read_text().splitlines()[0]
    except OSError:
        return 0.0
    return int(some.rpartition("total=")[2]) / 1_000_000
