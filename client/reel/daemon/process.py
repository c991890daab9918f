"""Starts a daemon in the background, through systemd if it has a unit for it, and waits until it is ready.

Both clients import this only when they start a daemon: ``subprocess`` would cost every command some milliseconds.
"""

import os
import shutil
import socket
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path

from reel.base.errors import NotRunning
from reel.base.this_python import this_python, trusted_environment
from reel.daemon.address import configured, standard_socket, state_directory
from reel.daemon.lock_file import lock_holder, sockets_by_lock
from reel.daemon.peer import connect_within, peer_of
from reel.daemon.placement import require_own_home
from reel.daemon.stop_marker import require_unmarked, unmark
from reel.wire.session import MessagePack

# The exit status of a daemon with a setting that is wrong.
_USAGE = 2
_CANNOT_START = 4
# The exit status of a daemon that finds another one running.
ANOTHER_RUNS = 3
# How long a started daemon may take to answer, or to log something, in seconds: migrating an old database takes
# minutes, and logs its progress.
READY_WITHIN = 20.0
# Seconds between two attempts, because there is no event when a socket begins to answer.
_STEP = 0.01
# Seconds before another daemon is launched after one that found another running.
_AGAIN = 0.2
# How often a daemon is launched although another one without our socket is running: the kernel may still be closing the
# files of a killed daemon, including its locks, one by one.
_TRIES = 4
# Seconds for an unneeded daemon to end by itself.
_ENDS_WITHIN = 2.0
# A daemon that accepts a connection and does not answer for this many seconds is busy, and not about to end.
_BUSY = 2.0
# Makes the daemon check for the stop marker itself, under its lock: one may have been written after our check.
_UNLESS_STOPPED = "--unless-stopped"
UNIT = "reeld.service"
SOCKET_UNIT = "reeld.socket"
# Longer than systemd itself waits until the daemon reports that it is ready.
_SYSTEMCTL_TIMEOUT = 120.0


def answers(path: str, database: str | None = None) -> bool:
    """Return whether a daemon answers on a socket, or, if none does, where the lock of the database says.

    Args:
        path: the socket.
        database: the database. Default: the usual one.
    """
    return _listener(path, database) is not None


def _listener(path: str, database: str | None) -> int | None:
    """Return the id of the process that answers, or ``None``; see :func:`_listener_on`."""
    found = _listener_on(path)
    if found is not None:
        return found
    elsewhere = map(_listener_on, sockets_by_lock(path, database))
    return next((pid for pid in elsewhere if pid is not None), None)


def _listener_on(path: str) -> int | None:
    """Return the id of the process that answers on a socket, or ``None``; 0 if it does not accept connections.

    A connection alone proves nothing: the socket of a process that was killed accepts connections until it has ended.
    """
    pid = 0
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            connect_within(probe, path, _BUSY)
            pid = peer_of(probe).pid
            probe.settimeout(_BUSY)
            probe.sendall(MessagePack().request(0, "ping", []))
            if not probe.recv(1):
                return None
        except TimeoutError:
            pass  # it is busy
        except OSError:
            return None
    return pid


def start(path: str, *, database: str | None = None) -> bool:
    """Start a daemon on a socket unless one answers there, and wait until it answers.

    The daemon keeps running when the caller ends. If systemd has a unit for this socket, systemd starts it. Otherwise
    its log is written to ``reeld.log`` in the state directory.

    Args:
        path: the socket.
        database: the database file. Default: the daemon's own default.

    Returns:
        whether a daemon had to be started.

    Raises:
        NotRunning: the daemon is not installed, or did not start; the message has the last line of its log.
    """
    unmark(path)
    return not answers(path, database) and _start(path, database)


def autostart(path: str, *, database: str | None = None) -> bool:
    """Start a daemon as :func:`start` does, but not one that was stopped with ``reel stop``.

    Raises:
        NotRunning: the daemon was stopped on purpose, is not installed, or did not start.
    """
    if answers(path, database):
        return False
    require_unmarked(path)
    try:
        return _start(path, database, _UNLESS_STOPPED)
    except NotRunning:
        require_unmarked(path)  # it was stopped while it started
        raise


def _start(path: str, database: str | None, *options: str) -> bool:
    if database is None and unit_for(path):
        start_unit()
        if not answers(path):
            raise NotRunning(f"{UNIT} runs but does not listen on {path}; see: systemctl --user status {UNIT}")
        return True
    command = [*executable(), "--socket", path, *(["--database", database] if database else []), *options]
    log = Path(state_directory()) / "reeld.log"
    _launch_until_it_answers(path, database, command, log, _prepare(log))
    return True


def _prepare(log: Path) -> int:
    """Make the log unless it is there; return its size.

    Raises:
        NotRunning: it cannot be written, or would be root's in the home of somebody else.
    """
    require_own_home(str(log))
    try:
        log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with log.open("ab") as out:
            os.chmod(log, 0o600)  # whatever the umask, if it was just made
            return out.tell()
    except OSError as error:
        why = f"its log {log} cannot be written: {error.strerror}"
        raise NotRunning(f"cannot start reeld, because {why}; choose another $XDG_STATE_HOME") from error


def _launch_until_it_answers(path: str, database: str | None, command: list[str], log: Path, size: int) -> None:
    """Launch a daemon; launch it again while another one is starting or about to end on the same socket.

    Raises:
        NotRunning: it ended, or does not answer in time. No daemon of ours is left then.
    """
    deadline = time.monotonic() + READY_WITHIN
    tries = 0
    while (status := _launch_and_wait(path, database, command, log, size, deadline)) is not None:
        tries += 1
        # If nobody has our socket's lock, the other daemon listens elsewhere, or is just being torn down.
        elsewhere = lock_holder(path) is None and tries >= _TRIES
        if status != ANOTHER_RUNS or elsewhere or time.monotonic() > deadline:
            raise NotRunning(f"reeld ended with status {status}: {_last_words(log, size)}", log=str(log))
        time.sleep(_AGAIN)  # it is not our child and does not answer: there is no event to wait for


def _launch_and_wait(
    path: str, database: str | None, command: list[str], log: Path, size: int, deadline: float
) -> int | None:
    """Launch a daemon and wait until one answers; return ``None``, or the exit status if ours ended before that."""
    daemon = _launch(command, log)
    try:
        listener, status = _wait_for_answer(path, database, daemon, log, deadline)
    except BaseException:  # after an interrupt, too: otherwise an unnoticed daemon would answer later
        _end(daemon)
        raise
    if status is not None:
        return status
    if listener == daemon.pid:
        # It outlives us. Without this, Popen would warn that its child was not waited for.
        daemon.returncode = 0
        return None
    _end(daemon)  # too late: it would take over when the other one stops, or answer after we have given up
    if listener is None:
        raise NotRunning(
            f"reeld did not answer on {path} within {READY_WITHIN:g} s: {_last_words(log, size)}", log=str(log)
        )
    return None


def _wait_for_answer(
    path: str, database: str | None, daemon: "subprocess.Popen[bytes]", log: Path, deadline: float
) -> tuple[int | None, int | None]:
    """Return the process that answers, or the daemon's exit status; neither on a timeout."""
    patience = Patience(log.stat().st_size, deadline)
    while True:
        is_over = patience.is_over(log.stat().st_size, time.monotonic())
        listener = _listener(path, database)
        status = daemon.poll() if listener is None else None
        if listener is not None or status is not None or is_over:
            return listener, status
        time.sleep(_STEP)  # there is no event when it begins to listen


class Patience:
    """How long to wait for a daemon that starts: each new line of its log, as of a migration, restarts the timeout.

    Args:
        logged: the size of its log.
        deadline: when the first timeout is over.
    """

    def __init__(self, logged: int, deadline: float) -> None:
        self._logged = logged
        self._deadline = deadline

    def is_over(self, logged: int, now: float) -> bool:
        """Return whether it is over, with the size of the log now."""
        if logged != self._logged:
            self._logged, self._deadline = logged, now + READY_WITHIN
        return now > self._deadline


def _end(daemon: "subprocess.Popen[bytes]") -> None:
    daemon.terminate()
    try:
        daemon.wait(_ENDS_WITHIN)
    except subprocess.TimeoutExpired:
        daemon.kill()
        daemon.wait()


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
        ran = run_briefly(command, READY_WITHIN)
    except subprocess.TimeoutExpired as error:
        raise NotRunning(f"{' '.join(command)} took longer than {READY_WITHIN:g} s") from error
    if ran.returncode not in (0, _USAGE, _CANNOT_START):
        raise NotRunning(f"{' '.join(command)} ended with status {ran.returncode}")
    problem = ran.stderr.strip().removeprefix("reeld: ") if ran.returncode == _USAGE else None
    return problem, ran.stdout


def _last_words(log: Path, size: int) -> str:
    with log.open("rb") as file:
        file.seek(size)
        lines = file.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"it logged nothing to {log}"


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
