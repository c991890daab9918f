"""Starting a daemon in the background, and knowing when it is ready."""

import os
import shutil
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

from reel.address import state_directory
from reel.errors import NotRunning
from reel.peer import peer_of
from reel.session import MessagePack
from reel.units import UNIT, start_unit, unit_for

# The exit status of a daemon that finds another one at work.
ANOTHER_RUNS = 3
READY_WITHIN = 20.0
# Seconds between two looks, for nothing tells when a socket begins to answer; and before one more daemon is launched.
_STEP = 0.01
_AGAIN = 0.2
# A daemon that is there and has not answered after so many seconds is not about to end.
_BUSY = 2.0


def answers(path: str) -> bool:
    """Tell whether somebody answers on a socket."""
    return _listener(path) is not None


def _listener(path: str) -> int | None:
    """Give the process that answers on a socket.

    To connect is not enough: the socket of a process that was killed takes connections until it has ended.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(path)
            pid = peer_of(probe).pid
            probe.settimeout(_BUSY)
            probe.sendall(MessagePack().request(0, "ping", []))
            if not probe.recv(1):
                return None
        except TimeoutError:
            pass  # it has a lot to do
        except OSError:
            return None
    return pid


def start(path: str, *, database: str | None = None) -> bool:
    """Start a daemon on a socket unless one answers there, and wait until it does.

    It lives on when the caller ends. Where a unit of systemd is there for this socket, systemd starts it; otherwise
    its log is written to ``reeld.log`` in the state directory.

    Args:
        path: the socket.
        database: the file; left out, the daemon's default.

    Returns:
        whether one had to be started.

    Raises:
        NotRunning: it cannot be found or did not come up; the message has its last words.
    """
    if answers(path):
        return False
    if database is None and unit_for(path):
        start_unit()
        if not answers(path):
            raise NotRunning(f"{UNIT} runs and does not listen on {path}; see: systemctl --user status {UNIT}")
        return True
    log = Path(state_directory()) / "reeld.log"
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    command = [*_executable(), "--socket", path, *(["--database", database] if database else [])]
    with log.open("ab") as out:
        os.chmod(log, 0o600)  # noqa: PTH101 - of the file that was opened, whatever the umask
        size = out.tell()
    _launch_until_it_answers(path, command, log, size)
    return True


def _launch_until_it_answers(path: str, command: list[str], log: Path, size: int) -> None:
    deadline = time.monotonic() + READY_WITHIN
    daemon = _launch(command, log)
    while time.monotonic() < deadline:
        listener = _listener(path)
        if listener == daemon.pid:
            # It is nobody's child to wait for from here on; without this, a warning would say so.
            daemon.returncode = 0
            return
        if listener is not None:
            daemon.kill()  # somebody else's was faster; ours would take over when that one stops
            daemon.wait()
            return
        status = daemon.poll()
        if status == ANOTHER_RUNS:  # and does not answer: it is about to, or about to end
            time.sleep(_AGAIN)  # it is no child of ours, and answers nobody: there is nothing to wait for
            daemon = _launch(command, log)
        elif status is not None:
            raise NotRunning(f"reeld ended with status {status}: {_last_words(log, size)}", log=str(log))
        time.sleep(_STEP)  # nothing tells when it listens
    daemon.returncode = 0
    raise NotRunning(
        f"reeld did not answer on {path} within {READY_WITHIN:.0f} s: {_last_words(log, size)}", log=str(log)
    )


def _launch(command: list[str], log: Path) -> "subprocess.Popen[bytes]":
    with log.open("ab") as out:
        return subprocess.Popen(  # noqa: S603 - our own executable
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
            env=trusted_environment(),
        )


def trusted_environment() -> dict[str, str]:
    """Return the environment for a Python that must not import modules of the current directory.

    An entry of ``PYTHONPATH`` that is empty or relative names a directory below the current one, which may be somebody
    else's download; ``-P`` alone does not drop it, and ``-I`` would drop the user's absolute entries as well.
    """
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(os.path.isabs, entries))}


def _executable() -> list[str]:
    if find_spec("reeld") is not None:
        # -P: without it, -m looks for the module in the current directory first.
        return [sys.executable, "-P", "-m", "reeld"]
    if found := shutil.which("reeld"):
        return [found]
    raise NotRunning("reeld is not installed here; it comes with: pip install 'reeld[daemon]'")


def _last_words(log: Path, size: int) -> str:
    with log.open("rb") as file:
        file.seek(size)
        lines = file.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"without a word; see {log}"
