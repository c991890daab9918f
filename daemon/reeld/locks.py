"""Locks that end with their process, however it ends."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reeld.errors import AnotherRuns, Refused


@contextmanager
def lock(path: str, what: str) -> Iterator[int]:
    """Hold an exclusive lock on ``<path>.lock`` for as long as the block lasts; yield the file's descriptor.

    The file stays: who removed it could remove another one's lock.

    Args:
        path: what is locked.
        what: its name for people.

    Raises:
        AnotherRuns: another process holds it; the message has its pid.
        Refused: the file cannot be made, opened or written.
    """
    name = f"{path}.lock"
    try:
        Path(path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Refused(f"cannot lock {what} {path}: {name}: {error.strerror}") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(descriptor, 32).decode(errors="replace").strip() or "unknown"
            raise AnotherRuns(f"another reeld runs (pid {holder}); it holds {what} {path}") from None
        try:
            os.ftruncate(descriptor, 0)
            os.write(descriptor, f"{os.getpid()}\n".encode())
        except OSError as error:
            raise Refused(f"cannot lock {what} {path}: {name}: {error.strerror}") from error
        yield descriptor
    finally:
        os.close(descriptor)
