"""``reeld`` under Python's profiler: ``python -m tests.bench.profiled FILE [options of reeld]``.

Each thread has a profile of its own; all are written to the file as one when the daemon ends.
"""

import cProfile
import pstats
import sys
import threading
from pathlib import Path
from typing import Any

from reeld.__main__ import main


def run(file: Path) -> int:
    """Run the daemon, write the profile, and return the daemon's exit status."""
    profiles = [cProfile.Profile()]

    def begin(*_: Any) -> None:
        # Each thread calls this for its first event; the profile then takes the place of this function.
        profiles.append(cProfile.Profile())
        profiles[-1].enable()

    threading.setprofile(begin)
    profiles[0].enable()
    try:
        return main()
    finally:
        profiles[0].disable()
        total = pstats.Stats(profiles[0])
        for profile in profiles[1:]:
            profile.create_stats()
            if profile.stats:
                total.add(profile)
        total.dump_stats(file)


if __name__ == "__main__":
    output = Path(sys.argv.pop(1))
    sys.exit(run(output))
