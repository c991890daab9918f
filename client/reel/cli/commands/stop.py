"""The command ``stop``, and how a daemon is stopped."""

import os
import select
import signal
import time
from typing import Any, Protocol

from reel.base.errors import NotRunning, Storage, Timeout
from reel.cli.line.context import Context
from reel.daemon import systemd
from reel.daemon.lock_file import daemon_of, lock_holder
from reel.daemon.placement import require_own_home
from reel.daemon.stop_marker import mark, unmark
from reel.replies import Hello
from reel.sync.client import Client

# How long a daemon may take to finish the requests in flight.
STOP_TIMEOUT = 30.0
# Seconds between two attempts to connect.
_STEP = 0.05


def stop(ctx: Context) -> None:
    """Stop the daemon, wait until it has ended, and keep clients from starting another."""
    with ctx.out.waiting("waiting for the daemon to finish"):
        stopped = stop_daemon(ctx.socket, ctx.args.time_limit or STOP_TIMEOUT)
    if stopped:
        ctx.report({"socket": ctx.socket, "stopped": True}, f"stopped: {ctx.socket}", "start")
    else:
        ctx.report({"socket": ctx.socket, "stopped": False}, f"not running (no daemon at {ctx.socket})")


def stop_daemon(path: str, limit: float) -> bool:
    """Stop a daemon, wait until it has ended, and keep clients from starting another; return whether one ran.

    Args:
        path: its socket.
        limit: how long it may take, in seconds.

    Raises:
        ReelError: it refuses to stop, or takes longer.
    """
    new = _mark(path)
    activated = systemd.is_activated(path)
    try:
        stopped = (not activated or systemd.unit_is_active()) and _shut_down(path, limit)
    except Storage:  # it refuses to lose its data, and keeps running
        if new:
            unmark(path)
        raise
    if activated:
        systemd.stop_units()  # a connection since the daemon ended may have started another
        mark(path)  # which removed the mark
    return stopped


def _shut_down(path: str, limit: float) -> bool:
    with Client(path, timeout=limit, name="reel") as client:
        try:
            hello = _connect(client, limit)
        except Timeout:
            raise Timeout("the daemon does not answer; see what to do with: reel doctor") from None
        if hello is None:
            return _end_unreachable(path, limit)
        _mark(path)  # again: a daemon that has just started removed the mark before it listened
        _mark_its_own(path)
        # A handle instead of the number: by the time we look, the number may belong to another process.
        handle = open_process(int(hello.server["pid"]))
        client.shutdown()
    if handle is not None:
        _wait(handle, limit)
    return True


def _mark_its_own(path: str) -> None:
    """Mark the socket that the daemon was told to listen on, too, if it is not this one: others look there."""
    found = daemon_of(path)
    if found is not None and found.socket not in ("", path):
        _mark(found.socket)


def _mark(path: str) -> bool:
    """Mark a socket, unless its directory is gone and cannot be made: then nobody can start a daemon on it either.

    Raises:
        NotRunning: the mark would be root's in the directory of somebody else.
    """
    require_own_home(path)
    try:
        return mark(path)
    except OSError:
        if os.path.isdir(os.path.dirname(path)):
            raise
        return False


def _connect(client: Client, limit: float) -> Hello | None:
    """Connect and return the daemon's greeting, or ``None`` if none is reached. Wait for one that starts or ends."""
    deadline = time.monotonic() + limit
    while True:
        try:
            return client.connect().server
        except NotRunning:
            if _holder(client.path) is None or time.monotonic() > deadline:
                return None
        time.sleep(_STEP)  # nothing signals that it listens, or has ended


def _holder(path: str) -> int | None:
    """Return the process that holds the lock of a socket, or of the database that its daemon would have."""
    found = lock_holder(path)
    if found is None and (daemon := daemon_of(path)) is not None:
        return int(daemon.pid)
    return found


def _end_unreachable(path: str, limit: float) -> bool:
    """End a daemon that holds its locks and listens nowhere any more; return whether there was one."""
    pid = _holder(path)
    handle = None if pid is None else open_process(pid)
    if pid is None or handle is None:
        return False
    if _holder(path) == pid:  # now that the number is fixed, it still is that process
        _terminate(handle, pid)
    _wait(handle, limit)
    return True


def _terminate(handle: "_Handle", pid: int) -> None:
    if hasattr(signal, "pidfd_send_signal"):
        signal.pidfd_send_signal(handle.fileno(), signal.SIGTERM)
    else:
        os.kill(pid, signal.SIGTERM)


class _Handle(Protocol):
    """Something that becomes readable when a process ends."""

    def fileno(self) -> int:
        """Return its descriptor."""
        ...

    def close(self) -> None:
        """Free it."""
        ...


def open_process(pid: int) -> _Handle | None:
    """Return a handle of a process, or ``None`` if it has ended: a pidfd on Linux, a kqueue on a Mac."""
    try:
        if hasattr(os, "pidfd_open"):
            return open(os.pidfd_open(pid), "rb", buffering=0)  # the caller closes it
        return _mac_process(pid)
    except OSError:
        return None


def _mac_process(pid: int) -> _Handle:
    mac: Any = select  # as it is there
    queue: _Handle = mac.kqueue()
    end = mac.kevent(pid, mac.KQ_FILTER_PROC, mac.KQ_EV_ADD, mac.KQ_NOTE_EXIT)
    try:
        mac.kqueue.control(queue, [end], 0)
    except OSError:
        queue.close()
        raise
    return queue


def _wait(handle: _Handle, limit: float) -> None:
    """Wait for the process, not for the socket: systemd would accept the connection and start the next daemon."""
    try:
        ended, _, _ = select.select([handle], [], [], limit)
    finally:
        handle.close()
    if not ended:
        raise Timeout(f"the daemon is still busy after {limit:g} s; its log says why")
