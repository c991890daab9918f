"""The command ``reel``: everything that the daemon can do, from a shell.

``line`` reads what was typed and finds the command, ``commands`` has a file for each, and ``screen`` says what is
shown. The commands import the other two, and the line the screen; no other folder imports any of it. Begin with
:mod:`reel.cli.line.run`.
"""

import os
import sys

TYPE_CHECKING = False  # as in the package above: typing takes as long to import as Python to start
if TYPE_CHECKING:
    from typing import NoReturn

# The threshold of the garbage collector, instead of 700 objects. What a command imports stays, and to look through it
# again and again took 3 ms.
_GARBAGE = 50_000


def main(argv: list[str] | None = None) -> int:
    """Run the command and return its exit status.

    Args:
        argv: the arguments; by default those of the process.
    """
    from reel.cli.line.run import run  # noqa: PLC0415 - importing the package must cost nothing

    return run(argv)


def process() -> "NoReturn":
    """Run the command with the arguments of this process, and exit with its status."""
    try:
        if sys.argv[1:] == ["--version"]:
            _print_versions()
        import gc  # noqa: PLC0415 - importing the package must cost nothing

        gc.set_threshold(_GARBAGE)
        status = main()
    except KeyboardInterrupt:  # while the modules are imported
        status = None
    from reel.cli.line.exits import INTERRUPTED, exit_with  # noqa: PLC0415 - as above

    exit_with(INTERRUPTED if status is None else status)


def _print_versions() -> None:
    """Print the versions and exit, without importing the parser, so that scripts get them at once.

    If they cannot be printed, return: the parser reports it.
    """
    from reel.version import VERSIONS  # noqa: PLC0415 - as above

    try:
        print(VERSIONS, flush=True)
    except (OSError, ValueError):
        return
    os._exit(0)  # as exit_with does
