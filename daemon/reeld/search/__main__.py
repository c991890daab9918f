"""``python -m reeld.search``: the process of :mod:`reeld.search.filler`, which only a daemon starts."""

import os
import signal
import sys


def main() -> int:
    """Run jobs until the daemon ends this process, or ends itself; return the exit status if neither was possible."""
    # The daemon gets these signals as well, if they are for all; it decides when this process ends.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    try:
        from reeld.search.filling import run_jobs  # noqa: PLC0415 - it takes long, and signals may come meanwhile

        run_jobs()
    except BrokenPipeError:
        os._exit(1)  # the daemon is gone, and wants no outcome; from Python 3.13 on, the file that has one would say so
    except Exception as error:
        print(f"reeld: the process that fills the search index failed: {error!r}", file=sys.stderr)  # noqa: T201 - it has no log
    return 1


if __name__ == "__main__":
    sys.exit(main())
