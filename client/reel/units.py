"""The daemon as a unit of systemd, where one is installed."""

import os
import subprocess

from reel.errors import NotRunning

UNIT = "reeld.service"
# Longer than systemd itself waits for the daemon to say that it is ready.
_PATIENCE = 120.0


def unit_for(path: str) -> bool:
    """Tell whether systemd has the unit, and the unit's daemon would be the one that is meant.

    A unit knows nothing of this process's environment: it has the user's own socket and database.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if not runtime or path != f"{runtime}/reel/reel.sock" or os.environ.get("REEL_DATABASE"):
        return False
    try:
        return _systemctl("show", "--property=LoadState", "--value", UNIT).stdout.strip() == "loaded"
    except (OSError, subprocess.TimeoutExpired):
        return False


def start_unit() -> None:
    """Let systemd start the daemon, and wait until it is ready.

    Raises:
        NotRunning: it did not become so.
    """
    try:
        ran = _systemctl("start", UNIT)
    except subprocess.TimeoutExpired as error:
        raise NotRunning(f"systemd has not started {UNIT} within {_PATIENCE:.0f} s") from error
    if ran.returncode:
        said = (ran.stderr.strip().splitlines() or ["systemd does not say why"])[0]
        raise NotRunning(f"systemd cannot start {UNIT}: {said}; see: journalctl --user -u {UNIT}")


def _systemctl(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = ["systemctl", "--user", *arguments]
    return subprocess.run(  # noqa: S603 - nothing in it comes from outside
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=_PATIENCE
    )
