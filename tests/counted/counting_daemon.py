"""A daemon that counts what it calls: ``python -m tests.counted.counting_daemon COUNTS ARGUMENT…``.

It is the real daemon under a profile function, which Python tells of each call of a function of Python or C. What other
threads than the event loop's call begins with ``thread:``. At SIGUSR1 it writes the counts to the file as JSON. Small
commits run in the loop from the second one on, however slow the disk is, so that the counts do not depend on it.
"""

import json
import signal
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

from reeld import app, config
from reeld.store import pace
from tests.counted.calls import noting

_NEVER = 1e9


def main(counts_file: str, arguments: list[str]) -> int:
    """Run the daemon."""
    pace._PROOF, pace._FAST, pace._SLOW, pace._STOP = 1, _NEVER, _NEVER, _NEVER
    counts: Counter[str] = Counter()

    def note_in_thread(_frame: Any, event: str, argument: Any) -> None:
        if event == "c_call":
            counts[f"thread:{argument.__qualname__}"] += 1

    def write(_number: int, _frame: Any) -> None:
        following = Path(f"{counts_file}.next")
        following.write_text(json.dumps(counts))
        following.rename(counts_file)

    signal.signal(signal.SIGUSR1, write)
    threading.setprofile(note_in_thread)
    sys.setprofile(noting(counts))
    return app.main(config.parse(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
