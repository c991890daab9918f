"""Daemons that a program under test has started: which run, and how they end."""

import os
import select
from contextlib import suppress
from pathlib import Path

import reel
from reel.sync.client import Client
from tests.patience import PATIENCE


def end(path: str) -> None:
    """End the daemon on a socket, if one runs, and wait for its end."""
    try:
        client = Client(path, patience=0).connect()
    except reel.NotRunning:
        return
    with client:
        pid = server_pid(client)
        process = os.pidfd_open(pid)
        client.shutdown()
    assert select.select([process], [], [], PATIENCE)[0]
    with suppress(ChildProcessError):  # systemd's, not ours
        os.waitid(os.P_PIDFD, process, os.WEXITED)
    os.close(process)


def server_pid(client: Client) -> int:
    """Return the process id of a client's daemon."""
    assert client.server is not None
    return int(client.server.server["pid"])


def children() -> set[int]:
    """Return the children of this process that still run.

    By what each process says of its parent: the lists of children that `/proc` has for each thread can miss one while
    a thread ends, and go away with it.
    """
    found = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):  # ended since it was listed
            parent = int(status.read_text().rpartition(")")[2].split()[1])
            if parent == os.getpid():
                found.add(int(status.parent.name))
    return found
