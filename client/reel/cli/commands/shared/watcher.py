"""Which process imports, for as long as it is left alone: there is one for each daemon, and one that watches."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from reel.cli.line.context import Context
from reel.daemon.address import state_directory
from reel.daemon.lock_file import Signature, lock_holder
from reel.importing.values import digest

_UNLOCKED = "nothing keeps a second import from watching"


def watcher_of(socket: str) -> int | None:
    """Return the process that imports for the daemon on a socket; ``None`` if no process does."""
    return lock_holder(_path("watching", socket))


@contextmanager
def only_watcher(ctx: Context) -> Iterator[None]:
    """Be the one that imports for the length of the block; wait until another one has ended.

    A second one would read everything as well. The system ends the lock with the process, however that ends.
    """
    waits = "imports what the tools write; this one goes on when that ends"
    with _lock(ctx, "watching", waits, unlocked=_UNLOCKED):
        yield


@contextmanager
def only_import(ctx: Context) -> Iterator[None]:
    """Import for the length of the block; wait until another import, or the look of one that watches, has ended.

    Of two at once, each finds conversations changed by the other.
    """
    with _lock(ctx, "importing", "imports as well; this one goes on after it"):
        yield


@contextmanager
def _lock(ctx: Context, name: str, waits: str, unlocked: str = "") -> Iterator[None]:
    path = _path(name, ctx.socket)
    try:
        os.makedirs(state_directory(), mode=0o700, exist_ok=True)
        descriptor = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:  # two of them do the work twice, and nothing else
        _warn(ctx, error, unlocked)
        yield
        return
    try:
        _wait(ctx, descriptor, path, waits, unlocked)
        with suppress(OSError):  # the disk is full: others do not learn which process it is
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, Signature(str(os.getpid()), ctx.socket).encoded(), 0)
        yield
    finally:
        os.close(descriptor)


def _wait(ctx: Context, descriptor: int, path: str, waits: str, unlocked: str) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        other = lock_holder(path)
        which = f"process {other}" if other is not None else "another process"
        ctx.out.warn(f"{which} {waits}")
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError as error:  # a file system without locks
        _warn(ctx, error, unlocked)


def _warn(ctx: Context, error: OSError, unlocked: str) -> None:
    if unlocked:
        ctx.out.warn(f"{state_directory()}: {error.strerror}; {unlocked}")


def _path(name: str, socket: str) -> str:
    return f"{state_directory()}/{name}-{digest(socket)}"
