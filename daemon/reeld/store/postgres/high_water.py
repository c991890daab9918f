"""A file with the newest event that a daemon knows, and an id that is above all that it has seen.

It outlives the daemon. If the server comes back with less while the daemon is stopped, the next start finds out, and
gives no id a second time. The id is far ahead, so that the file is seldom written.
"""

import logging
import os
from contextlib import suppress
from pathlib import Path

from reeld.store.loss import NOTHING, Known

log = logging.getLogger(__name__)

# How far ahead it is. A write with its sync takes some milliseconds.
_AHEAD = 1 << 16


class HighWater:
    """The file.

    Args:
        path: where it is; ``None`` if there is none.
    """

    def __init__(self, path: str | None) -> None:
        self._path = None if path is None else Path(path)
        self.known = NOTHING
        # No id above it was ever seen.
        self.id = 0
        with suppress(OSError, ValueError):
            if self._path is not None:
                event, agent, seq, time, ahead = map(int, self._path.read_text(encoding="ascii").split())
                self.known, self.id = Known(event, agent, seq, time), ahead

    def reach(self, event: int, known: Known) -> None:
        """Take note that ids up to this one are used; called before they are."""
        if event > self.id:
            self.write(known, event + _AHEAD)

    def write(self, known: Known, event: int) -> None:
        """Write the file; if that fails, a later loss may go unnoticed after a restart, but nothing else."""
        self.known, self.id = known, event
        if self._path is None:
            return
        new = self._path.with_suffix(f".{os.getpid()}")
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with new.open("w", encoding="ascii") as file:
                file.write(" ".join(map(str, (*known, event))))
                file.flush()
                os.fsync(file.fileno())
            new.replace(self._path)
        except OSError as error:
            log.warning("%s, which remembers the newest event, cannot be written: %s", self._path, error.strerror)
