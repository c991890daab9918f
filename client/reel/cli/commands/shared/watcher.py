"""Which process imports what the tools write, for as long as it is left alone: there is one for each daemon."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from reel.cli.line.context import Context
from reel.daemon.address import state_directory
from reel.daemon.lock_file import Signature, lock_holder
from reel.importing.values import digest

_UNLOCKED = "nothing keeps a second import from watching"


def watcher_of(socket: str) -> int | None:
    """Return the process that imports for the daemon on a socket; ``None`` if no process does."""
    return lock_holder(_path(socket))


@contextmanager
def only_watcher(ctx: Context) -> Iterator[None]:
    """Be the one that imports for the length of the block; wait until another one has ended.

    A second one would read everything as well. The system ends the lock with the process, however that ends.
    """
    try:
        os.makedirs(state_directory(), mode=0o700, exist_ok=True)
        descriptor = os.open(f"{_path(ctx.socket)}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:  # two of them do the work twice, and nothing else
        ctx.out.warn(f"{state_directory()}: {error.strerror}; {_UNLOCKED}")
        yield
        return
    try:
        _lock(ctx, descriptor)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, Signature(str(os.getpid()), ctx.socket).encoded(), 0)
        yield
    finally:
        os.close(descriptor)


def _lock(ctx: Context, descriptor: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        other = watcher_of(ctx.socket)
        which = f"process {other}" if other is not None else "another process"
        ctx.out.warn(f"{which} imports what the tools write; this one goes on when that ends")
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError as error:  # a file system without locks
        ctx.out.warn(f"{state_directory()}: {error.strerror}; {_UNLOCKED}")


def _path(socket: str) -> str:
    return f"{state_directory()}/watching-{digest(socket)}"
