"""The command ``reel``: everything that the daemon can do, from a shell."""


def main(argv: list[str] | None = None) -> int:
    """Run the command and give its exit status.

    Args:
        argv: the arguments; left out, the process's own.
    """
    from reel.cli.run import run  # noqa: PLC0415 - importing the package must cost nothing

    return run(argv)
