"""The command ``stop``, and how a daemon is stopped."""

import os
import select
import time
from typing import Any, Protocol

from reel.base.errors import NotRunning, Storage, Timeout
from reel.cli.line.context import Context
from reel.daemon import process
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
    new = mark(path)
    activated = process.is_activated(path)
    try:
        stopped = (not activated or process.unit_is_active()) and _shut_down(path, limit)
    except Storage:  # it refuses to lose its data, and keeps running
        if new:
            unmark(path)
        raise
    if activated:
        process.stop_units()  # a connection since the daemon ended may have started another
        mark(path)  # which removed the mark
    return stopped


def _shut_down(path: str, limit: float) -> bool:
    with Client(path, timeout=limit, name="reel") as client:
        try:
            hello = _connect(client, limit)
        except Timeout:
            raise Timeout("the daemon does not answer; see what to do with: reel doctor") from None
        if hello is None:
            return False
        mark(path)  # again: a daemon that has just started removed the mark before it listened
        # A handle instead of the number: by the time we look, the number may belong to another process.
        handle = open_process(int(hello.server["pid"]))
        client.shutdown()
    if handle is not None:
        _wait(handle, limit)
    return True


def _connect(client: Client, limit: float) -> Hello | None:
    """Connect and return the daemon's greeting, or ``None`` if none runs. Wait for one that is starting or ending."""
    deadline = time.monotonic() + limit
    while True:
        try:
            return client.connect().server
        except NotRunning:
            if process.lock_holder(client.path) is None:
                return None
        if time.monotonic() > deadline:
            raise Timeout("the daemon runs, but does not listen on its socket")
        time.sleep(_STEP)  # nothing signals that it listens, or has ended


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
