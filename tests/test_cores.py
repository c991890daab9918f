"""Processes with tests share no core."""

import os
import socket
import sys

import pytest

from tests.cores import claim

# Their names are those of this process alone.
_CORES = [-2 * os.getpid(), -2 * os.getpid() - 1]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has sockets that are not in the file system")
def test_each_core_is_claimed_once() -> None:
    """A core belongs to whoever claimed it first, until that process has ended or let it go."""
    held: list[socket.socket] = []
    claimed = [claim(_CORES, held) for _ in range(3)]
    held.pop(0).close()
    again = claim(_CORES, held)
    for mark in held:
        mark.close()

    assert ([*_CORES, None], _CORES[0]) == (claimed, again)
