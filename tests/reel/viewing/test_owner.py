"""Whose program is at the other end of a connection."""

import os
import socket
import sys

from reel.viewing.owner import owner_in, owner_of

# Two connections as Linux lists them on a little-endian machine: 127.0.0.1:8080 and 127.0.0.1:51234 to each other.
TABLE = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 656 1 0 100 0 0 10 0
   1: 0100007F:C822 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 657 1 0 20 4 30 10 -1
   2: 0100007F:1F90 0100007F:C822 01 00000000:00000000 00:00000000 00000000  1000        0 658 1 0 20 4 30 10 -1
"""


def test_the_other_end() -> None:
    """The line of the other end counts, not that of our own."""
    assert owner_in(TABLE, ("127.0.0.1", 0xC822), ("127.0.0.1", 0x1F90)) == 1001
    assert owner_in(TABLE, ("127.0.0.1", 0x1F90), ("127.0.0.1", 0xC822)) == 1000


def test_a_connection_that_is_not_listed() -> None:
    """Nothing is said of it."""
    assert owner_in(TABLE, ("127.0.0.1", 1), ("127.0.0.1", 2)) is None


def test_a_real_connection() -> None:
    """A connection of this process belongs to its user; only Linux tells."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        assert owner_of(client.getsockname(), client.getpeername()) == (
            os.geteuid() if sys.platform == "linux" else None
        )
