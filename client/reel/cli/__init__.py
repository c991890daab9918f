"""The command ``reel``: everything that the daemon can do, from a shell."""

import sys

TYPE_CHECKING = False  # as in the package above: typing takes as long to import as Python to start
if TYPE_CHECKING:
    from typing import NoReturn


def main(argv: list[str] | None = None) -> int:
    """Run the command and return its exit status.

    Args:
        argv: the arguments; by default those of the process.
    """
    from reel.cli.run import run  # noqa: PLC0415 - importing the package must cost nothing

    return run(argv)


def process() -> "NoReturn":
    """Run the command with the arguments of this process, and exit with its status."""
    if sys.argv[1:] == ["--version"]:
        _print_versions()
    from reel.cli.exits import exit_with  # noqa: PLC0415 - importing the package must cost nothing

    exit_with(main())


def _print_versions() -> None:
    """Print the versions and exit, without importing the parser, so that scripts get them at once.

    If they cannot be printed, return: the parser reports it.
    """
    from reel.version import VERSIONS  # noqa: PLC0415 - as above

    try:
        print(VERSIONS, flush=True)
    except (OSError, ValueError):
        return
    sys.exit(0)
