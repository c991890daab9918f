"""Checks of the way to the daemon: the socket and its directory, the locks, and the versions on both sides."""

import os
import shutil
import stat
from importlib.util import find_spec
from pathlib import Path

from reel.base.installation import install_command
from reel.cli.commands.checks.finding import BAD, FINE, NOTHING, WARN, Finding
from reel.daemon.address import MAX_PATH
from reel.daemon.lock_file import lock_holder
from reel.replies import Hello
from reel.version import PROTOCOL, __version__

_MODULES = ("reeld", "anyio", "trio", "aiosqlite")


def check_path(socket: str) -> Finding:
    """Check the path of the socket, and the socket if it exists."""
    size = len(os.fsencode(socket))
    if size > MAX_PATH:
        about = f"{socket}: too long ({size} bytes; at most {MAX_PATH})"
        return Finding("socket", BAD, about, "use a shorter path with --socket or $REEL_SOCKET")
    try:
        status = os.lstat(socket)
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            return Finding("socket", NOTHING, f"{socket}: not there yet")
        return Finding("socket", BAD, f"{socket}: {error.strerror}", "name another path with --socket or $REEL_SOCKET")
    if not stat.S_ISSOCK(status.st_mode):
        return Finding("socket", BAD, f"{socket}: not a socket", "move it away, or name another path with --socket")
    if status.st_mode & 0o077:
        return Finding(
            "socket", WARN, f"{socket}: {_mode(status)}, other users may connect to it", f"chmod 600 {socket}"
        )
    return Finding("socket", FINE, f"{socket}: {_mode(status)}")


def check_directory(socket: str) -> Finding:
    """Check that nobody else can put another socket in the place of ours."""
    where = Path(socket).parent
    try:
        status = where.stat()
    except FileNotFoundError:
        return Finding("directory", NOTHING, f"{where}: not there yet; reeld creates it")
    except OSError as error:
        return Finding("directory", BAD, f"{where}: {error.strerror}", "name another path with --socket")
    about = f"{where}: {_mode(status)}, of uid {status.st_uid}"
    if status.st_uid not in (os.getuid(), 0):
        return Finding("directory", BAD, f"{about}, another user", "name another path with --socket or $REEL_SOCKET")
    if not status.st_mode & 0o022:
        return Finding("directory", FINE, about)
    if status.st_mode & stat.S_ISVTX:
        return Finding("directory", WARN, f"{about}, anyone can write to it", "use a directory of your own: chmod 700")
    return Finding("directory", BAD, f"{about}, others can write to it", f"chmod go-w {where}")


def check_versions(hello: Hello, sqlite: str) -> Finding:
    """Check that the daemon that answers has the version of this client."""
    version = hello.server.get("version")
    about = f"pid {hello.server.get('pid')}, version {version}, protocol {hello.protocol}, SQLite {sqlite}"
    if (version, hello.protocol) == (__version__, PROTOCOL):
        return Finding("daemon", FINE, about)
    about += f"; this reel is {__version__}, protocol {PROTOCOL}"
    return Finding("daemon", WARN, about, "restart the daemon with the newer version: reel stop; reel start")


def check_lock(check: str, locked: str, daemon: int | None) -> Finding:
    """Check who holds the lock of a file: the daemon that answers, or nobody if none does."""
    name, pid = f"{locked}.lock", lock_holder(locked)
    if pid == daemon:
        return Finding(check, FINE, f"{name}: {'free' if pid is None else f'held by pid {pid}'}")
    if pid is None:
        about = f"{name}: not held by the daemon (pid {daemon})"
        return Finding(check, BAD, about, "the file was replaced while in use: reel stop; reel start")
    if daemon is None:
        about = f"{name}: held by pid {pid}, which does not answer here"
        return Finding(check, BAD, about, f"see what it is: ps -fp {pid}; stop it: kill {pid}")
    return Finding(check, BAD, f"{name}: held by pid {pid}, not by the daemon (pid {daemon})", f"see: ps -fp {pid}")


def check_installed(*, needed: bool) -> Finding:
    """Check that a daemon could be started from here."""
    missing = [name for name in _MODULES if find_spec(name) is None]
    program = shutil.which("reeld")
    if not missing or ("reeld" in missing and program):
        return Finding("reeld", FINE, f"installed{f': {program}' if program else ''}")
    return Finding("reeld", BAD if needed else WARN, f"{missing[0]} is missing", install_command())


def _mode(status: os.stat_result) -> str:
    return f"mode {stat.S_IMODE(status.st_mode):04o}"
