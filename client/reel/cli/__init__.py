"""The command ``reel``: everything that the daemon can do, from a shell."""

from typing import NoReturn


def main(argv: list[str] | None = None) -> int:
    """Run the command and return its exit status.

    Args:
        argv: the arguments; by default those of the process.
    """
    from reel.cli.run import run  # noqa: PLC0415 - importing the package must cost nothing

    return run(argv)


def process() -> NoReturn:
    """Run the command with the arguments of this process, and exit with its status."""
    from reel.cli.exits import exit_with  # noqa: PLC0415 - importing the package must cost nothing

    exit_with(main())
