"""The supervisor: systemd's protocols ``sd_notify(3)`` and ``sd_listen_fds(3)``.

Without the environment variables of these protocols nothing is sent, and no socket is inherited.
"""

import logging
import os
import socket
from collections.abc import Awaitable, Callable, Mapping

import anyio

from reeld.startup import StartupError

log = logging.getLogger(__name__)

# The first inherited socket, after stdin, stdout and stderr.
_FIRST = 3
# Seconds for the supervisor to take a message; the event loop is blocked meanwhile.
_SEND_TIMEOUT = 2.0
# Seconds between two requests for more time to start, and the seconds that each asks for.
_EXTEND_EVERY = 5.0
_EXTENSION = 60


class Supervisor:
    """The process that started the daemon and watches it.

    Args:
        address: the path of its socket, or ``@`` and an abstract name; empty if there is no supervisor.
        watchdog: the seconds without a notification after which it restarts the daemon; ``None`` for never.
    """

    def __init__(self, address: str = "", watchdog: float | None = None) -> None:
        self.watchdog = watchdog
        self._address = address

    @property
    def is_there(self) -> bool:
        """Whether there is a supervisor."""
        return bool(self._address)

    def notify(self, *facts: str) -> None:
        """Send facts such as ``READY=1``; if the supervisor cannot be reached, the daemon goes on."""
        if not self._address:
            return
        address = f"\0{self._address[1:]}" if self._address.startswith("@") else self._address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
                sender.settimeout(_SEND_TIMEOUT)
                sender.connect(address)
                sender.sendall("\n".join(facts).encode(errors="replace"))
        except OSError as error:
            log.warning("the supervisor on %s cannot be notified of %s: %s", self._address, facts[0], error)

    async def extend_start(self, opened: anyio.Event) -> None:
        """Keep asking for more time to start until the event is set: migrating an old file takes long."""
        while not opened.is_set():
            with anyio.move_on_after(_EXTEND_EVERY) as waiting:
                await opened.wait()
            if waiting.cancelled_caught:
                self.ask_for_time("opens the database")

    def ask_for_time(self, status: str) -> None:
        """Ask for more time to start."""
        self.notify(f"EXTEND_TIMEOUT_USEC={_EXTENSION * 1_000_000}", f"STATUS={status}")

    async def watchdog_loop(self, heartbeat: Callable[[], Awaitable[None]]) -> None:
        """Notify the watchdog, twice as often as needed, for as long as the heartbeat returns.

        Args:
            heartbeat: returns when everything that must be alive has shown that it is.
        """
        while self.watchdog is not None:
            await heartbeat()
            self.notify("WATCHDOG=1")
            await anyio.sleep(self.watchdog / 2)


def find_supervisor(environment: Mapping[str, str]) -> Supervisor:
    """Return the supervisor that the environment names; the watchdog may be meant for another process."""
    text = environment.get("WATCHDOG_USEC", "")
    microseconds = int(text) if text.isdecimal() else 0
    ours = environment.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
    return Supervisor(environment.get("NOTIFY_SOCKET", ""), microseconds / 1e6 if ours and microseconds else None)


def inherited_socket(environment: Mapping[str, str]) -> socket.socket | None:
    """Return the socket that the supervisor listens on for us, or ``None``.

    Raises:
        StartupError: it passes something else than one listening Unix stream socket.
    """
    if environment.get("LISTEN_PID") != str(os.getpid()):
        return None
    if environment.get("LISTEN_FDS") != "1":
        raise StartupError(
            f"the supervisor passes {environment.get('LISTEN_FDS')} sockets; reeld listens on exactly one"
        )
    try:
        inherited = socket.socket(fileno=_FIRST)
    except OSError as error:
        raise StartupError(f"the supervisor passes no socket: {error.strerror}") from error
    if (
        inherited.family != socket.AF_UNIX
        or inherited.type != socket.SOCK_STREAM
        or not inherited.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    ):
        raise StartupError("the supervisor must pass a listening Unix stream socket (ListenStream=/a/path)")
    inherited.set_inheritable(False)
    return inherited


def path_of(inherited: socket.socket) -> str:
    """Return the path of an inherited socket; an abstract name begins with ``@``."""
    return os.fsdecode(inherited.getsockname()).replace("\0", "@", 1)
