"""The daemon's units of systemd: whether they are installed, and starting and stopping the daemon through them."""

import os
import subprocess

from reel.base.errors import NotRunning
from reel.daemon.address import configured, standard_socket

UNIT = "reeld.service"
SOCKET_UNIT = "reeld.socket"
# Longer than systemd itself waits until the daemon reports that it is ready.
_SYSTEMCTL_TIMEOUT = 120.0


def unit_for(path: str) -> bool:
    """Return whether systemd has a unit whose daemon would be the one for this socket.

    A unit does not see the environment of this process: its daemon has the user's own socket and database.
    """
    try:
        own = configured("socket") or _runtime_socket()
    except NotRunning:
        return False  # the launched daemon reports what is wrong with the file
    if path != own or os.environ.get("REEL_DATABASE"):
        return False
    return _property(UNIT, "LoadState") == "loaded"


def is_activated(path: str) -> bool:
    """Return whether systemd listens on a socket, so that a connection starts the daemon."""
    return path == _runtime_socket() and _property(SOCKET_UNIT, "ActiveState") == "active"


def unit_is_active() -> bool:
    """Return whether the unit's daemon is running."""
    return _property(UNIT, "ActiveState") == "active"


def start_unit() -> None:
    """Make systemd start the daemon, and wait until it is ready; a socket unit that is enabled is started, too.

    Raises:
        NotRunning: the daemon did not become ready.
    """
    activated = _property(SOCKET_UNIT, "UnitFileState") == "enabled"
    _order("start", *([SOCKET_UNIT] if activated else []), UNIT)


def stop_units() -> None:
    """Make systemd stop listening and stop the daemon, and wait until it has ended.

    Raises:
        NotRunning: systemd did not do it.
    """
    _order("stop", SOCKET_UNIT, UNIT)


def _order(verb: str, *units: str) -> None:
    try:
        ran = _systemctl(verb, *units)
    except subprocess.TimeoutExpired as error:
        raise NotRunning(f"systemd did not {verb} {UNIT} within {_SYSTEMCTL_TIMEOUT:.0f} s") from error
    if ran.returncode:
        said = (ran.stderr.strip().splitlines() or ["systemd gave no reason"])[0]
        raise NotRunning(f"systemd cannot {verb} {UNIT}: {said}; see: journalctl --user -u {UNIT}")


def _runtime_socket() -> str | None:
    """Return the path of the socket that the units name, if there is a runtime directory."""
    return standard_socket() if os.environ.get("XDG_RUNTIME_DIR") else None


def _property(unit: str, name: str) -> str:
    """Return a property of a unit, empty if systemd does not answer."""
    try:
        return _systemctl("show", f"--property={name}", "--value", unit).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _systemctl(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = ["systemctl", "--user", *arguments]
    return subprocess.run(  # noqa: S603 - no argument comes from outside
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=_SYSTEMCTL_TIMEOUT
    )
