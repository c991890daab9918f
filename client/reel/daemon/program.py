"""The daemon's program: the command that runs it, and what it says of its settings.

``subprocess`` would cost every command some milliseconds, so only those import this that need it.
"""

import shutil
import subprocess
from importlib.util import find_spec

from reel.base.errors import NotRunning
from reel.base.this_python import this_python, trusted_environment

# The exit statuses of a daemon with a setting that is wrong, and of one that cannot start.
_USAGE = 2
_CANNOT_START = 4
# How long a check of the settings may take, in seconds.
_CHECKED_WITHIN = 20.0


def executable() -> list[str]:
    """Return the command that runs the daemon.

    Raises:
        NotRunning: it is not installed.
    """
    if find_spec("reeld") is not None:
        return [*this_python(), "-m", "reeld"]
    if found := shutil.which("reeld"):
        return [found]
    from reel.base.installation import install_command  # noqa: PLC0415 - only then

    raise NotRunning(f"reeld is not installed here; install it with: {install_command()}")


def run_briefly(command: list[str], seconds: float) -> "subprocess.CompletedProcess[str]":
    """Run a command of the daemon's program that ends by itself, without input.

    Args:
        command: begins with :func:`executable`.
        seconds: how long it may take.

    Raises:
        subprocess.TimeoutExpired: it took longer, and was killed.
    """
    return subprocess.run(  # noqa: S603 - our own executable
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",  # a path may be any bytes
        check=False,
        timeout=seconds,
        env=trusted_environment(),
    )


def checked_settings(*options: str) -> tuple[str | None, str]:
    """Return the problem that keeps a daemon from starting with its settings, or ``None``, and all output of the check.

    Args:
        options: of the daemon, which go before its settings.

    Raises:
        NotRunning: it is not installed, or the check fails.
    """
    command = [*executable(), "--check", *options]
    try:
        ran = run_briefly(command, _CHECKED_WITHIN)
    except subprocess.TimeoutExpired as error:
        raise NotRunning(f"{' '.join(command)} took longer than {_CHECKED_WITHIN:g} s") from error
    if ran.returncode not in (0, _USAGE, _CANNOT_START):
        raise NotRunning(f"{' '.join(command)} ended with status {ran.returncode}")
    problem = ran.stderr.strip().removeprefix("reeld: ") if ran.returncode == _USAGE else None
    return problem, ran.stdout
