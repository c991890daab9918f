"""The command ``backup``: a copy of the database in a new file."""

import os

from reel.cli.context import Invocation


def backup(run: Invocation) -> None:
    """Let the daemon write the copy, and print where it is."""
    path = os.path.abspath(run.words[0])  # noqa: PTH100 - a symlink stays one
    with run.out.waiting("writing the copy"):
        written = run.client.backup(path)
    run.done(written, f"{written.path}: {written.bytes:,} bytes")
