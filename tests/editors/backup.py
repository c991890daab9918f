"""A backup of the log."""

from collections.abc import Callable
from pathlib import Path

from tests.daemon import Daemon


def backup(daemon: Daemon) -> Callable[[], None]:
    """Copy the database of a daemon that has ended; return a function that restores it."""
    directory = Path(daemon.database).parent
    files = {path: path.read_bytes() for path in directory.glob("r.db*")}

    def restore() -> None:
        for path in directory.glob("r.db*"):
            path.unlink()
        for path, data in files.items():
            path.write_bytes(data)

    return restore
