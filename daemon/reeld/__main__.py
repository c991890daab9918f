"""``reeld``, or ``python -m reeld``."""

import gc
import sys

from reeld.startup import CANNOT_START, end_with_a_word, leave_no_core

# The commands of :mod:`reeld.backups.commands`.
_ON_A_FILE = ("verify", "restore", "copy")


def main() -> int:
    """Run the daemon, or work on a file."""
    leave_no_core()
    if sys.argv[1:2] and sys.argv[1] in _ON_A_FILE:
        from reeld.backups import commands  # noqa: PLC0415 - the daemon does not need it to start

        return commands.main(sys.argv[1:])
    end_with_a_word()
    # Imported modules are never freed, so the garbage collector would scan them for nothing; the daemon enables it.
    gc.disable()
    try:
        import aiosqlite  # noqa: F401, PLC0415 - to see whether it is there
        import anyio  # noqa: F401, PLC0415 - as above
        import trio  # noqa: F401, PLC0415 - as above
    except ImportError as error:
        print(f"reeld: {error.name} is missing; the daemon comes with: pip install reeld", file=sys.stderr)  # noqa: T201 - it cannot log yet
        return CANNOT_START
    from reeld import app, config  # noqa: PLC0415 - not before the check above

    return app.main(config.parse())


if __name__ == "__main__":
    sys.exit(main())
