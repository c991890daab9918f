"""Another process that has a database of ours open."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.patience import PATIENCE

# Opens the database, and reads if it is told so; it ends when its stdin does.
_READER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("SELECT 1 FROM agents").fetchall()
if sys.argv[2] == "reads":
    connection.execute("BEGIN")
    connection.execute("SELECT 1 FROM agents").fetchall()
print("ready", flush=True)
sys.stdin.read()
"""


@contextmanager
def other_process(path: str, *, reads: bool) -> Iterator[str]:
    """Run a process that has a database open.

    Args:
        path: the database.
        reads: whether it holds a read transaction open.

    Yields:
        its program and its pid, as the daemon says them.
    """
    command = [sys.executable, "-c", _READER, path, "reads" if reads else ""]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert b"ready\n" == process.stdout.readline()
        yield f"{Path(f'/proc/{process.pid}/comm').read_text().strip()} (pid {process.pid})"
        process.stdin.close()
        process.wait(PATIENCE)
