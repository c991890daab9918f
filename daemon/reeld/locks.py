"""Locks that keep a second daemon from a socket or a database.

Each is a ``flock`` on a file of its own, never on the database: closing any descriptor of the database would drop the
locks that SQLite holds on it in this process.

A database has two. The one beside it is for everybody who names it by this path, on any machine that shares it. The
other one is called after the file's device and inode: through a hard link, a bind mount or a symlink a database has
another path, and SQLite would keep a second WAL beside that, so that two daemons destroyed each other's commits. A
daemon that is killed leaves this file, which has the path: until its WAL is in the database, the next daemon must use
that path, too, also after a reboot.
"""

import errno
import fcntl
import logging
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from hashlib import sha256
from pathlib import Path
from shlex import join

from reel.daemon.address import default_socket
from reel.daemon.lock_file import LONGEST, Signature, signature
from reeld.startup import AlreadyRunning, StartupError, cannot
from reeld.store.presence import Held, Identity, identity_of

log = logging.getLogger(__name__)

_MODE = 0o600
# The longest path of the socket beside the database, in bytes: 104 are what every system takes (sun_path, unix(7)).
_LONGEST_SOCKET = 104
# Seconds after which a lock file is touched again. Cleaners remove files that are some days or weeks old.
_FRESH = 3600


@contextmanager
def lock(path: str, what: str, socket: str = "", beside: str = "") -> Iterator[int]:
    """Hold an exclusive lock on ``<path>.lock`` until the block or the process ends; yield the file's descriptor.

    The file is never removed: a daemon that removed it could remove the one that another daemon has just locked.

    Args:
        path: what is locked.
        what: its name in messages.
        socket: where we listen, for others who find it locked; empty if we do not.
        beside: where we listen as well.

    Raises:
        AlreadyRunning: another process holds the lock; the message has its pid.
        StartupError: the file cannot be made, opened or written.
    """
    name = f"{path}.lock"
    try:
        Path(path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = _open(name)
    except OSError as error:
        raise cannot(f"cannot lock {what} {path}: {name}", error) from error
    try:
        try:
            _take(descriptor, f"{what} {path}", path)
        except OSError as error:
            raise StartupError(
                f"cannot lock {what} {path}: {name}: {error.strerror}; choose a path on a file system with locks"
            ) from error
        _sign(descriptor, f"{what} {path}", name, Signature(str(os.getpid()), socket, "", beside))
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def lock_socket(path: str) -> Iterator[Callable[[], None]]:
    """Hold the lock of a socket until the block or the process ends; yield what takes it again if its file was removed.

    Its directory may be one that somebody empties. Without the file another daemon could listen at the same path.

    Raises:
        AlreadyRunning: another process holds the lock; so does what is yielded.
        StartupError: the file cannot be made, opened or written; so does what is yielded.
    """
    with ExitStack() as stack:
        held = stack.enter_context(lock(path, "the socket", path))

        def take_again() -> None:
            nonlocal held
            with suppress(OSError):
                if os.path.samestat(os.fstat(held), os.lstat(f"{path}.lock")):
                    return
            held = stack.enter_context(lock(path, "the socket", path))

        yield take_again


@contextmanager
def lock_database(path: str, socket: str = "", *, create: bool = True) -> Iterator[Held]:
    """Hold both locks of a database until the block or the process ends; SQLite opens it after that.

    Args:
        path: the database.
        socket: where we listen, for others who find it locked; empty if we do not: then we do not beside it either.
        create: whether to create a file that is missing, empty and for its owner only; without one there is no inode
            to lock.

    Raises:
        AlreadyRunning: another process holds a lock; the message has its pid.
        StartupError: the file beside the database cannot be made, opened or written; or a daemon that was killed left
            commits in a WAL beside another path of the database.
    """
    with lock(path, "the database", socket, socket_beside(path) if socket else "") as descriptor:
        if create:
            # With O_EXCL an existing file is not opened, so nothing is closed on which SQLite may have locks. Whatever
            # is wrong with the path, opening the database says it better.
            with suppress(OSError):
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _MODE))
        found = identity_of(path)
        with nullcontext(None) if found is None else _lock_inode(found, path, socket) as of_inode:
            yield Held(descriptor, found, of_inode)


@contextmanager
def _lock_inode(found: Identity, path: str, socket: str) -> Iterator[int | None]:
    """Hold the lock of a file, whatever its path; yield its descriptor, ``None`` if it cannot be locked.

    If its directory cannot be used, the database is opened all the same: a full /var/tmp must not keep a daemon down.
    """
    directory = lasting_directory()
    name = f"{_of_inode(directory, found)}{found[0]:x}.lock"
    try:
        descriptor = _taken(directory, name, path)
    except OSError as error:
        log.warning(
            "%s is locked by its path only, so a second reeld could open it by another one: %s: %s",
            *(path, error.filename or name, error.strerror),
        )
        yield None
        return
    try:
        path = os.path.abspath(path)
        for before in _paths_before(directory, found):
            _require_no_commits_elsewhere(before, found, path)
        with suppress(StartupError, OSError):  # a full disk must not keep a daemon down
            _sign(descriptor, path, name, Signature(str(os.getpid()), socket, path))
            os.fsync(descriptor)  # a power cut must not lose it
        try:
            yield descriptor
        finally:
            if not _has_commits(path):
                with suppress(OSError):
                    os.unlink(name)
    finally:
        os.close(descriptor)


def lasting_directory() -> str:
    """Return the directory of the locks: a reboot does not empty it, and no environment variable moves it.

    Another ``$HOME`` would lead to another lock.
    """
    return f"/var/tmp/reel-{os.getuid()}"  # noqa: S108 - its owner is checked


def socket_beside(database: str) -> str:
    """Return the path of the socket beside a database: ``reel.sock`` for ``reel.db``.

    It is found by the lock of the database, wherever the runtime directory is or was. If the path is too long for a
    socket, it is a hash in the directory of the locks.
    """
    path = f"{database.removesuffix('.db')}.sock"
    if len(os.fsencode(path)) <= _LONGEST_SOCKET:
        return path
    return f"{lasting_directory()}/{sha256(os.fsencode(database)).hexdigest()[:32]}.sock"


def _of_inode(directory: str, found: Identity) -> str:
    """Return how the names of the lock files of an inode begin; a reboot may give its device another number."""
    return f"{directory}/database-{found[1]}-"


def _paths_before(directory: str, found: Identity) -> Iterator[str]:
    """Yield the paths that daemons wrote into the lock files of an inode."""
    begin, names = os.path.basename(_of_inode(directory, found)), list[str]()
    with suppress(OSError):
        names = os.listdir(directory)
    for name in names:
        if name.startswith(begin) and name.endswith(".lock"):
            with suppress(OSError), open(f"{directory}/{name}", "rb") as opened:
                yield _read(opened.fileno()).database


def _require_no_commits_elsewhere(before: str, found: Identity, path: str) -> None:
    """Refuse a database if the daemon before was killed and left commits beside another path of it.

    SQLite would not see them, and would write over pages on which they depend.

    Raises:
        StartupError: so it is.
    """
    if before in ("", path) or identity_of(before) != found:
        return
    if _has_commits(before) and identity_of(_wal(before)) != identity_of(_wal(path)):
        raise StartupError(
            f"{path} is the same file as {_printable(before)}, under which a reeld was killed: the newest commits are"
            f" in {_printable(_wal(before))}; start it once with: {join(['reeld', '--database', _printable(before)])}"
        )


def _wal(path: str) -> str:
    return f"{path}-wal"


def _has_commits(path: str) -> bool:
    """Return whether there may be commits in the WAL of a database."""
    try:
        return os.stat(_wal(path)).st_size > 0
    except OSError:
        return False


def _taken(directory: str, name: str, path: str) -> int:
    """Lock a file in our directory; return its descriptor.

    Raises:
        AlreadyRunning: another process holds the lock.
        OSError: the file cannot be made, opened or locked.
    """
    with suppress(FileExistsError):
        os.mkdir(directory, mode=0o700)
    entry = os.lstat(directory)
    if not stat.S_ISDIR(entry.st_mode) or entry.st_uid != os.getuid() or entry.st_mode & 0o077:
        raise PermissionError(errno.EPERM, "it is not a directory that only you can enter", directory)
    while True:
        descriptor = _open(name)
        try:
            _take(descriptor, f"the database {path}")
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), os.lstat(name)):
                    return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # the daemon before has just removed it


def keep_fresh(held: Held) -> None:
    """Touch the lock of the inode, or a cleaner removes it.

    Raises:
        OSError: the disk below it fails.
    """
    if held.of_inode is not None and time.time() - os.fstat(held.of_inode).st_mtime > _FRESH:
        os.utime(held.of_inode)


def _open(name: str) -> int:
    return os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, _MODE)


def _take(descriptor: int, what: str, path: str = "") -> None:
    """Lock an open file.

    Args:
        descriptor: the file.
        what: what it locks, for the message.
        path: the socket that it is beside, which need not be named twice.

    Raises:
        AlreadyRunning: another process holds the lock; the message has its pid.
        OSError: there are no locks (``ENOLCK``), as on some network file systems.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        pid, listens = _holder(descriptor)
        where = f" and listens on {listens}" if listens not in ("", path) else ""
        held = f"another reeld is running (pid {pid}){where}; it holds {what}"
        raise AlreadyRunning(f"{held}; end it with: {_stop(listens)}") from None


def _sign(descriptor: int, what: str, name: str, content: Signature) -> None:
    """Write who we are into a lock file."""
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, content.encoded(), 0)
    except OSError as error:
        raise cannot(f"cannot lock {what}: {name}", error) from error


def _holder(descriptor: int) -> tuple[str, str]:
    """Return the process that holds the lock and its socket, as the file names them; the content is not trusted."""
    found = _read(descriptor)
    return _printable(found.pid) or "unknown", _printable(found.socket)


def _read(descriptor: int) -> Signature:
    return signature(os.pread(descriptor, LONGEST, 0))


def _stop(socket: str) -> str:
    """Return the command that stops the daemon on a socket; it names the socket unless every command uses it."""
    is_default = not socket or socket == default_socket()
    return "reel stop" if is_default else join(["reel", "--socket", socket, "stop"])


def _printable(text: str) -> str:
    """Return a text with control characters escaped, which a terminal would obey."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
