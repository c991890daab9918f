"""The command ``reel``: everything that the daemon can do, from a shell."""

from typing import NoReturn


def main(argv: list[str] | None = None) -> int:
    """Run the command and give its exit status.

    Args:
        argv: the arguments; left out, the process's own.
    """
    from reel.cli.run import run  # noqa: PLC0415 - importing the package must cost nothing

    return run(argv)


def process() -> NoReturn:
    """Be the process ``reel``: carry out its arguments, and end as it ended."""
    from reel.cli.exits import exit_with  # noqa: PLC0415 - importing the package must cost nothing

    exit_with(main())
