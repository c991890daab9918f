"""Whose program is at the other end of a connection inside this machine.

A Unix socket can be asked. For TCP, Linux lists every connection with the user that it belongs to. Other systems do
not tell, and there the token and the cookie alone decide. They could be seen: the link by anybody who lists processes,
and the cookie, which a browser sends to every port of a host, by a server of another user that was visited.
"""

import sys
from pathlib import Path
from socket import inet_aton

Address = tuple[str, int]
_TABLE = Path("/proc/net/tcp")
_LOCAL, _REMOTE, _UID = 1, 2, 7


def owner_of(theirs: Address, ours: Address) -> int | None:
    """Return the user of the other end of a connection; ``None`` if nothing tells.

    Args:
        theirs: the address and port of the other end.
        ours: those of our end.
    """
    try:
        return owner_in(_TABLE.read_text(encoding="ascii"), theirs, ours)
    except OSError:
        return None


def owner_in(table: str, theirs: Address, ours: Address) -> int | None:
    """Return the user of the connection from ``theirs`` to ``ours`` in the kernel's table; ``None`` if it has none."""
    wanted = [_hexadecimal(theirs), _hexadecimal(ours)]
    for line in table.splitlines()[1:]:
        fields = line.split()
        if fields[_LOCAL : _REMOTE + 1] == wanted:
            return int(fields[_UID])
    return None


def _hexadecimal(address: Address) -> str:
    host, port = address
    return f"{int.from_bytes(inet_aton(host), sys.byteorder):08X}:{port:04X}"
