"""Starts a daemon in the background, through systemd if it has a unit for it, and waits until it answers.

Both clients import this only when they start a daemon: ``subprocess`` would cost every command some milliseconds.
"""

import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from reel.base.errors import NotRunning
from reel.base.this_python import trusted_environment
from reel.daemon.address import state_directory
from reel.daemon.answering import answers, listener
from reel.daemon.lock_file import lock_holder
from reel.daemon.placement import require_own_home
from reel.daemon.program import executable
from reel.daemon.stop_marker import require_unmarked, unmark
from reel.daemon.systemd import UNIT, start_unit, unit_for

# The exit status of a daemon that finds another one running.
_ANOTHER_RUNS = 3
# How long a started daemon may take to answer, or to log something, in seconds: migrating an old database takes
# minutes, and logs its progress.
READY_WITHIN = 20.0
# Seconds between two looks whether a daemon answers. A pipe would tell only of our own one, and of none that is older.
_STEP = 0.01
# Seconds before another daemon is launched after one that found another running.
_AGAIN = 0.2
# How often a daemon is launched although another one without our socket is running: the kernel may still be closing the
# files of a killed daemon, including its locks, one by one.
_TRIES = 4
# Seconds for an unneeded daemon to end by itself.
_ENDS_WITHIN = 2.0
# Makes the daemon check for the stop marker itself, under its lock: one may have been written after our check.
_UNLESS_STOPPED = "--unless-stopped"


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
    _Start(path, database, options).until_one_answers()
    return True


class _Start:
    """Launches daemons until one answers: ours, or another that was started meanwhile.

    Args:
        path: the socket.
        database: the database file. Default: the daemon's own default.
        options: more options of the daemon.

    Raises:
        NotRunning: it is not installed, or its log cannot be written.
    """

    def __init__(self, path: str, database: str | None, options: Sequence[str]) -> None:
        self._path = path
        self._database = database
        self._command = [*executable(), "--socket", path, *(["--database", database] if database else []), *options]
        self._log = Path(state_directory()) / "reeld.log"
        # The size of the log before.
        self._logged = _prepare(self._log)
        self._deadline = time.monotonic() + READY_WITHIN

    def until_one_answers(self) -> None:
        """Launch a daemon; launch it again while another one is starting or about to end on the same socket.

        Raises:
            NotRunning: it ended, or does not answer in time. No daemon of ours is left then.
        """
        tries = 0
        while (status := self._launch_and_wait()) is not None:
            tries += 1
            # If nobody has our socket's lock, the other daemon listens elsewhere, or is just being torn down.
            elsewhere = lock_holder(self._path) is None and tries >= _TRIES
            if status != _ANOTHER_RUNS or elsewhere or time.monotonic() > self._deadline:
                raise self._failure(f"reeld ended with status {status}")
            time.sleep(_AGAIN)  # it is not our child and does not answer: there is no event to wait for

    def _launch_and_wait(self) -> int | None:
        """Launch a daemon and wait until one answers; return ``None``, or the status if ours ended before that."""
        daemon = _launch(self._command, self._log)
        try:
            found, status = self._wait(daemon)
        except BaseException:  # after an interrupt, too: otherwise an unnoticed daemon would answer later
            _end(daemon)
            raise
        if status is not None:
            return status
        if found == daemon.pid:
            # It outlives us. Without this, Popen would warn that its child was not waited for.
            daemon.returncode = 0
            return None
        _end(daemon)  # too late: it would take over when the other one stops, or answer after we have given up
        if found is None:
            raise self._failure(f"reeld did not answer on {self._path} within {READY_WITHIN:g} s")
        return None

    def _wait(self, daemon: "subprocess.Popen[bytes]") -> tuple[int | None, int | None]:
        """Return the process that answers, or the daemon's exit status; neither on a timeout."""
        patience = Patience(self._log.stat().st_size, self._deadline)
        while True:
            is_over = patience.is_over(self._log.stat().st_size, time.monotonic())
            found = listener(self._path, self._database)
            status = daemon.poll() if found is None else None
            if found is not None or status is not None or is_over:
                return found, status
            time.sleep(_STEP)  # another daemon may answer as well, or one that is too old to report that it is ready

    def _failure(self, what: str) -> NotRunning:
        """Return the error that says what happened, with the last line that was logged since the start."""
        with self._log.open("rb") as file:
            file.seek(self._logged)
            lines = file.read().decode(errors="replace").strip().splitlines()
        last = lines[-1] if lines else f"it logged nothing to {self._log}"
        return NotRunning(f"{what}: {last}", log=str(self._log))


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
