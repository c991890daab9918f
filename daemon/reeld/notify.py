"""What a supervisor is told and what it gives, as systemd's protocols have it: ``sd_notify`` and ``sd_listen_fds``.

Without the variables of these protocols nobody is told anything, and nothing is given.
"""

import logging
import os
import socket
from collections.abc import Awaitable, Callable, Mapping

import anyio

from reeld.errors import Refused

log = logging.getLogger(__name__)

# Where the sockets that are given begin, after stdin, stdout and stderr.
_FIRST = 3
# How long a supervisor may be too busy to listen, in seconds; meanwhile nothing else is done.
_PATIENCE = 2.0


class Supervisor:
    """Who started the daemon and wants to know how it is.

    Args:
        address: the path of its socket, or ``@`` and a name; empty where there is none.
        patience: the seconds without a sign of life after which it takes the daemon for dead; ``None``: never.
    """

    def __init__(self, address: str = "", patience: float | None = None) -> None:
        self.patience = patience
        self._address = address

    def tell(self, *facts: str) -> None:
        """Send it facts such as ``READY=1``; where it cannot be reached, the daemon goes on."""
        if not self._address:
            return
        address = f"\0{self._address[1:]}" if self._address.startswith("@") else self._address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
                sender.settimeout(_PATIENCE)
                sender.connect(address)
                sender.sendall("\n".join(facts).encode(errors="replace"))
        except OSError as error:
            log.warning("the supervisor on %s cannot be told %s: %s", self._address, facts[0], error)

    async def reassure(self, prove: Callable[[], Awaitable[None]]) -> None:
        """Give signs of life, twice as often as needed, as long as there is something to show for it.

        Args:
            prove: returns when what must be alive has shown that it is.
        """
        while self.patience is not None:
            await prove()
            self.tell("WATCHDOG=1")
            await anyio.sleep(self.patience / 2)


def find_supervisor(environment: Mapping[str, str]) -> Supervisor:
    """Give the supervisor that the environment names; the watchdog may be meant for another process."""
    given = environment.get("WATCHDOG_USEC", "")
    microseconds = int(given) if given.isdecimal() else 0
    ours = environment.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
    return Supervisor(environment.get("NOTIFY_SOCKET", ""), microseconds / 1e6 if ours and microseconds else None)


def given_socket(environment: Mapping[str, str]) -> socket.socket | None:
    """Take over the socket that the supervisor listens on for us, if there is one.

    Raises:
        Refused: what is given is not one listening Unix stream socket.
    """
    if environment.get("LISTEN_PID") != str(os.getpid()):
        return None
    if environment.get("LISTEN_FDS") != "1":
        raise Refused(f"the supervisor gives {environment.get('LISTEN_FDS')} sockets; one is what reeld listens on")
    try:
        given = socket.socket(fileno=_FIRST)
    except OSError as error:
        raise Refused(f"the supervisor gives no socket: {error.strerror}") from error
    if (
        given.family != socket.AF_UNIX
        or given.type != socket.SOCK_STREAM
        or not given.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    ):
        raise Refused("the supervisor gives another socket than a listening Unix stream socket (ListenStream=/a/path)")
    given.set_inheritable(False)
    return given


def path_of(given: socket.socket) -> str:
    """Name the socket that was given; an abstract one as people write it."""
    return os.fsdecode(given.getsockname()).replace("\0", "@", 1)
