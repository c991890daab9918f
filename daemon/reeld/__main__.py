"""``reeld``, or ``python -m reeld``."""

import sys

from reeld.startup import CANNOT_START


def main() -> int:
    """Run the daemon, or work on a file."""
    from reeld.backups import commands  # noqa: PLC0415 - the daemon's own imports come after the check below

    if sys.argv[1:2] and sys.argv[1] in commands.NAMES:
        return commands.main(sys.argv[1:])
    try:
        import aiosqlite  # noqa: F401, PLC0415 - as above
        import anyio  # noqa: F401, PLC0415 - to see whether it is there
        import trio  # noqa: F401, PLC0415 - as above
    except ImportError as error:
        print(f"reeld: {error.name} is missing; the daemon comes with: pip install reeld", file=sys.stderr)  # noqa: T201 - it cannot log yet
        return CANNOT_START
    from reeld import app, config  # noqa: PLC0415 - not before the check above

    return app.main(config.parse())


if __name__ == "__main__":
    sys.exit(main())
